class Search:
    """Beam search and greedy search. Sources are ids without begin and end."""

    def translate(
        self,
        sources: List[List[int]],
        beam_size: int = 4,
        num_hypotheses: int = 1,
        length_alpha: float = 0.6,
        max_extra_length: int = 50,
        batch_size: int = 64,
        batch_tokens: int = 4096,
    ) -> List[List[Hypothesis]]:
        """The num_hypotheses best translations of each source, best first, by beam search with beam_size hypotheses.

        Ranks by log P / ((5 + length) / 6)^length_alpha (Wu et al., 2016, Eq. 14), where length counts the end. A
        translation has at most max_extra_length tokens more than its source. Padding, begin, unknown and line ends are
        never chosen. Sources of similar length are decoded together, batch_size of them and batch_tokens padded tokens at
        most."""
        self.check_options(beam_size, num_hypotheses, length_alpha, max_extra_length, batch_size, batch_tokens)
        self.check_sources(sources)
        options = SearchOptions(beam_size, num_hypotheses, length_alpha, max_extra_length)
        nothing: List[Hypothesis] = []
        results = [nothing for _ in range(len(sources))]
        order = self.longest_first(sources)
        first = 0
        while first < len(order):
            padded_length = len(sources[order[first]]) + 1
            rows = max(1, min(batch_size, batch_tokens // padded_length))
            chosen = order[first : first + rows]
            found = self.search([sources[i] for i in chosen], options)
            for i in range(len(chosen)):
                results[chosen[i]] = found[i]
            first += rows
        return results

    def greedy(
        self,
        sources: List[List[int]],
        max_extra_length: int = 50,
        batch_size: int = 64,
        batch_tokens: int = 4096,
    ) -> List[List[int]]:
        """The ids of each source's translation, always taking the most probable token."""
        found = self.translate(
            sources, 1, 1, max_extra_length=max_extra_length, batch_size=batch_size, batch_tokens=batch_tokens
        )
        return [hypotheses[0].ids for hypotheses in found]

    def check_options(
        self,
        beam_size: int,
        num_hypotheses: int,
        length_alpha: float,
        max_extra_length: int,
        batch_size: int,
        batch_tokens: int,
    ) -> None:
        if self.needs_language == 1:
            raise ValueError(
                "this model's decoder must be told the target language, which translate and greedy cannot do; call "
                "start_decoding and decode_step with the ids of begin_id and the language first"
            )
        if beam_size < 1:
            raise ValueError("beam_size must be at least 1, not {}".format(beam_size))
        if num_hypotheses < 1 or num_hypotheses > beam_size:
            raise ValueError(
                "num_hypotheses must lie between 1 and beam_size ({}), not {}".format(beam_size, num_hypotheses)
            )
        if not (length_alpha >= 0.0 and length_alpha <= 10.0):
            raise ValueError("length_alpha must lie between 0 and 10, not {}".format(length_alpha))
        if max_extra_length < 0 or max_extra_length > 1000000:
            raise ValueError("max_extra_length must be from 0 to 1000000, not {}".format(max_extra_length))
        if batch_size < 1 or batch_tokens < 1:
            raise ValueError("batch_size and batch_tokens must be at least 1")

    def check_sources(self, sources: List[List[int]]) -> None:
        for i in range(len(sources)):
            if len(sources[i]) > 0:
                low, high = min(sources[i]), max(sources[i])
                if low < 0 or high >= self.source_vocab_size:
                    raise ValueError(
                        "source {} holds id {}, outside the vocabulary of {}".format(
                            i, low if low < 0 else high, self.source_vocab_size
                        )
                    )

    def longest_first(self, sources: List[List[int]]) -> List[int]:
        lengths = torch.tensor([len(source) for source in sources], dtype=torch.int64)
        order: List[int] = torch.sort(lengths, stable=True, dim=0, descending=True)[1].tolist()
        return order

    def length_penalty(self, length: int, alpha: float) -> float:
        return ((5.0 + float(length)) / 6.0) ** alpha

    def padded(self, sources: List[List[int]]) -> Tensor:
        """Each source followed by the end, filled up to the longest: [B,S]."""
        longest = max([len(source) for source in sources])
        rows: List[List[int]] = []
        for source in sources:
            rows.append(source + [self.end_id] + [self.padding_id for _ in range(longest - len(source))])
        return torch.tensor(rows, dtype=torch.int64)

    def finish(
        self,
        finished: List[FinishedHypothesis],
        hypothesis: LiveHypothesis,
        row: int,
        log_probability: float,
        options: SearchOptions,
    ) -> None:
        """Puts an ended hypothesis into its place among the best, which stay sorted."""
        score = log_probability / self.length_penalty(len(hypothesis.ids) + 1, options.length_alpha)
        place = len(finished)
        while place > 0 and finished[place - 1].score < score:
            place -= 1
        finished.insert(place, FinishedHypothesis(hypothesis.ids, hypothesis.rows + [row], log_probability, score))
        if len(finished) > options.num_hypotheses:
            finished.pop()

    def end_all(
        self,
        parents: List[LiveHypothesis],
        finished: List[FinishedHypothesis],
        ends: List[float],
        first_row: int,
        options: SearchOptions,
    ) -> None:
        """Ends a sentence's live hypotheses, `ends` being the end's log-probabilities after them."""
        for n in range(len(parents)):
            log_probability = parents[n].log_probability + ends[n]
            if log_probability > float("-inf"):
                self.finish(finished, parents[n], first_row + n, log_probability, options)

    def extend(
        self,
        parents: List[LiveHypothesis],
        finished: List[FinishedHypothesis],
        values: List[float],
        indices: List[int],
        vocabulary: int,
        first_row: int,
        first_place: int,
        options: SearchOptions,
    ) -> List[LiveHypothesis]:
        """The live hypotheses that a sentence's continuations make, best first. Ended ones go into `finished`.

        A continuation is its log-probability (`values`, descending) and parent * vocabulary + token (`indices`)."""
        extended: List[LiveHypothesis] = []
        for rank in range(len(values)):
            if len(extended) == options.beam_size:
                break
            if values[rank] == float("-inf"):
                continue
            n = indices[rank] // vocabulary
            token = indices[rank] % vocabulary
            if token != self.end_id:
                extended.append(
                    LiveHypothesis(
                        parents[n].ids + [token], parents[n].rows + [first_row + n], values[rank], first_place + rank
                    )
                )
            elif rank < options.beam_size:
                # An end below the beam would not have been kept either, had it been another token.
                self.finish(finished, parents[n], first_row + n, values[rank], options)
        return extended

    def is_done(
        self,
        live: List[LiveHypothesis],
        finished: List[FinishedHypothesis],
        max_length: int,
        options: SearchOptions,
    ) -> bool:
        """Whether no live hypothesis can still rank among the best num_hypotheses, however long it becomes (greedy
        search: at the first end)."""
        if len(live) == 0:
            return True
        if len(finished) < options.num_hypotheses:
            return False
        # Log-probabilities only fall, and the penalty is largest at the maximum length.
        best_possible = live[0].log_probability / self.length_penalty(max_length + 1, options.length_alpha)
        return options.beam_size == 1 or best_possible <= finished[-1].score

    def with_alignments(
        self, sources: List[List[int]], finished: List[List[FinishedHypothesis]], rows: Tensor
    ) -> List[List[Hypothesis]]:
        """The finished hypotheses of each source with their alignments, which are `rows` of all steps: [rows,S]."""
        results: List[List[Hypothesis]] = []
        for b in range(len(sources)):
            best: List[Hypothesis] = []
            for hypothesis in finished[b]:
                chosen = torch.tensor(hypothesis.rows, dtype=torch.int64)
                alignment = rows.index_select(0, chosen)[:, : len(sources[b]) + 1].contiguous()
                best.append(Hypothesis(hypothesis.ids, hypothesis.score, hypothesis.log_probability, alignment))
            results.append(best)
        return results

    def search(self, sources: List[List[int]], options: SearchOptions) -> List[List[Hypothesis]]:
        """Decodes one batch, each sentence until is_done(). At the maximum length the end is forced."""
        never = float("-inf")
        cache = self.start_decoding(self.encode(self.padded(sources)))
        no_ids: List[int] = []
        live: List[List[LiveHypothesis]] = []
        finished: List[List[FinishedHypothesis]] = []
        for _ in sources:
            none_yet: List[FinishedHypothesis] = []
            live.append([LiveHypothesis(no_ids, no_ids, 0.0, 0)])
            finished.append(none_yet)

        searching = [s for s in range(len(sources))]
        alignments: List[Tensor] = []  # of each step, [B*N,S]
        first_row = 0  # of the present step, among the rows of all steps
        beam = 1
        length = 0
        ids = torch.full([len(sources), 1], self.begin_id, dtype=torch.int64)
        # Log-probabilities so far; -inf for the repeats that fill a beam.
        totals = torch.zeros([len(sources), 1, 1], dtype=torch.float32)
        while len(searching) > 0:
            step = self.decode_step(ids, cache)
            alignments.append(step.alignment.flatten(0, 1).cpu())
            ends: List[List[float]] = step.log_probabilities[:, :, self.end_id].cpu().tolist()

            # The 2N best continuations of each sentence, best first; N of them at most can be ends.
            vocabulary = step.log_probabilities.size(2)
            sums = step.log_probabilities + totals.to(step.log_probabilities.device)
            for token in self.excluded_ids:
                sums.select(2, token).fill_(never)
            count = min(2 * options.beam_size, beam * vocabulary)
            best_values, best_indices = sums.flatten(1).topk(count, 1)
            values: List[List[float]] = best_values.cpu().tolist()
            indices: List[List[int]] = best_indices.cpu().tolist()

            kept: List[int] = []
            remaining: List[int] = []
            for b in range(len(searching)):
                s = searching[b]
                row = first_row + b * beam
                max_length = min(len(sources[s]) + options.max_extra_length, self.target_positions.most_tokens())
                next_live: List[LiveHypothesis] = []
                if length >= max_length:
                    self.end_all(live[s], finished[s], ends[b], row, options)
                else:
                    next_live = self.extend(
                        live[s], finished[s], values[b], indices[b], vocabulary, row, b * count, options
                    )
                live[s] = next_live
                if not self.is_done(next_live, finished[s], max_length, options):
                    kept.append(b)
                    remaining.append(s)

            # Sentences whose beam is not full repeat their first hypothesis.
            last_ids: List[int] = []
            last_places: List[int] = []
            last_rows: List[int] = []
            for s in remaining:
                for n in range(options.beam_size):
                    hypothesis = live[s][n if n < len(live[s]) else 0]
                    last_ids.append(hypothesis.ids[-1])
                    last_rows.append(hypothesis.rows[-1] - first_row)
                    last_places.append(hypothesis.place if n < len(live[s]) else -1)
            first_row += len(searching) * beam
            searching = remaining
            beam = options.beam_size
            length += 1
            if len(searching) > 0:
                ids = torch.tensor(last_ids, dtype=torch.int64).view([-1, beam])
                # Not by torch.tensor, which rounds floats to the application's default type before any other.
                places = torch.tensor(last_places, dtype=torch.int64).to(best_values.device)
                totals = best_values.flatten().index_select(0, places.clamp(min=0))
                totals = totals.masked_fill(places < 0, never).view([-1, beam, 1])
                cache = self.select(
                    step.cache, torch.tensor(kept, dtype=torch.int64), torch.tensor(last_rows, dtype=torch.int64)
                )

        return self.with_alignments(sources, finished, torch.cat(alignments))
