// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/search/sentence_search.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/translation/guard.h>

#include <algorithm>
#include <string>
#include <vector>

namespace transmute {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::tiny_tokenizer;

const char* const kText = "the red house is near! the old train is closed.";
const char* const kGood = "das rote Haus ist nah! das alte Zug ist geschlossen.";
const char* const kLoop = "das rote Haus Haus Haus Haus Haus";

// A guard of a model that finds what a test says.
class Guarded : public ::testing::Test {
 protected:
  Translation translation(const std::string& text, const std::string& source = kText) const {
    Translation made;
    made.source_tokens = tokenizer.source().segment(source).pieces;
    made.hypotheses.emplace_back();
    made.hypotheses[0].text = text;
    made.hypotheses[0].tokens = tokenizer.target().segment(text).pieces;
    made.hypotheses[0].token_scores.assign(made.hypotheses[0].tokens.size(), -0.1);
    made.hypotheses[0].log_probability = -0.1 * static_cast<double>(made.hypotheses[0].tokens.size() + 1);
    const std::vector<float> all(made.source_tokens.size(), 1.0F);
    made.hypotheses[0].alignment.assign(made.hypotheses[0].tokens.size(), all);
    return made;
  }

  // The guard's version of `found`.
  Translation check(Translation found, const std::string& source = kText) {
    const auto search = [&](const std::vector<SourcePart>& parts, const TranslationOptions& changed) {
      std::vector<Translation> results;
      if (parts.front().prefix_is_complete) {
        results.resize(parts.size(), given.hypotheses.empty() ? found : given);
        for (Translation& result : results) result.hypotheses[0].alignment = attention;
        return results;
      }
      searches.push_back(changed.search);
      searched_parts.push_back(parts);
      for (size_t i = 0; i < parts.size(); ++i)
        results.push_back(parts.size() == 1 ? whole : pieces.at(std::min(i, pieces.size() - 1)));
      return results;
    };
    const TranslationGuard guard({tokenizer, expected, SentenceSplitter("en"), kMaxWholeTokens, search}, options);
    SourcePart part = whole_source(tokenizer.source(), source, 0);
    part.has_tags = has_tags;
    part.prefix.insert(part.prefix.end(), prefix.begin(), prefix.end());
    guard.check({{part, found}});
    return found;
  }

  std::string text_of(const Translation& checked) const { return checked.hypotheses.at(0).text; }

  const Tokenizer tokenizer = tiny_tokenizer();
  const Expectations expected;
  TranslationOptions options;
  bool has_tags = false;
  Ids prefix;                                                            // that the caller demands
  Translation whole = translation(kLoop);                                // found by searches for the whole part
  std::vector<Translation> pieces{translation(kLoop, "the red house")};  // for its pieces
  Translation given;  // of parts with a given translation; without hypotheses: the one that is checked
  Attention attention = whole.hypotheses[0].alignment;  // of each translation
  std::vector<SearchOptions> searches;
  std::vector<std::vector<SourcePart>> searched_parts;  // of each search
};

TEST_F(Guarded, LeavesGoodTranslationsAlone) {
  const Translation checked = check(translation(kGood));
  EXPECT_EQ(text_of(checked), kGood);
  EXPECT_THAT(checked.warnings, IsEmpty());
  EXPECT_THAT(searches, IsEmpty());
}

TEST_F(Guarded, TakesTheFirstHypothesisOfAWiderSearchThatHasNoWarning) {
  whole.hypotheses.push_back(translation(kGood).hypotheses[0]);
  whole.hypotheses.push_back(translation("das blaue Haus.").hypotheses[0]);
  whole.unknown = {"電"};
  const Translation checked = check(translation(kLoop));
  EXPECT_EQ(text_of(checked), kGood);
  EXPECT_THAT(checked.warnings, IsEmpty());
  EXPECT_THAT(checked.hypotheses, SizeIs(1));
  EXPECT_THAT(checked.unknown, ElementsAre("電"));
  ASSERT_EQ(searches.size(), 2U) << "its sentences, then the whole";
  EXPECT_EQ(searches[1].beam_size, 8);
  EXPECT_EQ(searches[1].num_hypotheses, 8);
  EXPECT_EQ(searches[1].no_repeat_ngram, 3);
}

TEST_F(Guarded, SearchesAgainWhereATranslationIsEmpty) {
  whole = translation("Haus", "house");
  EXPECT_EQ(text_of(check(translation("", "house"), "house")), "Haus");
  whole = translation("", "house");
  const Translation checked = check(translation(" ", "house"), "house");
  ASSERT_THAT(checked.warnings, SizeIs(1));
  EXPECT_EQ(checked.warnings[0].message, "5 characters are translated as 1, much fewer than expected");
}

TEST_F(Guarded, FirstTranslatesTheSentencesOfAPartByThemselves) {
  pieces = {translation("das rote Haus ist nah!", "the red house is near!"),
            translation("das alte Zug ist geschlossen.", "the old train is closed.")};
  const Translation checked = check(translation(kLoop));
  EXPECT_EQ(text_of(checked), kGood);
  EXPECT_THAT(checked.warnings, IsEmpty());
  EXPECT_EQ(checked.parts, 1) << "the text had one";
  EXPECT_EQ(checked.source_tokens, tokenizer.source().segment(kText).pieces);
  EXPECT_THAT(searched_parts, ElementsAre(SizeIs(2)));
}

TEST_F(Guarded, CutsSentencesWhereTheyEndInTheTextAsItIsWritten) {
  for (const std::string first : {"the red house… is near™!", "the \u00A0 red ﬁre Ⅳ is near!"}) {
    searched_parts.clear();
    check(translation(kLoop, first + " the old train is closed."), first + " the old train is closed.");
    ASSERT_THAT(searched_parts.at(0), SizeIs(2));
    EXPECT_EQ(searched_parts[0][0].ids, tokenizer.source().encode(first)) << first;
    EXPECT_EQ(searched_parts[0][1].ids, tokenizer.source().encode("the old train is closed.")) << first;
  }
}

// The alignments of a text's parts together take the square of its length.
TEST_F(Guarded, LeavesAlignmentsOnlyWhereTheyAreNeeded) {
  whole = translation(kGood);
  const auto checked = [&] { return check(translation(kLoop)).hypotheses.at(0); };
  EXPECT_EQ(checked().text, kGood);
  EXPECT_THAT(checked().alignment, IsEmpty());
  has_tags = true;
  EXPECT_EQ(checked().alignment, whole.hypotheses[0].alignment);
  has_tags = false;
  options.search.alignments = true;
  EXPECT_EQ(checked().alignment, whole.hypotheses[0].alignment);
}

TEST_F(Guarded, KeepsACopyRatherThanOneWithAWordChanged) {
  whole = translation("the black house is near! the old train is closed.");
  const Translation kept = check(translation(kText));
  EXPECT_EQ(text_of(kept), kText);
  ASSERT_EQ(kept.warnings.size(), 1U);
  EXPECT_EQ(kept.warnings[0].kind, WarningKind::copy);
  whole = translation(kGood);
  const Translation translated = check(translation(kText));
  EXPECT_EQ(text_of(translated), kGood);
  EXPECT_THAT(translated.warnings, IsEmpty());
}

TEST_F(Guarded, TakesTheSourceRatherThanWordsAfterIt) {
  const std::string source = "the red house";
  whole = translation("the red house (nah)", source);
  for (const std::string text : {"the red house ist", "the Haus house (nah)"})
    whole.hypotheses.push_back(translation(text, source).hypotheses[0]);
  given = translation(source, source);
  const Translation kept = check(translation("the red house (", source), source);
  EXPECT_EQ(text_of(kept), source);
  EXPECT_THAT(kept.warnings, IsEmpty());
  whole.hypotheses.push_back(translation("das rote Haus", source).hypotheses[0]);
  EXPECT_EQ(text_of(check(translation("the red house (", source), source)), "das rote Haus");
  options.guard = Guard::warn;
  const Translation warned = check(translation("the red house (", source), source);
  EXPECT_EQ(text_of(warned), "the red house (");
  ASSERT_THAT(warned.warnings, SizeIs(1));
  EXPECT_EQ(warned.warnings[0].kind, WarningKind::bracket);
  prefix = tokenizer.target().encode("the");
  EXPECT_THAT(check(translation("the red house (nah)", source), source).warnings, IsEmpty()) << "as demanded";
  prefix = {};
  options = {};
  whole = translation("the red house Zug", source);
  EXPECT_EQ(text_of(check(translation("the red house Haus Haus Haus Haus Haus", source), source)), "the red house Zug")
      << "fewer words after the source than before";
}

TEST_F(Guarded, MendsNoBracketByLeavingItOut) {
  const std::string source = "the red house (is near)";
  whole = translation("das rote Haus ist nah", source);
  EXPECT_EQ(text_of(check(translation("das rote Haus (ist nah", source), source)), "das rote Haus (ist nah");
  whole = translation("das rote Haus (ist nah)", source);
  EXPECT_EQ(text_of(check(translation("das rote Haus (ist nah", source), source)), "das rote Haus (ist nah)");
}

TEST_F(Guarded, WarnsOfWhatNoSearchMakesBetter) {
  const Translation checked = check(translation(kLoop));
  EXPECT_EQ(text_of(checked), kLoop);
  ASSERT_EQ(checked.warnings.size(), 1U);
  EXPECT_EQ(checked.warnings[0].kind, WarningKind::repetition);
  EXPECT_EQ(checked.warnings[0].target, std::make_pair(size_t{9}, size_t{33}));
}

TEST_F(Guarded, LeavesNumbersAloneWithoutWords) {
  given = translation("12 15", "12 15");
  EXPECT_EQ(text_of(check(translation("das 12 15 Haus", "12 15"), "12 15")), "12 15");
  EXPECT_TRUE(searches.empty());
  EXPECT_EQ(text_of(check(translation("12 15 16", "12 15"), "12 15")), "12 15 16");
  EXPECT_EQ(text_of(check(translation("Haus 12 x", "train 12"), "train 12")), "Haus 12 x");
  prefix = tokenizer.target().encode("das");
  EXPECT_THAT(check(translation("das 12 15", "12 15"), "12 15").warnings, IsEmpty()) << "as demanded";
}

TEST_F(Guarded, LeavesNamesAloneWithoutAnArticle) {
  given = translation("red house", "red house");
  EXPECT_EQ(text_of(check(translation("das red house", "red house"), "red house")), "red house");
  EXPECT_TRUE(searches.empty());
  for (const char* text : {"das das red house", "nah: red house", "Haus red house", "red house das", "das rote Haus"})
    EXPECT_EQ(text_of(check(translation(text, "red house"), "red house")), text);
  EXPECT_EQ(text_of(check(translation("das red house.", "red house."), "red house.")), "das red house.")
      << "a sentence";
}

TEST_F(Guarded, OnlyWarnsWhereTheResultMayNotChange) {
  whole = translation(kGood);
  options.guard = Guard::warn;
  EXPECT_EQ(text_of(check(translation(kLoop))), kLoop);
  options = {};
  options.search.num_hypotheses = 2;
  EXPECT_EQ(text_of(check(translation(kLoop))), kLoop);
  options = {};
  options.search.sampling.emplace();
  EXPECT_EQ(text_of(check(translation(kLoop))), kLoop);
  options = {};
  options.mbr.candidates = 4;
  EXPECT_EQ(text_of(check(translation(kLoop))), kLoop);
  options = {};
  options.rerank.candidates = 4;
  const Translation checked = check(translation(kLoop));
  EXPECT_EQ(text_of(checked), kLoop);
  EXPECT_EQ(checked.warnings.size(), 1U);
  EXPECT_THAT(searches, IsEmpty());
}

TEST_F(Guarded, FindsSourceWordsThatGetNoAttention) {
  attention = Attention(6, std::vector<float>(translation("").source_tokens.size(), 0.0F));
  for (auto& row : attention) row[0] = 1;
  options.guard = Guard::warn;
  const Translation checked = check(translation("das rote Haus."));
  ASSERT_EQ(checked.warnings.size(), 1U) << checked.warnings.back().message;
  EXPECT_EQ(checked.warnings[0].kind, WarningKind::omission);
  EXPECT_EQ(checked.warnings[0].source.second, std::string(kText).size());
  EXPECT_EQ(checked.warnings[0].target, std::make_pair(size_t{0}, size_t{0}));
}

// The tokenizer reads the characters before the gap as others, of more or fewer bytes.
TEST_F(Guarded, QuotesSourceWordsAsTheyAreWritten) {
  const std::string missed = "Ⅳ old™ trains… near the bridge.";
  options.guard = Guard::warn;
  for (const std::string before : {"the red house... is", "the red house… is", "Ⅳ red house™ is", "the\u00A0ﬁre is"}) {
    const std::string text = before + " " + missed;
    const Translation short_one = translation("das rote Haus.", text);
    attention = {std::vector<float>(short_one.source_tokens.size(), 0.0F)};
    std::fill_n(attention[0].begin(), tokenizer.source().encode(before).size(), 1.0F);
    const auto warnings = check(short_one, text).warnings;
    const auto omission = std::find_if(warnings.begin(), warnings.end(), [](const TranslationWarning& warning) {
      return warning.kind == WarningKind::omission;
    });
    ASSERT_NE(omission, warnings.end()) << before;
    EXPECT_EQ(omission->message, "\"" + missed + "\" may not be translated");
    EXPECT_EQ(omission->source, std::make_pair(before.size() + 1, text.size()));
  }
}

TEST_F(Guarded, FindsTheTokenBehindAGap) {
  const std::string text = "das rote Haus ist nah. Zug ist geschlossen.";
  Translation jump = translation(text);
  attention = jump.hypotheses[0].alignment;
  for (auto& row : attention) {
    std::fill(row.begin() + 5, row.begin() + 9, 0.0F);
    row[0] = 0.5;
  }
  options.guard = Guard::warn;
  EXPECT_THAT(check(jump).warnings, IsEmpty()) << "each token is probable";
  jump.hypotheses[0].token_scores[3] = -5;
  jump.hypotheses[0].log_probability -= 5;
  const auto warnings = check(jump).warnings;
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].kind, WarningKind::omission);
  EXPECT_LT(warnings[0].target.first, warnings[0].target.second);
}

TEST_F(Guarded, LeavesAbandonedTranslationsAlone) {
  Translation abandoned = translation("");
  abandoned.hypotheses[0].log_probability = search::kNever;
  EXPECT_THAT(check(abandoned).warnings, IsEmpty());
  EXPECT_THAT(searches, IsEmpty());
}

}  // namespace
}  // namespace transmute
