// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/device/transformer_step_model.h>
#include <transmute/engine/inference_model.h>
#include <transmute/kernels/simd/simd.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/module_weights.h>
#include <transmute/search/ensemble.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/tensor_batch.h>

#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
namespace {

using kernels::Simd;
using kernels::SimdLimit;
using ::testing::HasSubstr;
using testing::message_of;
using testing::NextTensors;
using testing::start;

TransformerOptions small_options() {
  TransformerOptions options;
  options.source_vocab_size = options.target_vocab_size = 45;
  options.num_encoder_layers = 2;
  options.num_decoder_layers = 2;
  options.d_model = 24;
  options.num_heads = 2;
  options.d_ff = 40;
  return options;
}

// Biases and norms are not left at what they start with.
Transformer random_transformer(const TransformerOptions& options, uint64_t seed) {
  torch::manual_seed(seed);
  Transformer transformer(options);
  const torch::NoGradGuard no_grad;
  for (auto& parameter : transformer->parameters())
    if (parameter.dim() == 1) parameter.add_(torch::randn_like(parameter) * 0.3);
  transformer->eval();
  return transformer;
}

std::vector<Ids> some_sources(int64_t vocabulary, size_t count) {
  std::mt19937 engine(3);
  std::vector<Ids> sources;
  for (size_t i = 0; i < count; ++i) {
    Ids ids(i == 1 ? 0 : engine() % 20);
    for (auto& id : ids) id = special_ids::kCount + static_cast<int64_t>(engine() % (vocabulary - special_ids::kCount));
    sources.push_back(std::move(ids));
  }
  return sources;
}

// The logits of a batch, step by step, when it is led along a fixed road of ids and selections.
struct Road {
  std::vector<torch::Tensor> logits, attention;
};
Road walk(const StepModel& model, const std::vector<Ids>& sources, int64_t vocabulary, AttentionChoice attention = {},
          const std::vector<Ids>& shortlists = {}) {
  const auto batch = start(model, sources, attention, shortlists);
  auto sentences = static_cast<int64_t>(sources.size());
  int64_t beam = 1;
  Road road;
  for (int64_t step = 0; step < 40; ++step) {
    torch::Tensor ids = torch::full({sentences, beam}, special_ids::kBegin, torch::kLong);
    if (step > 0)
      ids = special_ids::kCount + (torch::arange(sentences * beam, torch::kLong) * 7 + step)
                                      .remainder(vocabulary - special_ids::kCount)
                                      .view({sentences, beam});
    const NextTensors next = batch->step(ids);
    road.logits.push_back(next.logits.clone());
    if (next.attention.defined()) road.attention.push_back(next.attention.clone());
    // A sentence leaves now and then; hypotheses change places and double.
    std::vector<int64_t> staying, parents;
    for (int64_t b = 0; b < sentences; ++b)
      if (step % 9 != 4 || sentences == 1 || b != step % sentences) staying.push_back(b);
    for (const int64_t b : staying)
      for (int64_t n = 0; n < 3; ++n)
        parents.push_back(b * beam + (step % 2 == 0 ? n / 2 : beam - 1 - n % beam) % beam);
    batch->select(torch::tensor(staying, torch::kLong), torch::tensor(parents, torch::kLong));
    sentences = static_cast<int64_t>(staying.size());
    beam = 3;
  }
  return road;
}

void expect_close(const Road& found, const Road& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(found.logits.size(), expected.logits.size());
  ASSERT_EQ(found.attention.size(), expected.attention.size());
  for (size_t i = 0; i < found.logits.size(); ++i) {
    ASSERT_EQ(found.logits[i].sizes(), expected.logits[i].sizes());
    const double error = (found.logits[i] - expected.logits[i]).abs().max().item<double>();
    ASSERT_LE(error, tolerance) << what << ", step " << i;
  }
  for (size_t i = 0; i < found.attention.size(); ++i)
    ASSERT_TRUE(torch::allclose(found.attention[i], expected.attention[i], 1e-4, 1e-5)) << what << ", step " << i;
}

std::vector<std::pair<std::string, TransformerOptions>> all_options() {
  std::vector<std::pair<std::string, TransformerOptions>> all;
  for (const NormPosition norm : {NormPosition::post, NormPosition::pre, NormPosition::deep})
    for (const EmbeddingTying tying : {EmbeddingTying::all, EmbeddingTying::target_output, EmbeddingTying::none})
      for (const PositionalEncodingKind positions :
           {PositionalEncodingKind::sinusoidal, PositionalEncodingKind::learned})
        for (const ScoreFunction function : {ScoreFunction::scaled_dot_product, ScoreFunction::dot_product})
          for (const bool other_widths : {false, true}) {
            TransformerOptions options = small_options();
            options.norm_position = norm;
            options.embedding_tying = tying;
            options.positional_encoding = positions;
            options.score_function = function;
            options.max_positions = 41;  // fewer than 42 sinusoids: the others are computed
            if (other_widths) {
              options.d_k = 5;
              options.d_v = 19;
              options.num_heads = 3;
              options.num_encoder_layers = 1;
            }
            if (tying != EmbeddingTying::all) options.target_vocab_size = 61;
            all.emplace_back("norm " + std::to_string(static_cast<int>(norm)) + ", tying " +
                                 std::to_string(static_cast<int>(tying)) + ", positions " +
                                 std::to_string(static_cast<int>(positions)) + ", function " +
                                 std::to_string(static_cast<int>(function)) + (other_widths ? ", other widths" : ""),
                             options);
          }
  return all;
}

// The switches of other programs' models, each beside others.
std::vector<std::pair<std::string, TransformerOptions>> switched_options() {
  std::vector<std::pair<std::string, TransformerOptions>> all;
  for (const Activation activation :
       {Activation::swish, Activation::gelu, Activation::gelu_tanh, Activation::gelu_sigmoid}) {
    TransformerOptions options = small_options();
    options.activation = activation;
    options.attention_bias = activation != Activation::gelu;
    options.output_bias = activation != Activation::gelu_tanh;
    options.embedding_norm = activation != Activation::swish;
    options.embedding_scale = activation != Activation::gelu_sigmoid;
    options.source_end = activation != Activation::gelu && activation != Activation::gelu_tanh;
    options.source_begin = activation == Activation::gelu_tanh || activation == Activation::gelu_sigmoid;
    options.norm_position = activation == Activation::swish ? NormPosition::post : NormPosition::pre;
    options.positional_encoding =
        activation == Activation::gelu ? PositionalEncodingKind::learned : PositionalEncodingKind::sinusoidal;
    options.sinusoids = {PositionLayout::halves, PositionFrequencies::tensor2tensor, 2};
    options.max_positions = activation == Activation::gelu ? 60 : 3;  // sinusoids beyond are computed
    all.emplace_back("activation " + std::to_string(static_cast<int>(activation)), options);
  }
  for (const NormPosition norm : {NormPosition::post, NormPosition::pre, NormPosition::deep}) {
    TransformerOptions options = small_options();
    options.decoder_self_attention = DecoderSelfAttention::ssru;
    options.norm_position = norm;
    all.emplace_back("SSRU, norm " + std::to_string(static_cast<int>(norm)), options);
  }
  return all;
}

// The plain path is LibTorch's operations on the module itself.
TEST(InferenceModel, SaysWhatThePlainPathSaysForEveryOption) {
  auto every = all_options();
  for (auto& switched : switched_options()) every.push_back(std::move(switched));
  for (const auto& [name, options] : every) {
    const Transformer transformer = random_transformer(options, 1);
    const auto sources = some_sources(options.source_vocab_size, 6);
    const TransformerStepModel plain(transformer, torch::kCPU);
    const InferenceModel model(weights_of(transformer), Precision::float32);
    expect_close(walk(model, sources, options.target_vocab_size, {true}),
                 walk(plain, sources, options.target_vocab_size, {true}), 2e-3, name);
  }
}

void expect_the_same_bits(const Road& found, const Road& wanted, const std::string& name) {
  for (size_t i = 0; i < wanted.logits.size(); ++i)
    ASSERT_TRUE(torch::equal(found.logits[i], wanted.logits[i])) << name << ", step " << i;
}

TEST(InferenceModel, TakesWeightsThatAreInt8AlreadyAsTheyAre) {
  for (const auto& [name, options] : all_options()) {
    const auto sources = some_sources(options.source_vocab_size, 6);
    const auto road = [&](const Weights& weights, Precision precision) {
      return walk(InferenceModel(weights, precision), sources, options.target_vocab_size, {true});
    };
    const Weights original = weights_of(random_transformer(options, 1));
    const Weights in_int8 = original.stored_as(Precision::int8), expanded = in_int8.stored_as(Precision::float32);
    EXPECT_TRUE(in_int8.is_int8("decoder.layers.0.feed_forward.inner.weight"));
    expect_the_same_bits(road(in_int8, Precision::int8), road(original, Precision::int8), name);
    expect_the_same_bits(road(in_int8, Precision::float32), road(expanded, Precision::float32), name);
  }
}

TEST(InferenceModel, LeavesTheWeightsWhereTheyAreOrTakesThem) {
  ThreadPool threads(3);
  for (const auto& [name, options] : all_options())
    for (const Precision precision : {Precision::int8, Precision::float32}) {
      Weights weights = weights_of(random_transformer(options, 1)).stored_as(precision);
      const std::weak_ptr<const void> matrix = weights.numbers("encoder.layers.0.self_attention.query.weight").memory();
      std::vector<Array> before;
      for (const auto& [parameter, array] : weights.arrays()) before.push_back(array.copy());

      const InferenceModel copied(weights, precision);
      size_t i = 0;
      for (const auto& [parameter, array] : weights.arrays()) ASSERT_TRUE(array.equals(before[i++])) << parameter;
      EXPECT_FALSE(matrix.expired());

      const InferenceModel taken(std::exchange(weights, {}), precision, threads.parallel_for(), WeightUse::taken);
      EXPECT_TRUE(matrix.expired()) << name;
      const auto sources = some_sources(options.source_vocab_size, 3);
      expect_the_same_bits(walk(taken, sources, options.target_vocab_size, {true}),
                           walk(copied, sources, options.target_vocab_size, {true}), name);
    }
}

TEST(StepModels, SayTheSameOfTheTokensOfShortlistsAsOfAll) {
  const TransformerOptions options = small_options();
  const Transformer transformer = random_transformer(options, 1);
  // The engine joins the lists of some adjacent sentences: enough for several groups, the last one smaller.
  const auto sources = some_sources(options.source_vocab_size, 20);
  std::vector<Ids> shortlists;
  for (size_t b = 0; b < sources.size(); ++b) {
    shortlists.emplace_back();
    for (int64_t token = 0; token < options.target_vocab_size; token += 1 + static_cast<int64_t>(b))
      shortlists.back().push_back(token);
  }
  std::vector<std::pair<std::string, std::shared_ptr<const StepModel>>> models{
      {"plain", std::make_shared<TransformerStepModel>(transformer, torch::kCPU)}};
  for (const auto precision : {Precision::float32, Precision::bfloat16, Precision::int8})
    models.emplace_back(precision_name(precision),
                        std::make_shared<InferenceModel>(weights_of(transformer), precision));
  for (const auto& [name, model] : models) {
    // Sentences leave: the last one, which has the shortest list, alone at the end.
    for (const size_t stays : {size_t{0}, sources.size() - 1}) {
      const auto all = start(*model, sources), some = start(*model, sources, {}, shortlists);
      std::vector<size_t> sentences(sources.size());
      std::iota(sentences.begin(), sentences.end(), size_t{0});
      for (int64_t step = 0; step < 3; ++step) {
        const auto count = static_cast<int64_t>(sentences.size());
        const torch::Tensor ids = torch::full({count, step == 0 ? 1 : 2}, 4 + step, torch::kLong);
        const torch::Tensor expected = all->step(ids).logits, found = some->step(ids).logits;
        int64_t longest = 0;
        for (int64_t b = 0; b < count; ++b) {
          const Ids& list = shortlists[sentences[static_cast<size_t>(b)]];
          const auto width = static_cast<int64_t>(list.size());
          longest = std::max(longest, width);
          ASSERT_TRUE(torch::equal(found[b].slice(1, 0, width), expected[b].index_select(1, torch::tensor(list))))
              << name << ", step " << step;
          ASSERT_TRUE(torch::isneginf(found[b].slice(1, width)).all().item<bool>());
        }
        if (name != "plain") {
          ASSERT_EQ(found.size(2), longest);
        }
        if (step == 1) sentences = {stays};
        std::vector<int64_t> kept, parents;
        for (size_t b = 0; b < sentences.size(); ++b) {
          kept.push_back(step == 1 ? static_cast<int64_t>(stays) : static_cast<int64_t>(b));
          for (int i = 0; i < 2; ++i) parents.push_back(kept.back() * ids.size(1));
        }
        for (auto* batch : {all.get(), some.get()}) batch->select(torch::tensor(kept), torch::tensor(parents));
      }
    }
    for (const int64_t token : {int64_t{-1}, options.target_vocab_size})
      EXPECT_THAT(message_of<std::invalid_argument>([&, m = model] { m->start({{4}}, {}, {{token}}); }),
                  HasSubstr("is not in the model's vocabulary"));
  }
}

// And continues afterwards with sentences that leave and hypotheses that become more.
void expect_that_many_at_once_are_as_one_by_one(const StepModel& model, const std::vector<Ids>& sources,
                                                int64_t vocabulary, bool with_source, bool bit_for_bit,
                                                const std::string& name) {
  const auto same = [&](const torch::Tensor& a, const torch::Tensor& b) {
    return a.sizes() == b.sizes() && (bit_for_bit ? torch::equal(a, b) : torch::allclose(a, b, 1e-4, 1e-4));
  };
  const auto count = static_cast<int64_t>(sources.size());
  torch::manual_seed(5);
  const torch::Tensor ids = torch::randint(special_ids::kCount, vocabulary, {count, 70}, torch::kLong);
  std::vector<Ids> shortlists;
  for (int64_t b = 0; b < count; ++b) {
    shortlists.emplace_back();
    for (int64_t token = 0; token < vocabulary; token += 1 + b % 3) shortlists.back().push_back(token);
  }
  for (const bool with_shortlists : {false, true}) {
    const AttentionChoice attention{with_source, 1, 0};
    const std::vector<Ids> lists = with_shortlists ? shortlists : std::vector<Ids>();
    const auto one_by_one = start(model, sources, attention, lists), together = start(model, sources, attention, lists);
    int64_t begin = 0;
    for (const int64_t positions : {31, 1, 5, 33}) {
      const NextTensors found = together->extend(ids.slice(1, begin, begin + positions));
      for (int64_t t = 0; t < positions; ++t) {
        const NextTensors expected = one_by_one->step(ids.slice(1, begin + t, begin + t + 1));
        ASSERT_TRUE(same(found.logits.slice(1, t, t + 1), expected.logits)) << name << ", position " << begin + t;
        ASSERT_EQ(found.attention.defined(), with_source);
        if (with_source) {
          ASSERT_TRUE(same(found.attention.slice(1, t, t + 1), expected.attention)) << name;
        }
      }
      begin += positions;
    }
    const torch::Tensor kept = torch::tensor({int64_t{0}, count - 1});
    const torch::Tensor parents = torch::tensor({int64_t{0}, int64_t{0}, count - 1, count - 1});
    for (auto* batch : {one_by_one.get(), together.get()}) batch->select(kept, parents);
    const torch::Tensor next = torch::tensor({{4, 5}, {6, 7}}, torch::kLong);
    ASSERT_TRUE(same(together->step(next).logits, one_by_one->step(next).logits)) << name;
    EXPECT_ANY_THROW(together->extend(next)) << "more than one hypothesis";
  }
}

// More sentences than have their logits computed together.
TEST(InferenceModel, HasTheSameLogitsInWhateverOrderRowsAreAskedFor) {
  const TransformerOptions options = small_options();
  Transformer transformer(options);
  std::vector<Ids> sources;
  while (sources.size() < 300)
    for (const Ids& source : some_sources(options.source_vocab_size, 20)) sources.push_back(source);
  for (const bool with_shortlists : {false, true}) {
    const std::vector<Ids> shortlists(with_shortlists ? sources.size() : 0, Ids{3, 4, 7, 9});
    for (const auto precision : {Precision::float32, Precision::int8}) {
      const InferenceModel model(weights_of(transformer), precision);
      const auto batch = model.start(sources, {}, shortlists);
      const NextToken next = batch->step(Ids(sources.size(), special_ids::kBegin), 1);
      std::vector<std::vector<float>> forward;
      const auto rows = static_cast<int64_t>(sources.size());
      for (int64_t row = 0; row < rows; ++row) forward.emplace_back(next.logits(row), next.logits(row) + next.columns);
      for (int64_t row = rows - 1; row >= 0; --row) {
        ASSERT_TRUE(
            std::equal(next.logits(row), next.logits(row) + next.columns, forward[static_cast<size_t>(row)].begin()))
            << precision_name(precision) << ", row " << row;
      }
      for (size_t row = 0; row < forward.size(); ++row) {
        const auto alone =
            model.start({sources[row]}, {}, with_shortlists ? std::vector<Ids>{shortlists[row]} : shortlists);
        const NextToken own = alone->step({special_ids::kBegin}, 1);
        ASSERT_EQ(std::vector<float>(own.logits(0), own.logits(0) + own.columns), forward[row]);
      }
    }
  }
}

TEST(StepModels, TakeManyTokensAtOnceAsOneAfterTheOther) {
  using Kind = std::pair<Architecture, DecoderSelfAttention>;
  for (const auto& [architecture, self_attention] :
       {Kind{Architecture::encoder_decoder, DecoderSelfAttention::attention},
        Kind{Architecture::encoder_decoder, DecoderSelfAttention::ssru},
        Kind{Architecture::decoder_only, DecoderSelfAttention::attention}})
    for (const NormPosition norm : {NormPosition::post, NormPosition::pre, NormPosition::deep}) {
      TransformerOptions options = small_options();
      options.architecture = architecture;
      options.decoder_self_attention = self_attention;
      options.norm_position = norm;
      const bool with_source = architecture == Architecture::encoder_decoder;
      if (!with_source) options.num_encoder_layers = 0;
      const Transformer transformer = random_transformer(options, 1);
      const auto sources = some_sources(options.source_vocab_size, 4);
      const auto check = [&](const StepModel& model, bool bit_for_bit, const std::string& name) {
        expect_that_many_at_once_are_as_one_by_one(model, sources, options.target_vocab_size, with_source, bit_for_bit,
                                                   name);
      };
      const auto plain = std::make_shared<TransformerStepModel>(transformer, torch::kCPU);
      check(*plain, false, "plain");
      std::vector<std::shared_ptr<const StepModel>> members{plain};
      for (const Simd level : kernels::available_simd())
        for (const auto precision : {Precision::float32, Precision::bfloat16, Precision::int8}) {
          const SimdLimit limit(level);
          members.push_back(std::make_shared<InferenceModel>(weights_of(transformer), precision));
          check(*members.back(), true, precision_name(precision));
        }
      check(EnsembleStepModel(members), false, "ensemble");
    }
}

TEST(InferenceModel, ReturnsTheAttentionOfAnyLayerAndHead) {
  TransformerOptions options = small_options();
  options.num_decoder_layers = 3;
  const Transformer transformer = random_transformer(options, 4);
  const auto sources = some_sources(options.source_vocab_size, 3);
  const TransformerStepModel plain(transformer, torch::kCPU);
  const InferenceModel model(weights_of(transformer), Precision::float32);
  const auto attention = [&](const StepModel& of, AttentionChoice choice) {
    return start(of, sources, choice)->step(torch::full({3, 1}, special_ids::kBegin, torch::kLong)).attention;
  };
  for (int64_t layer = 0; layer <= 3; ++layer) {
    torch::Tensor sum;
    for (int64_t head = 1; head <= options.num_heads; ++head) {
      const torch::Tensor found = attention(model, {true, layer, head});
      EXPECT_TRUE(torch::allclose(found, attention(plain, {true, layer, head}), 0, 1e-5)) << layer << ", " << head;
      sum = sum.defined() ? sum + found : found;
    }
    const torch::Tensor mean = attention(model, {true, layer, 0});
    EXPECT_TRUE(torch::allclose(mean * options.num_heads, sum, 0, 1e-5));
    EXPECT_EQ(torch::equal(mean, attention(model, {true})), layer == 0 || layer == 3) << "the last by default";
  }
  for (const AttentionChoice& none : {AttentionChoice{true, 4, 0}, {true, 0, options.num_heads + 1}, {true, -1, 0}}) {
    EXPECT_THAT(message_of<std::invalid_argument>([&] { model.start(sources, none, {}); }), HasSubstr("the model has"));
    EXPECT_THAT(message_of<std::invalid_argument>([&] { plain.start(sources, none, {}); }), HasSubstr("the model has"));
  }
}

TEST(InferenceModel, IsCloseInEachPrecisionAndWithAllInstructions) {
  auto every = switched_options();  // of other programs
  every.emplace_back("small", small_options());
  for (const auto& [name, options] : every) {
    const Transformer transformer = random_transformer(options, 2);
    const auto sources = some_sources(options.source_vocab_size, 5);
    const Road expected = walk(TransformerStepModel(transformer, torch::kCPU), sources, options.target_vocab_size);
    for (const Simd level : kernels::available_simd())
      for (const auto& [precision, tolerance] :
           {std::pair{Precision::float32, 2e-3}, {Precision::bfloat16, 0.25}, {Precision::int8, 0.5}}) {
        const SimdLimit limit(level);
        const InferenceModel model(weights_of(transformer), precision);
        expect_close(walk(model, sources, options.target_vocab_size), expected, tolerance,
                     name + ", " + precision_name(precision) + ", instructions " + kernels::simd_name(level));
      }
  }
}

void expect_the_same_bits_alone_and_together(const TransformerOptions& options) {
  const Transformer transformer = random_transformer(options, 3);
  const auto sources = some_sources(options.source_vocab_size, 40);
  SearchOptions search;
  search.max_extra_length = 10;
  search.num_hypotheses = 3;
  for (const Simd level : kernels::available_simd())
    for (const Precision precision : {Precision::float32, Precision::bfloat16, Precision::int8}) {
      const SimdLimit limit(level);
      const InferenceModel model(weights_of(transformer), precision);
      const auto together = beam_search(model, sources, search);
      for (size_t i = 0; i < sources.size(); ++i) {
        const auto alone = beam_search(model, {sources[i]}, search).at(0);
        ASSERT_EQ(alone.size(), together[i].size());
        for (size_t h = 0; h < alone.size(); ++h) {
          ASSERT_EQ(alone[h].ids, together[i][h].ids) << precision_name(precision) << ", " << kernels::simd_name(level);
          ASSERT_EQ(alone[h].log_probability, together[i][h].log_probability);
        }
      }
    }
}

TEST(InferenceModel, GivesASentenceTheSameBitsAmongAnyOthers) {
  TransformerOptions options = small_options();
  options.d_model = 64;
  expect_the_same_bits_alone_and_together(options);
}

TEST(InferenceModel, GivesASentenceTheSameBitsWithTheSwitchesOfOtherPrograms) {
  for (auto& [name, options] : switched_options()) {
    SCOPED_TRACE(name);
    TransformerOptions odd = options;
    odd.d_ff = 37;  // no multiple of a vector's width
    expect_the_same_bits_alone_and_together(odd);
  }
}

TEST(InferenceModel, KeepsItsWeightsWhenTheTransformerChanges) {
  const TransformerOptions options = small_options();
  const Transformer transformer = random_transformer(options, 4);
  const auto sources = some_sources(options.source_vocab_size, 3);
  const InferenceModel model(weights_of(transformer), Precision::float32);
  const Road before = walk(model, sources, options.target_vocab_size);
  {
    const torch::NoGradGuard no_grad;
    for (auto& parameter : transformer->parameters()) parameter.zero_();
  }
  expect_close(walk(model, sources, options.target_vocab_size), before, 0, "after the change");
}

TEST(InferenceModel, RefusesWhatItDoesNotKnow) {
  TransformerOptions options = small_options();
  options.score_function = ScoreFunction::additive;
  EXPECT_THAT(InferenceModel::slow_reason(options), HasSubstr("score_function"));
  const Transformer transformer = random_transformer(options, 5);
  EXPECT_THAT(message_of<std::invalid_argument>([&] { InferenceModel(weights_of(transformer), Precision::int8); }),
              HasSubstr("score_function"));
}

TEST(InferenceModel, NamesAPositionBeyondTheLearnedOnes) {
  TransformerOptions options = small_options();
  options.positional_encoding = PositionalEncodingKind::learned;
  options.max_positions = 4;
  const InferenceModel model(weights_of(random_transformer(options, 6)), Precision::float32);
  EXPECT_THAT(message_of<std::invalid_argument>([&] {
                model.start({{4, 5, 6, 7}}, {}, {});
              }),
              HasSubstr("beyond the 4 learned positions"));
  EXPECT_NO_THROW(model.start({{4, 5, 6}}, {}, {}));
}

}  // namespace
}  // namespace transmute
