class AttentionScore:
    """w·tanh(W q + U k) (Bahdanau, Cho, Bengio, 2015). query: [B,H,T,K], key: [B,H,S,K]; result: [B,H,T,S]."""

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        q = torch.matmul(query, self.query_weight.transpose(-2, -1)).unsqueeze(3)  # [B,H,T,1,A]
        k = torch.matmul(key, self.key_weight.transpose(-2, -1)).unsqueeze(2)  # [B,H,1,S,A]
        hidden = torch.tanh(q + k)  # [B,H,T,S,A]
        return torch.matmul(hidden, self.score_weight.unsqueeze(1).unsqueeze(-1)).squeeze(-1)
