class FeedForward:
    """Eq. 2 with another activation function, gelu."""

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(torch.gelu(self.inner(x)))
