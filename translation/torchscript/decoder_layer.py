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
