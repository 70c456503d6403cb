class DecoderOnlyLayer:
    """Masked self-attention and feed-forward network: EncoderLayer's forward with the mask that hides later positions."""

    def step(self, x: Tensor, key: Tensor, value: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        """One token more for each text. x: [B,1,D]; result: x, and keys and values with the token."""
        y = self.self_attention_norm.enter(x)
        new_key, new_value = self.self_attention.project_memory(y)
        key = torch.cat([key, new_key], 2)
        value = torch.cat([value, new_value], 2)
        attended, _ = self.self_attention.attend(y, key, value, None)
        x = self.self_attention_norm.leave(x, attended)
        x = self.feed_forward_norm.leave(x, self.feed_forward(self.feed_forward_norm.enter(x)))
        return x, key, value


class DecoderOnly:
    """N layers of masked self-attention; with pre-norm a last LayerNorm."""

    def forward(self, x: Tensor) -> Tensor:
        """All positions at once, each seeing only those before it. x: [B,T,D]."""
        mask = torch.ones([x.size(1), x.size(1)], dtype=torch.bool, device=x.device).tril()  # section 3.2.3
        for layer in self.layers:
            x = layer(x, mask)
        if hasattr(self, "norm"):
            x = self.norm(x)
        return x

    def start(self, x: Tensor) -> TextCache:
        """A cache of B texts with no token decoded yet. x: [B,1,D], of which the shape counts."""
        keys: List[Tensor] = []
        values: List[Tensor] = []
        for layer in self.layers:
            key, value = layer.self_attention.project_memory(x)
            keys.append(key[:, :, :0])
            values.append(value[:, :, :0])
        return TextCache(keys, values, 0)

    def step(self, x: Tensor, cache: TextCache) -> Tuple[Tensor, TextCache]:
        """One token more for each text. x: [B,1,D]; result: the next states [B,1,D], and the cache."""
        keys: List[Tensor] = []
        values: List[Tensor] = []
        for layer in self.layers:
            i = len(keys)
            x, key, value = layer.step(x, cache.keys[i], cache.values[i])
            keys.append(key)
            values.append(value)
        if hasattr(self, "norm"):
            x = self.norm(x)
        return x, TextCache(keys, values, cache.length + 1)
