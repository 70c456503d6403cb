// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/translation/call_hooks.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(CallHooks, KnowTheLastPartOfATextAndCountTheTexts) {
  std::vector<std::pair<size_t, std::string>> told;
  std::vector<size_t> progress;
  TranslationHooks hooks;
  hooks.on_text = [&](size_t text, const std::string& so_far) { told.emplace_back(text, so_far); };
  hooks.on_progress = [&](size_t done, size_t total) {
    EXPECT_EQ(total, 3U);
    progress.push_back(done);
  };
  CallHooks call(hooks, {2, 0, 1});
  EXPECT_FALSE(call.part_done(0));
  EXPECT_TRUE(call.part_done(2));
  EXPECT_TRUE(call.part_done(0));
  EXPECT_THAT(told, IsEmpty());
  call.text_done(2, "that");
  call.text_done(0, "this");
  EXPECT_THAT(told, ElementsAre(Pair(2, "that"), Pair(0, "this")));
  EXPECT_THAT(progress, ElementsAre(2, 3)) << "the text without parts is done from the beginning";
}

TEST(CallHooks, PassOnOnlyWhatCanBeSaid) {
  std::vector<std::pair<size_t, std::string>> told;
  TranslationHooks hooks;
  hooks.on_text = [&](size_t text, const std::string& so_far) { told.emplace_back(text, so_far); };
  hooks.should_stop = [] { return true; };
  CallHooks call(hooks, {1, 1});
  const SearchHooks search =
      call.search_hooks([](size_t sentence) { return 1 - sentence; },
                        [](size_t sentence, const Ids& certain, bool) -> std::optional<PartSoFar> {
                          if (sentence == 1) return {};
                          return PartSoFar{0, "", std::to_string(certain.front())};
                        });
  search.on_tokens(0, {7}, false);
  search.on_tokens(1, {8}, false);
  EXPECT_THAT(told, ElementsAre(Pair(1, "7")));
  EXPECT_TRUE(search.should_stop());
}

TEST(CallHooks, AskSearchForNothingThatNobodyWants) {
  const TranslationHooks hooks;
  CallHooks call(hooks, {1});
  const SearchHooks search = call.search_hooks({}, {});
  EXPECT_FALSE(search.on_tokens);
  EXPECT_FALSE(search.should_stop);
}

std::optional<PartSoFar> some_text(size_t, const Ids&, bool) {
  return PartSoFar{0, "", "text"};
}

// Two batches of one call, of two texts each.
struct TwoBatches {
  explicit TwoBatches(const TranslationHooks& hooks)
      : call(hooks, {2, 1, 2, 1}),
        first(call.search_hooks([](size_t sentence) { return sentence; }, some_text)),
        second(call.search_hooks([](size_t sentence) { return sentence + 2; }, some_text)) {}

  CallHooks call;
  SearchHooks first, second;
};

TEST(CallHooks, StopEveryBatchWhereOneIsToldToStop) {
  int asked = 0, told = 0;
  TranslationHooks hooks;
  hooks.should_stop = [&] { return ++asked == 1; };
  hooks.is_unwanted = [](size_t) { return false; };
  hooks.on_text = [&](size_t, const std::string&) { ++told; };
  TwoBatches batches(hooks);
  EXPECT_TRUE(batches.first.should_stop());
  EXPECT_THROW(batches.second.should_stop(), Cancelled);
  EXPECT_THROW(batches.second.is_unwanted(0), Cancelled);
  EXPECT_THROW(batches.second.on_tokens(0, {7}, false), Cancelled);
  EXPECT_THROW(batches.call.text_done(2, "text"), Cancelled);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(told, 0);
}

TEST(CallHooks, ThrowInEveryBatchWhatOneThrew) {
  TranslationHooks hooks;
  hooks.on_progress = [](size_t, size_t) { throw std::domain_error("of the application"); };
  TwoBatches batches(hooks);
  EXPECT_FALSE(batches.first.should_stop());
  EXPECT_THROW(batches.call.text_done(3, "text"), std::domain_error);
  EXPECT_THROW(batches.first.should_stop(), std::domain_error);
  EXPECT_THROW(batches.second.should_stop(), std::domain_error);
}

TEST(CallHooks, RememberTheTextsThatAreUnwanted) {
  std::vector<size_t> asked;
  TranslationHooks hooks;
  hooks.is_unwanted = [&](size_t text) {
    asked.push_back(text);
    return text == 2 && asked.size() == 2;
  };
  TwoBatches batches(hooks);
  EXPECT_FALSE(batches.second.is_unwanted(0));
  EXPECT_TRUE(batches.second.is_unwanted(0));
  EXPECT_TRUE(batches.second.is_unwanted(0)) << "its other part";
  EXPECT_FALSE(batches.second.is_unwanted(1));
  EXPECT_FALSE(batches.first.is_unwanted(0));
  EXPECT_THAT(asked, ElementsAre(2, 2, 3, 0));
}

// A character of several bytes that is not complete yet decodes as U+FFFD, for each of its bytes.
TEST(CallHooks, TellNoPartOfACharacter) {
  std::vector<std::string> told;
  TranslationHooks hooks;
  hooks.on_text = [&](size_t, const std::string& so_far) { told.push_back(so_far); };
  CallHooks call(hooks, {1});
  const std::vector<std::string> decoded{"a\uFFFDb", "a\uFFFDb\uFFFD", "a\uFFFDb\uFFFD\uFFFD", "a\uFFFDb\u00e9"};
  const SearchHooks search = call.search_hooks([](size_t) { return 0; },
                                               [&](size_t, const Ids& certain, bool) -> std::optional<PartSoFar> {
                                                 return PartSoFar{0, "", decoded[static_cast<size_t>(certain.front())]};
                                               });
  for (int64_t i = 0; i < 4; ++i) search.on_tokens(0, {i}, false);
  EXPECT_THAT(told, ElementsAre("a\uFFFDb", "a\uFFFDb", "a\uFFFDb", "a\uFFFDb\u00e9"));
}

// Sentence n is part n of one text, and its tokens are the letters of the part.
TEST(CallHooks, TellTheFinishedPartsAtTheBeginningAndTheNextOneSoFar) {
  std::vector<std::string> told;
  TranslationHooks hooks;
  hooks.on_text = [&](size_t, const std::string& so_far) { told.push_back(so_far); };
  CallHooks call(hooks, {4});
  const SearchHooks search = call.search_hooks(
      [](size_t) { return 0; },
      [](size_t sentence, const Ids& certain, bool is_whole) -> std::optional<PartSoFar> {
        return PartSoFar{sentence, sentence == 3 ? "\n" : " ", std::string(certain.begin(), certain.end()), is_whole};
      });
  search.on_tokens(1, {'b'}, false);
  search.on_tokens(3, {'d'}, true);
  search.on_tokens(0, {'a'}, false);
  search.on_tokens(1, {'b', 'b'}, false);
  search.on_tokens(0, {'a'}, true);
  search.on_tokens(2, {}, true);
  search.on_tokens(1, {'b', 'b'}, true);
  EXPECT_THAT(told, ElementsAre("a", "a bb", "a bb\nd"));
}

}  // namespace
}  // namespace transmute
