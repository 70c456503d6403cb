// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>
#include <transmute/formats/model_checksums.h>
#include <transmute/formats/model_folder.h>
#include <transmute/formats/shortlist_file.h>
#include <transmute/formats/tensor_file.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/tiny_transformer.h>
#include <transmute/text/shortlist.h>
#include <transmute/translation/translator.h>
#include <transmute/translation/transmute.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <set>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSubsetOf;
using testing::message_of;
using ::testing::Not;
using testing::TemporaryFolder;
using testing::tiny_english;
using testing::tiny_tokenizer;
using testing::write_text;

class AShortlist : public ::testing::Test {
 protected:
  Ids list(const std::string& table, const std::string& source, ShortlistOptions options) {
    options.table = folder_ / "table";
    write_text(options.table, table);
    return Shortlist(options, tokenizer_).tokens_for(tokenizer_.source().encode(source));
  }
  std::string piece(int64_t id) const { return tokenizer_.target().piece(id); }
  std::string error_of(const std::string& table) {
    return message_of<std::runtime_error>([&] { list(table, "the", {}); });
  }

  TemporaryFolder folder_;
  Tokenizer tokenizer_ = tiny_tokenizer();
};

ShortlistOptions only(int64_t best, int64_t frequent) {
  ShortlistOptions options;
  options.best = best;
  options.frequent = frequent;
  return options;
}

TEST_F(AShortlist, HasTheBestTranslationsOfTheSourceItsOwnTokensAndTheFrequentOnes) {
  const Ids source = tokenizer_.source().encode("the");
  const int64_t first = source.front();
  ASSERT_LT(first, 40);
  std::string table;
  for (const auto& [target, probability] : std::map<int64_t, double>{{60, 0.2}, {61, 0.5}, {62, 0.1}})
    table += fmt::format("{} {} {}\n", piece(target), piece(first), probability);
  table += fmt::format("{}\t{}\t1e-3\n", piece(70), piece(50));  // of another source token
  const Ids found = list(table, "the", only(2, 0));
  EXPECT_THAT(found, AllOf(Contains(60), Contains(61), Not(Contains(62)), Not(Contains(70))));
  for (const int64_t id : source) EXPECT_THAT(found, Contains(id)) << "names and numbers stay what they are";
  std::set<int64_t> expected{60, 61, special_ids::kEnd};
  for (int64_t id = special_ids::kCount; id < tokenizer_.target().size(); ++id)
    for (const int64_t own : source)
      if (piece(id) == piece(own) || "\u2581" + piece(id) == piece(own) || piece(id) == "\u2581" + piece(own) ||
          piece(id) == "." || piece(id) == "\u2581.")
        expected.insert(id);
  EXPECT_THAT(found, ::testing::ElementsAreArray(expected)) << "and the end, and the only mark";
  EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
  EXPECT_THAT((Ids{4, 5, 6}), IsSubsetOf(list(table, "the", only(2, 3))));
}

TEST_F(AShortlist, HasDigitsAndMarksAlwaysAndLongerNumbersThatTheSourceSpells) {
  std::vector<std::string> lines;
  for (int day = 1; day < 29; ++day)
    for (int year = 1900; year < 1990; year += 9)
      lines.push_back(std::to_string(day) + ". 12. " + std::to_string(year) + "; (the) \"day\" " + std::to_string(day));
  TokenizerOptions options;
  options.vocab_size = 150;
  tokenizer_ = train_tokenizer(options, testing::lines_from(lines), testing::lines_from(lines));
  const auto text_of = [&](int64_t id) {
    const std::string text = piece(id);
    return text.rfind("\u2581", 0) == 0 ? text.substr(3) : text;
  };
  const auto is_made_of = [](const std::string& text, const std::string& characters) {
    return !text.empty() && text.find_first_not_of(characters) == std::string::npos;
  };
  const Ids found = list(piece(5) + " " + piece(6) + " 1\n", "12/29/1907", only(0, 0));
  const std::set<int64_t> has(found.begin(), found.end());
  int numbers = 0, others = 0;
  for (int64_t id = special_ids::kCount; id < tokenizer_.target().size(); ++id) {
    const std::string text = text_of(id);
    if (is_made_of(text, ".;()\"") || (text.size() == 1 && is_made_of(text, "0123456789"))) {
      EXPECT_EQ(has.count(id), 1U) << text;
    } else if (is_made_of(text, "0123456789")) {
      const bool spelled = std::string("12 29 1907").find(text) != std::string::npos;
      if (spelled) {
        EXPECT_EQ(has.count(id), 1U) << text;
      }
      (spelled ? numbers : others) += 1;
      if (text == "18" || text == "17") {
        EXPECT_EQ(has.count(id), 0U) << text;
      }
    }
  }
  EXPECT_GT(numbers, 1) << "the vocabulary has some";
  EXPECT_GT(others, 1);
}

TEST_F(AShortlist, HasTheTranslationsOfTheEmptyWordForEverySource) {
  for (const char* empty_word : {"</s>", "NULL"})
    EXPECT_THAT(list(fmt::format("{} {} 0.5\n", piece(66), empty_word), "old", only(5, 0)), Contains(66));
}

TEST_F(AShortlist, PassesOverBytesWhereItCountsFrequentTokens) {
  TokenizerOptions options = testing::tiny_tokenizer_options();
  options.vocab_size = 340;
  options.byte_fallback = true;
  tokenizer_ = tiny_tokenizer(options);
  ASSERT_EQ(piece(4), "<0x00>");
  const Ids found = list(piece(270) + " " + piece(270) + " 1\n", "the", only(5, 1));
  EXPECT_THAT(found, AllOf(Contains(260), Not(Contains(4)), Not(Contains(261 + 40))));
}

TEST_F(AShortlist, SaysWhatIsWrongWithATable) {
  const std::string good = fmt::format("{} {} 0.5\n", piece(20), piece(21));
  EXPECT_THAT(error_of(good + "two words\n"), AllOf(HasSubstr("table:2: "), HasSubstr("make_shortlist")));
  for (const char* line : {"a b c d 1\n", "a b 0.5x\n", "a b -0.1\n", "a b 1.5\n", "a b nan\n", "\n"})
    EXPECT_THAT(error_of(good + line), HasSubstr("table:2: ")) << line;
  EXPECT_THAT(error_of("Haus house 0.5\nhouse Haus 0.5\n"), HasSubstr("does not belong to this model: 2 of its 2"));
  EXPECT_THAT(error_of(""), HasSubstr("table: is empty"));
  for (const ShortlistOptions& options : {only(-2, 0), only(0, -2)})
    EXPECT_THAT(message_of<std::invalid_argument>([&] { list(good, "the", options); }),
                HasSubstr("must not be negative, not -2"));
  ShortlistOptions missing;
  missing.table = folder_ / "nothing";
  EXPECT_THAT(message_of<std::runtime_error>([&] { Shortlist(missing, tokenizer_); }), HasSubstr("nothing"));
}

// An untrained model and a table of a few tokens.
class ATranslatorWithAShortlist : public ::testing::Test {
 protected:
  ATranslatorWithAShortlist() {
    save_model_folder(folder_.path(), testing::tiny_config(), tokenizer_,
                      weights_of(testing::tiny_transformer(tokenizer_, 5)));
    std::string table;
    for (int64_t source = 4; source < 80; ++source)
      for (int64_t k = 0; k < 2; ++k) {
        const std::string target = tokenizer_.target().piece(4 + (source * 7 + k * 31) % 76);
        table += fmt::format("{} {} 0.5\n", target, tokenizer_.source().piece(source));
      }
    write_text(folder_ / "table", table);
    options_.shortlist = only(2, 3);
    options_.shortlist.table = folder_ / "table";
    translation_.search.max_extra_length = 5;
    translation_.search.num_hypotheses = 2;
  }

  std::vector<std::string> texts_of(const std::vector<Translation>& translations) const {
    std::vector<std::string> texts;
    for (const auto& translation : translations)
      for (const auto& hypothesis : translation.hypotheses) texts.push_back(hypothesis.text);
    return texts;
  }

  TemporaryFolder folder_;
  Tokenizer tokenizer_ = tiny_tokenizer();
  TranslatorOptions options_;
  TranslationOptions translation_;
};

TEST_F(ATranslatorWithAShortlist, MakesTranslationsOfItsTokensOnly) {
  const Shortlist shortlist(options_.shortlist, tokenizer_);
  const auto without = Translator(folder_.path()).translate_batch(tiny_english(), translation_);
  bool restricts = false;
  for (const auto precision : {Precision::float32, Precision::bfloat16, Precision::int8}) {
    options_.precision = precision;
    const auto found = Translator(folder_.path(), options_).translate_batch(tiny_english(), translation_);
    restricts = restricts || texts_of(found) != texts_of(without);
    for (size_t i = 0; i < found.size(); ++i) {
      std::set<std::string> allowed;
      for (const int64_t id : shortlist.tokens_for(tokenizer_.source().encode(tiny_english()[i])))
        allowed.insert(tokenizer_.target().piece(id));
      for (const auto& hypothesis : found[i].hypotheses)
        for (const auto& token : hypothesis.tokens) EXPECT_EQ(allowed.count(token), 1U) << token;
    }
  }
  EXPECT_TRUE(restricts);
}

TEST_F(ATranslatorWithAShortlist, GivesTheSameWhateverIsTranslatedBesideIt) {
  for (const bool ensemble : {false, true})
    for (const auto precision : {Precision::float32, Precision::int8}) {
      options_.precision = precision;
      if (ensemble) options_.ensemble = {folder_.path()};
      const Translator translator(folder_.path(), options_);
      const auto together = translator.translate_batch(tiny_english(), translation_);
      for (size_t i = 0; i < tiny_english().size(); ++i) {
        const auto alone = translator.translate_batch({tiny_english()[i]}, translation_).front();
        EXPECT_EQ(texts_of({alone}), texts_of({together[i]}));
        EXPECT_EQ(alone.hypotheses[0].log_probability, together[i].hypotheses[0].log_probability);
      }
    }
}

TEST_F(ATranslatorWithAShortlist, TakesWhatIsDemandedFromTheWholeVocabulary) {
  const Translator translator(folder_.path(), options_);
  translation_.search.num_hypotheses = 1;
  translation_.glossary = {{"red", "Brücke"}};
  translation_.target_prefixes = {"geschlossen"};
  const auto found = translator.translate_batch({"the red house"}, translation_).front().hypotheses.front();
  EXPECT_THAT(found.text, AllOf(HasSubstr("geschlossen"), HasSubstr("Brücke")));
}

TEST_F(ATranslatorWithAShortlist, TakesTheOneOfItsModelsFolder) {
  translation_.search.num_hypotheses = 1;
  const auto listed = texts_of(Translator(folder_.path(), options_).translate_batch(tiny_english(), translation_));
  const auto whole = texts_of(Translator(folder_.path()).translate_batch(tiny_english(), translation_));
  ASSERT_NE(listed, whole);
  TranslationOptions samples = translation_;
  samples.search.sampling.emplace();
  const auto drawn = texts_of(Translator(folder_.path()).translate_batch(tiny_english(), samples));
  const Shortlist shortlist(options_.shortlist, tokenizer_);
  add_shortlist(folder_.path(), shortlist);
  const Translator translator(folder_.path());
  EXPECT_EQ(texts_of(translator.translate_batch(tiny_english(), translation_)), listed);
  EXPECT_EQ(texts_of(translator.translate_batch(tiny_english(), samples)), drawn) << "of the whole vocabulary";
  TranslatorOptions none;
  none.shortlist.table = kNoShortlist;
  EXPECT_EQ(texts_of(Translator(folder_.path(), none).translate_batch(tiny_english(), translation_)), whole);
  const auto loaded = load_model_folder(folder_.path()).shortlist;
  ASSERT_NE(loaded, nullptr);
  for (const std::string& text : tiny_english()) {
    const Ids source = tokenizer_.source().encode(text);
    EXPECT_EQ(loaded->tokens_for(source), shortlist.tokens_for(source));
  }
}

TEST_F(ATranslatorWithAShortlist, RefusesADamagedOneOfItsModelsFolder) {
  const std::string path = folder_ / kShortlistFile;
  const auto refusal = [&] { return message_of<std::runtime_error>([&] { Translator{folder_.path()}; }); };
  const auto array_of = [](const std::vector<int64_t>& numbers, NumberType type) {
    Array array({static_cast<int64_t>(numbers.size())}, type);
    for (size_t i = 0; i < numbers.size(); ++i) {
      const auto narrow = static_cast<int32_t>(numbers[i]);
      if (type == NumberType::int64) std::memcpy(static_cast<int64_t*>(array.data()) + i, &numbers[i], sizeof(int64_t));
      if (type == NumberType::int32) std::memcpy(static_cast<int32_t*>(array.data()) + i, &narrow, sizeof narrow);
    }
    return array;
  };
  const auto refusal_of = [&](const std::vector<int64_t>& ends, const std::vector<int64_t>& tokens,
                              NumberType type = NumberType::int32) {
    std::filesystem::remove(folder_ / kChecksumsFile);
    write_tensor_file(path, {{"ends", array_of(ends, NumberType::int64)},
                             {"tokens", array_of(tokens, type)},
                             {"always", array_of({5}, NumberType::int32)}});
    return refusal();
  };
  add_shortlist(folder_.path(), Shortlist(options_.shortlist, tokenizer_));
  const std::string good = testing::read_text(path);
  std::string damaged = good;
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  write_text(path, damaged);
  EXPECT_THAT(refusal(), HasSubstr(kShortlistFile));
  std::filesystem::remove(path);
  EXPECT_THAT(refusal(), AllOf(HasSubstr(kShortlistFile), HasSubstr("is missing")));

  const int64_t sources = tokenizer_.source().size(), targets = tokenizer_.target().size();
  std::vector<int64_t> ends(static_cast<size_t>(sources), 2);
  EXPECT_THAT(refusal_of(ends, {4, targets}), HasSubstr("not one of this model's tokenizer"));
  EXPECT_THAT(refusal_of(ends, {4, -1}), HasSubstr("not one of this model's tokenizer"));
  EXPECT_THAT(refusal_of(ends, {4}), HasSubstr("not one of this model's tokenizer")) << "the lists end past the last";
  EXPECT_THAT(refusal_of(ends, {4, 5}, NumberType::int64), HasSubstr("it has no list 'tokens' of int32 numbers"));
  for (const int64_t end : {int64_t{3}, int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    std::vector<int64_t> wrong = ends;
    wrong.front() = end;
    EXPECT_THAT(refusal_of(wrong, {4, 5}), HasSubstr("not one of this model's tokenizer")) << end;
  }
  ends.push_back(2);
  EXPECT_THAT(refusal_of(ends, {4, 5}), HasSubstr("not one of this model's tokenizer")) << "of too many tokens";
}

TEST_F(ATranslatorWithAShortlist, ScoresWithTheWholeVocabulary) {
  const std::vector<std::string> sources{"the red house is near."}, targets{"das rote Haus ist nah."};
  EXPECT_EQ(Translator(folder_.path(), options_).score_batch(sources, targets)[0].log_probability,
            Translator(folder_.path()).score_batch(sources, targets)[0].log_probability);
}

TEST_F(ATranslatorWithAShortlist, IsOpenedFromCToo) {
  transmute_translator_options c_options = transmute_translator_options_default();
  EXPECT_EQ(c_options.shortlist_best, ShortlistOptions().best);
  EXPECT_EQ(c_options.shortlist_frequent, ShortlistOptions().frequent);
  c_options.shortlist = options_.shortlist.table.c_str();
  c_options.shortlist_best = options_.shortlist.best;
  c_options.shortlist_frequent = options_.shortlist.frequent;
  transmute_translator* translator = transmute_open(folder_.path().c_str(), &c_options, nullptr);
  ASSERT_NE(translator, nullptr);
  transmute_translation_options few = transmute_translation_options_default();
  few.max_extra_length = 5;
  translation_.search.num_hypotheses = 1;
  const Translator expected(folder_.path(), options_);
  for (const std::string& text : tiny_english()) {
    const char* given = text.c_str();
    transmute_result* result = transmute_translate(translator, &given, 1, &few, nullptr);
    EXPECT_STREQ(transmute_result_text(result, 0, 0), expected.translate(text, translation_).c_str());
    transmute_result_free(result);
  }
  transmute_close(translator);
  c_options.shortlist = "/nowhere/table";
  char* error = nullptr;
  EXPECT_EQ(transmute_open(folder_.path().c_str(), &c_options, &error), nullptr);
  EXPECT_THAT(error, HasSubstr("/nowhere/table"));
  transmute_string_free(error);
}

}  // namespace
}  // namespace transmute
