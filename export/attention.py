class ScaledDotProductScore:
    """q·k / sqrt(d_k), Eq. 1. query: [B,H,T,K], key: [B,H,S,K]; result: [B,H,T,S]."""

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        return torch.matmul(query * self.scale, key.transpose(-2, -1))


class DotProductScore:
    """q·k, unscaled. query: [B,H,T,K], key: [B,H,S,K]; result: [B,H,T,S]."""

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        return torch.matmul(query, key.transpose(-2, -1))


class AdditiveScore:
    """w·tanh(W q + U k) (Bahdanau, Cho, Bengio, 2015). query: [B,H,T,K], key: [B,H,S,K]; result: [B,H,T,S]."""

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        q = torch.matmul(query, self.query_weight.transpose(-2, -1)).unsqueeze(3)  # [B,H,T,1,A]
        k = torch.matmul(key, self.key_weight.transpose(-2, -1)).unsqueeze(2)  # [B,H,1,S,A]
        hidden = torch.tanh(q + k)  # [B,H,T,S,A]
        return torch.matmul(hidden, self.score_weight.unsqueeze(1).unsqueeze(-1)).squeeze(-1)


class BilinearScore:
    """q·W k (Luong, Pham, Manning, 2015). query: [B,H,T,K], key: [B,H,S,K]; result: [B,H,T,S]."""

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        return torch.matmul(torch.matmul(query, self.weight), key.transpose(-2, -1))


class UniformScore:
    """0 for every key: the weighted sum becomes an average. query: [B,H,T,K], key: [B,H,S,K]; result: [B,H,T,S]."""

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        return query.new_zeros([query.size(0), query.size(1), query.size(2), key.size(2)])


class AttentionPooling:
    """Section 3.2: each query takes the average of the values, weighted by the softmax of its scores."""

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor]) -> Tuple[Tensor, Tensor]:
        """query: [B,H,T,K], key: [B,H,S,K], value: [B,H,S,Kv]; result: [B,H,T,Kv] and the weights [B,H,T,S]."""
        scores = self.score(query, key)
        if mask is None:
            weights = torch.softmax(scores, -1)
        else:
            # A finite number instead of -inf keeps a wholly blocked row finite; the second fill makes it zero.
            blocked = torch.logical_not(mask)
            lowest = -65504.0 if scores.dtype == torch.float16 else -1e30
            weights = torch.softmax(scores.masked_fill(blocked, lowest), -1).masked_fill(blocked, 0.0)
        return torch.matmul(weights, value), weights


class MultiHeadAttention:
    """Concat(head_1, ..., head_h) W^O, section 3.2.2."""

    def split_heads(self, x: Tensor) -> Tensor:
        width = x.size(2) // self.num_heads  # -1 is ambiguous where B or T is 0
        return x.view([x.size(0), x.size(1), self.num_heads, width]).transpose(1, 2)  # [B,T,H*K] -> [B,H,T,K]

    def project_memory(self, memory: Tensor) -> Tuple[Tensor, Tensor]:
        """The half that depends on the memory [B,S,D] alone: keys [B,H,S,K] and values [B,H,S,Kv]."""
        return self.split_heads(self.key(memory)), self.split_heads(self.value(memory))

    def attend(self, x: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor]) -> Tuple[Tensor, Tensor]:
        """x: [B,T,D]; result: [B,T,D] and the weights [B,H,T,S]."""
        heads, weights = self.pooling(self.split_heads(self.query(x)), key, value, mask)
        return self.output(heads.transpose(1, 2).flatten(2)), weights

    def forward(self, x: Tensor, memory: Tensor, mask: Optional[Tensor]) -> Tensor:
        key, value = self.project_memory(memory)
        return self.attend(x, key, value, mask)[0]
