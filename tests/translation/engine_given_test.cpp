// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/support/table_model.h>
#include <transmute/tests/support/translation_engine.h>
#include <transmute/tests/translation/engine_fixture.h>
#include <transmute/text/glossary.h>
#include <transmute/tokenizer/truecase.h>
#include <transmute/translation/join_parts.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::Engine;
using testing::expect_same;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::telling;
using testing::tokenizer_of_bytes;

TEST_F(Engine, BeginsTranslationsWithTheirPrefix) {
  options.target_prefixes = {"das rote", "", "das"};
  const auto found = translate({"the red house is near.", "the old train is far.", ""}, options);
  EXPECT_EQ(found[0].hypotheses.at(0).text.rfind("das rote", 0), 0U) << found[0].hypotheses[0].text;
  EXPECT_EQ(found[1].hypotheses.at(0).text, translated("the old train is far.", few_tokens()));
  EXPECT_EQ(found[2].hypotheses.at(0).text, "") << "nothing to translate";
  options.target_prefixes.pop_back();
  EXPECT_THAT(refusal({"a", "b", "c"}, options), HasSubstr("the numbers of target prefixes (2) and texts (3) differ"));
}

// The prefix of listed pieces counts as certain; with one hypothesis, this changes only the scores.
TEST_F(Engine, CountsThePrefixOfListedPiecesAsThatOfATextExceptInTheProbability) {
  const auto listed = [](const SubwordModel& model, const std::string& text) {
    std::string list;
    for (const std::string& piece : model.segment(text).pieces) list += (list.empty() ? "" : " ") + piece;
    return list;
  };
  const TranslationEngine of_pieces = testing::engine_of(transformer, tokenizer.of_listed_pieces());
  options.search.beam_size = 1;
  int penalized = 0;
  for (const std::string& text : testing::tiny_english()) {
    const auto both = [&](double penalty) {
      options.search.repetition_penalty = penalty;
      options.target_prefixes = {"das rote"};
      const Hypothesis of_text = translate({text}, options).at(0).hypotheses.at(0);
      options.target_prefixes = {listed(tokenizer.target(), "das rote")};
      const std::string source = listed(tokenizer.source(), text);
      const Hypothesis found = of_pieces.translate({source}, options).at(0).hypotheses.at(0);
      EXPECT_EQ(found.tokens, of_text.tokens) << text;
      EXPECT_GT(found.log_probability, of_text.log_probability);
      EXPECT_EQ(found.token_scores.at(0), 0);
      return found.tokens;
    };
    penalized += both(1) != both(3) ? 1 : 0;
  }
  EXPECT_GT(penalized, 0) << "or nothing is shown";
}

TEST_F(Engine, ObeysAGlossary) {
  options.search.max_extra_length = 20;
  options.glossary = {{"house", "Brücke"}, {"red house", "alte"}};
  const auto found = translate({"the house is near.", "the red house is near.", "the houses"}, options);
  EXPECT_THAT(found[0].hypotheses.at(0).text, HasSubstr("Brücke"));
  EXPECT_THAT(found[1].hypotheses.at(0).text, HasSubstr("alte"));
  EXPECT_THAT(translated("House is near."), HasSubstr("Brücke"));
  TranslationOptions without = options;
  without.glossary.clear();
  EXPECT_EQ(found[2].hypotheses.at(0).text, translated("the houses", without));
}

TEST_F(Engine, BeginsWithATermInTheCaseOfTheSource) {
  const SubwordModel& target = tokenizer.target();
  const Glossary glossary({{"house", "alte Brücke"}, {"train", "Zug"}, {"is", "is"}});
  const auto part_of = [&](const std::string& text) {
    SourceTexts sources = encode_texts(tokenizer.source(), {text}, {}, glossary, one_by_one);
    demand_terms(sources.at(0).parts.at(0), glossary, tokenizer);
    return sources[0].parts[0];
  };
  const auto begun = [&](const std::string& translation, const std::string& source) {
    return in_written_case(translation, part_of(source), target);
  };
  EXPECT_EQ(begun("alte Brücke", "House and river"), "Alte Brücke");
  EXPECT_EQ(begun("alte Brücke", "The house is near"), "Alte Brücke");
  EXPECT_EQ(begun("alte Brücke", "the house is near"), "alte Brücke");
  EXPECT_EQ(begun("alte Brücke", "Hear the train"), "alte Brücke") << "no term, but the model's own words";
  EXPECT_EQ(begun("alte Brücke", "The red train"), "Alte Brücke") << "the vocabulary has no T, but reads t";
  EXPECT_EQ(begun("das alte Brücke", "House and river"), "das alte Brücke");
  EXPECT_EQ(begun("is", "The river is"), "is") << "as the source has it";
  EXPECT_EQ(begun("Zug", "The train"), "Zug");
  EXPECT_EQ(begun("1. das alte", "1. The old"), "1. Das alte") << "an item of a list, from any model";
  EXPECT_EQ(begun("9.4.7. das alte", "9.4.7. The old"), "9.4.7. Das alte");
  EXPECT_EQ(begun("2. verdenskrig", "2. Weltkrieg und der Frieden"), "2. verdenskrig") << "an ordinal number in German";
  EXPECT_EQ(begun("1. das alte", "1. the old"), "1. das alte");
  EXPECT_EQ(begun("2. das alte", "1. The old"), "2. das alte");
  EXPECT_EQ(begun("1.5 das alte", "1.5 The old"), "1.5 das alte");
  const auto so_far = [&](const std::string& text, const std::string& source) {
    return so_far_in_written_case(target.encode(text), part_of(source), target).value_or("not yet");
  };
  EXPECT_EQ(so_far("alte", "The house is near"), "not yet");
  EXPECT_EQ(so_far("alte Brücke", "The house is near"), "Alte Brücke");
  EXPECT_EQ(so_far("das", "The house is near"), "Das");
}

TEST_F(Engine, BeginsWithTheCapitalOfTheSource) {
  const SubwordModel& target = tokenizer.target();
  const auto part_of = [&](const std::string& text) {
    SourceTexts sources =
        encode_texts(tokenizer.source(), {text}, {}, Glossary(std::vector<GlossaryEntry>{}), one_by_one);
    sources.at(0).parts.at(0).lends_capital = true;
    return sources[0].parts[0];
  };
  const auto begun = [&](const std::string& translation, const std::string& source) {
    return in_written_case(translation, part_of(source), target);
  };
  EXPECT_EQ(begun("(das alte", "Hear the train"), "(Das alte");
  EXPECT_EQ(begun("train alte", "Hear the train"), "Train alte") << "a label";
  EXPECT_EQ(begun("train alte", "Hear the train as it is"), "train alte") << "a name of code may begin so";
  EXPECT_EQ(begun("train()", "Hear train()"), "train()");
  EXPECT_EQ(begun("iPhone", "Hear the train"), "iPhone");
  EXPECT_EQ(begun("das alte", "hear the train"), "das alte");
  const auto so_far = [&](const std::string& text, const std::string& source) {
    return so_far_in_written_case(target.encode(text), part_of(source), target).value_or("not yet");
  };
  EXPECT_EQ(so_far("das", "Hear the train"), "not yet");
  EXPECT_EQ(so_far("das alte", "Hear the train"), "Das alte");
  EXPECT_EQ(so_far("Haus", "Hear the train"), "Haus");
}

TEST_F(Engine, GivesNoCapitalWhereTheCaseIsKept) {
  const std::string text = "Hear the old train.";
  const std::string given = translated(text);
  options.letter_case = LetterCase::kept;
  const std::string kept = translated(text);
  EXPECT_TRUE(begins_in_upper_case(given)) << given;
  EXPECT_TRUE(begins_in_lower_case(kept)) << kept;
  EXPECT_EQ(without_capitals(given), without_capitals(kept));
}

// A demand of many tokens widens the beam by a bounded number, and is met nevertheless.
TEST_F(Engine, MeetsDemandsThatAreLongerThanTheSource) {
  std::string term;
  while (tokenizer.target().encode(term).size() < 150) term += "das alte Haus ";
  term.pop_back();
  options.glossary = {{"house", term}};
  EXPECT_THAT(translated("the house"), HasSubstr(term));
  options.glossary[0].target += ' ' + term;
  EXPECT_THAT(refusal({"a", "the house"}, options),
              AllOf(HasSubstr("text 2: the glossary demands terms of"), HasSubstr("more than 256")));
}

TEST_F(Engine, AlignsTheWordsOfSentencesThatATermJoins) {
  const std::string text = "the old. Red house is near. The river is far.";
  options.split_sentences = SentenceSplitting::always;
  options.word_alignments = true;
  options.glossary = {{"old. Red", "Haus"}};
  const auto found = translate({text}, options).at(0);
  EXPECT_EQ(found.parts, 2);
  EXPECT_THAT(found.hypotheses.at(0).text, HasSubstr("Haus"));
  ASSERT_TRUE(found.hypotheses[0].word_alignment.has_value());
  for (const auto& [source, target] : *found.hypotheses[0].word_alignment) EXPECT_LT(source, 10U);
}

TEST_F(Engine, KeepsEveryTagOnceAndNested) {
  options.inline_tags = true;
  const auto found =
      translate({"the <b>red <i>house</i></b> is <br/> near.", "<x/>", "the {thing} train", "3 < 4", ""}, options);
  for (const char* tag : {"<b>", "</b>", "<i>", "</i>", "<br/>"}) {
    const std::string& text = found[0].hypotheses[0].text;
    EXPECT_NE(text.find(tag), std::string::npos) << text;
    EXPECT_EQ(text.find(tag), text.rfind(tag)) << text;
  }
  const std::string& text = found[0].hypotheses[0].text;
  EXPECT_LT(text.find("<b>"), text.find("<i>"));
  EXPECT_LT(text.find("<i>"), text.find("</i>"));
  EXPECT_LT(text.find("</i>"), text.find("</b>"));
  EXPECT_EQ(found[1].hypotheses.at(0).text, "<x/>");
  EXPECT_THAT(found[2].hypotheses.at(0).text, HasSubstr("{thing}"));
  EXPECT_EQ(found[3].hypotheses.at(0).text, translated("3 < 4", few_tokens()));
  EXPECT_THAT(found[0].hypotheses[0].alignment, IsEmpty()) << "not asked for";
}

TEST_F(Engine, PlacesTagsInEachSentence) {
  const std::string first = "the <b>red</b> house is near.", second = "The old <i>train</i> is far.";
  options.inline_tags = true;
  const auto apart = translate({first, second}, options);
  const auto both = translate({first + "  " + second}, options).at(0);
  EXPECT_EQ(both.parts, 2);
  EXPECT_EQ(both.sentences, 2);
  EXPECT_EQ(both.hypotheses.at(0).text, apart[0].hypotheses.at(0).text + "  " + apart[1].hypotheses.at(0).text);
}

TEST_F(Engine, EndsSentencesAtLineBreaksOfMarkup) {
  const std::string first = "the red house", second = "the <i>train</i> is far.";
  options.inline_tags = true;
  const auto apart = translate({first, second}, options);
  const std::string expected_first = apart[0].hypotheses.at(0).text, expected_second = apart[1].hypotheses.at(0).text;
  for (const std::string line_break : {"<br>", " <BR/> ", "<br><br>"}) {
    const auto both = translate({first + line_break + second}, options).at(0);
    EXPECT_EQ(both.sentences, 2);
    EXPECT_EQ(both.hypotheses.at(0).text, expected_first + line_break + expected_second);
  }
  options.split_sentences = SentenceSplitting::never;
  EXPECT_EQ(translate({first + "<br>" + second}, options).at(0).sentences, 1);
}

TEST_F(Engine, ReturnsWhatIsProtectedOnce) {
  const std::vector<std::string> texts{"the %s red house {0} is near 😀.", "the red house is near.", "%1$s: %d (%s)",
                                       "the red house &amp; the train http://a.b/c?d=e", ""};
  const auto found = translate(texts, few_tokens());
  const std::vector<std::vector<std::string>> spans{{"%s", "{0}", "😀"}, {}, {}, {"&amp;", "http://a.b/c?d=e"}, {}};
  for (size_t i = 0; i < texts.size(); ++i)
    for (const std::string& span : spans[i]) {
      const std::string& text = found[i].hypotheses.at(0).text;
      EXPECT_NE(text.find(span), std::string::npos) << text;
      EXPECT_EQ(text.find(span), text.rfind(span)) << text;
    }
  EXPECT_EQ(found[2].hypotheses.at(0).text, texts[2]) << "there is nothing to translate";
  EXPECT_THAT(found[0].hypotheses[0].alignment, IsEmpty()) << "not asked for";
  TranslationOptions none = few_tokens();
  none.protect = Protection::none;
  expect_same({found[1]}, {translate({texts[1]}, none).at(0)});
  EXPECT_THAT(translated(texts[0], none), Not(HasSubstr("{0}")));
}

TEST_F(Engine, KeepsTheMarkerBeforeALine) {
  for (const std::string marker : {"- ", "## ", "2) ", "(a) ", "• "}) {
    const std::string plain = translated("the red house is near.", few_tokens());
    EXPECT_EQ(translated(marker + "the red house is near.", few_tokens()), marker + plain);
  }
}

TEST_F(Engine, TranslatesEachItemOfALineByItself) {
  const Tokenizer complete = tokenizer_of_bytes();
  const TranslationEngine engine = testing::engine_of(testing::tiny_transformer(complete, 6), complete);
  const auto parts_of = [&](const std::string& text) { return engine.translate({text}, few_tokens()).at(0).parts; };
  EXPECT_EQ(parts_of("1) the red house 2) the old train 3) the river"), 3);
  EXPECT_EQ(parts_of(" a) the red house b) the old train"), 2);
  EXPECT_EQ(parts_of("• the red house • the old train"), 2);
  EXPECT_EQ(parts_of("- the red house. The old train 2) is near."), 2);
  EXPECT_EQ(parts_of("- the red house - the old train"), 1);
  EXPECT_EQ(translate({"• the red house • the old train"}, few_tokens()).at(0).parts, 2)
      << "the vocabulary lacks both bullets";
}

TEST_F(Engine, InventsNothingForTextWithoutWords) {
  for (const char* text : {"...", "-----", "%s ..."}) EXPECT_EQ(translated(text, few_tokens()), text);
  EXPECT_EQ(translate({"{name}. the red house is near."}, few_tokens()).at(0).parts, 1);
}

TEST_F(Engine, ReturnsWordsThatTheVocabularyLacks) {
  const Translation found = translate({"the red Дом is near."}, few_tokens()).at(0);
  EXPECT_THAT(found.hypotheses.at(0).text, HasSubstr("Дом"));
  EXPECT_THAT(found.unknown, ElementsAre("Дом")) << "the model has not read it";
  options.glossary = {{"red %s", "haus"}};
  const std::string text = translated("the red %s is near.");
  EXPECT_THAT(text, AllOf(HasSubstr("haus"), Not(HasSubstr("%s")))) << "a term is the glossary's";
}

TranslationEngine engine_that_copies(const Tokenizer& tokenizer = tokenizer_of_bytes()) {
  const auto copy = [](const Ids& source, const Ids& prefix) {
    return testing::Distribution{{prefix.size() < source.size() ? source[prefix.size()] : special_ids::kEnd, 1.0}};
  };
  const int64_t words = tokenizer.target().size() - special_ids::kCount;
  return {{std::make_shared<testing::TableModel>(copy, words), {}, {}}, tokenizer, one_by_one};
}

TEST(EngineOfAModelWithTwoTranslations, KeepsTheBetterOneIfBothGetTheSameCase) {
  const Tokenizer tokenizer = tokenizer_of_bytes();
  const std::vector<std::pair<Ids, double>> translations{{tokenizer.target().encode("das Haus"), 0.6},
                                                         {tokenizer.target().encode("DAS haus"), 0.4}};
  const auto either = [&](const Ids& /*source*/, const Ids& prefix) {
    testing::Distribution next;
    double sum = 0;
    for (const auto& [ids, probability] : translations) {
      if (prefix.size() > ids.size() || !std::equal(prefix.begin(), prefix.end(), ids.begin())) continue;
      next[prefix.size() < ids.size() ? ids[prefix.size()] : special_ids::kEnd] += probability;
      sum += probability;
    }
    for (auto& [id, probability] : next) probability /= sum;
    if (next.empty()) next[special_ids::kEnd] = 1;
    return next;
  };
  const int64_t words = tokenizer.target().size() - special_ids::kCount;
  const TranslationEngine engine({std::make_shared<testing::TableModel>(either, words), {}, {}}, tokenizer, one_by_one);
  TranslationOptions options;
  options.guard = Guard::off;
  options.search.num_hypotheses = 2;
  const auto texts = [&](const std::string& source) {
    std::vector<std::string> found;
    const Translation translation = engine.translate({source}, options).at(0);
    for (const Hypothesis& hypothesis : translation.hypotheses) found.push_back(hypothesis.text);
    return found;
  };
  EXPECT_THAT(texts("the red house"), ElementsAre("das Haus", "DAS haus"));
  EXPECT_THAT(texts("THE RED HOUSE"), ElementsAre("DAS HAUS"));
}

TEST(EngineOfAModelThatCopies, WritesFormsAsTheSourceDoes) {
  const TranslationEngine engine = engine_that_copies();
  const std::string text = "10⁶ houses of 100 m². THE %s IS CO₂: H₂O.";
  std::vector<std::string> told;
  const TranslationHooks hooks = telling(told);
  const Translation found = engine.translate({text}, {}, hooks).at(0);
  EXPECT_EQ(found.hypotheses.at(0).text, text);
  EXPECT_THAT(found.warnings, ElementsAre());
  EXPECT_THAT(told, ElementsAre(text));
  EXPECT_THAT(found.source_tokens, Not(Contains("²")));
  TranslationOptions options;
  options.glossary = {{"CO₂", "CO2"}};
  EXPECT_EQ(engine.translate({"the CO₂ is near."}, options).at(0).hypotheses.at(0).text, "the CO2 is near.");
}

TEST(EngineOfAModelThatCopies, ReadsMarksInAsciiAndWritesThemAsTheSourceDoes) {
  std::vector<std::string> lines = testing::tiny_english();
  lines.resize(lines.size() + 20, "\"it's\" - near.");
  const Tokenizer tokenizer =
      train_tokenizer(testing::tiny_tokenizer_options(), testing::lines_from(lines), testing::lines_from(lines));
  const TranslationEngine engine = engine_that_copies(tokenizer);
  const std::string text = "the “red” house—it’s near.";
  TranslationOptions options;
  options.guard = Guard::off;  // a copy looks wrong
  const Translation found = engine.translate({text}, options).at(0);
  EXPECT_EQ(found.hypotheses.at(0).text, "the “red” house — it’s near.");
  EXPECT_THAT(found.unknown, ElementsAre());
  EXPECT_THAT(found.source_tokens, AllOf(Contains(HasSubstr("\"")), Contains(HasSubstr("'"))));
}

TEST(EngineOfAModelThatCopies, ReadsNumbersForTagsThatAreWords) {
  TranslationOptions options;
  options.inline_tags = true;
  const std::string text = "the <var-x0/> house is <var-7/>.";
  const Translation found = engine_that_copies().translate({text}, options).at(0);
  EXPECT_EQ(found.hypotheses.at(0).text, text);
  EXPECT_THAT(found.source_tokens, Not(Contains(HasSubstr("v"))));
}

TEST(EngineOfAModelThatCopies, ProtectsWhatALongTextHas) {
  std::string text = "the house.";
  while (text.size() <= 2 * kMaxWholeTokens)
    text += " See {name} in the old house that is near the river, by the old bridge.";
  TranslationOptions options;
  options.guard = Guard::off;
  const Translation found = engine_that_copies().translate({text}, options).at(0);
  EXPECT_EQ(found.hypotheses.at(0).text, text);
  EXPECT_THAT(found.source_tokens, Not(Contains(HasSubstr("{"))));
}

TEST(EngineOfAModelThatCopies, PutsProtectedWordsWhereTheirNumbersAre) {
  const TranslationEngine engine = engine_that_copies();
  const std::vector<std::string> texts{"the {0} house is near %s.", "the red house."};
  std::vector<std::string> told;
  size_t done = 0;
  TranslationHooks hooks;
  hooks.on_text = [&](size_t text, const std::string& so_far) {
    if (text == 0) told.push_back(so_far);
  };
  hooks.on_progress = [&](size_t count, size_t) { done = count; };
  const std::vector<Translation> found = engine.translate(texts, {}, hooks);
  EXPECT_EQ(found.at(0).hypotheses.at(0).text, texts[0]);
  EXPECT_EQ(found.at(1).hypotheses.at(0).text, texts[1]);
  EXPECT_THAT(found.at(0).source_tokens, Not(Contains("{")));
  EXPECT_THAT(told, ElementsAre(texts[0])) << "the numbers are not shown";
  EXPECT_EQ(done, 2);
  TranslationOptions options;
  options.glossary = {{"711", "red"}};
  EXPECT_EQ(engine.translate({texts[0]}, options).at(0).hypotheses.at(0).text, texts[0])
      << "711 is no word of the text";
}

TEST_F(Engine, ReadsTextWithoutTheInvisibleCharactersThatTheVocabularyLacks) {
  const std::string seen = "the red house %s is near.";
  const Translation expected = translate({seen}, few_tokens()).at(0);
  for (const std::string invisible : {"\u00AD", "\u2060", "\uFE0F"}) {
    const Translation found =
        translate({"the red ho" + invisible + "use %s is " + invisible + "near."}, few_tokens()).at(0);
    EXPECT_EQ(found.hypotheses.at(0).text, expected.hypotheses.at(0).text);
    EXPECT_THAT(found.unknown, ElementsAre());
    EXPECT_EQ(translated(invisible, few_tokens()), invisible) << "has no words";
  }
}

TEST_F(Engine, LeavesToTheModelWhatItHasLearned) {
  const std::string text = "the %s red house {0} is near.";
  TranslationEngine engine = testing::engine_of(transformer, tokenizer);
  engine.leave_to_models({"{0}"});
  EXPECT_THAT(engine.translate({text}, options).at(0).hypotheses.at(0).text,
              AllOf(HasSubstr("%s"), Not(HasSubstr("{0}"))));
  options.protect = Protection::all;
  EXPECT_THAT(engine.translate({text}, options).at(0).hypotheses.at(0).text, AllOf(HasSubstr("%s"), HasSubstr("{0}")));
}

TEST_F(Engine, BeginsATextOfProtectedSpansWithItsPrefix) {
  options.target_prefixes = {"das rote"};
  EXPECT_THAT(translated("%s"), ::testing::StartsWith("das rote"));
  options.target_prefixes = {""};
  EXPECT_EQ(translated("%s"), "%s");
}

TEST_F(Engine, PutsWhatIsProtectedAfterThePrefix) {
  const std::vector<std::string> texts{"😀 the red house is near.", "the %s red {0} house is near.", "%s THE RED HOUSE"};
  for (const std::string prefix : {"das rote", "das r"}) {
    options.target_prefixes.assign(texts.size(), prefix);
    const auto found = translate(texts, options);
    const std::vector<std::vector<std::string>> spans{{"😀"}, {"%s", "{0}"}, {"%s"}};
    for (size_t i = 0; i < texts.size(); ++i) {
      EXPECT_THAT(found[i].hypotheses.at(0).text, ::testing::StartsWith(prefix));
      for (const std::string& span : spans[i]) EXPECT_THAT(found[i].hypotheses[0].text, HasSubstr(span));
    }
  }
  options.target_prefixes = {"das rote"};
  EXPECT_THAT(translated("- the red house"), AllOf(::testing::StartsWith("das rote"), Not(HasSubstr("-"))))
      << "a list marker has meaning only at the start";
}

TEST_F(Engine, KeepsProtectedSpansInEachSentenceOfATextInCapitals) {
  options.split_sentences = SentenceSplitting::always;
  options.word_alignments = true;
  const Translation found = translate({"THE RED %s HOUSE IS NEAR. THE OLD {name} TRAIN IS CLOSED."}, options).at(0);
  EXPECT_EQ(found.parts, 2);
  const std::string& text = found.hypotheses.at(0).text;
  EXPECT_LT(text.find("%s"), text.find("{name}")) << text;
  EXPECT_THAT(text, HasSubstr("{name}"));
  EXPECT_THAT(*found.hypotheses[0].word_alignment,
              ::testing::Contains(::testing::Field(&std::pair<size_t, size_t>::first, 2U)))
      << "%s is a word";
}

TEST_F(Engine, WarnsOfPlacesInTheWholeTextAndOfNothingThatWasProtected) {
  const std::string text = "{name}: the red house {0} is near the old train %d and the river is far 😀";
  options.guard = Guard::warn;
  const Translation found = translate({text}, options).at(0);
  for (const TranslationWarning& warning : found.warnings) {
    EXPECT_NE(warning.kind, WarningKind::placeholder);
    EXPECT_NE(warning.kind, WarningKind::emoji);
    EXPECT_LE(warning.source.second, text.size());
    EXPECT_LE(warning.target.second, found.hypotheses.at(0).text.size());
  }
}

TEST_F(Engine, TranslatesATextAlikeBesideOneWithPlaceholders) {
  const std::vector<std::string> texts{"the red house is near.", "the old train is closed."};
  const auto alone = translate(texts, few_tokens());
  const auto beside = translate({texts[0], texts[1], "the %s bridge is near."}, few_tokens());
  expect_same({beside[0], beside[1]}, alone);
}

TEST_F(Engine, TellsATextWithProtectedSpansAtItsEnd) {
  std::vector<std::vector<std::string>> told(2);
  TranslationHooks hooks;
  hooks.on_text = [&](size_t text, const std::string& so_far) { told.at(text).push_back(so_far); };
  const auto found = translate({"the %s red house is near.", "the red house is near."}, options, 1, hooks);
  EXPECT_THAT(told[0], ElementsAre(found[0].hypotheses.at(0).text));
  EXPECT_GT(told[1].size(), 1U);
}

TEST_F(Engine, NeedsNoAlignmentOfATextWithoutTags) {
  std::string text;
  while (tokenizer.source().encode(text).size() <= 8192) text += text.empty() ? "red house " : text;
  options = {};
  options.search.beam_size = 1;
  options.search.max_extra_length = 0;
  options.inline_tags = true;
  const auto found = translate({text, "the <b>house</b>"}, options);
  EXPECT_GT(found[0].parts, 32);
  EXPECT_THAT(found[0].hypotheses.at(0).alignment, IsEmpty());
  EXPECT_THAT(found[1].hypotheses.at(0).text, AllOf(HasSubstr("<b>"), HasSubstr("</b>")));
}

}  // namespace
}  // namespace transmute
