class Transformer:
    """Source, target and output embeddings are three matrices."""

    def embed_source(self, ids: Tensor) -> Tensor:
        return self.source_embedding(ids)

    def embed_target(self, ids: Tensor) -> Tensor:
        return self.target_embedding(ids)

    def products(self, states: Tensor) -> Tensor:
        return self.output(states)
