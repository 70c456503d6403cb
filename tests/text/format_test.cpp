// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/common/json.h>
#include <transmute/tests/support/cpu_clock.h>
#include <transmute/text/format.h>
#include <nlohmann/json.hpp>

namespace transmute {
namespace {

using testing::cpu_seconds_of;

SearchOptions with_alignments() {
  SearchOptions search;
  search.alignments = true;
  return search;
}

Translation example() {
  Translation translation;
  translation.source_tokens = {"\u2581a", "\u2581b"};
  Hypothesis hypothesis;
  hypothesis.text = "x \"y\"";
  hypothesis.log_probability = -1.5;
  hypothesis.score = -1.25;
  hypothesis.tokens = {"\u2581x", "\u2581\"y\"", "!"};
  hypothesis.token_scores = {-0.5, -0.25, -0.25};
  hypothesis.alignment = {{0.2F, 0.7F}, {0.6F, 0.3F}, {0.1F, 0.2F}};
  translation.hypotheses = {hypothesis};
  return translation;
}

TEST(Output, AlignmentsAreTheBestLinks) {
  EXPECT_EQ(format_alignment(example().hypotheses[0]), "1-0 0-1") << "the last token looks at the end of the source";
  EXPECT_EQ(format_alignment(Hypothesis()), "");
}

TEST(Output, NBestListsAreMoses) {
  const std::string line = "3 ||| x \"y\" ||| logprob= -1.500000 ||| -1.250000";
  EXPECT_EQ(format_n_best(example(), 3), line + "\n");
  EXPECT_EQ(format_n_best(example(), 3, with_alignments()), line + " ||| 1-0 0-1\n");
  Translation words = example();
  words.hypotheses[0].word_alignment.emplace();
  EXPECT_EQ(format_n_best(words, 3), line + " ||| \n") << "words alone, of which none is aligned";
}

TEST(Output, JsonHasEverything) {
  const auto json = parse_json(format_json(example(), 3, with_alignments()));
  EXPECT_EQ(json["line"], 4) << "counted from 1, as messages count lines; Moses' lists begin with 0";
  EXPECT_EQ(json["source_tokens"][1], "\u2581b");
  EXPECT_EQ(json["hypotheses"][0]["text"], "x \"y\"");
  EXPECT_EQ(json["hypotheses"][0]["token_scores"][1], -0.25);
  EXPECT_FLOAT_EQ(json["hypotheses"][0]["alignment"][0][1].get<float>(), 0.7F);
  EXPECT_EQ(format_json(example(), 3).find('\n'), format_json(example(), 3).size() - 1);
}

TEST(Output, HasTheFieldsThatWereAskedForWhereATranslationIsEmpty) {
  Translation nothing;
  nothing.hypotheses.emplace_back();
  EXPECT_EQ(format_n_best(nothing, 0, with_alignments()), "0 |||  ||| logprob= 0.000000 ||| 0.000000 ||| \n");
  EXPECT_TRUE(parse_json(format_json(nothing, 0, with_alignments()))["hypotheses"][0]["alignment"].empty());
  EXPECT_TRUE(parse_json(format_json(nothing, 0, with_alignments()))["hypotheses"][0].contains("alignment"));
  EXPECT_FALSE(parse_json(format_json(nothing, 0))["hypotheses"][0].contains("alignment"));
}

TEST(Output, SaysWhereAModelIsNotCalibrated) {
  Translation translation = example();
  const auto first = [&] { return parse_json(format_json(translation, 0))["hypotheses"][0]; };
  EXPECT_TRUE(first()["confidence"].is_null());
  EXPECT_FALSE(first().contains("words"));
  translation.hypotheses[0].text = "né là";
  translation.hypotheses[0].confidence = 0.75;
  translation.hypotheses[0].words = {{{4, 7}, 0.5}};
  EXPECT_EQ(first()["confidence"], 0.75);
  EXPECT_EQ(first()["words"], parse_json(R"([{"place":[3,5],"confidence":0.5}])")) << "in characters";
}

// The characters before each place were counted from the beginning of the text.
TEST(Output, CountsTheCharactersOfALongTextOnce) {
  Translation translation = example();
  Hypothesis& best = translation.hypotheses[0];
  best.text.clear();
  best.confidence = 0.5;
  for (size_t i = 0; i < 100'000; ++i) {
    best.words.push_back({{best.text.size(), best.text.size() + 2}, 0.5});
    best.text += "é ";
  }
  best.words.push_back(best.words[1]);  // a place before the one before
  Json object;
  EXPECT_LT(cpu_seconds_of([&] { add_confidence(best, object); }), 1);
  EXPECT_EQ(object["words"][99'999]["place"], (Json{199'998, 199'999}));
  EXPECT_EQ(object["words"][100'000]["place"], (Json{2, 3}));
}

// A sampled translation of byte pieces need not be text.
TEST(Output, JsonIsUtf8WhateverTheTokensAre) {
  Translation translation = example();
  translation.hypotheses[0].text = "caf\xc3";
  translation.hypotheses[0].tokens = {"\xff"};
  const Json json = parse_json(format_json(translation, 0));
  EXPECT_EQ(json["hypotheses"][0]["text"], "caf\xef\xbf\xbd");
  EXPECT_EQ(json["hypotheses"][0]["tokens"][0], "\xef\xbf\xbd");
}

TEST(Output, LoopsAreSeen) {
  const auto loop = [](const std::string& text) {
    std::vector<std::string> tokens;
    for (const char c : text) tokens.emplace_back(1, c);
    return has_loop(tokens);
  };
  EXPECT_TRUE(loop("xyaaaaaaaaz"));
  EXPECT_TRUE(loop("abcabcabcabc"));
  EXPECT_FALSE(loop("abcabcabcab"));
  EXPECT_FALSE(loop("aaaaaaa")) << "seven may be meant";
  EXPECT_FALSE(loop("the cat sat on the mat"));
  EXPECT_FALSE(loop(""));
}

}  // namespace
}  // namespace transmute
