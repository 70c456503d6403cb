class FeedForward:
    """FFN(x) = max(0, x W1 + b1) W2 + b2, Eq. 2."""

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(torch.relu(self.inner(x)))
