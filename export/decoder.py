class DecoderLayer:
    """Masked self-attention, attention to the source, feed-forward network (section 3.1, Decoder)."""

    def forward(self, x: Tensor, memory: Tensor, self_mask: Tensor, memory_mask: Tensor) -> Tensor:
        """All positions at once. x: [B,T,D], memory: [B,S,D]."""
        y = self.self_attention_norm.enter(x)
        x = self.self_attention_norm.leave(x, self.self_attention(y, y, self_mask))
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
        new_key, new_value = self.self_attention.project_memory(rows)
        self_key = torch.cat([self_key, new_key], 2)
        self_value = torch.cat([self_value, new_value], 2)
        attended, _ = self.self_attention.attend(rows, self_key, self_value, None)
        x = self.self_attention_norm.leave(x, attended.view_as(y))
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
            self_keys.append(key.new_empty([key.size(0), key.size(1), 0, key.size(3)]))
            self_values.append(value.new_empty([value.size(0), value.size(1), 0, value.size(3)]))
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
