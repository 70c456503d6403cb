class MultiHeadAttention:
    """Concat(head_1, ..., head_h) W^O, section 3.2.2."""

    def split_heads(self, x: Tensor) -> Tensor:
        return x.view([x.size(0), x.size(1), self.num_heads, -1]).transpose(1, 2)  # [B,T,H*K] -> [B,H,T,K]

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
