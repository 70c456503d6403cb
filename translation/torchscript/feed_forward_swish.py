class FeedForward:
    """Eq. 2 with another activation function, swish."""

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(torch.silu(self.inner(x)))
