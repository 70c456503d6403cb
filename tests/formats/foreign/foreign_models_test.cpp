// SPDX-License-Identifier: Apache-2.0
// Models of other programs, made from random numbers by tests/formats/make_models.py, against what those programs say
// of them. Those in tests/data/formats are always there; TRANSMUTE_FOREIGN_MODELS names a folder of further ones.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/script.h>
#include <transmute/common/files.h>
#include <transmute/common/json.h>
#include <transmute/device/step_models.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/search/search.h>
#include <transmute/tests/support/default_dtype.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/loaded_modules.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/text/source_parts.h>
#include <transmute/translation/translator.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace transmute {
namespace {

namespace fs = std::filesystem;

using testing::modules_of;
using testing::TemporaryFolder;

// Logits of float32 networks that add in another order; sums of a dozen log-probabilities are compared, too.
constexpr double kTolerance = 2e-4;

std::vector<std::string> model_folders() {
  std::vector<std::string> folders;
  std::vector<std::string> places = {TRANSMUTE_TEST_DATA "/formats"};
  if (const char* more = std::getenv("TRANSMUTE_FOREIGN_MODELS")) places.emplace_back(more);
  for (const std::string& place : places)
    for (const auto& entry : fs::directory_iterator(place))
      if (fs::exists(entry.path() / "expected.json")) folders.push_back(entry.path().string());
  return folders;
}

// A model in each way that it is looked at.
struct Foreign {
  explicit Foreign(const std::string& folder)
      : expected(parse_json(read_file(folder + "/expected.json"))),
        model(load_model(folder)),
        ready(make_step_model(modules_of(model), torch::kCPU, Precision::float32)) {
    for (int64_t id = 0; id < model.tokenizer.target().size(); ++id) ids[model.tokenizer.target().piece(id)] = id;
    options.guard = Guard::off;  // the other programs have none
    options.protect = Protection::none;
    options.source_language = expected["languages"].value("source_language", "");
    options.target_language = expected["languages"].value("target_language", "");
  }

  // The source as the network reads it, but for its end.
  Ids source_ids(const std::string& line) const {
    Ids source = model.tokenizer.source().encode(line);
    const LanguageTokens languages =
        language_tokens({options.source_language, options.target_language}, model.tokenizer);
    if (!model.tokenizer.source().begins_with_tag(source))
      source.insert(source.begin(), languages.source.begin(), languages.source.end());
    return source;
  }

  std::vector<std::string> source_pieces(const std::string& line) const {
    std::vector<std::string> pieces;
    for (const int64_t id : source_ids(line)) pieces.push_back(model.tokenizer.source().piece(id));
    pieces.emplace_back("</s>");
    return pieces;
  }

  Ids target_ids(const Json& pieces) const {
    Ids target;
    for (const std::string piece : pieces) {
      const auto found = ids.find(piece);
      // A piece with the text of a reserved one elsewhere has another name here.
      target.push_back(found == ids.end() ? special_ids::kUnknown : found->second);
    }
    return target;
  }

  Json expected;
  LoadedModel model;
  ReadyModel ready;
  std::unordered_map<std::string, int64_t> ids;
  TranslationOptions options;
};

class EachForeignModel : public ::testing::TestWithParam<std::string> {
 protected:
  const std::string folder = GetParam();
};

INSTANTIATE_TEST_SUITE_P(Formats, EachForeignModel, ::testing::ValuesIn(model_folders()));

TEST_P(EachForeignModel, AreSplitIntoTheSamePieces) {
  const Foreign foreign(folder);
  for (const Json& line : foreign.expected["lines"])
    EXPECT_EQ(foreign.source_pieces(line["source"]), line["source_pieces"].get<std::vector<std::string>>())
        << line["source"];
}

TEST_P(EachForeignModel, AreOfFloat32WhateverTheApplicationsDefaultTypeIs) {
  const NamedTensors expected = parameters_of(modules_of(load_model(folder)));
  for (const torch::Dtype dtype : testing::kDefaultDtypes) {
    const testing::DefaultDtype of_the_application(dtype);
    const NamedTensors found = parameters_of(modules_of(load_model(folder)));
    for (size_t p = 0; p < expected.size(); ++p) {
      EXPECT_EQ(found[p].second.scalar_type(), torch::kFloat) << folder << ", " << found[p].first;
      EXPECT_TRUE(torch::equal(found[p].second, expected[p].second)) << folder << ", " << found[p].first;
    }
  }
}

TEST_P(EachForeignModel, GiveTokensTheSameProbabilities) {
  const Foreign foreign(folder);
  std::vector<SearchRequest> requests;
  for (const Json& line : foreign.expected["lines"]) {
    requests.push_back({foreign.source_ids(line["source"]), foreign.target_ids(line["greedy"]["pieces"])});
    requests.back().prefix_is_complete = true;
  }
  const auto scored = beam_search(*foreign.ready.model, requests, {});
  for (size_t i = 0; i < scored.size(); ++i) {
    const IdHypothesis& found = scored[i].front();
    const Json& wanted = foreign.expected["lines"][i]["greedy_log_probabilities"];
    double sum = 0;
    for (size_t t = 0; t < found.ids.size(); ++t) {
      EXPECT_NEAR(found.token_scores.at(t), wanted[t].get<double>(), kTolerance) << "line " << i << ", token " << t;
      sum += found.token_scores[t];
    }
    EXPECT_NEAR(found.log_probability - sum, wanted.back().get<double>(), kTolerance) << "line " << i << ", end";
  }
}

TEST_P(EachForeignModel, FindTheSameTranslations) {
  const Foreign foreign(folder);
  TranslationOptions options = foreign.options;
  options.search.length_alpha = 1;  // Hugging Face's defaults
  options.search.length_penalty = LengthPenalty::power;
  TranslatorOptions open;
  open.threads = 1;
  const Translator translator(folder, open);
  int compared = 0, same = 0;
  for (const Json& line : foreign.expected["lines"])
    for (const auto& [search, beam] : {std::pair<const char*, int64_t>{"greedy", 1}, {"beam", 4}}) {
      const Json& wanted = line[search];
      // Texts without content are not translated; those that were cut off would need to be cut in the same place.
      if (!wanted["ended"].get<bool>() || line["source_pieces"].size() < 2 || line["source"] == "") continue;
      if (line["source"] == ">>xxx<< the river") continue;  // refused
      auto pieces = wanted["pieces"].get<std::vector<std::string>>();
      if (foreign.model.tokenizer.source().languages() == LanguagePieces::both_sides) pieces.erase(pieces.begin());
      const bool has_what_is_never_said = std::count(pieces.begin(), pieces.end(), "<unk>") > 0 ||
                                          std::count(pieces.begin(), pieces.end(), "<pad>") > 0;
      if (has_what_is_never_said) continue;
      options.search.beam_size = beam;
      options.search.min_length = line.value("min_length", 0);
      options.search.max_extra_length =
          line["max_length"].get<int64_t>() - static_cast<int64_t>(foreign.source_ids(line["source"]).size());
      const Hypothesis found = translator.translate_batch({line["source"]}, options).at(0).hypotheses.at(0);
      ++compared;
      if (found.tokens != pieces) {
        std::cerr << folder << ", " << search << ": " << line["source"] << ": " << Json(found.tokens).dump() << ' '
                  << found.score << " instead of " << wanted["pieces"].dump() << ' ' << wanted["score"].dump() << '\n';
        continue;
      }
      ++same;
      if (wanted["score"].is_number()) {
        EXPECT_NEAR(beam > 1 ? found.score : found.log_probability, wanted["score"].get<double>(), kTolerance);
      }
    }
  EXPECT_EQ(same, compared);
  EXPECT_GT(compared, 0);
  RecordProperty("compared", compared);
}

// Pieces that name languages are part of the request. No result has them, so that tokens, alignments, words and tags
// keep their places; and a translation has the same probability where it is scored.
TEST(ForeignModels, HaveNoLanguagesInTheirResults) {
  int compared = 0;
  for (const std::string& folder : model_folders()) {
    SCOPED_TRACE(folder);
    const Foreign foreign(folder);
    const SubwordModel& tokenizer = foreign.model.tokenizer.source();
    const std::string text = "the old bridge is gone! the blue train is near! the red house is here!";
    const Translator translator(folder);
    TranslationOptions options = foreign.options;
    options.search.alignments = options.word_alignments = true;
    for (const bool split : {false, true}) {
      options.split_sentences = split ? SentenceSplitting::always : SentenceSplitting::never;
      const Translation found = translator.translate_batch({text}, options).at(0);
      EXPECT_EQ(found.parts, split ? 3 : 1);
      std::vector<std::string> pieces;
      for (const int64_t id : tokenizer.encode(text)) pieces.push_back(tokenizer.piece(id));
      EXPECT_EQ(found.source_tokens, pieces);
      const Hypothesis& hypothesis = found.hypotheses.at(0);
      ASSERT_EQ(hypothesis.alignment.size(), hypothesis.tokens.size());
      ASSERT_EQ(hypothesis.token_scores.size(), hypothesis.tokens.size());
      for (const auto& row : hypothesis.alignment) EXPECT_EQ(row.size(), found.source_tokens.size());
      for (const auto& [source, target] : hypothesis.word_alignment.value()) EXPECT_LT(source, 15U);
      if (split) continue;
      const Ids target = foreign.model.tokenizer.target().encode(hypothesis.text);
      std::vector<std::string> encoded;
      for (const int64_t id : target) encoded.push_back(foreign.model.tokenizer.target().piece(id));
      if (encoded != hypothesis.tokens) continue;  // another way to write the same text
      const Hypothesis scored = translator.score_batch({text}, {hypothesis.text}, options).at(0);
      EXPECT_EQ(scored.tokens, hypothesis.tokens);
      EXPECT_NEAR(scored.log_probability, hypothesis.log_probability, kTolerance);
      for (const auto& row : scored.alignment) EXPECT_EQ(row.size(), found.source_tokens.size());
      ++compared;
    }
    options = foreign.options;
    options.inline_tags = true;
    options.max_source_tokens = 16;  // in parts
    const std::string tagged = "<p>" + text + "</p>";
    const std::string restored = translator.translate_batch({tagged}, options).at(0).hypotheses.at(0).text;
    EXPECT_EQ(restored.find("<p>"), 0U) << restored;
    EXPECT_EQ(restored.rfind("</p>"), restored.size() - 4) << restored;
  }
  EXPECT_GT(compared, 0);
}

// A config of the true values may be trained further: one of others is refused.
TEST_P(EachForeignModel, HaveConfigsThatDescribeTheirVocabularies) {
  const LoadedModel model = load_model(folder);
  ModelConfig config;
  ConfigSchema schema;
  config.declare(schema);
  schema.read_text(model.config, folder);
  const auto is_of = [&](const char* kind) { return folder.find(kind) != std::string::npos; };
  const bool is_bpe = is_of("nllb") || is_of("m2m") || is_of("joeynmt");
  EXPECT_EQ(config.tokenizer.algorithm, is_bpe ? SubwordAlgorithm::bpe : SubwordAlgorithm::unigram);
  const int64_t target = config.tokenizer.target_vocab_size;
  EXPECT_EQ(config.tokenizer.vocab_size, model.tokenizer.source().size());
  EXPECT_EQ(target > 0 ? target : config.tokenizer.vocab_size, model.tokenizer.target().size());
  EXPECT_EQ(config.tokenizer.vocabulary == VocabularySharing::shared, model.tokenizer.shared());
}

// `convert --to folder` does this.
TEST_P(EachForeignModel, BecomeModelFoldersThatSayTheSame) {
  const TemporaryFolder temporary;
  const LoadedModel original = load_model(folder);
  save_model_folder(temporary.path(), original.config, original.tokenizer, original.weights);
  const LoadedModel copy = load_model_folder(temporary.path());
  const auto parameters = modules_of(copy)->named_parameters();
  for (const auto& parameter : modules_of(original)->named_parameters())
    EXPECT_TRUE(torch::equal(parameter.value(), parameters[parameter.key()])) << parameter.key();
  EXPECT_EQ(copy.config, original.config);
  for (const auto& [text, side] :
       {std::pair{"the old bridge is gone.", &Tokenizer::source}, {"die alte Brücke ist weg.", &Tokenizer::target}}) {
    EXPECT_EQ((copy.tokenizer.*side)().encode(text), (original.tokenizer.*side)().encode(text));
    EXPECT_EQ((copy.tokenizer.*side)().languages(), (original.tokenizer.*side)().languages());
  }
  EXPECT_EQ(copy.tokenizer.target().size(), original.tokenizer.target().size());
}

// Weights of other types stand for those of the model that they were made from, up to the type's rounding.
// The largest number of a parameter and of what is beside it: CTranslate2 joins the projections of an attention.
double largest_beside(const torch::OrderedDict<std::string, torch::Tensor>& parameters, const std::string& key) {
  const std::string name = key.substr(0, key.rfind('.'));
  const std::string layer = name.substr(0, name.rfind('.') + 1);
  double largest = 0;
  for (const auto& parameter : parameters)
    if (parameter.key().rfind(layer, 0) == 0) largest = std::max(largest, parameter.value().abs().max().item<double>());
  return largest;
}

TEST(ForeignModels, OfCTranslate2AreReadInEachType) {
  const std::string folder = TRANSMUTE_TEST_DATA "/formats/marian_ctranslate2";
  const auto expected = modules_of(load_model(folder))->named_parameters();
  for (const auto& [type, relative, of_largest] : {std::tuple{"int8", 0.0, 0.51 / 127},
                                                   {"int16", 0.0, 0.51 / 1023},
                                                   {"float16", 0x1p-11, 1e-7},
                                                   {"bfloat16", 0x1p-8, 1e-7}}) {
    const TemporaryFolder temporary;
    const std::string copy = temporary / "model";
    fs::copy(folder, copy, fs::copy_options::recursive);
    fs::copy_file(std::string(TRANSMUTE_TEST_DATA "/formats/ctranslate2_types/") + type + ".bin", copy + "/model.bin",
                  fs::copy_options::overwrite_existing);
    const auto found = modules_of(load_model(copy))->named_parameters();
    bool differs = false;
    for (const auto& parameter : expected) {
      const torch::Tensor& value = parameter.value();
      const torch::Tensor bound = value.abs() * relative + largest_beside(expected, parameter.key()) * of_largest;
      EXPECT_TRUE(((found[parameter.key()] - value).abs() <= bound).all().item<bool>())
          << type << ' ' << parameter.key();
      differs = differs || !torch::equal(found[parameter.key()], value);
    }
    EXPECT_TRUE(differs) << type;
  }
}

}  // namespace
}  // namespace transmute
