class AttentionScore:
    """q·k / sqrt(d_k), Eq. 1. query: [B,H,T,K], key: [B,H,S,K]; result: [B,H,T,S]."""

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        return torch.matmul(query * self.scale, key.transpose(-2, -1))
