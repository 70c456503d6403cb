class DecoderLayer:
    """Masked self-attention and feed-forward network: the forward of encoder_layer.py, with the mask that hides what is
    to come."""

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
