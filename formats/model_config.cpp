// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/model_config.h>

#include <transmute/tokenizer/special_ids.h>

#include <limits>

namespace transmute {
inline namespace v0 {

namespace {

const EnumNames<SubwordAlgorithm> kAlgorithms{{SubwordAlgorithm::bpe, "bpe"}, {SubwordAlgorithm::unigram, "unigram"}};
const EnumNames<VocabularySharing> kSharing{{VocabularySharing::shared, "shared"},
                                            {VocabularySharing::separate, "separate"}};
const EnumNames<Architecture> kArchitectures{{Architecture::encoder_decoder, "encoder_decoder"},
                                             {Architecture::decoder_only, "decoder_only"}};
const EnumNames<DecoderSelfAttention> kDecoderSelfAttentions{{DecoderSelfAttention::attention, "attention"},
                                                             {DecoderSelfAttention::ssru, "ssru"}};
const EnumNames<ScoreFunction> kScoreFunctions{{ScoreFunction::scaled_dot_product, "scaled_dot_product"},
                                               {ScoreFunction::dot_product, "dot_product"},
                                               {ScoreFunction::additive, "additive"},
                                               {ScoreFunction::bilinear, "bilinear"},
                                               {ScoreFunction::uniform, "uniform"}};
const EnumNames<NormPosition> kNormPositions{
    {NormPosition::post, "post"}, {NormPosition::pre, "pre"}, {NormPosition::deep, "deep"}};
const EnumNames<Initialization> kInitializations{{Initialization::scaled, "scaled"},
                                                 {Initialization::xavier, "xavier"}};
const EnumNames<PositionalEncodingKind> kPositions{{PositionalEncodingKind::sinusoidal, "sinusoidal"},
                                                   {PositionalEncodingKind::learned, "learned"}};
const EnumNames<PositionLayout> kLayouts{{PositionLayout::interleaved, "interleaved"},
                                         {PositionLayout::halves, "halves"}};
const EnumNames<PositionFrequencies> kFrequencies{{PositionFrequencies::paper, "paper"},
                                                  {PositionFrequencies::tensor2tensor, "tensor2tensor"}};
const EnumNames<Activation> kActivations{{Activation::relu, "relu"},
                                         {Activation::swish, "swish"},
                                         {Activation::gelu, "gelu"},
                                         {Activation::gelu_tanh, "gelu_tanh"},
                                         {Activation::gelu_sigmoid, "gelu_sigmoid"}};
const EnumNames<EmbeddingTying> kTyings{
    {EmbeddingTying::all, "all"}, {EmbeddingTying::target_output, "target_output"}, {EmbeddingTying::none, "none"}};

const EnumNames<LengthPenalty> kLengthPenalties{{LengthPenalty::paper, "paper"}, {LengthPenalty::power, "power"}};

constexpr Bounds<int64_t> kAtLeastOne{1, 1'000'000'000};
constexpr Bounds<int64_t> kVocabulary{special_ids::kCount + 1, 1 << 24};
constexpr Bounds<int64_t> kTargetVocabulary{0, 1 << 24};
constexpr Bounds<int64_t> kAtLeastZero{0, kAtLeastOne.high};

}  // namespace

void ModelConfig::declare(ConfigSchema& schema) {
  schema.section("", "");
  schema.add("format_version", &format_version, "version of the model folder's layout; written by transmute");

  schema.section("tokenizer", "the subword vocabulary, learned by `train` where the run folder has none");
  schema.add("algorithm", &tokenizer.algorithm, kAlgorithms, "SentencePiece's algorithm for learning the vocabulary");
  schema.add("vocabulary", &tokenizer.vocabulary, kSharing,
             "one vocabulary for both languages, or a separate one for each");
  schema.add("vocab_size", &tokenizer.vocab_size,
             "number of pieces in each vocabulary, including the four reserved ids", kVocabulary);
  schema.add("target_vocab_size", &tokenizer.target_vocab_size,
             "number of pieces in the target vocabulary, if the vocabularies are separate; 0: vocab_size",
             kTargetVocabulary);
  schema.add("character_coverage", &tokenizer.character_coverage,
             "share of the training text's characters that the vocabulary covers", Bounds<double>{0.98, 1.0});
  schema.add("byte_fallback", &tokenizer.byte_fallback,
             "encode characters outside the vocabulary as bytes instead of as the unknown piece");
  schema.add("split_digits", &tokenizer.split_digits, "make every digit a piece of its own");
  schema.add("split_by_script", &tokenizer.split_by_script,
             "never form pieces across scripts, or across letters and punctuation");
  schema.add(
      "normalization", &tokenizer.normalization,
      "SentencePiece's Unicode normalization: nmt_nfkc, nmt_nfkc_tc (also truecases), nmt_nfkc_cf (also lower-cases), "
      "nfkc, nfkc_cf, identity");
  schema.add("user_defined_symbols", &tokenizer.user_defined_symbols, "texts that are never split");
  schema.add("max_training_sentences", &tokenizer.max_training_sentences,
             "maximum number of lines from which the vocabulary is learned; a larger text is sampled",
             Bounds<int64_t>{101, std::numeric_limits<int32_t>::max()});

  schema.section("model", "the network of the paper's section 3");
  schema.add(
      "architecture", &model.architecture, kArchitectures,
      "encoder_decoder: a translation model, as in the paper; decoder_only: a language model, which continues text");
  schema.add("num_encoder_layers", &model.num_encoder_layers,
             "number of encoder layers, N; ignored by decoder-only models", kAtLeastOne);
  schema.add("num_decoder_layers", &model.num_decoder_layers, "number of decoder layers, N", kAtLeastOne);
  schema.add("d_model", &model.d_model, "width of the residual stream", kAtLeastOne);
  schema.add("num_heads", &model.num_heads, "number of attention heads, h", kAtLeastOne);
  schema.add("d_k", &model.d_k, "width of a head's queries and keys; 0: d_model / num_heads", kAtLeastZero);
  schema.add("d_v", &model.d_v, "width of a head's values; 0: d_model / num_heads", kAtLeastZero);
  schema.add("d_ff", &model.d_ff, "inner width of the feed-forward network", kAtLeastOne);
  schema.add("decoder_self_attention", &model.decoder_self_attention, kDecoderSelfAttentions,
             "the first sub-layer of each decoder layer: attention: masked self-attention, as in the paper; ssru: a "
             "recurrent unit (SSRU), as in Firefox's models, whose state does not grow with the translation; for "
             "translation models");
  schema.add("score_function", &model.score_function, kScoreFunctions,
             "how attention compares queries with keys; scaled_dot_product is Eq. 1");
  schema.add("norm_position", &model.norm_position, kNormPositions,
             "where LayerNorm is: post: after the residual sum, as in the paper; pre: before the sub-layer; deep: "
             "after a residual sum that is weighted as in DeepNorm, for deep networks");
  schema.add(
      "initialization", &model.initialization, kInitializations,
      "initial weights: xavier: Xavier-uniform; scaled: value and output projections and feed-forward networks start "
      "smaller, the more so the deeper the network, as in DeepNet");
  schema.add("positional_encoding", &model.positional_encoding, kPositions,
             "sinusoidal: section 3.5; learned: Table 3, row E");
  schema.add("max_positions", &model.max_positions,
             "maximum number of positions of a learned positional encoding; sinusoids have no limit; those beyond it "
             "are computed at each use",
             kAtLeastOne);
  schema.add("position_layout", &model.sinusoids.layout, kLayouts,
             "order of the sinusoids: interleaved: sine and cosine of each frequency side by side, as in the paper; "
             "halves: all sines, then all cosines");
  schema.add("position_frequencies", &model.sinusoids.frequencies, kFrequencies,
             "frequencies of the sinusoids: paper: 10000^(-2i/d_model); tensor2tensor: 10000^(-i/(d_model/2 - 1))");
  schema.add("first_position", &model.sinusoids.first_position,
             "position of the first token in the sinusoids; 2 for models of fairseq", kAtLeastZero);
  schema.add("activation", &model.activation, kActivations,
             "activation function of the feed-forward network; the paper uses relu; gelu is computed exactly");
  schema.add("attention_bias", &model.attention_bias, "add biases to the attention projections; the paper has none");
  schema.add("output_bias", &model.output_bias, "add a bias to the output projection; the paper has none");
  schema.add("embedding_norm", &model.embedding_norm,
             "apply LayerNorm to the sum of embedding and position; the paper does not");
  schema.add("embedding_scale", &model.embedding_scale, "multiply embeddings by sqrt(d_model) (section 3.4)");
  schema.add("source_begin", &model.source_begin, "put the begin token before the source; the paper is silent");
  schema.add("source_end", &model.source_end, "append the end token to the source; false for models of OpenNMT");
  schema.add("embedding_tying", &model.embedding_tying, kTyings,
             "which embedding matrices share their weights (section 3.4); target_output: the target embedding and the "
             "output projection");
  schema.add("dropout", &model.dropout,
             "dropout of sub-layer outputs and of the sum of embedding and position (section 5.4)",
             NetworkBounds::kDropout);
  schema.add("attention_dropout", &model.attention_dropout, "dropout of attention weights; the paper has none",
             NetworkBounds::kDropout);
  schema.add("activation_dropout", &model.activation_dropout,
             "dropout after the activation function; the paper has none", NetworkBounds::kDropout);
  schema.add("norm_epsilon", &model.norm_epsilon, "added to the variance in LayerNorm", NetworkBounds::kNormEpsilon);

  schema.section("search",
                 "how `translate` and `serve` search with this model, unless a flag or a request says otherwise");
  schema.add("beam_size", &search.beam_size, "number of hypotheses kept per sentence; 1: greedy search",
             SearchBounds::kBeamSize);
  schema.add("length_penalty", &search.length_penalty, kLengthPenalties,
             "what log P is divided by to rank hypotheses: paper: ((5 + length) / 6)^alpha; power: length^alpha");
  schema.add("length_alpha", &search.length_alpha, "exponent of the length penalty; 0: rank by log P",
             SearchBounds::kLengthAlpha);
  schema.add("no_repeat_ngram", &search.no_repeat_ngram,
             "never repeat a sequence of this many tokens within a translation; 0: allow it",
             SearchBounds::kNoRepeatNgram);
  schema.add("repetition_penalty", &search.repetition_penalty,
             "above 1: makes tokens that a translation already has less probable; 1: does not",
             SearchBounds::kRepetitionPenalty);
}

}  // namespace v0
}  // namespace transmute
