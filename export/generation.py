class Generation:
    """Draws texts, or takes the most probable tokens. Prompts are ids without begin and end, and may be empty."""

    def generate(
        self,
        prompts: List[List[int]],
        max_new_tokens: int = 50,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 1,
        num_samples: int = 1,
        batch_size: int = 64,
    ) -> List[List[Text]]:
        """num_samples texts for each prompt, which they begin with, in the order in which they were drawn.

        temperature below 1 sharpens the distribution, 0 takes the best token; top_k: only among the k best tokens (0:
        all); top_p: only among the fewest best tokens with this probability together. The same seed and prompt give the
        same texts, whatever is drawn beside them. A text ends by itself or max_new_tokens after its prompt. Padding,
        begin, unknown and line ends are never drawn, but taken from a prompt."""
        if max_new_tokens < 0 or max_new_tokens > 1000000:
            raise ValueError("max_new_tokens must be from 0 to 1000000, not {}".format(max_new_tokens))
        if not (temperature >= 0.0 and temperature < float("inf")):
            raise ValueError("temperature must be finite and not negative, not {}".format(temperature))
        if top_k < 0:
            raise ValueError("top_k must not be negative, and is {}".format(top_k))
        if not (top_p > 0.0 and top_p <= 1.0):
            raise ValueError("top_p must be more than 0 and at most 1, not {}".format(top_p))
        if num_samples < 1 or batch_size < 1:
            raise ValueError("num_samples and batch_size must be at least 1")
        for i in range(len(prompts)):
            for token in prompts[i]:
                if token < 0 or token >= self.vocab_size:
                    raise ValueError(
                        "prompt {} holds id {}, outside the vocabulary of {}".format(i, token, self.vocab_size)
                    )
        results: List[List[Text]] = []
        first = 0
        while first < len(prompts):
            batch = prompts[first : first + batch_size]
            results = results + self.generate_batch(
                batch, max_new_tokens, temperature, top_k, top_p, seed, num_samples
            )
            first += batch_size
        return results

    def greedy(self, prompts: List[List[int]], max_new_tokens: int = 50, batch_size: int = 64) -> List[List[int]]:
        """The ids of each prompt's text, always taking the most probable token."""
        found = self.generate(prompts, max_new_tokens, 0.0, batch_size=batch_size)
        return [texts[0].ids for texts in found]

    def generate_batch(
        self,
        prompts: List[List[int]],
        max_new_tokens: int,
        temperature: float,
        top_k: int,
        top_p: float,
        seed: int,
        num_samples: int,
    ) -> List[List[Text]]:
        finished: List[List[Text]] = []
        keys: List[int] = []
        live: List[LiveText] = []
        for i in range(len(prompts)):
            no_ids: List[int] = []
            finished.append([Text(no_ids, 0.0) for _ in range(num_samples)])
            key = seed
            for token in prompts[i]:
                key = self.mix_bits(self.mix_bits(key) ^ token)
            keys.append(key)
            live.append(LiveText(i, 0, no_ids, 0.0))

        cache = self.start_decoding(len(prompts))
        ids = torch.full([len(prompts)], self.begin_id, dtype=torch.int64)
        while len(live) > 0:
            step = self.decode_step(ids, cache)
            scores = step.log_probabilities.cpu()
            next_live: List[LiveText] = []
            rows: List[int] = []
            for row in range(len(live)):
                text = live[row]
                prompt = prompts[text.prompt]
                length = len(text.ids)
                samples = num_samples if length == len(prompt) else 1
                for n in range(samples):
                    sample = text.sample + n
                    if length < len(prompt):
                        token = prompt[length]
                    elif length >= len(prompt) + max_new_tokens:
                        token = self.end_id
                    else:
                        random = self.uniform(keys[text.prompt], length, sample)
                        token = self.draw(scores[row], temperature, top_k, top_p, random)
                    log_probability = text.log_probability + float(scores[row, token].item())
                    if length >= len(prompt) and token == self.end_id:
                        finished[text.prompt][sample] = Text(text.ids, log_probability)
                    else:
                        next_live.append(LiveText(text.prompt, sample, text.ids + [token], log_probability))
                        rows.append(row)
            live = next_live
            if len(live) > 0:
                ids = torch.tensor([text.ids[-1] for text in live], dtype=torch.int64)
                cache = self.select(step.cache, torch.tensor(rows, dtype=torch.int64))
        return finished

    def draw(self, scores: Tensor, temperature: float, top_k: int, top_p: float, random: float) -> int:
        """A token by the logarithms of the probabilities [V]; `random` is from [0, 1)."""
        scores = scores.to(torch.float64)  # a copy
        for token in self.excluded_ids:
            scores.select(0, token).fill_(float("-inf"))
        if temperature == 0.0:
            return int(torch.argmax(scores, 0).item())
        best, order = torch.sort(scores, stable=True, dim=0, descending=True)
        most = min(top_k, scores.size(0)) if top_k > 0 else scores.size(0)
        sums = torch.cumsum(torch.exp((best[:most] - best[0]) / temperature), 0)
        if top_p < 1.0:
            sums = sums[: int((sums < sums[-1] * top_p).sum().item()) + 1]
        place = int((sums <= sums[-1] * random).sum().item())
        return int(order[min(place, sums.size(0) - 1)].item())

    # The random numbers of common/random.h, in int64, which wraps around as uint64 does.
    def shifted_right(self, value: int, bits: int) -> int:
        return (value >> bits) & ((1 << (64 - bits)) - 1)

    def mix_bits(self, value: int) -> int:
        value = value - 7046029254386353131
        value = (value ^ self.shifted_right(value, 30)) * -4658895280553007687
        value = (value ^ self.shifted_right(value, 27)) * -7723592293110705685
        return value ^ self.shifted_right(value, 31)

    def uniform(self, key: int, length: int, sample: int) -> float:
        bits = self.mix_bits(self.mix_bits(self.mix_bits(key) ^ length) ^ sample)
        return float(self.shifted_right(bits, 11)) * 1.1102230246251565e-16  # 2^-53
