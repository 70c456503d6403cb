// SPDX-License-Identifier: Apache-2.0
// The exported TorchScript module against the C++ module and its search: same weights in, same numbers and ids out.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/script.h>
#include <transmute/libtorch/libtorch.h>

#include <cmath>
#include <limits>
#include <sstream>
#include <tuple>

#include <transmute/device/transformer_step_model.h>
#include <transmute/export/script_transformer.h>
#include <transmute/tests/support/default_dtype.h>
#include <transmute/tests/support/tensors.h>
#include <transmute/translation/translator.h>

namespace transmute {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::largest_difference;
using testing::random_ids;
using testing::randomize_parameters;
using ::testing::SizeIs;

// The order of operations is the same, but the script's may be fused, and each rounds at 6e-8.
constexpr double kTolerance = 1e-5;
constexpr double kSumTolerance = 1e-4;  // of a dozen log-probabilities

TransformerOptions small_options() {
  TransformerOptions options;
  options.source_vocab_size = options.target_vocab_size = 23;
  options.num_encoder_layers = 2;
  options.num_decoder_layers = 3;
  options.d_model = 16;
  options.num_heads = 2;
  options.d_ff = 24;
  return options;
}

struct Variant {
  std::string name;
  TransformerOptions options;
};
void PrintTo(const Variant& variant, std::ostream* stream) {
  *stream << variant.name;
}

// Each value of each option in at least one network: compiling a network takes seconds.
std::vector<Variant> variants() {
  std::vector<Variant> all{{"the_paper", small_options()}};
  const auto add = [&](const std::string& name, const std::function<void(TransformerOptions&)>& change) {
    all.push_back({name, small_options()});
    change(all.back().options);
  };
  add("dot_product_and_few_sinusoids", [](auto& o) {
    o.score_function = ScoreFunction::dot_product;
    o.max_positions = 3;
  });
  add("bilinear_and_deep_norm", [](auto& o) {
    o.score_function = ScoreFunction::bilinear;
    o.norm_position = NormPosition::deep;
    o.num_encoder_layers = 3;  // another scale than the decoder's
  });
  add("uniform_and_target_output_tying", [](auto& o) {
    o.score_function = ScoreFunction::uniform;
    o.embedding_tying = EmbeddingTying::target_output;
    o.source_vocab_size = 19;
  });
  add("free_widths", [](auto& o) {
    o.d_k = 5;
    o.d_v = 7;
    o.num_heads = 3;
  });
  add("everything_else", [](auto& o) {
    o.score_function = ScoreFunction::additive;
    o.norm_position = NormPosition::pre;
    o.positional_encoding = PositionalEncodingKind::learned;
    o.max_positions = 40;
    o.embedding_tying = EmbeddingTying::none;
    o.source_vocab_size = 29;
    o.d_k = 6;
    o.d_v = 3;
    o.num_encoder_layers = 1;
    o.num_decoder_layers = 1;
    o.norm_epsilon = 1e-3;
  });
  add("swish_halves_and_biases", [](auto& o) {
    o.activation = Activation::swish;
    o.sinusoids.layout = PositionLayout::halves;
    o.attention_bias = o.output_bias = true;
  });
  add("gelu_embedding_norm_and_output_bias", [](auto& o) {
    o.activation = Activation::gelu;
    o.norm_position = NormPosition::pre;
    o.embedding_norm = o.output_bias = true;
    o.embedding_tying = EmbeddingTying::none;
  });
  add("gelu_tanh_and_few_sinusoids_of_fairseq", [](auto& o) {
    o.activation = Activation::gelu_tanh;
    o.sinusoids = {PositionLayout::halves, PositionFrequencies::tensor2tensor, 2};
    o.max_positions = 3;
    o.embedding_scale = false;
  });
  add("ssru", [](auto& o) { o.decoder_self_attention = DecoderSelfAttention::ssru; });
  add("ssru_and_pre_norm", [](auto& o) {
    o.decoder_self_attention = DecoderSelfAttention::ssru;
    o.norm_position = NormPosition::pre;
    o.num_decoder_layers = 1;
  });
  add("no_source_end", [](auto& o) { o.source_end = false; });
  add("source_begin", [](auto& o) { o.source_begin = true; });
  add("source_begin_and_no_source_end", [](auto& o) {
    o.source_begin = true;
    o.source_end = false;
  });
  add("gelu_sigmoid_and_attention_bias", [](auto& o) {
    o.activation = Activation::gelu_sigmoid;
    o.attention_bias = true;
    o.sinusoids.frequencies = PositionFrequencies::tensor2tensor;
    o.max_positions = 3;
  });
  return all;
}

torch::jit::Module saved_and_loaded(const torch::jit::Module& module) {
  std::stringstream file;
  module.save(file);
  return torch::jit::load(file);
}

torch::jit::Module frozen(const torch::jit::Module& module) {
  return torch::jit::freeze(
      module, std::vector<std::string>{"translate", "greedy", "encode", "start_decoding", "decode_step", "select"});
}

// A Hypothesis of the script.
struct ScriptHypothesis {
  Ids ids;
  double score;
  double log_probability;
  torch::Tensor alignment;
};

c10::IValue ids_list(const std::vector<Ids>& rows) {
  c10::List<c10::List<int64_t>> list;
  for (const auto& row : rows) list.push_back(c10::List<int64_t>(row));
  return list;
}

std::vector<std::vector<ScriptHypothesis>> translate(torch::jit::Module module, const std::vector<Ids>& sources,
                                                     const SearchOptions& options, int64_t batch_size = 64) {
  const torch::NoGradGuard no_grad;
  const c10::IValue result =
      module.get_method("translate")({ids_list(sources)}, {{"beam_size", options.beam_size},
                                                           {"num_hypotheses", options.num_hypotheses},
                                                           {"length_alpha", options.length_alpha},
                                                           {"max_extra_length", options.max_extra_length},
                                                           {"batch_size", batch_size}});
  std::vector<std::vector<ScriptHypothesis>> found;
  for (const c10::IValue& list : result.toListRef()) {
    found.emplace_back();
    for (const c10::IValue& hypothesis : list.toListRef()) {
      const auto& fields = hypothesis.toTupleRef().elements();
      found.back().push_back(
          {fields[0].toIntVector(), fields[1].toDouble(), fields[2].toDouble(), fields[3].toTensor()});
    }
  }
  return found;
}

std::vector<Ids> greedy(torch::jit::Module module, const std::vector<Ids>& sources, int64_t max_extra_length) {
  const torch::NoGradGuard no_grad;
  const c10::IValue result = module.get_method("greedy")({ids_list(sources), max_extra_length});
  std::vector<Ids> found;
  for (const c10::IValue& ids : result.toListRef()) found.push_back(ids.toIntVector());
  return found;
}

// The longest first, which is the order of batches.
std::vector<Ids> some_sources(const TransformerOptions& options) {
  std::vector<Ids> sources;
  for (const int64_t length : {7, 6, 6, 5, 4, 2, 1, 0, 0}) {
    const torch::Tensor ids = random_ids({length}, options.source_vocab_size, 50 + sources.size());
    sources.emplace_back(ids.data_ptr<int64_t>(), ids.data_ptr<int64_t>() + length);
  }
  return sources;
}

// The native search, batch by batch.
std::vector<std::vector<IdHypothesis>> search_natively(const Transformer& transformer, const std::vector<Ids>& sources,
                                                       const SearchOptions& options, int64_t batch_size = 64) {
  std::vector<std::vector<IdHypothesis>> found;
  for (size_t first = 0; first < sources.size(); first += static_cast<size_t>(batch_size)) {
    const size_t last = std::min(sources.size(), first + static_cast<size_t>(batch_size));
    const std::vector<Ids> batch(sources.begin() + static_cast<int64_t>(first),
                                 sources.begin() + static_cast<int64_t>(last));
    for (auto& best : beam_search(TransformerStepModel(transformer, torch::kCPU), batch, options))
      found.push_back(std::move(best));
  }
  return found;
}

// The largest difference from a native alignment.
double alignment_difference(const torch::Tensor& script, const std::vector<std::vector<float>>& native) {
  if (script.size(0) != static_cast<int64_t>(native.size())) return 1;
  double largest = 0;
  for (size_t t = 0; t < native.size(); ++t)
    largest = std::max(largest, largest_difference(script[static_cast<int64_t>(t)], torch::tensor(native[t])));
  return largest;
}

// True if the script's n-th hypothesis is the native one. Where random networks find two equally good but for rounding,
// they may have changed places, or one of them have fallen off the end of the list.
::testing::AssertionResult is_the_same(const ScriptHypothesis& script, const std::vector<IdHypothesis>& native,
                                       size_t n) {
  if (std::abs(script.score - native[n].score) > kSumTolerance)
    return ::testing::AssertionFailure() << "score " << script.score << ", not " << native[n].score;
  for (const auto& candidate : native) {
    if (candidate.ids != script.ids) continue;
    if (std::abs(script.score - candidate.score) > kSumTolerance ||
        std::abs(script.log_probability - candidate.log_probability) > kSumTolerance)
      return ::testing::AssertionFailure() << "other scores than its native twin's";
    const double off = alignment_difference(script.alignment, candidate.alignment);
    if (off > kTolerance) return ::testing::AssertionFailure() << "alignment differs by " << off;
    return ::testing::AssertionSuccess();
  }
  if (std::abs(script.score - native.back().score) <= kSumTolerance) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << ::testing::PrintToString(script.ids) << ", not "
                                       << ::testing::PrintToString(native[n].ids);
}

// A network whose next token depends on the position and on what came before. (With large embeddings that are the
// output's too, each token follows itself: hypotheses are the same but for the place of a token, and equally good.)
Transformer random_transformer(const TransformerOptions& options) {
  Transformer transformer(options);
  randomize_parameters(*transformer, 7);
  transformer->eval();
  for (const auto& item : transformer->named_parameters()) {
    item.value().set_requires_grad(false);
    if (item.key().find("embedding") != std::string::npos) item.value().mul_(0.4);
  }
  return transformer;
}

class TorchScriptModule : public ::testing::TestWithParam<Variant> {
 protected:
  TorchScriptModule() : transformer(random_transformer(GetParam().options)) {
    static std::map<std::string, decltype(modules)> made;  // compiling takes longer than most tests
    auto& known = made[GetParam().name];
    if (known.empty()) {
      loaded = saved_and_loaded(torchscript::script_transformer(transformer, torch::kFloat));
      known = {{"loaded", loaded}, {"frozen", frozen(loaded)}};
    }
    modules = known;
    loaded = modules.front().second;
  }

  const torch::NoGradGuard no_grad;
  const TransformerOptions options = GetParam().options;
  Transformer transformer;
  torch::jit::Module loaded;
  std::vector<std::pair<std::string, torch::jit::Module>> modules;
};

TEST_P(TorchScriptModule, NamesItsParametersAsTheCppModule) {
  std::map<std::string, torch::Tensor> expected;
  for (const auto& item : transformer->named_parameters()) expected[item.key()] = item.value();
  size_t count = 0;
  for (const auto& item : loaded.named_parameters()) {
    ASSERT_EQ(expected.count(item.name), 1U) << item.name;
    EXPECT_TRUE(torch::equal(item.value, expected[item.name])) << item.name;
    ++count;
  }
  EXPECT_EQ(count, expected.size());
}

TEST_P(TorchScriptModule, GivesTheSameLogits) {
  torch::Tensor source = random_ids({3, 6}, options.source_vocab_size, 1);
  source[1].slice(0, 4, 6).fill_(options.padding_id);
  const torch::Tensor target = random_ids({3, 5}, options.target_vocab_size, 2);
  EXPECT_LT(largest_difference(loaded.forward({source, target}).toTensor(), transformer->forward(source, target)),
            kTolerance);
}

TEST_P(TorchScriptModule, StepsAsTheCppModuleDoes) {
  torch::Tensor source = random_ids({3, 6}, options.source_vocab_size, 3);
  source[2].slice(0, 2, 6).fill_(options.padding_id);
  const EncodedSource encoded = transformer->encode(source);
  DecoderCache cache = transformer->start_decoding(encoded);
  for (auto& [how, module] : modules) {
    SCOPED_TRACE(how);
    c10::IValue script_encoded = module.get_method("encode")({source});
    EXPECT_LT(largest_difference(script_encoded.toTupleRef().elements()[0].toTensor(), encoded.memory), kTolerance);
    EXPECT_TRUE(torch::equal(script_encoded.toTupleRef().elements()[1].toTensor(), encoded.mask));
    c10::IValue script_cache = module.get_method("start_decoding")({script_encoded});
    DecoderCache native_cache = cache;
    int64_t sentences = 3;
    int64_t beam = 1;
    for (uint64_t t = 0; t < 4; ++t) {
      const torch::Tensor ids = random_ids({sentences, beam}, options.target_vocab_size, 10 + t);
      const DecoderStep native = transformer->step(ids, native_cache, ReturnWeights::yes);
      const c10::IValue script = module.get_method("decode_step")({ids, script_cache});
      const auto& fields = script.toTupleRef().elements();
      EXPECT_LT(largest_difference(fields[0].toTensor(), torch::log_softmax(transformer->project(native.states), -1)),
                kTolerance);
      const torch::Tensor weights = native.cross_weights.back().mean(1).slice(-1, options.source_begin ? 1 : 0);
      EXPECT_LT(largest_difference(fields[1].toTensor(), weights), kTolerance);

      // The second sentence leaves, each of the others continues with two hypotheses, in turned order.
      const torch::Tensor kept = sentences == 3 ? torch::tensor({0, 2}) : torch::tensor({0, 1});
      const torch::Tensor parents = sentences == 3 ? torch::tensor({0, 0, 2, 2}) : torch::tensor({1, 0, 2, 3});
      native_cache = native.cache.select(sentences == 3 ? kept : torch::Tensor(), parents);
      script_cache = module.get_method("select")({fields[2], kept, parents});
      sentences = 2;
      beam = 2;
    }
  }
}

TEST_P(TorchScriptModule, FindsTheIdsOfTheNativeSearch) {
  const std::vector<Ids> sources = some_sources(options);
  SearchOptions search;
  search.max_extra_length = 8;
  search.alignments = true;
  // beam_size, num_hypotheses, length_alpha
  for (const auto& [beam_size, num_hypotheses, alpha] :
       std::vector<std::tuple<int64_t, int64_t, double>>{{1, 1, 0.6}, {4, 1, 0.6}, {4, 4, 0.0}, {5, 3, 0.6}}) {
    search.beam_size = beam_size;
    search.num_hypotheses = num_hypotheses;
    search.length_alpha = alpha;
    for (const int64_t batch_size : {1, 4, 64}) {
      const auto native = search_natively(transformer, sources, search, batch_size);
      for (const auto& [how, module] : modules) {
        SCOPED_TRACE(how + ", beam " + std::to_string(beam_size) + ", batch " + std::to_string(batch_size));
        const auto script = translate(module, sources, search, batch_size);
        ASSERT_EQ(script.size(), native.size());
        for (size_t s = 0; s < native.size(); ++s) {
          ASSERT_EQ(script[s].size(), native[s].size());
          for (size_t n = 0; n < native[s].size(); ++n)
            EXPECT_TRUE(is_the_same(script[s][n], native[s], n)) << "sentence " << s << ", hypothesis " << n;
        }
      }
    }
  }
}

TEST_P(TorchScriptModule, KeepsTheOrderOfItsSources) {
  std::vector<Ids> sources = some_sources(options);
  std::reverse(sources.begin(), sources.end());
  SearchOptions search;
  search.max_extra_length = 5;
  const auto together = translate(loaded, sources, search, 2);
  for (size_t s = 0; s < sources.size(); ++s)
    EXPECT_EQ(together[s][0].ids, translate(loaded, {sources[s]}, search)[0][0].ids) << s;
}

TEST_P(TorchScriptModule, GreedySearchIsNativeSearchWithABeamOfOne) {
  const std::vector<Ids> sources = some_sources(options);
  SearchOptions search;
  search.beam_size = 1;
  search.max_extra_length = 8;
  const auto native = search_natively(transformer, sources, search);
  for (const auto& [how, module] : modules) {
    const std::vector<Ids> script = greedy(module, sources, search.max_extra_length);
    ASSERT_EQ(script.size(), native.size());
    for (size_t s = 0; s < native.size(); ++s) EXPECT_EQ(script[s], native[s].front().ids) << how;
  }
}

INSTANTIATE_TEST_SUITE_P(Options, TorchScriptModule, ::testing::ValuesIn(variants()),
                         [](const auto& info) { return info.param.name; });

// LibTorch has more than one type for what a script raises.
template <class Act>
std::string message_of_any(const Act& act) {
  try {
    act();
  } catch (const std::exception& error) {
    return error.what();
  }
  ADD_FAILURE() << "no exception was thrown";
  return "";
}

torch::jit::Module small_script(const TransformerOptions& options, torch::Dtype dtype = torch::kFloat) {
  return saved_and_loaded(torchscript::script_transformer(random_transformer(options), dtype));
}

TEST(TorchScriptSearch, HasTheDefaultsOfTheOptions) {
  const TranslationOptions options;
  const torch::jit::Module module = small_script(small_options());
  const auto default_of = [&](const char* method, const std::string& name) {
    for (const auto& argument : module.get_method(method).function().getSchema().arguments())
      if (argument.name() == name) return *argument.default_value();
    throw std::logic_error(name);
  };
  EXPECT_EQ(default_of("translate", "beam_size").toInt(), options.search.beam_size);
  EXPECT_EQ(default_of("translate", "num_hypotheses").toInt(), options.search.num_hypotheses);
  EXPECT_EQ(default_of("translate", "length_alpha").toDouble(), options.search.length_alpha);
  for (const char* method : {"translate", "greedy"}) {
    EXPECT_EQ(default_of(method, "max_extra_length").toInt(), options.search.max_extra_length);
    EXPECT_EQ(default_of(method, "batch_size").toInt(), options.batch_size);
    EXPECT_EQ(default_of(method, "batch_tokens").toInt(), options.batch_tokens);
  }
}

TEST(TorchScriptSearch, OfNoSourcesIsNothing) {
  EXPECT_THAT(translate(small_script(small_options()), {}, {}), IsEmpty());
}

TEST(TorchScriptSearch, SaysWhatIsWrongWithItsArguments) {
  const torch::jit::Module module = small_script(small_options());
  const auto refusal = [&](const std::vector<Ids>& sources, const std::function<void(SearchOptions&)>& change) {
    SearchOptions search;
    change(search);
    return message_of_any([&] { translate(module, sources, search); });
  };
  EXPECT_THAT(refusal({{5}}, [](auto& o) { o.beam_size = 0; }), HasSubstr("beam_size must be at least 1, not 0"));
  EXPECT_THAT(refusal({{5}}, [](auto& o) { o.num_hypotheses = 5; }),
              HasSubstr("num_hypotheses must lie between 1 and beam_size (4), not 5"));
  EXPECT_THAT(refusal({{5}}, [](auto& o) { o.length_alpha = -1; }),
              HasSubstr("length_alpha must lie between 0 and 10"));
  EXPECT_THAT(refusal({{5}}, [](auto& o) { o.length_alpha = std::nan(""); }),
              HasSubstr("length_alpha must lie between 0 and 10"));
  EXPECT_THAT(refusal({{5}}, [](auto& o) { o.max_extra_length = -1; }),
              HasSubstr("max_extra_length must be from 0 to 1000000, not -1"));
  EXPECT_THAT(refusal({{5}}, [](auto& o) { o.max_extra_length = std::numeric_limits<int64_t>::max(); }),
              HasSubstr("max_extra_length must be from 0 to 1000000"));
  EXPECT_THAT(refusal({{5}, {6, 23}}, [](auto&) {}), HasSubstr("source 1 holds id 23, outside the vocabulary of 23"));
}

TEST(TorchScriptSearch, FindsTheSameWhateverTheApplicationsDefaultTypeIs) {
  const torch::jit::Module module = small_script(small_options());
  const std::vector<Ids> sources = some_sources(small_options());
  SearchOptions search;
  search.num_hypotheses = 3;
  const auto expected = translate(module, sources, search);
  for (const torch::Dtype dtype : testing::kDefaultDtypes) {
    const testing::DefaultDtype of_the_application(dtype);
    const auto found = translate(module, sources, search);
    for (size_t s = 0; s < sources.size(); ++s)
      for (size_t n = 0; n < expected[s].size(); ++n) {
        EXPECT_EQ(found[s][n].ids, expected[s][n].ids) << dtype;
        EXPECT_EQ(found[s][n].score, expected[s][n].score) << dtype;
        EXPECT_EQ(found[s][n].log_probability, expected[s][n].log_probability) << dtype;
        EXPECT_TRUE(torch::equal(found[s][n].alignment, expected[s][n].alignment)) << dtype;
      }
  }
}

TEST(TorchScriptSearch, SaysWhereLearnedPositionsEnd) {
  TransformerOptions options = small_options();
  options.positional_encoding = PositionalEncodingKind::learned;
  options.max_positions = 4;
  EXPECT_THAT(message_of_any([&] {
                translate(small_script(options), {{5, 6, 7, 8}}, {});
              }),
              HasSubstr("position 4 is beyond the 4 learned positions"));
}

TEST(TorchScriptSearch, ComputesInBfloat16) {
  const torch::jit::Module module = small_script(small_options(), torch::kBFloat16);
  SearchOptions search;
  search.max_extra_length = 5;
  for (const auto& hypotheses : translate(module, some_sources(small_options()), search)) {
    ASSERT_THAT(hypotheses, SizeIs(1));
    EXPECT_EQ(hypotheses[0].alignment.scalar_type(), torch::kFloat);
    EXPECT_LT(hypotheses[0].log_probability, 0);
  }
}

}  // namespace
}  // namespace transmute
