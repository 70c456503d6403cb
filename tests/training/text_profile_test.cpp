// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/text_profile.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace transmute {
inline namespace v0 {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

void add(SampledText& text, int times, const std::string& source, const std::string& target) {
  for (int i = 0; i < times; ++i) {
    text.sources.push_back(source);
    text.targets.push_back(target);
  }
}

TEST(LearnedSpans, AreFrequentAndKept) {
  SampledText text;
  add(text, 200, "%s has {0} files", "%s hat {0} Dateien");
  add(text, 60, "%s and %s", "%s und %s");
  add(text, 200, "see %d", "siehe");      // not kept
  add(text, 99, "%(name)s", "%(name)s");  // not frequent
  add(text, 1000, "a plain text", "ein Text");
  EXPECT_THAT(learned_spans(text), ElementsAre("%s", "{0}"));
}

TEST(LearnedSpans, MayBeMissingFromOneTranslationIn20) {
  SampledText text;
  add(text, 95, "%s", "%s");
  add(text, 5, "%s", "nothing");
  EXPECT_THAT(learned_spans(text), ElementsAre("%s"));
  add(text, 1, "%s", "nothing");
  EXPECT_THAT(learned_spans(text), IsEmpty());
}

}  // namespace
}  // namespace v0
}  // namespace transmute
