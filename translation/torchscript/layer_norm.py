class LayerNorm:
    def forward(self, x: Tensor) -> Tensor:
        return torch.layer_norm(x, [self.weight.size(0)], self.weight, self.bias, self.epsilon)
