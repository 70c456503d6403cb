class AttentionPooling:
    """Section 3.2: each query takes the average of the values, weighted by the softmax of its scores."""

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor]) -> Tuple[Tensor, Tensor]:
        """query: [B,H,T,K], key: [B,H,S,K], value: [B,H,S,Kv]; result: [B,H,T,Kv] and the weights [B,H,T,S]."""
        scores = self.score(query, key)
        if mask is None:
            weights = torch.softmax(scores, -1)
        else:
            # A finite number instead of -inf keeps a wholly blocked row finite; the second fill makes it zero.
            blocked = torch.logical_not(mask)
            lowest = -65504.0 if scores.dtype == torch.float16 else -1e30
            weights = torch.softmax(scores.masked_fill(blocked, lowest), -1).masked_fill(blocked, 0.0)
        return torch.matmul(weights, value), weights
