class OneEmbedding:
    """Source, target and output embeddings are one matrix (section 3.4)."""

    def embed_source(self, ids: Tensor) -> Tensor:
        return self.embedding(ids)

    def embed_target(self, ids: Tensor) -> Tensor:
        return self.embedding(ids)

    def products(self, states: Tensor) -> Tensor:
        return torch.linear(states, self.embedding.weight)


class TargetEmbeddingAsOutput:
    """Target and output embeddings are one matrix."""

    def embed_source(self, ids: Tensor) -> Tensor:
        return self.source_embedding(ids)

    def embed_target(self, ids: Tensor) -> Tensor:
        return self.target_embedding(ids)

    def products(self, states: Tensor) -> Tensor:
        return torch.linear(states, self.target_embedding.weight)


class SeparateEmbeddings:
    """Source, target and output embeddings are three matrices."""

    def embed_source(self, ids: Tensor) -> Tensor:
        return self.source_embedding(ids)

    def embed_target(self, ids: Tensor) -> Tensor:
        return self.target_embedding(ids)

    def products(self, states: Tensor) -> Tensor:
        return self.output(states)


class Transformer:
    """The network of the paper's section 3. Results are on the model's device; ids may be anywhere."""

    def sum_source(self, ids: Tensor) -> Tensor:
        """What the encoder reads. ids: [B,S]; result: [B,S,D]."""
        positions = self.source_positions(0, ids.size(1))
        x = torch.add(positions, self.embed_source(ids), alpha=self.embedding_scale)
        if hasattr(self, "source_embedding_norm"):
            x = self.source_embedding_norm(x)
        return x

    def sum_target(self, ids: Tensor, positions: Tensor) -> Tensor:
        """What the decoder reads. ids: [B,T], positions: [T,D] or [1,D]; result: [B,T,D]."""
        x = torch.add(positions, self.embed_target(ids), alpha=self.embedding_scale)
        if hasattr(self, "target_embedding_norm"):
            x = self.target_embedding_norm(x)
        return x

    def project(self, states: Tensor) -> Tensor:
        """states: [...,D]; result: logits [...,V]."""
        logits = self.products(states)
        if hasattr(self, "output_bias"):
            logits = logits + self.output_bias
        return logits

    def encode(self, source: Tensor) -> EncodedSource:
        """source: [B,S] int64 ids, each row a sentence and the end, filled up with padding_id."""
        if self.reads_source_begin == 1:
            begin = torch.full([source.size(0), 1], self.begin_id, dtype=source.dtype, device=source.device)
            source = torch.cat([begin, source], 1)
        x = self.sum_source(source)
        mask = source != self.padding_id
        if self.reads_source_end == 0:
            mask[:, 1:] = mask[:, 1:] & (source[:, 1:] != self.end_id)
        mask = mask.unsqueeze(1).unsqueeze(1).to(x.device)
        return EncodedSource(self.encoder(x, mask), mask)

    def start_decoding(self, source: EncodedSource) -> DecoderCache:
        """A cache of one hypothesis per sentence, with no token decoded yet."""
        return self.decoder.start(source)

    def decode_step(self, ids: Tensor, cache: DecoderCache) -> DecoderStep:
        """Extends N hypotheses per sentence by a token. ids: [B,N], the token that each ended with, at first
        begin_id."""
        position = self.target_positions(cache.length, 1)  # [1,D]: all hypotheses stand at the same position
        x = self.sum_target(ids, position)
        states, weights, next_cache = self.decoder.step(x, cache)
        log_probabilities = torch.log_softmax(self.project(states), -1, dtype=torch.float32)
        alignment = weights.to(torch.float32).mean(1)
        if self.reads_source_begin == 1:  # it is no token of the text
            alignment = alignment[:, :, 1:]
        return DecoderStep(log_probabilities, alignment, next_cache)

    def select(self, cache: DecoderCache, sentences: Tensor, parents: Tensor) -> DecoderCache:
        """The cache of other hypotheses, N' per sentence: `sentences` [B'] picks those that stay, `parents` [B'*N']
        says which old row (b*N + n) each new one continues."""
        mask = cache.mask
        cross_keys = cache.cross_keys
        cross_values = cache.cross_values
        parents = parents.to(mask.device)
        self_keys = [key.index_select(0, parents) for key in cache.self_keys]
        self_values = [value.index_select(0, parents) for value in cache.self_values]
        if sentences.size(0) < mask.size(0):
            sentences = sentences.to(mask.device)
            mask = mask.index_select(0, sentences)
            cross_keys = [key.index_select(0, sentences) for key in cross_keys]
            cross_values = [value.index_select(0, sentences) for value in cross_values]
        return DecoderCache(self_keys, self_values, cross_keys, cross_values, mask, cache.length)
