// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/programs/shared/bad_text.h>
#include <transmute/text/types.h>

#include <vector>

namespace transmute {
namespace {

TEST(BadTexts, AreLeftOutWithWhatFollowsThem) {
  std::vector<size_t> counts;
  const auto work = [&](size_t count) {
    counts.push_back(count);
    if (count > 3) throw BadText(3, "too long");
    if (count > 1) throw BadText(1, "too strange");
  };
  EXPECT_EQ(do_before_bad_text(5, work), "too strange");
  EXPECT_EQ(counts, (std::vector<size_t>{5, 3, 1}));
  EXPECT_EQ(do_before_bad_text(1, work), "");
}

TEST(BadTexts, OutsideTheBlockAreNoReasonToTryAgain) {
  EXPECT_THROW(do_before_bad_text(2, [](size_t) { throw BadText(2, "too long"); }), BadText);
}

}  // namespace
}  // namespace transmute
