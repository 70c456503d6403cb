class FeedForward:
    """Eq. 2 with another activation function, gelu_tanh."""

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(torch.gelu(self.inner(x), approximate="tanh"))
