class Embedding:
    def forward(self, ids: Tensor) -> Tensor:
        return torch.embedding(self.weight, ids.to(self.weight.device))
