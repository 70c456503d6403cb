// SPDX-License-Identifier: Apache-2.0
// The page that shows what a model attends to: its numbers against loops, its data against the modules, and what a real
// browser displays. The browser's tests are skipped where there is no Chromium.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/json.h>
#include <transmute/model/libtorch.h>
#include <transmute/model/positional_encoding.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/subprocess.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/tiny_transformer.h>
#include <transmute/translation/explorer/attention_trace.h>
#include <transmute/translation/explorer/embedding_map.h>
#include <transmute/translation/explorer/page.h>
#include <transmute/translation/translator.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>

namespace transmute::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kHalfStep = 0.5 / 65535 + 1e-9;

LoadedModel tiny_model(const TokenizerOptions& tokenizer_options = tiny_tokenizer_options(),
                       const TransformerOptions& options = tiny_transformer_options()) {
  Tokenizer tokenizer = tiny_tokenizer(tokenizer_options);
  Transformer transformer = tiny_transformer(tokenizer, 7, options);
  for (auto& parameter : transformer->parameters()) {
    parameter.set_requires_grad(false);
    if (parameter.dim() > 1) parameter.mul_(3);  // attention that is far from uniform
  }
  return {transformer, std::move(tokenizer), tiny_config(options)};
}

Json data_of(const LoadedModel& model, const std::vector<ExplorerSentence>& sentences,
             const ExplorerOptions& options = {}) {
  return parse_json(explorer_data(model, sentences, options));
}

Json data_in_page(const std::string& page) {
  const size_t begin = page.find("id=\"data\">") + 10;
  return parse_json(page.substr(begin, page.find("</script", begin) - begin));
}

std::vector<double> unpacked(const std::string& base64) {
  static const std::string kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<uint8_t> bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : base64) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(kDigits.find(c));
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<uint8_t>(bits >> count & 255U));
  }
  std::vector<double> values;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) values.push_back((bytes[i] + 256 * bytes[i + 1]) / 65535.0);
  return values;
}

// The modules' own answer: each layer's weights [1,H,T,S] under the three names.
std::map<std::string, std::vector<torch::Tensor>> weights_of_modules(const LoadedModel& model, Ids source, Ids target) {
  source.push_back(special_ids::kEnd);
  target.insert(target.begin(), special_ids::kBegin);
  Transformer transformer = model.transformer;
  const EncodedSource encoded = transformer->encode(torch::tensor(source).unsqueeze(0), ReturnWeights::yes);
  const DecoderOutput decoded = transformer->decode(torch::tensor(target).unsqueeze(0), encoded, ReturnWeights::yes);
  return {{"encoder", encoded.self_weights}, {"decoder", decoded.self_weights}, {"cross", decoded.cross_weights}};
}

TEST(Explorer, StoresTheModulesWeightsToHalfAStep) {
  const LoadedModel model = tiny_model();
  const std::string source = "the red house is near.";
  const std::string target = "das rote Haus ist nah.";
  const Json sentence = data_of(model, {{source, target}})["sentences"][0];
  const auto expected =
      weights_of_modules(model, model.tokenizer.source().encode(source), model.tokenizer.target().encode(target));
  for (const auto& [kind, layers] : expected) {
    const std::vector<double> stored = unpacked(sentence["weights"][kind]);
    const torch::Tensor all = torch::stack(layers).contiguous();  // [layers,1,H,T,S]
    ASSERT_EQ(static_cast<int64_t>(stored.size()), all.numel()) << kind;
    for (int64_t i = 0; i < all.numel(); ++i)
      ASSERT_NEAR(stored[static_cast<size_t>(i)], all.data_ptr<float>()[i], kHalfStep) << kind << " weight " << i;
  }
  EXPECT_EQ(sentence["source"].back(), "</s>");
  EXPECT_EQ(sentence["target_in"].front(), "<s>");
  EXPECT_EQ(sentence["target_out"].back(), "</s>");
  EXPECT_EQ(sentence["forced"], true);
}

TEST(Explorer, SaysHowProbableEachTargetTokenIs) {
  const LoadedModel model = tiny_model();
  const Ids source = model.tokenizer.source().encode("the old train is here.");
  const Ids target = model.tokenizer.target().encode("der alte Zug");
  const AttentionTrace trace = trace_attention(model.transformer, source, target);
  ASSERT_EQ(trace.probabilities.size(), target.size() + 1);
  // Step by step on the cache instead of all at once.
  Transformer transformer = model.transformer;
  DecoderCache cache = transformer->start_decoding(transformer->encode(torch::tensor(trace.source).unsqueeze(0)));
  for (size_t t = 0; t < trace.target_in.size(); ++t) {
    DecoderStep step = transformer->step(torch::full({1, 1}, trace.target_in[t], torch::kLong), cache);
    cache = step.cache;
    const torch::Tensor logits = transformer->project(step.states).flatten().to(torch::kDouble);
    const double expected = torch::softmax(logits, 0)[trace.target_out[t]].item<double>();
    EXPECT_NEAR(trace.probabilities[t], expected, 1e-5);  // float32 sums in another order
  }
}

TEST(Explorer, ShowsTheTranslatorsTranslationWhereNoTargetIsGiven) {
  const LoadedModel model = tiny_model();
  const TemporaryFolder folder;
  save_model_folder(folder.path(), model.config, model.tokenizer, model.transformer);
  const std::string source = "the green bridge is closed.";
  ExplorerOptions options;
  options.search.max_extra_length = 6;
  TranslationOptions translation;
  translation.search.max_extra_length = 6;
  const Json sentence = data_of(model, {{source}}, options)["sentences"][0];
  EXPECT_EQ(sentence["forced"], false);
  EXPECT_EQ(sentence["target_text"], Translator(folder.path()).translate(source, translation));
  Ids target = sentence["target_in_ids"].get<Ids>();
  target.erase(target.begin());
  const AttentionTrace trace = trace_attention(model.transformer, model.tokenizer.source().encode(source), target);
  EXPECT_EQ(sentence["target_text"], model.tokenizer.target().decode(target));
  EXPECT_EQ(sentence["probabilities"].get<std::vector<double>>(), trace.probabilities);
}

TEST(Explorer, HeadStatisticsAreWhatTheyAreByHand) {
  // Query 0 looks at both keys alike, query 1 at key 0 alone, query 2 at key 1 alone.
  const torch::Tensor weights = torch::tensor({0.5F, 0.5F, 1.0F, 0.0F, 0.0F, 1.0F}).view({3, 2});
  const HeadStatistics statistics = head_statistics(weights);
  EXPECT_NEAR(statistics.entropy, 1.0 / 3, 1e-12);
  EXPECT_NEAR(statistics.distance, (0.5 + 1 + 1) / 3, 1e-12);
  EXPECT_NEAR(statistics.diagonal, 0.5 / 3, 1e-12);
}

TEST(Explorer, DivergenceIsZeroForTheSameAndOneBitForNothingInCommon) {
  const torch::Tensor left = torch::tensor({1.0F, 0.0F}).view({1, 2});
  const torch::Tensor right = torch::tensor({0.0F, 1.0F}).view({1, 2});
  const torch::Tensor both = torch::tensor({0.5F, 0.5F}).view({1, 2});
  EXPECT_NEAR(head_divergence(left, left), 0.0, 1e-12);
  EXPECT_NEAR(head_divergence(left, right), 1.0, 1e-12);
  // H(3/4, 1/4) - H(1/2, 1/2) / 2
  EXPECT_NEAR(head_divergence(left, both), 0.811278124459133 - 0.5, 1e-12);
  EXPECT_NEAR(head_divergence(both, left), head_divergence(left, both), 1e-15);
}

TEST(Explorer, ThePageHoldsTheStatisticsOfEachHeadAndItsNearestFirst) {
  const LoadedModel model = tiny_model();
  const Json sentence = data_of(model, {{"the blue river is far.", "der blaue Fluss ist fern."}})["sentences"][0];
  const AttentionTrace trace =
      trace_attention(model.transformer, model.tokenizer.source().encode("the blue river is far."),
                      model.tokenizer.target().encode("der blaue Fluss ist fern."));
  const Json& statistics = sentence["statistics"]["cross"];
  ASSERT_EQ(statistics.size(), 2U);
  for (size_t layer = 0; layer < 2; ++layer)
    for (int64_t head = 0; head < 2; ++head) {
      const Json& said = statistics[layer][static_cast<size_t>(head)];
      const HeadStatistics expected = head_statistics(trace.cross[layer][head]);
      EXPECT_DOUBLE_EQ(said["entropy"].get<double>(), expected.entropy);
      EXPECT_DOUBLE_EQ(said["distance"].get<double>(), expected.distance);
      EXPECT_DOUBLE_EQ(said["diagonal"].get<double>(), expected.diagonal);
      ASSERT_EQ(said["similar"].size(), 3U);
      double last = 0;
      for (const auto& [other_layer, other_head, divergence] :
           said["similar"].get<std::vector<std::tuple<size_t, int64_t, double>>>()) {
        EXPECT_FALSE(other_layer == layer && other_head == head);
        EXPECT_DOUBLE_EQ(divergence, head_divergence(trace.cross[layer][head], trace.cross[other_layer][other_head]));
        EXPECT_GE(divergence, last);
        last = divergence;
      }
    }
}

TEST(Explorer, PositionsAreTheModels) {
  TransformerOptions learned = tiny_transformer_options();
  learned.positional_encoding = PositionalEncodingKind::learned;
  learned.max_positions = 40;
  for (const auto& [options, tables] :
       std::vector<std::pair<TransformerOptions, size_t>>{{tiny_transformer_options(), 1}, {learned, 2}}) {
    const LoadedModel model = tiny_model(tiny_tokenizer_options(), options);
    const Json positions = data_of(model, {{"the red house is near."}})["positions"];
    ASSERT_EQ(positions.size(), tables);
    const Json& table = positions.back();
    const auto rows = table["rows"].get<int64_t>();
    EXPECT_EQ(rows, tables == 1 ? 64 : 40);
    const torch::Tensor expected = tables == 1 ? sinusoidal_positions(0, rows, 16)
                                               : model.transformer->named_parameters()["target_positions.weight"];
    const std::vector<double> stored = unpacked(table["values"]);
    const auto scale = table["scale"].get<double>();
    ASSERT_EQ(static_cast<int64_t>(stored.size()), expected.numel());
    for (int64_t i = 0; i < expected.numel(); ++i)
      ASSERT_NEAR((stored[static_cast<size_t>(i)] * 2 - 1) * scale, expected.contiguous().data_ptr<float>()[i],
                  2 * scale * (kHalfStep + 1e-6));
  }
}

TEST(Explorer, NeighboursAreThoseOfALoopOverAllPairs) {
  torch::manual_seed(3);
  const torch::Tensor table = torch::randn({30, 5});
  const auto found = nearest_neighbours(table, {9, 4, 29}, 6);
  ASSERT_EQ(found.size(), 3U);
  size_t row = 0;
  for (const int64_t id : {9, 4, 29}) {
    std::vector<std::pair<double, int64_t>> all;
    for (int64_t other = special_ids::kCount; other < 30; ++other) {
      if (other == id) continue;
      double dot = 0, own = 0, others = 0;
      for (int64_t d = 0; d < 5; ++d) {
        const double a = table[id][d].item<double>();
        const double b = table[other][d].item<double>();
        dot += a * b;
        own += a * a;
        others += b * b;
      }
      all.emplace_back(dot / std::sqrt(own * others), other);
    }
    std::sort(all.rbegin(), all.rend());
    ASSERT_EQ(found[row].size(), 6U);
    for (size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(found[row][i].id, all[i].second);
      EXPECT_NEAR(found[row][i].cosine, all[i].first, 1e-6);
    }
    ++row;
  }
  EXPECT_EQ(nearest_neighbours(table.slice(0, 0, 6), {4}, 9).front().size(), 1U) << "no more than there are";
}

TEST(Explorer, ThePlaneIsTheOneOfLargestVariance) {
  // Points along two known directions of D = 3, three times as far along the first: variances 9 : 1 : 0.
  const torch::Tensor first = torch::tensor({0.6, 0.8, 0.0}, torch::kDouble);
  const torch::Tensor second = torch::tensor({-0.8, 0.6, 0.0}, torch::kDouble);
  const torch::Tensor offset = torch::tensor({5.0, -2.0, 1.0}, torch::kDouble);
  const torch::Tensor rows = torch::stack({3 * first, -3 * first, second, -second}) + offset;
  const PrincipalPlane plane = principal_plane(rows);
  EXPECT_NEAR(plane.explained[0], 0.9, 1e-12);
  EXPECT_NEAR(plane.explained[1], 0.1, 1e-12);
  const double sign = plane.points[2][1] > 0 ? 1 : -1;
  const std::vector<std::array<double, 2>> expected{{3, 0}, {-3, 0}, {0, sign}, {0, -sign}};
  for (size_t i = 0; i < 4; ++i)
    for (size_t c = 0; c < 2; ++c) EXPECT_NEAR(plane.points[i][c], expected[i][c], 1e-9) << i;
  EXPECT_EQ(sign, -1) << "the second axis' largest coefficient, -0.8, is made positive";
}

TEST(Explorer, OnePointAndNoVarianceAreNoError) {
  EXPECT_EQ(principal_plane(torch::ones({1, 4})).points.size(), 1U);
  const PrincipalPlane plane = principal_plane(torch::ones({3, 4}));
  EXPECT_NEAR(plane.points[2][0], 0, 1e-12);
}

TEST(Explorer, SeparateVocabulariesHaveAMapEach) {
  TokenizerOptions separate = tiny_tokenizer_options();
  separate.vocabulary = VocabularySharing::separate;
  separate.vocab_size = 60;
  TransformerOptions options = tiny_transformer_options();
  options.embedding_tying = EmbeddingTying::target_output;
  ExplorerOptions explorer;
  explorer.map_tokens = 25;
  const LoadedModel model = tiny_model(separate, options);
  const Json maps = data_of(model, {{"the red house is near.", "das rote Haus ist nah."}}, explorer)["embeddings"];
  ASSERT_EQ(maps.size(), 2U);
  EXPECT_EQ(maps[0]["name"], "source");
  EXPECT_EQ(maps[1]["name"], "target");
  EXPECT_EQ(maps[1]["tokens"].size(), 25U);
  const Json& token = maps[1]["tokens"][0];
  EXPECT_EQ(token["id"], model.tokenizer.target().encode("das rote Haus ist nah.").front());
  EXPECT_EQ(token["piece"], model.tokenizer.target().piece(token["id"]));
  const auto near =
      nearest_neighbours(model.transformer->named_parameters()["target_embedding.weight"], {token["id"]}, 8);
  EXPECT_EQ(token["near"][0][2], near[0][0].id);
}

TEST(Explorer, TextCannotEndItsElement) {
  const LoadedModel model = tiny_model();
  ExplorerOptions options;
  options.title = "</title><script>alert(1)</script> /* data */";
  const std::string hostile = "</script><img src=x onerror=alert(1)><!-- \" ' & \xE2\x80\xA8";
  const std::string page = explorer_page(model, {{hostile, "/* script */ </SCRIPT>"}}, options);
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("</SCRIPT")));
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  size_t scripts = 0;
  for (size_t at = page.find("</script"); at != std::string::npos; at = page.find("</script", at + 1)) ++scripts;
  EXPECT_EQ(scripts, 2U);
  const Json data = data_in_page(page);
  EXPECT_EQ(data["sentences"][0]["source_text"], hostile);
  EXPECT_EQ(data["title"], options.title);
}

TEST(Explorer, ThePageAsksForNothingFromOutside) {
  const std::string page = explorer_page(tiny_model(), {{"the red house is near."}});
  for (const char* outside : {"http:", "https:", "src=", "@import", "url(", "fetch(", "XMLHttpRequest"})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST(Explorer, WhatCannotBeShownIsNamed) {
  const LoadedModel model = tiny_model();
  const auto fault = [&](const std::vector<ExplorerSentence>& sentences, const ExplorerOptions& options = {}) {
    return message_of<std::invalid_argument>([&] { explorer_data(model, sentences, options); });
  };
  EXPECT_THAT(fault({}), HasSubstr("no sentence was given"));
  EXPECT_THAT(fault({{"the house"}, {"  "}}), HasSubstr("sentence 2 is empty"));
  EXPECT_THAT(fault({{"the house", ""}}), HasSubstr("target 1 is empty"));
  EXPECT_THAT(fault({{"the house"}, {"ab\xff"}}), HasSubstr("sentence 2 is not valid UTF-8 (byte 3)"));
  EXPECT_THAT(fault({{"the house", "\xc3"}}), HasSubstr("target 1 is not valid UTF-8 (byte 1)"));
  ExplorerOptions few;
  few.max_sentences = 1;
  EXPECT_THAT(fault({{"the house"}, {"the river"}}, few), HasSubstr("more than the 1 sentences of max_sentences"));
  ExplorerOptions short_ones;
  short_ones.max_tokens = 3;
  EXPECT_THAT(fault({{"the red house is near."}}, short_ones), HasSubstr("tokens, 3 may be shown"));
}

#ifdef TRANSMUTE_PROGRAMS

class VisualizeProgram : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    const LoadedModel model = tiny_model();
    save_model_folder(*folder_ / "", model.config, model.tokenizer, model.transformer);
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static Outcome visualize(const std::vector<std::string>& flags, const std::string& input = "") {
    std::vector<std::string> words{std::string(TRANSMUTE_PROGRAMS) + "/visualize", "--model", folder_->path(),
                                   "--output", *folder_ / "page.html"};
    words.insert(words.end(), flags.begin(), flags.end());
    return run_program_with(words, input);
  }

  static std::unique_ptr<TemporaryFolder> folder_;
};
std::unique_ptr<TemporaryFolder> VisualizeProgram::folder_;

TEST_F(VisualizeProgram, WritesThePageOfTheLibrary) {
  write_text(*folder_ / "in.txt", "the red house is near.\nthe old train is here.\n");
  write_text(*folder_ / "target.txt", "das rote Haus ist nah.\nder alte Zug ist hier.\n");
  const Outcome outcome = visualize({"--input", *folder_ / "in.txt", "--target", *folder_ / "target.txt"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.errors, HasSubstr("2 sentences"));
  EXPECT_EQ(outcome.output, "");
  const Json written = data_in_page(read_text(*folder_ / "page.html"));
  const Json expected = data_of(
      load_model_folder(folder_->path(), torch::kCPU),
      {{"the red house is near.", "das rote Haus ist nah."}, {"the old train is here.", "der alte Zug ist hier."}});
  EXPECT_EQ(written["title"], folder_->path());
  ASSERT_EQ(written["sentences"].size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    for (const char* part : {"source_text", "target_text", "source", "target_in", "target_out"})
      EXPECT_EQ(written["sentences"][i][part], expected["sentences"][i][part]) << part;
    // The program runs LibTorch on one thread, where sums have another order.
    const std::vector<double> got = unpacked(written["sentences"][i]["weights"]["cross"]);
    const std::vector<double> wanted = unpacked(expected["sentences"][i]["weights"]["cross"]);
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t w = 0; w < got.size(); ++w) EXPECT_NEAR(got[w], wanted[w], 2 * kHalfStep);
  }
  ASSERT_EQ(visualize({}, "the red house is near.\n").exit_code, 0) << "standard input";
}

TEST_F(VisualizeProgram, MistakesAreNamed) {
  std::filesystem::remove(*folder_ / "page.html");
  const auto expect = [](const Outcome& outcome, int exit_code, const std::string& message) {
    EXPECT_EQ(outcome.exit_code, exit_code);
    EXPECT_THAT(outcome.errors, HasSubstr(message));
  };
  expect(visualize({"--model", "nowhere"}, "a\n"), 2, "--model");  // given twice
  expect(run_program_with({std::string(TRANSMUTE_PROGRAMS) + "/visualize", "--model", "nowhere", "--output", "x.html"},
                          "a\n"),
         1, "nowhere: no such model folder");
  expect(visualize({}, "the house\nab\xff\n"), 1, "standard input:2: not valid UTF-8");
  expect(visualize({}, ""), 2, "no sentence was given");
  expect(visualize({"--max-sentences", "2"}, "a\nb\nc\n"), 2, "more than the 2 sentences");
  write_text(*folder_ / "short.txt", "ein\n");
  expect(visualize({"--target", *folder_ / "short.txt"}, "a\nb\n"), 2, "has 1 lines, but 2 sentences were given");
  EXPECT_FALSE(std::filesystem::exists(*folder_ / "page.html"));
}

#endif

// The text between `begin` and the next `end`, without tags.
std::string text_between(const std::string& html, const std::string& begin, const std::string& end) {
  const size_t from = html.find(begin);
  if (from == std::string::npos) return "(no " + begin + ")";
  const size_t to = html.find(end, from);
  return std::regex_replace(html.substr(from + begin.size(), to - from - begin.size()), std::regex("<[^>]*>"), "");
}

// A page in a real browser: `address` is what stands behind the '#', `act` JavaScript that is run in the page at its
// end.
class Browser : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"chromium", "chromium-browser", "google-chrome"})
      if (std::system(("command -v " + std::string(name) + " >/dev/null 2>&1").c_str()) == 0) chromium_ = name;
    if (chromium_.empty()) GTEST_SKIP() << "no Chromium is installed (Debian's package: chromium)";
    static const bool runs = run("<p>ready</p>", "", "").has_value();
    if (!runs) GTEST_SKIP() << chromium_ << " does not run here " << errors_;
  }

  // What the document holds at the end, as HTML; nothing where the browser does not run.
  std::optional<std::string> run(std::string page, const std::string& address, const std::string& act,
                                 const std::string& window = "1200,900") {
    if (const size_t first = page.find("<script"); first != std::string::npos)
      page.insert(
          first, "<script>addEventListener('error', e => document.documentElement.dataset.fault = e.message)</script>");
    if (!act.empty()) {
      const size_t end = page.rfind("</body>");
      page.insert(end, "<script>" + act + "</script>");
    }
    write_text(folder_ / "page.html", page);
    const Outcome outcome = run_program_with({"timeout", "60", chromium_, "--headless", "--no-sandbox", "--disable-gpu",
                                              "--window-size=" + window, "--user-data-dir=" + (folder_ / "profile"),
                                              "--dump-dom", "file://" + (folder_ / "page.html") + "#" + address});
    errors_ = outcome.errors;
    if (outcome.exit_code != 0 || outcome.output.find("<p") == std::string::npos) return std::nullopt;
    return outcome.output;
  }

  // `act` is JavaScript to run in the page; what it publishes is the text of #result.
  std::string shown(const LoadedModel& model, const std::vector<ExplorerSentence>& sentences,
                    const std::string& address, const std::string& act = "", const std::string& window = "1200,900") {
    const std::string publish = R"(
      const publish = (text) => {
        const result = document.createElement('p');
        result.id = 'result';
        result.textContent = text;
        document.body.append(result);
      };
    )";
    const auto html = run(explorer_page(model, sentences), address, publish + act, window);
    EXPECT_TRUE(html.has_value()) << errors_;
    EXPECT_EQ(text_between(html.value_or(""), " data-fault=\"", "\""), "(no  data-fault=\")") << "a script failed";
    return html.value_or("");
  }

  TemporaryFolder folder_;
  std::string chromium_, errors_;
};

std::string to_four_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4f", value);
  return text;
}

const std::vector<ExplorerSentence> kTwo{{"the red house is near.", "das rote Haus ist nah."},
                                         {"the old train is here.", "der alte Zug ist hier."}};

// Digits after rounding twice, to 1/65535 and to four places, may differ by one in the last.
void expect_shown(const std::string& text, double weight) {
  double said = -1;
  ASSERT_EQ(std::sscanf(text.c_str(), "%lf", &said), 1) << text;
  EXPECT_NEAR(said, weight, 0.5e-4 + kHalfStep);
}

TEST_F(Browser, DisplaysTheModulesWeightsForAToken) {
  const LoadedModel model = tiny_model();
  const std::string html = shown(model, kTwo, "sentence=2&kind=cross&layer=2&heads=2&token=q3");
  const auto weights = weights_of_modules(model, model.tokenizer.source().encode(kTwo[1].source),
                                          model.tokenizer.target().encode(*kTwo[1].target));
  const torch::Tensor row = weights.at("cross")[1][0][1][2];  // layer 2, head 2, query 3: [S]
  const auto [sorted, order] = row.sort(0, true);
  for (int64_t place = 0; place < 5; ++place) {
    if (sorted[place].item<double>() < 0.0001) break;
    const int64_t key = order[place].item<int64_t>();
    const std::string entry = text_between(html, "<li data-index=\"" + std::to_string(key + 1) + "\">", "</li>");
    expect_shown(entry.substr(entry.rfind(' ') + 1), sorted[place].item<double>());
  }
  EXPECT_THAT(html, HasSubstr("<ul data-head=\"2\">"));
  EXPECT_THAT(html, Not(HasSubstr("<ul data-head=\"1\">"))) << "a head that is not chosen";
  EXPECT_EQ(text_between(html, "id=\"source-text\">", "</span>"), kTwo[1].source);
}

TEST_F(Browser, DisplaysTheMeanOfTheHeadsInTheMatrix) {
  const LoadedModel model = tiny_model();
  const std::string html = shown(model, kTwo, "kind=encoder&layer=1&heads=1,2&cell=2,4");
  const auto weights = weights_of_modules(model, model.tokenizer.source().encode(kTwo[0].source),
                                          model.tokenizer.target().encode(*kTwo[0].target));
  const std::string cell = text_between(html, "id=\"cell\" aria-live=\"polite\">", "</span>");
  expect_shown(cell.substr(cell.rfind(' ') + 1), weights.at("encoder")[0][0].mean(0)[1][3].item<double>());
}

TEST_F(Browser, DisplaysTheStatisticsAndSortsThem) {
  const LoadedModel model = tiny_model();
  const std::string html = shown(model, kTwo, "view=statistics&kind=decoder&sort=entropy");
  const AttentionTrace trace = trace_attention(model.transformer, model.tokenizer.source().encode(kTwo[0].source),
                                               model.tokenizer.target().encode(*kTwo[0].target));
  std::vector<double> entropies;
  for (const auto& layer : trace.decoder)
    for (int64_t head = 0; head < 2; ++head) entropies.push_back(head_statistics(layer[head]).entropy);
  std::sort(entropies.begin(), entropies.end());
  size_t at = 0;
  for (const double entropy : entropies) {
    at = html.find("data-name=\"entropy\">", at) + 1;
    ASSERT_NE(at, std::string::npos + 1);
    EXPECT_EQ(text_between(html.substr(at), "\">", "</td>"), to_four_digits(entropy));
  }
}

TEST_F(Browser, ListsTheNeighboursOfAToken) {
  const LoadedModel model = tiny_model();
  const int64_t id = model.tokenizer.source().encode(kTwo[0].source)[1];
  const std::string html = shown(model, kTwo, "view=embeddings&piece=" + std::to_string(id));
  const auto near = nearest_neighbours(model.transformer->named_parameters()["embedding.weight"], {id}, 8).front();
  const std::string list = text_between(html, "<ol id=\"neighbours\">", "</ol>");
  size_t at = 0;
  for (const auto& neighbour : near) {
    at = list.find(model.tokenizer.source().piece(neighbour.id) + to_four_digits(neighbour.cosine), at);
    ASSERT_NE(at, std::string::npos) << list;
  }
}

TEST_F(Browser, SeparateVocabulariesAndLearnedPositionsAreTwoEach) {
  TokenizerOptions separate = tiny_tokenizer_options();
  separate.vocabulary = VocabularySharing::separate;
  separate.vocab_size = 60;
  TransformerOptions options = tiny_transformer_options();
  options.embedding_tying = EmbeddingTying::none;
  options.positional_encoding = PositionalEncodingKind::learned;
  options.max_positions = 50;
  options.norm_position = NormPosition::pre;
  const LoadedModel model = tiny_model(separate, options);
  const std::string html = shown(model, kTwo, "view=embeddings&vocabulary=2", "update({view: 'positions'});");
  EXPECT_THAT(html, HasSubstr("of the 60 embeddings (target)"));
  const int64_t first = model.tokenizer.target().encode(*kTwo[0].target).front();
  EXPECT_THAT(text_between(html, "id=\"neighbours-of\">", "</b>"),
              HasSubstr("Nearest to " + model.tokenizer.target().piece(first) + ","));
  EXPECT_THAT(html, HasSubstr("Position vectors, learned, of source"));
  EXPECT_THAT(html, HasSubstr("Position vectors, learned, of target"));
}

TEST_F(Browser, ObeysTheKeyboardAndTheTokens) {
  // From the first view: next sentence, cross attention, next layer, without head 1, all; then along the queries.
  const std::string act = R"(
    const press = (key, on) => on.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
    for (const key of ['n', 'c', '.', '1']) press(key, document.body);
    const said = [location.hash];
    const tokens = document.querySelectorAll('#queries .token');
    tokens[0].focus();
    press('ArrowRight', document.activeElement);
    said.push(document.querySelector('#readout .said').textContent);
    document.activeElement.click();
    said.push(location.hash);
    press('Escape', document.body);
    said.push(location.hash);
    document.getElementById('matrix').focus();
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight']) press(key, document.activeElement);
    said.push(document.getElementById('cell').textContent.split(':')[0]);
    document.getElementById('tab-positions').click();
    said.push(String(document.getElementById('attention').hidden), location.hash);
    publish(said.join('|'));
  )";
  const LoadedModel model = tiny_model();
  const std::string html = shown(model, kTwo, "", act);
  const Ids target = model.tokenizer.target().encode(*kTwo[1].target);
  const std::string second = model.tokenizer.target().piece(target[1]);
  std::vector<std::string> said;
  std::istringstream stream(std::regex_replace(text_between(html, "id=\"result\">", "</p>"), std::regex("&amp;"), "&"));
  for (std::string part; std::getline(stream, part, '|');) said.push_back(part);
  ASSERT_EQ(said.size(), 7U) << html.substr(html.size() > 3000 ? html.size() - 3000 : 0);
  EXPECT_EQ(said[0], "#view=attention&sentence=2&kind=cross&layer=2&heads=2");
  EXPECT_THAT(said[1], HasSubstr("query 2 “" + second + "”"));
  EXPECT_EQ(said[2], "#view=attention&sentence=2&kind=cross&layer=2&heads=2&token=q2");
  EXPECT_EQ(said[3], said[0]);
  EXPECT_THAT(said[4], HasSubstr("Query 2 “" + second + "” to key 2"));
  EXPECT_EQ(said[5], "true");
  EXPECT_THAT(said[6], HasSubstr("view=positions"));
}

TEST_F(Browser, PointingAtAKeyShowsWhoLooksAtItUntilThePointerLeaves) {
  const std::string act = R"(
    const keys = document.getElementById('keys');
    const said = [];
    const read = () => said.push(document.getElementById('readout').textContent);
    keys.children[1].dispatchEvent(new PointerEvent('pointerover', {bubbles: true, pointerType: 'mouse'}));
    read();
    keys.dispatchEvent(new PointerEvent('pointerleave', {pointerType: 'mouse'}));
    read();
    publish(said.join('|'));
  )";
  const LoadedModel model = tiny_model();
  const std::string html = shown(model, kTwo, "kind=encoder&layer=1&heads=1", act);
  const std::string said = text_between(html, "id=\"result\">", "</p>");
  const auto weights = weights_of_modules(model, model.tokenizer.source().encode(kTwo[0].source),
                                          model.tokenizer.target().encode(*kTwo[0].target));
  const torch::Tensor column = weights.at("encoder")[0][0][0].select(1, 1);  // over the queries
  const std::string piece = model.tokenizer.source().encode_as_pieces(kTwo[0].source)[1];
  EXPECT_THAT(said, ::testing::StartsWith("key 2 “" + piece + "” is looked at byhead 1"));
  EXPECT_THAT(said, HasSubstr(to_four_digits(column.max().item<double>()).substr(0, 4)));
  EXPECT_THAT(said, HasSubstr("|All tokens:head 1entropy "));
}

TEST_F(Browser, NoViewIsWiderThanANarrowWindow) {
  // As narrow as a window can be; what is wider scrolls in its own box.
  std::string act = "const said = [];";
  for (const char* view : {"attention", "statistics", "positions", "embeddings"})
    act += "update({view: '" + std::string(view) +
           "'}); said.push(document.documentElement.scrollWidth - document.documentElement.clientWidth);";
  act += "publish(said.join(' '));";
  const std::string html = shown(tiny_model(), kTwo, "kind=cross", act, "500,800");
  EXPECT_EQ(text_between(html, "id=\"result\">", "</p>"), "0 0 0 0");
}

TEST_F(Browser, ShowsHostileTextAsText) {
  const std::string hostile = "</script><img src=x onerror=\"document.title='broken'\"> & <b>bold</b>";
  const std::string html = shown(tiny_model(), {{hostile, hostile}}, "token=q1");
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, Not(HasSubstr("<title>broken")));
  EXPECT_THAT(html, HasSubstr("id=\"source-text\">&lt;/script&gt;&lt;img src=x onerror="));
}

TEST_F(Browser, AnAddressOfWhatIsNotThereShowsWhatIs) {
  const std::string html =
      shown(tiny_model(), kTwo,
            "sentence=99&layer=-3&heads=7,x&kind=other&token=q999&cell=0,5&view=nothing&piece=none&theme=x&sort=y",
            "update({}); publish(location.hash);");
  EXPECT_EQ(text_between(html, "id=\"result\">", "</p>"),
            "#view=attention&amp;sentence=2&amp;kind=encoder&amp;layer=1&amp;heads=");
  EXPECT_EQ(text_between(html, "id=\"source-text\">", "</span>"), kTwo[1].source);
  EXPECT_THAT(html, HasSubstr("<canvas id=\"matrix\""));
  EXPECT_THAT(html, HasSubstr("data-side=\"key\""));
}

}  // namespace
}  // namespace transmute::testing
