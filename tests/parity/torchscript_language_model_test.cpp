// SPDX-License-Identifier: Apache-2.0
// The exported language model against the C++ module and its search.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/script.h>
#include <transmute/libtorch/libtorch.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <sstream>
#include <stdexcept>

#include <transmute/device/transformer_step_model.h>
#include <transmute/export/script_transformer.h>
#include <transmute/export/torchscript.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tensors.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/tiny_transformer.h>
#include <transmute/translation/language_model.h>

namespace transmute {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

constexpr int64_t kPieces = 23;
// The order of operations is the same, but the script's may be fused, and each rounds at 6e-8.
constexpr double kRounding = 1e-5;

struct LanguageModelVariant {
  std::string name;
  TransformerOptions options;
};
void PrintTo(const LanguageModelVariant& variant, std::ostream* stream) {
  *stream << variant.name;
}

std::vector<LanguageModelVariant> language_model_variants() {
  TransformerOptions options;
  options.architecture = Architecture::decoder_only;
  options.target_vocab_size = kPieces;
  options.num_decoder_layers = 2;
  options.d_model = 16;
  options.num_heads = 2;
  options.d_ff = 24;
  std::vector<LanguageModelVariant> all{{"the_paper", options}};
  options.norm_position = NormPosition::pre;
  options.embedding_tying = EmbeddingTying::none;
  options.positional_encoding = PositionalEncodingKind::learned;
  options.max_positions = 40;
  all.push_back({"pre_untied_learned", options});
  options.embedding_tying = EmbeddingTying::target_output;
  options.score_function = ScoreFunction::additive;
  options.d_k = 5;
  options.d_v = 7;
  all.push_back({"additive_free_widths", options});
  options.norm_position = NormPosition::deep;
  all.push_back({"additive_free_widths_deep", options});
  return all;
}

c10::IValue list_of(const std::vector<Ids>& rows) {
  c10::List<c10::List<int64_t>> list;
  for (const auto& row : rows) list.push_back(c10::List<int64_t>(row));
  return list;
}

struct ScriptText {
  Ids ids;
  double log_probability;
};

std::vector<std::vector<ScriptText>> generate(torch::jit::Module module, const std::vector<Ids>& prompts,
                                              const torch::jit::Kwargs& options) {
  const torch::NoGradGuard no_grad;
  std::vector<std::vector<ScriptText>> found;
  const c10::IValue result = module.get_method("generate")({list_of(prompts)}, options);
  for (const c10::IValue& texts : result.toListRef()) {
    found.emplace_back();
    for (const c10::IValue& text : texts.toListRef())
      found.back().push_back(
          {text.toTupleRef().elements()[0].toIntVector(), text.toTupleRef().elements()[1].toDouble()});
  }
  return found;
}

class TorchScriptLanguageModel : public ::testing::TestWithParam<LanguageModelVariant> {
 protected:
  TorchScriptLanguageModel() : transformer(GetParam().options), module("none") {
    testing::randomize_parameters(*transformer, 7);
    transformer->eval();
    for (const auto& item : transformer->named_parameters()) {
      item.value().set_requires_grad(false);
      if (item.key().find("embedding") != std::string::npos) item.value().mul_(0.4);
    }
    std::stringstream file;
    torchscript::script_transformer(transformer, torch::kFloat).save(file);
    module = torch::jit::load(file);
  }

  torch::Tensor logits_of(const torch::Tensor& ids) {
    return transformer(torch::empty({ids.size(0), 0}, torch::kLong), ids);
  }

  // The log probability of the whole text and its end, by the C++ module.
  double log_probability_of(const Ids& text) {
    Ids ids = text;
    ids.insert(ids.begin(), special_ids::kBegin);
    const torch::Tensor scores = torch::log_softmax(logits_of(torch::tensor(ids).unsqueeze(0))[0], -1);
    double sum = 0;
    for (size_t t = 0; t < ids.size(); ++t)
      sum += scores[static_cast<int64_t>(t)][t + 1 < ids.size() ? ids[t + 1] : special_ids::kEnd].item<double>();
    return sum;
  }

  const torch::NoGradGuard no_grad;
  Transformer transformer;
  torch::jit::Module module;
  const std::vector<Ids> prompts = {{5, 9, 4}, {}, {20, 21}, {7}, {11, 12, 13, 14, 15}, {1, 6}};
};

TEST_P(TorchScriptLanguageModel, NamesItsParametersAsTheCppModule) {
  std::vector<std::string> names;
  for (const auto& item : module.named_parameters()) names.push_back(item.name);
  std::vector<std::string> expected = transformer->named_parameters().keys();
  std::sort(names.begin(), names.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(names, expected);
}

TEST_P(TorchScriptLanguageModel, GivesTheLogitsOfTheCppModule) {
  const torch::Tensor ids = testing::random_ids({3, 9}, kPieces, 1);
  const torch::Tensor expected = logits_of(ids);
  for (int call = 0; call < 3; ++call)  // the second and later ones are compiled
    EXPECT_LT(testing::largest_difference(module.forward({ids}).toTensor(), expected), kRounding);
}

TEST_P(TorchScriptLanguageModel, FindsTheTextsOfTheNativeGreedySearch) {
  SearchOptions search;
  search.beam_size = 1;
  search.max_extra_length = 12;
  std::vector<SearchRequest> requests;
  for (const Ids& prompt : prompts) requests.push_back({prompt, prompt});
  const auto native = beam_search(TransformerStepModel(transformer, torch::kCPU), requests, search);
  for (const int64_t batch_size : {64, 1, 4}) {
    const auto found =
        generate(module, prompts, {{"max_new_tokens", 12}, {"temperature", 0.0}, {"batch_size", batch_size}});
    ASSERT_EQ(found.size(), prompts.size());
    for (size_t i = 0; i < prompts.size(); ++i) {
      EXPECT_EQ(found[i].front().ids, native[i].front().ids);
      EXPECT_NEAR(found[i].front().log_probability, native[i].front().log_probability, 1e-4);
    }
    const c10::IValue ids = module.get_method("greedy")({list_of(prompts), 12, batch_size});
    for (size_t i = 0; i < prompts.size(); ++i) EXPECT_EQ(ids.toListRef()[i].toIntVector(), native[i].front().ids);
  }
}

TEST_P(TorchScriptLanguageModel, DrawsTheSameTextsByTheSameSeedWhateverIsDrawnBesideThem) {
  const auto with = [](int64_t batch_size, int64_t seed) {
    return torch::jit::Kwargs{
        {"max_new_tokens", 8}, {"num_samples", 3}, {"batch_size", batch_size}, {"seed", seed}, {"top_p", 0.95}};
  };
  const auto together = generate(module, prompts, with(64, 4));
  const auto apart = generate(module, prompts, with(1, 4));
  const auto other = generate(module, prompts, with(64, 5));
  bool differs = false;
  for (size_t i = 0; i < prompts.size(); ++i) {
    ASSERT_EQ(together[i].size(), 3U);
    for (size_t n = 0; n < 3; ++n) {
      const ScriptText& text = together[i][n];
      EXPECT_EQ(text.ids, apart[i][n].ids);
      differs = differs || text.ids != other[i][n].ids;
      ASSERT_GE(text.ids.size(), prompts[i].size());
      EXPECT_TRUE(std::equal(prompts[i].begin(), prompts[i].end(), text.ids.begin()));
      EXPECT_NEAR(text.log_probability, log_probability_of(text.ids), 1e-3);
    }
  }
  EXPECT_TRUE(differs);
}

TEST_P(TorchScriptLanguageModel, DrawsTokensAsOftenAsTheyAreProbable) {
  constexpr int64_t kDraws = 3000;
  const Ids prompt = {5, 9};
  torch::Tensor scores = logits_of(torch::tensor({{special_ids::kBegin, prompt[0], prompt[1]}}))[0][-1];
  scores = scores.to(torch::kDouble) / 2;
  scores.slice(0, 0, special_ids::kEnd).fill_(-INFINITY);
  const torch::Tensor expected = torch::softmax(scores, 0) * static_cast<double>(kDraws);
  torch::Tensor counted = torch::zeros({kPieces}, torch::kDouble);
  const auto drawn = generate(module, {prompt}, {{"max_new_tokens", 1}, {"temperature", 2.0}, {"num_samples", kDraws}});
  for (const ScriptText& text : drawn.front())
    counted[text.ids.size() > prompt.size() ? text.ids.back() : special_ids::kEnd] += 1;
  double statistic = 0, classes = 0, rest_expected = 0, rest_counted = 0;
  for (int64_t id = 0; id < kPieces; ++id) {
    const double wanted = expected[id].item<double>(), found = counted[id].item<double>();
    EXPECT_TRUE(wanted > 0 || found == 0) << id;
    if (wanted >= 5) {
      statistic += (found - wanted) * (found - wanted) / wanted;
      ++classes;
    } else {
      rest_expected += wanted;
      rest_counted += found;
    }
  }
  if (rest_expected > 0) statistic += (rest_counted - rest_expected) * (rest_counted - rest_expected) / rest_expected;
  ASSERT_GT(classes, 3);
  // Mean and five standard deviations of Pearson's statistic where the draws are right.
  EXPECT_LT(statistic, classes + 5 * std::sqrt(2 * classes));
}

INSTANTIATE_TEST_SUITE_P(Variants, TorchScriptLanguageModel, ::testing::ValuesIn(language_model_variants()),
                         [](const auto& info) { return info.param.name; });

TEST(TorchScriptGeneration, HasTheDefaultsOfTheOptions) {
  const GenerationOptions options;
  const SamplingOptions sampling;
  const torch::jit::Module module =
      torchscript::script_transformer(Transformer(language_model_variants().front().options), torch::kFloat);
  const auto default_of = [&](const char* method, const std::string& name) {
    for (const auto& argument : module.get_method(method).function().getSchema().arguments())
      if (argument.name() == name) return *argument.default_value();
    throw std::logic_error(name);
  };
  EXPECT_EQ(default_of("generate", "temperature").toDouble(), sampling.temperature);
  EXPECT_EQ(default_of("generate", "top_k").toInt(), sampling.top_k);
  EXPECT_EQ(default_of("generate", "top_p").toDouble(), sampling.top_p);
  EXPECT_EQ(default_of("generate", "seed").toInt(), static_cast<int64_t>(sampling.seed));
  EXPECT_EQ(default_of("generate", "num_samples").toInt(), options.search.num_hypotheses);
  for (const char* method : {"generate", "greedy"}) {
    EXPECT_EQ(default_of(method, "max_new_tokens").toInt(), options.search.max_extra_length);
    EXPECT_EQ(default_of(method, "batch_size").toInt(), options.batch_size);
  }
}

TEST(TorchScriptGeneration, SaysWhatIsWrongWithItsArguments) {
  const torch::jit::Module module =
      torchscript::script_transformer(Transformer(language_model_variants().front().options), torch::kFloat);
  const auto refusal = [&](const std::string& name, const c10::IValue& value) {
    return message_of<std::runtime_error>([&] { generate(module, {{5}}, {{name, value}}); });
  };
  for (const int64_t tokens : {int64_t{-1}, std::numeric_limits<int64_t>::max()})
    EXPECT_THAT(refusal("max_new_tokens", tokens), HasSubstr("max_new_tokens must be from 0 to 1000000"));
  for (const double number : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_THAT(refusal("temperature", number), HasSubstr("temperature must be finite"));
  EXPECT_THAT(refusal("top_k", int64_t{-1}), HasSubstr("top_k must not be negative"));
  for (const double number : {0.0, 1.5, std::nan("")})
    EXPECT_THAT(refusal("top_p", number), HasSubstr("top_p must be more than 0 and at most 1"));
}

TEST(TorchScriptLanguageModelFile, IsOpenedAsTheModelThatItIs) {
  const testing::TemporaryFolder folder;
  const Tokenizer tokenizer = testing::tiny_tokenizer();
  TransformerOptions options = testing::tiny_transformer_options();
  options.architecture = Architecture::decoder_only;
  const std::string path = folder / "model", file = folder / "model.pt";
  std::filesystem::create_directory(path);
  save_model_folder(path, testing::tiny_config(options), tokenizer,
                    weights_of(testing::tiny_transformer(tokenizer, 1, options)));
  export_torchscript(path, file);
  const LanguageModel of_folder(path, {"cpu", 1});
  const LanguageModel of_file(file, {"cpu", 1});
  for (const auto& prompt : {"the red house", "", "the old train is near."})
    EXPECT_EQ(of_file.generate(prompt), of_folder.generate(prompt));
  EXPECT_THAT(message_of<std::invalid_argument>([&] { Translator{file}; }), HasSubstr("is a language model"));
  EXPECT_THAT(message_of<std::invalid_argument>([&] { export_triton_model(path, folder / "triton"); }),
              HasSubstr("does not translate"));

  torch::jit::Module module = torch::jit::load(file);
  const auto refusal = [&](const std::vector<Ids>& prompts, const torch::jit::Kwargs& given) {
    try {
      generate(module, prompts, given);
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal({{5}, {99999}}, {}), HasSubstr("prompt 1 holds id 99999, outside the vocabulary"));
  EXPECT_THAT(refusal({{5}}, {{"top_p", 0.0}}), HasSubstr("top_p must be more than 0"));
}

}  // namespace
}  // namespace transmute
