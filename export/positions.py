class SinusoidalPositions:
    """Sines and cosines of each position: PE(pos, 2i) = sin(pos / 10000^(2i/D)), PE(pos, 2i+1) = cos(the same), section
    3.5, or laid out and spaced otherwise."""

    def forward(self, first: int, length: int) -> Tensor:
        """Vectors of the positions first ... first+length-1: [length,D]; those beyond the table are computed."""
        if first + length <= self.sinusoids.size(0):
            return self.sinusoids[first : first + length]
        width = self.sinusoids.size(1)
        begin = self.first_position + first
        position = torch.arange(begin, begin + length, dtype=torch.float64).unsqueeze(1)  # [L,1]
        exponent = torch.arange(width // 2, dtype=torch.float64) / self.frequency_span
        angle = position * torch.pow(10000.0, exponent).reciprocal()  # [L,D/2]
        if self.interleaved == 1:
            vectors = torch.stack([angle.sin(), angle.cos()], -1).flatten(1)
        else:
            vectors = torch.cat([angle.sin(), angle.cos()], 1)
        return vectors.to(torch.float32).to(self.sinusoids)

    def most_tokens(self) -> int:
        """Of a text."""
        return 9223372036854775807


class LearnedPositions:
    """A learned vector for each position (Table 3, row E)."""

    def forward(self, first: int, length: int) -> Tensor:
        """Vectors of the positions first ... first+length-1: [length,D]."""
        rows = self.weight.size(0)
        if first + length > rows:
            raise ValueError(
                "position {} is beyond the {} learned positions (model.max_positions)".format(first + length - 1, rows)
            )
        return self.weight[first : first + length]

    def most_tokens(self) -> int:
        """Of a text; the end, or begin, takes a position too."""
        return self.weight.size(0) - 1
