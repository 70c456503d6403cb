class AttentionScore:
    """q·W k (Luong, Pham, Manning, 2015). query: [B,H,T,K], key: [B,H,S,K]; result: [B,H,T,S]."""

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        return torch.matmul(torch.matmul(query, self.weight), key.transpose(-2, -1))
