class ResidualNorm:
    """LayerNorm(x + layer(x)), as in the paper's section 3.1: `leave(x, layer(enter(x)))`."""

    def enter(self, x: Tensor) -> Tensor:
        return x

    def leave(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.layer_norm(x + y, [self.weight.size(0)], self.weight, self.bias, self.epsilon)
