class EncoderLayer:
    """Self-attention, then the feed-forward network (section 3.1, Encoder)."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        y = self.self_attention_norm.enter(x)
        x = self.self_attention_norm.leave(x, self.self_attention(y, y, mask))
        return self.feed_forward_norm.leave(x, self.feed_forward(self.feed_forward_norm.enter(x)))


class Encoder:
    """N layers; with pre-norm a last LayerNorm."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x, mask)
        if hasattr(self, "norm"):
            x = self.norm(x)
        return x
