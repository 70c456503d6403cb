class Linear:
    def forward(self, x: Tensor) -> Tensor:
        return torch.linear(x, self.weight, self.bias)
