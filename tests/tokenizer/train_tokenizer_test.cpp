// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tokenizer/tokenizer.h>

#include <locale>
#include <stdexcept>
#include <string>
#include <vector>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::lines_from;
using testing::message_of;
using ::testing::StartsWith;
using testing::tiny_tokenizer;
using testing::tiny_tokenizer_options;

// Numbers are written as in Germany.
struct DecimalComma : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(TrainTokenizer, DoesNotDependOnTheLocaleOfTheApplication) {
  TokenizerOptions options = tiny_tokenizer_options();
  options.character_coverage = 0.9875;
  const Tokenizer plain = tiny_tokenizer(options);
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new DecimalComma));
  std::string serialized;
  EXPECT_NO_THROW(serialized = tiny_tokenizer(options).source().serialized());
  std::locale::global(before);
  EXPECT_TRUE(serialized == plain.source().serialized());
  EXPECT_FALSE(serialized == tiny_tokenizer().source().serialized()) << "it is the number that was asked for";
}

TEST(TrainTokenizer, GivesTheTargetASizeOfItsOwn) {
  TokenizerOptions options;
  options.vocabulary = VocabularySharing::separate;
  options.vocab_size = 60;
  options.target_vocab_size = 50;
  const Tokenizer tokenizer = tiny_tokenizer(options);
  EXPECT_EQ(tokenizer.source().size(), 60);
  EXPECT_EQ(tokenizer.target().size(), 50);
  options.target_vocab_size = 5000;
  EXPECT_THAT(message_of<std::invalid_argument>([&] { tiny_tokenizer(options); }),
              StartsWith("tokenizer.target_vocab_size 5000 is more than the target text supports; set it to at most "));
  options.vocabulary = VocabularySharing::shared;
  EXPECT_THAT(message_of<std::invalid_argument>([&] { tiny_tokenizer(options); }),
              StartsWith("tokenizer.target_vocab_size needs tokenizer.vocabulary: separate"));
}

// One size does not fit both: what is too much for one side is too little for the other.
TEST(TrainTokenizer, SaysHowSidesOfVeryDifferentTextGetSizesOfTheirOwn) {
  std::vector<std::string> letters, few(200, "a b");
  for (int i = 0; i < 200; ++i)
    letters.push_back("\u4e00" + std::string(1, static_cast<char>('a' + i % 26)) + "\u00e9");
  TokenizerOptions options;
  options.vocabulary = VocabularySharing::separate;
  const auto refusal = [&](int64_t size, const std::vector<std::string>& source,
                           const std::vector<std::string>& target) {
    options.vocab_size = size;
    return message_of<std::invalid_argument>(
        [&] { train_tokenizer(options, testing::lines_from(source), testing::lines_from(target)); });
  };
  EXPECT_THAT(refusal(40, letters, few),
              HasSubstr("the target text supports; set tokenizer.target_vocab_size to at most"));
  EXPECT_THAT(refusal(9, few, letters), AllOf(HasSubstr("the target text's single characters"),
                                              HasSubstr("set tokenizer.target_vocab_size to at least ")));
  const std::string hint = " (tokenizer.target_vocab_size gives the target another size)";
  EXPECT_THAT(refusal(40, few, letters), AllOf(HasSubstr("the source text supports"), HasSubstr(hint)));
  EXPECT_THAT(refusal(12, letters, few), AllOf(HasSubstr("the source text's single characters"), HasSubstr(hint)));
}

TEST(TrainTokenizer, LetsPiecesGoFromPunctuationToLetters) {
  TokenizerOptions options;
  const auto pieces = [&] {
    const std::vector<std::string> lines(20, "(NP NN )NP (VP VBZ )VP");
    const Tokenizer tokenizer =
        train_tokenizer(options, testing::lines_from(lines), testing::lines_from(std::vector<std::string>{}));
    return tokenizer.source().segment("(NP )NP").pieces;
  };
  options.vocab_size = 16;
  EXPECT_THAT(pieces(), ::testing::Contains("NP"));
  options.split_by_script = false;
  options.vocab_size = 24;
  EXPECT_THAT(pieces(), ElementsAre("▁(NP", "▁)NP"));
}

TEST(TrainTokenizer, NeedsText) {
  for (const auto algorithm : {SubwordAlgorithm::bpe, SubwordAlgorithm::unigram}) {
    TokenizerOptions options = tiny_tokenizer_options();
    options.algorithm = algorithm;
    for (const std::vector<std::string>& lines : {std::vector<std::string>{}, {"", "", ""}})
      EXPECT_THAT(
          message_of<std::invalid_argument>([&] { train_tokenizer(options, lines_from(lines), lines_from(lines)); }),
          HasSubstr("training text is empty"));
  }
}

TEST(TrainTokenizer, NamesTheNormalizationsThatThereAre) {
  TokenizerOptions options = tiny_tokenizer_options();
  options.normalization = "no_such_rule";
  const std::string message = message_of<std::invalid_argument>([&] { tiny_tokenizer(options); });
  EXPECT_EQ(message,
            "tokenizer.normalization must be one of nmt_nfkc, nmt_nfkc_tc, nfkc, nmt_nfkc_cf, nfkc_cf, identity; not "
            "'no_such_rule'");
  for (const char* name : {"nmt_nfkc", "nmt_nfkc_tc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"}) {
    options.normalization = name;
    EXPECT_NO_THROW(tiny_tokenizer(options)) << name;
  }
}

}  // namespace
}  // namespace transmute
