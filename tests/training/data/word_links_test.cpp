// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/pieces.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/training/data/word_links.h>

#include <set>
#include <stdexcept>
#include <string>
#include <utility>

namespace transmute {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::message_of;
using ::testing::StartsWith;
using testing::tiny_tokenizer;
using testing::words_of_pieces;

TEST(WordLinks, AreReadInPharaohsNotation) {
  EXPECT_THAT(parse_word_links(" 0-0 12-3\t4-5 "),
              ElementsAre(std::make_pair(0, 0), std::make_pair(12, 3), std::make_pair(4, 5)));
  EXPECT_THAT(parse_word_links(""), IsEmpty());
  for (const char* bad : {"0", "0-", "-1-0", "0--1", "a-b", "0-1-2", "0-1,", "99999999999-0"})
    EXPECT_THAT(message_of<std::invalid_argument>([&] { parse_word_links(std::string("1-1 ") + bad); }),
                StartsWith("'" + std::string(bad) + "' is not a link"));
}

// Each piece of a word has all of its links.
TEST(WordLinks, BecomeLinksOfPieces) {
  const Tokenizer tokenizer = tiny_tokenizer();
  const std::string source = "the  red house", target = "das rote Haus";
  const auto source_spans = tokenizer.source().segment(source).spans;
  const auto target_spans = tokenizer.target().segment(target).spans;
  const Ids links = piece_links({{1, 2}, {2, 0}}, {source, source_spans}, {target, target_spans});
  const auto source_words = words_of_pieces(tokenizer.source().segment(source).pieces);
  const auto target_words = words_of_pieces(tokenizer.target().segment(target).pieces);
  std::set<std::pair<int64_t, int64_t>> expected, found;
  for (size_t t = 0; t < target_words.size(); ++t)
    for (size_t s = 0; s < source_words.size(); ++s)
      if ((source_words[s] == 1 && target_words[t] == 2) || (source_words[s] == 2 && target_words[t] == 0))
        expected.emplace(t, s);
  for (size_t i = 0; i < links.size(); i += 2) found.emplace(links[i], links[i + 1]);
  EXPECT_EQ(found, expected);
  EXPECT_GE(found.size(), 2U);
  EXPECT_THAT(message_of<std::invalid_argument>([&] {
                piece_links({{3, 0}}, {source, source_spans}, {target, target_spans});
              }),
              StartsWith("3-0: the source line has 3 words"));
}

}  // namespace
}  // namespace transmute
