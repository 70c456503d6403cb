class PositionalEncoding:
    """A learned vector for each position (Table 3, row E)."""

    def forward(self, first: int, length: int) -> Tensor:
        """Vectors of the positions first ... first+length-1: [length,D]."""
        rows = self.weight.size(0)
        if first + length > rows:
            raise ValueError(
                "position {} is beyond the {} learned positions (model.max_positions)".format(first + length - 1, rows)
            )
        return self.weight[first : first + length]
