class AttentionScore:
    """q·k, unscaled. query: [B,H,T,K], key: [B,H,S,K]; result: [B,H,T,S]."""

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        return torch.matmul(query, key.transpose(-2, -1))
