// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/learned_shortlist.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/random.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tiny_tokenizer.h>

#include <numeric>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace {

using ::testing::Contains;

std::string word(const std::string& begin, uint64_t number) {
  return begin + std::string{static_cast<char>('a' + number % 20), static_cast<char>('a' + number / 20)};
}

TEST(LearnedShortlist, HasTheTranslationsOfEachWord) {
  constexpr uint64_t kWords = 300, kLines = 3000;
  std::vector<std::string> sources, targets;
  for (uint64_t line = 0; line < kLines; ++line) {
    std::string source, target;
    for (uint64_t place = 0; place < 4; ++place) {
      const uint64_t number = combine_keys(line, place) % kWords;
      source += (place == 0 ? "" : " ") + word("y", number);
      target = word("z", number) + (place == 0 ? "" : " ") + target;
    }
    sources.push_back(source);
    targets.push_back(target);
  }
  const testing::TemporaryFolder folder;
  const auto text_of = [](const std::vector<std::string>& lines) {
    return std::accumulate(lines.begin(), lines.end(), std::string(),
                           [](const std::string& text, const std::string& line) { return text + line + "\n"; });
  };
  testing::write_text(folder / "source", text_of(sources));
  testing::write_text(folder / "target", text_of(targets));
  TrainingConfig config;
  config.data.train_source = {folder / "source"};
  config.data.train_target = {folder / "target"};
  TokenizerOptions options;
  options.vocab_size = 700;
  const Tokenizer tokenizer = train_tokenizer(options, testing::lines_from(sources), testing::lines_from(targets));

  const auto shortlist = learn_shortlist(config, tokenizer);
  for (uint64_t number = 0; number < kWords; ++number) {
    const Ids list = shortlist->tokens_for(tokenizer.source().encode(word("y", number)));
    EXPECT_LT(list.size(), 500U);
    for (const int64_t token : tokenizer.target().encode(word("z", number))) EXPECT_THAT(list, Contains(token));
  }
}

TEST(LearnedShortlist, PaysWhereABatchNeedsLessThanHalfOfTheVocabulary) {
  const Tokenizer tokenizer = testing::tiny_tokenizer();
  ASSERT_EQ(tokenizer.target().size(), 80);
  const auto pays = [&](int64_t tokens, const std::vector<std::string>& texts) {
    Ids always(static_cast<size_t>(tokens));
    std::iota(always.begin(), always.end(), int64_t{0});
    return shortlist_pays(Shortlist(ShortlistTable(std::vector<Ids>(80), always)), tokenizer, texts);
  };
  EXPECT_TRUE(pays(39, testing::tiny_english()));
  EXPECT_FALSE(pays(40, testing::tiny_english()));
  EXPECT_FALSE(pays(1, {}));

  // Each of these words has a token of its own on its list. Together they have more than half of the vocabulary.
  std::vector<Ids> own(80);
  for (int64_t token = 0; token < 80; ++token) own[static_cast<size_t>(token)] = {token};
  const Shortlist of_words{ShortlistTable(own, {})};
  EXPECT_TRUE(shortlist_pays(of_words, tokenizer, {"the red house is near."}));
  std::vector<std::string> pieces;
  for (int64_t token = 4; token < 80; ++token) pieces.push_back(tokenizer.source().decode({token}));
  EXPECT_FALSE(shortlist_pays(of_words, tokenizer, {pieces.begin(), pieces.begin() + 64}));
}

}  // namespace
}  // namespace v0
}  // namespace transmute
