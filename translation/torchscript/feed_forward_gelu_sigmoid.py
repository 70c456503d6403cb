class FeedForward:
    """Eq. 2 with another activation function, gelu_sigmoid."""

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.inner(x)
        return self.outer(hidden * torch.sigmoid(1.702 * hidden))
