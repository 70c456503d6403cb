class MaskedSelfAttention:
    """The first sub-layer of a decoder layer (section 3.2.3)."""

    def past_of_all(self, y: Tensor, mask: Tensor) -> Tensor:
        """All positions at once. y: [B,T,D]."""
        return self.self_attention(y, y, mask)

    def no_past(self, memory: Tensor, cross_key: Tensor, cross_value: Tensor) -> Tuple[Tensor, Tensor]:
        """What the cache has before the first token, one row per sentence."""
        no_key = cross_key.new_empty([cross_key.size(0), cross_key.size(1), 0, cross_key.size(3)])
        return no_key, cross_value.new_empty([cross_value.size(0), cross_value.size(1), 0, cross_value.size(3)])

    def past_of_next(self, rows: Tensor, key: Tensor, value: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        """One token more for each hypothesis. rows: [B*N,1,D]; result: as rows, key and value with the token."""
        new_key, new_value = self.self_attention.project_memory(rows)
        key = torch.cat([key, new_key], 2)
        value = torch.cat([value, new_value], 2)
        attended, _ = self.self_attention.attend(rows, key, value, None)
        return attended, key, value


class RecurrentUnit:
    """The first sub-layer of a decoder layer with an SSRU. Its cells [B*N,D] are in the keys' place in the cache, and
    nothing, [B*N,0], in the values'."""

    def past_of_all(self, y: Tensor, mask: Tensor) -> Tensor:
        return torch.relu(self.ssru(y))

    def no_past(self, memory: Tensor, cross_key: Tensor, cross_value: Tensor) -> Tuple[Tensor, Tensor]:
        return memory.new_zeros([memory.size(0), memory.size(2)]), memory.new_empty([memory.size(0), 0])

    def past_of_next(self, rows: Tensor, key: Tensor, value: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        cells = self.ssru.step(rows.squeeze(1), key)
        return torch.relu(cells).unsqueeze(1), cells, value


class DecoderLayer:
    """Masked self-attention or an SSRU, attention to the source, feed-forward network (section 3.1, Decoder)."""

    def forward(self, x: Tensor, memory: Tensor, self_mask: Tensor, memory_mask: Tensor) -> Tensor:
        """All positions at once. x: [B,T,D], memory: [B,S,D]."""
        y = self.self_attention_norm.enter(x)
        x = self.self_attention_norm.leave(x, self.past_of_all(y, self_mask))
        y = self.cross_attention_norm.enter(x)
        x = self.cross_attention_norm.leave(x, self.cross_attention(y, memory, memory_mask))
        return self.feed_forward_norm.leave(x, self.feed_forward(self.feed_forward_norm.enter(x)))

    def step(
        self, x: Tensor, self_key: Tensor, self_value: Tensor, cross_key: Tensor, cross_value: Tensor, mask: Tensor
    ) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
        """One token more for each hypothesis. x: [B,N,D]; result: x, self_key and self_value with the token, and the
        weights of the attention to the source [B,H,N,S]."""
        y = self.self_attention_norm.enter(x)
        rows = y.reshape([-1, 1, y.size(2)])  # [B,N,D] -> [B*N,1,D]
        past, self_key, self_value = self.past_of_next(rows, self_key, self_value)
        x = self.self_attention_norm.leave(x, past.view_as(y))
        # The N hypotheses of a sentence stand where the T positions do, so that they share its keys and values.
        y = self.cross_attention_norm.enter(x)
        informed, weights = self.cross_attention.attend(y, cross_key, cross_value, mask)
        x = self.cross_attention_norm.leave(x, informed)
        x = self.feed_forward_norm.leave(x, self.feed_forward(self.feed_forward_norm.enter(x)))
        return x, self_key, self_value, weights


class Decoder:
    """N layers; with pre-norm a last LayerNorm."""

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        """All positions at once, each seeing only those before it. x: [B,T,D], memory: [B,S,D]."""
        self_mask = torch.ones([x.size(1), x.size(1)], dtype=torch.bool, device=x.device).tril()  # section 3.2.3
        for layer in self.layers:
            x = layer(x, memory, self_mask, memory_mask)
        if hasattr(self, "norm"):
            x = self.norm(x)
        return x

    def start(self, source: EncodedSource) -> DecoderCache:
        """A cache with no token decoded yet: the source's keys and values, once for each layer."""
        self_keys: List[Tensor] = []
        self_values: List[Tensor] = []
        cross_keys: List[Tensor] = []
        cross_values: List[Tensor] = []
        for layer in self.layers:
            key, value = layer.cross_attention.project_memory(source.memory)
            cross_keys.append(key)
            cross_values.append(value)
            self_key, self_value = layer.no_past(source.memory, key, value)
            self_keys.append(self_key)
            self_values.append(self_value)
        return DecoderCache(self_keys, self_values, cross_keys, cross_values, source.mask, 0)

    def step(self, x: Tensor, cache: DecoderCache) -> Tuple[Tensor, Tensor, DecoderCache]:
        """x: [B,N,D]; result: the next states [B,N,D], the last layer's weights of the source [B,H,N,S], the cache."""
        self_keys: List[Tensor] = []
        self_values: List[Tensor] = []
        weights = x
        for layer in self.layers:
            i = len(self_keys)
            x, key, value, weights = layer.step(
                x, cache.self_keys[i], cache.self_values[i], cache.cross_keys[i], cache.cross_values[i], cache.mask
            )
            self_keys.append(key)
            self_values.append(value)
        if hasattr(self, "norm"):
            x = self.norm(x)
        next_cache = DecoderCache(
            self_keys, self_values, cache.cross_keys, cache.cross_values, cache.mask, cache.length + 1
        )
        return x, weights, next_cache
