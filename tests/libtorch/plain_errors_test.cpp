// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/libtorch/plain_errors.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/sanitizers.h>

#include <new>
#include <stdexcept>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::message_of;
using ::testing::Not;
using ::testing::StartsWith;

TEST(PlainErrors, ReturnWhatIsReturned) {
  const int value = 3;
  EXPECT_EQ(&with_plain_errors([&]() -> const int& { return value; }), &value);
}

TEST(PlainErrors, SayThatMemoryRanOut) {
  if (testing::kHasSanitizer) GTEST_SKIP() << "a sanitizer ends the process instead";
  const auto take_a_pebibyte = [] { with_plain_errors([] { torch::empty({int64_t{1} << 50}, torch::kByte); }); };
  EXPECT_THAT(message_of<OutOfMemory>(take_a_pebibyte),
              AllOf(StartsWith("DefaultCPUAllocator: "), HasSubstr("1125899906842624 bytes"), Not(HasSubstr("\n"))));
  EXPECT_THROW(take_a_pebibyte(), std::bad_alloc);
}

TEST(PlainErrors, AreWithoutABacktrace) {
  const auto add = [] { with_plain_errors([] { torch::ones({2}).add(torch::ones({3})); }); };
  EXPECT_THAT(message_of<std::runtime_error>(add), AllOf(HasSubstr("size"), Not(HasSubstr("frame #"))));
}

TEST(PlainErrors, OfOthersAreUnchanged) {
  const auto refuse = [] { with_plain_errors([] { throw std::invalid_argument("no"); }); };
  EXPECT_EQ(message_of<std::invalid_argument>(refuse), "no");
}

}  // namespace
}  // namespace transmute
