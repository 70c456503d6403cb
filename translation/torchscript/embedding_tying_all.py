class Transformer:
    """Source, target and output embeddings are one matrix (section 3.4)."""

    def embed_source(self, ids: Tensor) -> Tensor:
        return self.embedding(ids)

    def embed_target(self, ids: Tensor) -> Tensor:
        return self.embedding(ids)

    def products(self, states: Tensor) -> Tensor:
        return torch.linear(states, self.embedding.weight)
