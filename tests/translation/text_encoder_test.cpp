// SPDX-License-Identifier: Apache-2.0
// Text to vectors with the encoder alone, and the program that writes them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/json.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/subprocess.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/tiny_transformer.h>
#include <transmute/translation/text_encoder.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

namespace transmute::testing {
namespace {

using ::testing::HasSubstr;

// A model in a folder, and its modules.
struct TinyModel {
  explicit TinyModel(const TransformerOptions& options = tiny_transformer_options())
      : transformer(tiny_transformer(tokenizer, 5, options)) {
    save_model_folder(folder.path(), tiny_config(options), tokenizer, weights_of(transformer));
  }

  TextEncoder encoder() const { return TextEncoder(folder.path()); }
  // The module's own output for a text alone: [L,D].
  torch::Tensor memory_of(const std::string& text) const {
    const torch::NoGradGuard no_grad;
    Ids ids = tokenizer.source().encode(text);
    const auto length = static_cast<int64_t>(ids.size());
    ids.push_back(special_ids::kEnd);
    Transformer modules = transformer;
    return modules->encode(torch::tensor(ids).unsqueeze(0)).memory[0].slice(0, 0, length);
  }

  Tokenizer tokenizer = tiny_tokenizer();
  Transformer transformer;
  TemporaryFolder folder;
};

// The vectors of a text, [L,D].
torch::Tensor rows(const std::vector<float>& numbers) {
  return torch::tensor(numbers, torch::kFloat).view({-1, 16});
}

bool close(const torch::Tensor& a, const torch::Tensor& b) {
  return a.sizes() == b.sizes() && torch::allclose(a, b, 1e-5, 1e-5);
}

TEST(TextEncoder, GivesTheEncodersOutputInTheOrderOfTheTexts) {
  const TinyModel model;
  const std::vector<std::string> texts{"the red house is near.", "the river",
                                       "the old train is gone. the bridge is far."};
  TextEncoderOptions options;
  options.batch_size = 2;
  const auto all = model.encoder().encode(texts, options);
  ASSERT_EQ(all.size(), 3U);
  for (size_t i = 0; i < texts.size(); ++i) {
    const torch::Tensor expected = model.memory_of(texts[i]);
    EXPECT_TRUE(close(rows(all[i].vectors), expected)) << texts[i];
    EXPECT_EQ(all[i].tokens, model.tokenizer.source().segment(texts[i]).pieces);
    torch::Tensor sum = torch::zeros({16});
    for (int64_t t = 0; t < expected.size(0); ++t) sum += expected[t];
    EXPECT_TRUE(close(rows(all[i].mean)[0], sum / static_cast<double>(expected.size(0))));
  }
}

TEST(TextEncoder, ATextWithoutTokensIsZero) {
  const auto all = TinyModel().encoder().encode({"", "   ", "the house"});
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(all[i].vectors.empty());
    EXPECT_EQ(all[i].mean, std::vector<float>(16));
    EXPECT_EQ(all[i].parts, 1);
  }
  EXPECT_NE(all[2].mean, std::vector<float>(16));
  EXPECT_TRUE(TinyModel().encoder().encode({}).empty());
}

TEST(TextEncoder, AnOverLongTextIsEncodedInPartsThatKeepEveryToken) {
  const TinyModel model;
  const std::string first = "the red house is near.";
  const std::string second = "the old train is gone.";
  TextEncoderOptions options;
  options.max_source_tokens = static_cast<int64_t>(model.tokenizer.source().encode(first).size()) + 1;
  const TextVectors both = model.encoder().encode({first + " " + second}, options).front();
  EXPECT_EQ(both.parts, 2);
  EXPECT_EQ(both.tokens, model.tokenizer.source().segment(first + " " + second).pieces);
  EXPECT_TRUE(close(rows(both.vectors), torch::cat({model.memory_of(first), model.memory_of(second)})));
}

TEST(TextEncoder, TheMeansAloneAreTheSame) {
  TextEncoderOptions options;
  options.max_source_tokens = 8;
  const std::vector<std::string> texts{"the red house is near. the old train is gone.", "", "the river"};
  const auto expected = TinyModel().encoder().encode(texts, options);
  options.token_vectors = false;
  const auto found = TinyModel().encoder().encode(texts, options);
  EXPECT_GT(found[0].parts, 1);
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_TRUE(found[i].vectors.empty());
    EXPECT_TRUE(close(rows(found[i].mean), rows(expected[i].mean)));
    EXPECT_EQ(found[i].tokens, expected[i].tokens);
  }
  for (const size_t i : {0, 2}) EXPECT_TRUE(close(rows(expected[i].mean)[0], rows(expected[i].vectors).mean(0)));
}

TEST(TextEncoder, NoPartIsLongerThanTheLearnedPositions) {
  const Tokenizer tokenizer = tiny_tokenizer();
  TransformerOptions network = tiny_transformer_options();
  network.positional_encoding = PositionalEncodingKind::learned;
  network.max_positions = 6;
  const TinyModel model(network);
  const std::string text = "the red house is near. the old train is gone.";
  const TextVectors found = model.encoder().encode({text}).front();
  EXPECT_GT(found.parts, 1);
  EXPECT_EQ(found.tokens, tokenizer.source().segment(text).pieces);
  EXPECT_EQ(found.vectors.size(), found.tokens.size() * 16);
}

TEST(TextEncoder, MistakesAreNamed) {
  const TinyModel model;
  EXPECT_THAT(message_of<std::invalid_argument>([&] {
                model.encoder().encode({"a", "b\xff"});
              }),
              HasSubstr("text 2 is not valid UTF-8 (byte 2)"));
  TextEncoderOptions options;
  options.batch_tokens = 0;
  EXPECT_THAT(message_of<std::invalid_argument>([&] { model.encoder().encode({"a"}, options); }),
              HasSubstr("batch_tokens must lie between 1 and 1000000000, not 0"));
}

#ifdef TRANSMUTE_PROGRAMS

class EmbedProgram : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    model_ = std::make_unique<TinyModel>();
  }
  static void TearDownTestSuite() {
    folder_.reset();
    model_.reset();
  }

  static Outcome embed(const std::vector<std::string>& flags, const std::string& input = "") {
    std::vector<std::string> words{std::string(TRANSMUTE_PROGRAMS) + "/embed", "--model", model_->folder.path()};
    words.insert(words.end(), flags.begin(), flags.end());
    return run_program_with(words, input);
  }

  static std::vector<Json> lines_of(const Outcome& outcome) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    std::vector<Json> lines;
    for (const std::string& line : split_lines(outcome.output)) lines.push_back(parse_json(line));
    return lines;
  }

  static void expect_vector(const Json& vector, const float* expected) {
    ASSERT_EQ(vector.size(), 16U);
    for (size_t d = 0; d < vector.size(); ++d) EXPECT_NEAR(vector[d].get<double>(), expected[d], 1e-5);
  }

  static std::unique_ptr<TemporaryFolder> folder_;
  static std::unique_ptr<TinyModel> model_;
};
std::unique_ptr<TemporaryFolder> EmbedProgram::folder_;
std::unique_ptr<TinyModel> EmbedProgram::model_;

TEST_F(EmbedProgram, WritesALineOfJsonForEachLine) {
  const auto expected = TinyModel().encoder().encode({"the red house is near.", "", "the river"});
  const std::string input = "the red house is near.\n\nthe river\n";
  const auto sentences = lines_of(embed({}, input));
  const auto tokens = lines_of(embed({"--per", "token", "--threads", "1"}, input));
  ASSERT_EQ(sentences.size(), 3U);
  ASSERT_EQ(tokens.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    expect_vector(sentences[i]["vector"], expected[i].mean.data());
    EXPECT_EQ(tokens[i]["tokens"].get<std::vector<std::string>>(), expected[i].tokens);
    ASSERT_EQ(tokens[i]["vectors"].size(), expected[i].tokens.size());
    for (size_t t = 0; t < expected[i].tokens.size(); ++t)
      expect_vector(tokens[i]["vectors"][t], &expected[i].vectors[16 * t]);
  }
}

TEST_F(EmbedProgram, WritesANumPyArrayAndScalesToLengthOne) {
  const auto expected = TinyModel().encoder().encode({"the red house is near.", "", "the river"});
  write_text(*folder_ / "in.txt", "the red house is near.\n\nthe river\n");
  const Outcome outcome =
      embed({"--format", "npy", "--normalize", "--input", *folder_ / "in.txt", "--output", *folder_ / "out.npy"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  const std::string bytes = read_text(*folder_ / "out.npy");
  ASSERT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const size_t header = 10 + static_cast<uint8_t>(bytes[8]) + 256 * static_cast<uint8_t>(bytes[9]);
  EXPECT_EQ(header % 64, 0U);
  EXPECT_THAT(bytes.substr(10, header - 10), HasSubstr("'descr': '<f4', 'fortran_order': False, 'shape': (3, 16)"));
  EXPECT_EQ(bytes[header - 1], '\n');
  ASSERT_EQ(bytes.size(), header + 3 * 16 * 4);
  for (size_t row = 0; row < 3; ++row) {
    double norm = 0;
    for (const float number : expected[row].mean) norm += std::pow(number, 2);
    for (size_t d = 0; d < 16; ++d) {
      float value = 0;
      std::memcpy(&value, bytes.data() + header + 4 * (16 * row + d), 4);
      EXPECT_NEAR(value, norm > 0 ? expected[row].mean[d] / std::sqrt(norm) : 0.0, 1e-5);
    }
  }
}

TEST_F(EmbedProgram, MistakesAreNamed) {
  const auto expect = [](const Outcome& outcome, int exit_code, const std::string& message) {
    EXPECT_EQ(outcome.exit_code, exit_code);
    EXPECT_THAT(outcome.errors, HasSubstr(message));
  };
  expect(embed({"--format", "npy", "--per", "token", "--output", "x"}, "a\n"), 2, "--per token needs --format json");
  expect(embed({"--format", "npy"}, "a\n"), 2, "--format npy needs --output");
  expect(embed({"--format", "npy", "--continue", "--output", "x"}, "a\n"), 2, "npy cannot be combined with --continue");
  expect(embed({"--per", "word"}, "a\n"), 2, "--per");
  expect(embed({}, "a\nb\xff\n"), 1, "standard input:2: not valid UTF-8");
  expect(embed({"--max-source-tokens", "3"}, "the red house is near.\n"), 0, "1 of 1 line had over 3 tokens");
  const Outcome tagged = run_program_with(
      {std::string(TRANSMUTE_PROGRAMS) + "/embed", "--model", TRANSMUTE_TEST_DATA "/formats/marian"}, "a\n>>por<< b\n");
  expect(tagged, 1, "standard input:2: its tag >>por<< names no language of the model");
  EXPECT_EQ(split_lines(tagged.output).size(), 1U);
  const TemporaryFolder folder;
  write_text(folder / "vectors", "older");
  expect(run_program_with({std::string(TRANSMUTE_PROGRAMS) + "/embed", "--model", TRANSMUTE_TEST_DATA "/formats/marian",
                           "--output", folder / "vectors"},
                          ">>por<< b\n"),
         1, "standard input:1: its tag");
  EXPECT_EQ(read_text(folder / "vectors"), "older");
}

#endif

}  // namespace
}  // namespace transmute::testing
