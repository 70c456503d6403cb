class LanguageModel:
    """The decoder of the paper's section 3 by itself. Results are on the model's device; ids may be anywhere."""

    def embed(self, ids: Tensor, first: int) -> Tensor:
        """ids: [B,T], at the positions first ... first+T-1; result: [B,T,D]."""
        positions = self.target_positions(first, ids.size(1))
        x = torch.add(positions, self.embedding(ids), alpha=self.embedding_scale)
        if hasattr(self, "target_embedding_norm"):
            x = self.target_embedding_norm(x)
        return x

    def project(self, states: Tensor) -> Tensor:
        weight = self.embedding.weight
        if hasattr(self, "output"):
            weight = self.output.weight
        logits = torch.linear(states, weight)
        if hasattr(self, "output_bias"):
            logits = logits + self.output_bias
        return logits

    def forward(self, ids: Tensor) -> Tensor:
        """All positions at once. ids: [B,T] int64, each row begin_id and a text, filled up with padding_id on the right;
        result: logits [B,T,V] of the token that follows each."""
        return self.project(self.decoder(self.embed(ids, 0)))

    def start_decoding(self, texts: int) -> TextCache:
        """A cache for a number of texts, with no token decoded yet."""
        return self.decoder.start(self.embed(torch.full([texts, 1], self.begin_id, dtype=torch.int64), 0))

    def decode_step(self, ids: Tensor, cache: TextCache) -> TextStep:
        """Extends each text by a token. ids: [B], the token that each ended with, at first begin_id."""
        states, next_cache = self.decoder.step(self.embed(ids.unsqueeze(1), cache.length), cache)
        log_probabilities = torch.log_softmax(self.project(states.squeeze(1)), -1, dtype=torch.float32)
        return TextStep(log_probabilities, next_cache)

    def select(self, cache: TextCache, rows: Tensor) -> TextCache:
        """The cache of other texts: `rows` [B'] says which old one each new one continues."""
        rows = rows.to(cache.keys[0].device)
        keys = [key.index_select(0, rows) for key in cache.keys]
        values = [value.index_select(0, rows) for value in cache.values]
        return TextCache(keys, values, cache.length)
