class Embedding:
    def forward(self, ids: Tensor) -> Tensor:
        return torch.embedding(self.weight, ids.to(self.weight.device))


class Linear:
    def forward(self, x: Tensor) -> Tensor:
        return torch.linear(x, self.weight, self.bias)


class Projection:
    """A matrix without a bias."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.linear(x, self.weight)


class FeedForward:
    """FFN(x) = max(0, x W1 + b1) W2 + b2, Eq. 2."""

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(torch.relu(self.inner(x)))


class SwishFeedForward:
    """Eq. 2 with another activation function."""

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(torch.silu(self.inner(x)))


class GeluFeedForward:
    """Eq. 2 with another activation function."""

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(torch.gelu(self.inner(x)))


class GeluTanhFeedForward:
    """Eq. 2 with another activation function, an approximation of gelu."""

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(torch.gelu(self.inner(x), approximate="tanh"))


class GeluSigmoidFeedForward:
    """Eq. 2 with another activation function, a coarser approximation of gelu."""

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.inner(x)
        return self.outer(hidden * torch.sigmoid(1.702 * hidden))


class Ssru:
    """f = sigmoid(Wf x + bf), c = f c + (1 - f) W x (Kim et al., 2019, section 3.1). Results are the cells c."""

    def step(self, x: Tensor, before: Tensor) -> Tensor:
        """x: [R,D], before: [R,D], the cells of the position before."""
        forget = torch.sigmoid(self.forget(x))
        return forget * before + (1.0 - forget) * self.input(x)

    def forward(self, x: Tensor) -> Tensor:
        """All positions at once, [B,T,D], by a parallel scan (Hillis and Steele, 1986)."""
        forget = torch.sigmoid(self.forget(x))
        cells = (1.0 - forget) * self.input(x)
        step = 1
        while step < x.size(1):
            rest = x.size(1) - step
            cells = cells + forget * torch.constant_pad_nd(cells[:, :rest], [0, 0, step, 0])
            forget = forget * torch.constant_pad_nd(forget[:, :rest], [0, 0, step, 0])
            step *= 2
        return cells


class LayerNorm:
    def forward(self, x: Tensor) -> Tensor:
        return torch.layer_norm(x, [self.weight.size(0)], self.weight, self.bias, self.epsilon)


class PostNorm:
    """LayerNorm(x + layer(x)), as in the paper's section 3.1: `leave(x, layer(enter(x)))`."""

    def enter(self, x: Tensor) -> Tensor:
        return x

    def leave(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.layer_norm(x + y, [self.weight.size(0)], self.weight, self.bias, self.epsilon)


class PreNorm:
    """x + layer(LayerNorm(x)): `leave(x, layer(enter(x)))`."""

    def enter(self, x: Tensor) -> Tensor:
        return torch.layer_norm(x, [self.weight.size(0)], self.weight, self.bias, self.epsilon)

    def leave(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y


class DeepNorm:
    """LayerNorm(scale * x + layer(x)) with DeepNorm's scale: `leave(x, layer(enter(x)))`."""

    def enter(self, x: Tensor) -> Tensor:
        return x

    def leave(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.layer_norm(x * self.scale + y, [self.weight.size(0)], self.weight, self.bias, self.epsilon)
