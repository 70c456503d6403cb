class TeacherForcing:
    def forward(self, source: Tensor, target_in: Tensor) -> Tensor:
        """Teacher forcing. source: [B,S] as for encode, target_in: [B,T] ids that begin with begin_id; result: logits
        [B,T,V]."""
        encoded = self.encode(source)
        x = self.sum_target(target_in, self.target_positions(0, target_in.size(1)))
        return self.project(self.decoder(x, encoded.memory, encoded.mask))


class Translation:
    """For servers that call forward with tensors alone. The options of the search are the module's."""

    def forward(self, source: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        """The best translation of each row. source: [B,S] int64 ids without begin, filled up with padding_id, with the
        end or without it. Results, on the source's device: ids [B,T] int64 without begin and end, filled up with
        padding_id; their number [B] int64; scores [B] float32, as Hypothesis has them."""
        if source.size(0) == 0:
            no_ids = torch.zeros([0, 0], dtype=torch.int64, device=source.device)
            return no_ids, no_ids.sum(1), torch.zeros([0], dtype=torch.float32, device=source.device)
        counts: List[int] = ((source != self.padding_id) & (source != self.end_id)).sum(1).tolist()
        rows: List[List[int]] = source.to(torch.int64).tolist()
        sources = [rows[i][: counts[i]] for i in range(len(rows))]
        found = self.translate(
            sources, self.forward_beam_size, 1, self.forward_length_alpha, self.forward_max_extra_length
        )
        longest = max([len(hypotheses[0].ids) for hypotheses in found])
        ids: List[List[int]] = []
        lengths: List[int] = []
        scores: List[Tensor] = []  # not by torch.tensor, which rounds floats to the application's default type
        for hypotheses in found:
            best = hypotheses[0]
            ids.append(best.ids + [self.padding_id for _ in range(longest - len(best.ids))])
            lengths.append(len(best.ids))
            scores.append(torch.full([1], best.score, dtype=torch.float32))
        return (
            torch.tensor(ids, dtype=torch.int64).to(source.device),
            torch.tensor(lengths, dtype=torch.int64).to(source.device),
            torch.cat(scores).to(source.device),
        )
