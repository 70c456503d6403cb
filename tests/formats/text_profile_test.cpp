// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/text_profile.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/files.h>
#include <transmute/formats/model_checksums.h>
#include <transmute/formats/model_folder.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/tiny_transformer.h>

#include <filesystem>
#include <string>

namespace transmute {
inline namespace v0 {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::message_of;
using ::testing::StartsWith;

std::string refusal_of(const std::string& yaml) {
  return message_of<std::runtime_error>([&] { parse_text_profile(yaml, "p.yaml"); });
}

TEST(TextProfile, ComesBackFromItsYaml) {
  TextProfile profile;
  profile.sentences = {"de", 1000, 0.125, {"z.b", "dr", "österr", "#", "-", "no", "0x1", "null"}};
  profile.protection.learned = {"%s", "{0}", "&", "\\n", "&nbsp;", "#{id}", "%%", "😀", "https://a.b/?c=d#e", "null"};
  const TextProfile back = parse_text_profile(profile.to_yaml(), "p.yaml");
  EXPECT_EQ(back.sentences.language, "de");
  EXPECT_EQ(back.sentences.lines, 1000);
  EXPECT_EQ(back.sentences.lines_with_several, 0.125);
  EXPECT_EQ(back.sentences.words, profile.sentences.words);
  EXPECT_EQ(back.protection.learned, profile.protection.learned);
  EXPECT_EQ(back.to_yaml(), profile.to_yaml());
}

TEST(TextProfile, ComesBackWithExpectationsAndConfidence) {
  Expectations expected;
  expected.lengths[2] = {-0.25, 0.5};
  expected.scripts = {"Cyrl", "Latn"};
  expected.copies = 0.125;
  const ConfidenceCurve curve{{1.5, 2, -0.25, 0, 0.5, 3, -1}, {0.5, -1, 2, 4}};
  TextProfile profile;
  EXPECT_FALSE(profile.translations.curve());
  EXPECT_EQ(profile.translations.expectations().lengths[2].deviation, Expectations().lengths[2].deviation);
  profile.translations.set(expected);
  profile.translations.set(curve);
  const TranslationProfile back = parse_text_profile(profile.to_yaml(), "p.yaml").translations;
  EXPECT_EQ(back.expectations().lengths[2].mean, -0.25);
  EXPECT_EQ(back.expectations().lengths[2].deviation, 0.5);
  EXPECT_EQ(back.expectations().scripts, expected.scripts);
  EXPECT_EQ(back.expectations().copies, 0.125);
  ASSERT_TRUE(back.curve());
  EXPECT_EQ(back.curve()->text, curve.text);
  EXPECT_EQ(back.curve()->word, curve.word);
}

TEST(TextProfile, HasAsManyWeightsAsThereAreFeatures) {
  EXPECT_THAT(refusal_of("translations:\n  confidence: [1, 2]\n"),
              HasSubstr("translations.confidence must be empty or 7"));
  EXPECT_THAT(refusal_of("translations:\n  word_confidence: [1, 2, 3, 1e300]\n"), HasSubstr("word_confidence"));
  EXPECT_THAT(refusal_of("translations:\n  length_deviations: [1, 1, 1, 1, 1, 1, 1, 0]\n"),
              HasSubstr("length_deviations"));
}

TEST(TextProfile, ThatKnowsNothingIsNoText) {
  EXPECT_EQ(TextProfile().to_yaml(), "");
  EXPECT_EQ(parse_text_profile("", "p.yaml").sentences.lines, 0);
}

TEST(TextProfile, IsReadStrictly) {
  EXPECT_THAT(refusal_of("sentences:\n  wrods: [a]\n"), AllOf(StartsWith("p.yaml:2"), HasSubstr("words")));
  EXPECT_THAT(refusal_of("sentences:\n  lines_with_several: 1.5\n"), StartsWith("p.yaml:2"));
  EXPECT_THAT(refusal_of("sentences:\n  lines: -1\n"), StartsWith("p.yaml:2"));
  EXPECT_THAT(refusal_of("sentences:\n  words: [a, \"b c\"]\n"), AllOf(StartsWith("p.yaml: "), HasSubstr("entry 2")));
  EXPECT_THAT(refusal_of("sentences:\n  words: [" + std::string(65, 'x') + "]\n"), HasSubstr("entry 1"));
  std::string many = "sentences:\n  words: [a";
  for (int i = 0; i < 20'000; ++i) many += ", a";
  EXPECT_THAT(refusal_of(many + "]\n"), HasSubstr("20001 entries"));
  EXPECT_THAT(refusal_of("protection:\n  learned: [\"\"]\n"), HasSubstr("protection.learned has an empty entry"));
  EXPECT_THAT(refusal_of("format_version: 2\nnew_section:\n  a: 1\n"), HasSubstr("format version 2"));
}

class ProfiledModelFolder : public ::testing::Test {
 protected:
  ProfiledModelFolder() {
    profile.sentences.language = "de";
    const Tokenizer tokenizer = testing::tiny_tokenizer();
    save_model_folder(folder.path(), testing::tiny_config(), tokenizer,
                      weights_of(testing::tiny_transformer(tokenizer, 5)), kWeightsFile, profile);
  }

  std::string refusal() {
    return message_of<std::runtime_error>([&] { load_model_folder(folder.path()); });
  }

  const testing::TemporaryFolder folder;
  const std::string path = folder / kTextProfileFile;
  TextProfile profile;
};

TEST_F(ProfiledModelFolder, GivesItBack) {
  EXPECT_EQ(load_model_folder(folder.path()).profile.sentences.language, "de");
}

TEST_F(ProfiledModelFolder, NoticesThatItChanged) {
  write_file_atomically(path, "sentences:\n  language: fr\n");
  EXPECT_THAT(refusal(), AllOf(StartsWith(path + ": is not what was saved"), HasSubstr(kChecksumsFile)));
}

TEST_F(ProfiledModelFolder, NoticesThatItIsMissing) {
  std::filesystem::remove(path);
  EXPECT_THAT(refusal(), StartsWith(path + ": is missing"));
}

TEST_F(ProfiledModelFolder, ReadsNoEndlessFile) {
  write_file_atomically(path, std::string(2 << 20, '\n'));
  EXPECT_THAT(refusal(), StartsWith(path + ": has more than 1048576 bytes"));
}

}  // namespace
}  // namespace v0
}  // namespace transmute
