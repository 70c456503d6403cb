// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/search/required_terms.h>
#include <transmute/search/search_request.h>
#include <transmute/tests/support/errors.h>

#include <functional>
#include <stdexcept>
#include <vector>

namespace transmute {
namespace {

using search::TermsSoFar;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;

TEST(TermsSoFar, WantTheNextTokenOfATermThatHasBegun) {
  const std::vector<Ids> terms{{5, 6, 7}, {8, 9}};
  TermsSoFar so_far(terms);
  EXPECT_THAT(so_far.wanted(), ElementsAre(5, 8));
  so_far.add(5);
  EXPECT_THAT(so_far.wanted(), ElementsAre(6));
  EXPECT_EQ(so_far.tokens(), 1U);
}

TEST(TermsSoFar, LoseATermThatIsBrokenOff) {
  const std::vector<Ids> terms{{5, 6, 7}, {8, 9}};
  TermsSoFar so_far(terms);
  so_far.add(5);
  so_far.add(6);
  so_far.add(8);  // not 7, but the beginning of the other one
  EXPECT_EQ(so_far.tokens(), 1U);
  EXPECT_THAT(so_far.wanted(), ElementsAre(9));
  so_far.add(9);
  EXPECT_EQ(so_far.tokens(), 2U);
  EXPECT_FALSE(so_far.complete());
  EXPECT_THAT(so_far.wanted(), ElementsAre(5));
}

TEST(TermsSoFar, AreCompleteWithAllTermsOrNone) {
  const std::vector<Ids> terms{{5}, {5}};
  TermsSoFar so_far(terms);
  so_far.add(5);
  EXPECT_FALSE(so_far.complete()) << "a term that is required twice has to come twice";
  so_far.add(5);
  EXPECT_TRUE(so_far.complete());
  EXPECT_TRUE(TermsSoFar().complete());
  EXPECT_THAT(TermsSoFar().wanted(), IsEmpty());
}

TEST(SearchRequest, HasAShortlistWithReservedAndRequiredTokens) {
  SearchRequest request{{5}, {15}};
  EXPECT_THAT(search::completed_shortlist(request, {}), IsEmpty());
  request.shortlist = {20, 10};
  EXPECT_THAT(search::completed_shortlist(request, {}), ElementsAre(0, 1, 2, 3, 10, 15, 20));
  request.terms = {{7, 20}};
  EXPECT_THAT(search::completed_shortlist(request, {10}), ElementsAre(0, 1, 2, 3, 7, 15, 20));
}

TEST(SearchRequest, MustBePossible) {
  const auto refusal = [](const std::vector<SearchRequest>& requests, const SearchOptions& options = {}) {
    return message_of<std::invalid_argument>([&] { search::check(requests, {9}, options); });
  };
  SearchRequest with_list{{5}}, with_term{{5}, {}, 0, {{6}}};
  with_list.shortlist.emplace();
  search::check({with_list, with_list}, {9}, {});
  search::check({with_term, {{5}, {6}}}, {9}, {});
  EXPECT_THAT(refusal({with_list, {{5}}}), HasSubstr("some sentences of a search have a shortlist"));
  EXPECT_THAT(refusal({{{5}, {9}}}), HasSubstr("a line end or a zero byte"));
  EXPECT_THAT(refusal({{{5}, {}, 0, {{6, 9}}}}), HasSubstr("a line end or a zero byte"));
  SearchOptions sampling;
  sampling.sampling.emplace();
  EXPECT_THAT(refusal({with_term}, sampling), HasSubstr("only a search"));
}

// The tokens of a whole translation, one after the other.
bool are_complete_after(const std::vector<Ids>& terms, const Ids& tokens) {
  TermsSoFar so_far(terms);
  for (const int64_t token : tokens) so_far.add(token);
  return so_far.complete();
}

TEST(TermsSoFar, MayComeInAnyOrderThoughTheyBeginAlike) {
  const std::vector<Ids> alike{{5, 6}, {5, 7}};
  TermsSoFar so_far(alike);
  so_far.add(5);
  EXPECT_THAT(so_far.wanted(), ElementsAre(6, 7));
  EXPECT_TRUE(are_complete_after(alike, {5, 7, 5, 6}));
  EXPECT_TRUE(are_complete_after(alike, {5, 6, 9, 5, 7}));
  EXPECT_FALSE(are_complete_after(alike, {5, 7, 5, 7}));
  const std::vector<Ids> nested{{5}, {5, 6}};
  EXPECT_TRUE(are_complete_after(nested, {5, 6, 5}));
  EXPECT_TRUE(are_complete_after(nested, {5, 9, 5, 6}));
  EXPECT_TRUE(are_complete_after(nested, {5, 5, 6}));
  EXPECT_FALSE(are_complete_after(nested, {5, 6})) << "one place does not make two terms";
  EXPECT_TRUE(are_complete_after({{5, 5, 6}}, {5, 5, 5, 6}));
}

// Tokens from 20 on continue the word before them.
const std::function<bool(int64_t, int64_t)> kContinues = [](int64_t, int64_t after) { return after >= 20; };

// The same for whole words.
bool are_whole_after(const std::vector<Ids>& terms, const Ids& tokens) {
  TermsSoFar so_far(terms, &kContinues);
  for (const int64_t token : tokens) so_far.add(token);
  return so_far.complete();
}

TEST(TermsSoFar, AreWholeWords) {
  EXPECT_TRUE(are_whole_after({{5}}, {5}));
  EXPECT_TRUE(are_whole_after({{5}}, {6, 5, 7}));
  EXPECT_FALSE(are_whole_after({{5}}, {6, 5, 20}));
  EXPECT_TRUE(are_whole_after({{5}}, {5, 20, 5, 6})) << "the second one counts";
  EXPECT_TRUE(are_whole_after({{5, 21}}, {5, 21, 6})) << "a term may continue a word of its own";
  EXPECT_FALSE(are_whole_after({{5, 21}}, {5, 21, 22}));
  EXPECT_FALSE(are_whole_after({{22}}, {5, 22})) << "nor does it begin inside a word";
  EXPECT_TRUE(are_whole_after({{22}}, {22, 6}));
  EXPECT_TRUE(are_whole_after({{5}, {5, 21}}, {5, 21, 5})) << "the longer one, then the shorter one";
  EXPECT_FALSE(are_whole_after({{5}, {5, 21, 6}}, {5, 21, 7})) << "the shorter one is inside a word there";
  EXPECT_TRUE(are_whole_after({{5, 6}, {6, 20}}, {5, 6, 20, 5, 6})) << "what continues a term may be in another one";
}

TEST(TermsSoFar, WantNothingThatBeginsInsideAWordAndLoseWhatContinues) {
  const std::vector<Ids> terms{{5}, {22, 6}};
  TermsSoFar so_far(terms, &kContinues);
  EXPECT_THAT(so_far.wanted(), ElementsAre(5, 22));
  so_far.add(5);
  EXPECT_EQ(so_far.tokens(), 1U);
  EXPECT_TRUE(so_far.at_end_of_term());
  EXPECT_THAT(so_far.wanted(), IsEmpty()) << "22 would continue the word";
  so_far.add(21);
  EXPECT_EQ(so_far.tokens(), 0U);
  EXPECT_FALSE(so_far.at_end_of_term());
  EXPECT_THAT(so_far.wanted(), ElementsAre(5));
}

TEST(TermsSoFar, CountTermsWithinTheBeginningOfALongerOneThatDoesNotCome) {
  const std::vector<Ids> begins{{5}, {5, 6, 7}}, within{{6}, {5, 6, 7}};
  EXPECT_FALSE(are_complete_after(begins, {5, 6, 8}));
  EXPECT_TRUE(are_complete_after(begins, {5, 6, 8, 5, 6, 7}));
  EXPECT_TRUE(are_complete_after(begins, {5, 6, 5, 6, 7}));
  EXPECT_TRUE(are_complete_after(within, {5, 6, 8, 5, 6, 7}));
  EXPECT_TRUE(are_complete_after(within, {5, 6, 7, 6}));
  EXPECT_FALSE(are_complete_after(within, {5, 6, 7})) << "one place does not make two terms";
  TermsSoFar so_far(begins);
  for (const int64_t token : {5, 6, 8}) so_far.add(token);
  EXPECT_EQ(so_far.tokens(), 1);
  EXPECT_THAT(so_far.wanted(), ElementsAre(5));
}

}  // namespace
}  // namespace transmute
