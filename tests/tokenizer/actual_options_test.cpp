// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sentencepiece_trainer.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tokenizer/actual_options.h>

#include <string>

namespace transmute {
namespace {

using ::testing::ElementsAre;
using testing::TemporaryFolder;
using testing::tiny_english;
using testing::tiny_tokenizer;
using testing::tiny_tokenizer_options;
using testing::write_text;

void expect_equal(const TokenizerOptions& found, const TokenizerOptions& expected) {
  EXPECT_EQ(found.algorithm, expected.algorithm);
  EXPECT_EQ(found.vocabulary, expected.vocabulary);
  EXPECT_EQ(found.vocab_size, expected.vocab_size);
  EXPECT_EQ(found.target_vocab_size, expected.target_vocab_size);
  EXPECT_EQ(found.character_coverage, expected.character_coverage);
  EXPECT_EQ(found.byte_fallback, expected.byte_fallback);
  EXPECT_EQ(found.split_digits, expected.split_digits);
  EXPECT_EQ(found.split_by_script, expected.split_by_script);
  EXPECT_EQ(found.normalization, expected.normalization);
  EXPECT_EQ(found.user_defined_symbols, expected.user_defined_symbols);
  EXPECT_EQ(found.max_training_sentences, expected.max_training_sentences);
}

TokenizerOptions unusual_options() {
  TokenizerOptions options;
  options.algorithm = SubwordAlgorithm::unigram;
  options.vocab_size = 310;
  options.byte_fallback = true;
  options.split_digits = true;
  options.split_by_script = false;
  options.normalization = "identity";
  options.user_defined_symbols = {"<2de>", "a, \"b\"", "far off"};
  return options;
}

TEST(ActualOptions, AreThoseThatAVocabularyWasLearnedWith) {
  TokenizerOptions separate = tiny_tokenizer_options();
  separate.vocabulary = VocabularySharing::separate;
  separate.vocab_size = 35;
  TokenizerOptions of_two_sizes = separate;
  of_two_sizes.target_vocab_size = 40;
  for (const TokenizerOptions& options : {tiny_tokenizer_options(), unusual_options(), separate, of_two_sizes})
    expect_equal(actual_options(tiny_tokenizer(options), options), options);
}

TEST(ActualOptions, TakeThePlaceOfOthers) {
  const TokenizerOptions usual = tiny_tokenizer_options(), unusual = unusual_options();
  expect_equal(actual_options(tiny_tokenizer(unusual), usual), unusual);
  expect_equal(actual_options(tiny_tokenizer(usual), unusual), usual);
  TokenizerOptions separate = usual;
  separate.vocabulary = VocabularySharing::separate;
  separate.vocab_size = 35;
  separate.target_vocab_size = 40;
  expect_equal(actual_options(tiny_tokenizer(separate), usual), separate);
  expect_equal(actual_options(tiny_tokenizer(usual), separate), usual);
}

TEST(ActualOptions, StayAsGivenWhereAConfigHasNoNameForThem) {
  const TemporaryFolder folder;
  std::string text;
  for (const std::string& line : tiny_english()) text += line + "\n";
  write_text(folder / "text", text);
  write_text(folder / "rules.tsv", "41\t61\n");
  const auto status = sentencepiece::SentencePieceTrainer::Train({{"input", folder / "text"},
                                                                  {"model_prefix", folder / "tokenizer"},
                                                                  {"model_type", "char"},
                                                                  {"vocab_size", "24"},
                                                                  {"hard_vocab_limit", "false"},
                                                                  {"normalization_rule_tsv", folder / "rules.tsv"},
                                                                  {"user_defined_symbols", "<a>"},
                                                                  {"pad_id", "0"},
                                                                  {"unk_id", "1"},
                                                                  {"bos_id", "2"},
                                                                  {"eos_id", "3"},
                                                                  {"minloglevel", "2"}});
  ASSERT_TRUE(status.ok()) << status.ToString();
  const Tokenizer tokenizer = Tokenizer::load(folder.path());
  const TokenizerOptions options = actual_options(tokenizer, TokenizerOptions());
  EXPECT_EQ(options.vocab_size, tokenizer.source().size());
  EXPECT_EQ(options.algorithm, SubwordAlgorithm::bpe);
  EXPECT_EQ(options.normalization, "nmt_nfkc");
  EXPECT_THAT(options.user_defined_symbols, ElementsAre("<a>"));
  EXPECT_NO_THROW(check_tokenizer_options(options));
}

}  // namespace
}  // namespace transmute
