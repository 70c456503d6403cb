# The values that cross the methods' borders. Letters: B batch, S source length, T target length, D d_model, H heads,
# K d_k, F d_ff, V vocabulary, N beam.
#
# The files of this folder are Python as TorchScript understands it, compiled into the library and from there into each
# exported model. Each class holds the methods of one module; parameters, sub-modules and numbers such as `num_heads`
# are registered by the exporter. Free functions are those of torch (aten).


class EncodedSource(NamedTuple):
    memory: Tensor  # [B,S,D]
    mask: Tensor  # [B,1,1,S] bool, true = may attend


class DecoderCache(NamedTuple):
    # Of each layer, one row per hypothesis: the tokens so far, or with SSRUs the cells [B*N,D] and nothing [B*N,0].
    self_keys: List[Tensor]  # [B*N,H,t,K]
    self_values: List[Tensor]  # [B*N,H,t,Kv]
    cross_keys: List[Tensor]  # [B,H,S,K]: the source, one row per sentence, shared by its N hypotheses
    cross_values: List[Tensor]  # [B,H,S,Kv]
    mask: Tensor  # [B,1,1,S]
    length: int  # tokens decoded so far


class DecoderStep(NamedTuple):
    log_probabilities: Tensor  # [B,N,V] float32, of the next token
    alignment: Tensor  # [B,N,S] float32: attention to the source in the last layer, averaged over heads
    cache: DecoderCache


class Hypothesis(NamedTuple):
    ids: List[int]  # without begin and end
    score: float  # log_probability / length penalty: what ranks
    log_probability: float  # natural logarithm, the end included
    alignment: Tensor  # [len(ids)+1, source length+1] float32 on the CPU, the ends included; rows sum to 1


class SearchOptions(NamedTuple):
    beam_size: int
    num_hypotheses: int
    length_alpha: float
    max_extra_length: int


class LiveHypothesis(NamedTuple):
    ids: List[int]
    rows: List[int]  # for each token, where its alignment is among those of all steps
    log_probability: float
    place: int  # of log_probability among the best values of the step


class FinishedHypothesis(NamedTuple):
    ids: List[int]
    rows: List[int]  # one more, the end's
    log_probability: float
    score: float


# Of decoder-only models.


class TextCache(NamedTuple):
    keys: List[Tensor]  # of each layer, [B,H,t,K]: the tokens so far
    values: List[Tensor]  # [B,H,t,Kv]
    length: int  # tokens decoded so far


class TextStep(NamedTuple):
    log_probabilities: Tensor  # [B,V] float32, of the next token
    cache: TextCache


class Text(NamedTuple):
    ids: List[int]  # the prompt's and those that follow, without begin and end
    log_probability: float  # natural logarithm, of all of them and the end


class LiveText(NamedTuple):
    prompt: int  # its number in the batch
    sample: int
    ids: List[int]
    log_probability: float
