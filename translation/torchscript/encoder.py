class Encoder:
    """N layers; with pre-norm a last LayerNorm."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x, mask)
        if hasattr(self, "norm"):
            x = self.norm(x)
        return x
