class Transformer:
    """Target and output embeddings are one matrix."""

    def embed_source(self, ids: Tensor) -> Tensor:
        return self.source_embedding(ids)

    def embed_target(self, ids: Tensor) -> Tensor:
        return self.target_embedding(ids)

    def products(self, states: Tensor) -> Tensor:
        return torch.linear(states, self.target_embedding.weight)
