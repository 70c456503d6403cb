// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/files.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/translation/document_translation.h>
#include <transmute/translation/transmute.h>

#include <string>
#include <utility>
#include <vector>

namespace transmute::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr const char* kModel = TRANSMUTE_TEST_DATA "/formats/marian_ctranslate2";
constexpr const char* kCatalog = "{\"a\": \"the blue train is near.\", \"b\": 1, \"c\": \"two dogs play.\"}";

TEST(DocumentTranslation, OnlyTextChanges) {
  const Translator translator(kModel);
  const TemporaryFolder folder;
  const std::string input = folder / "a.json", output = folder / "b.json";
  write_file_atomically(input, kCatalog);
  std::vector<std::pair<size_t, size_t>> progress;
  TranslationHooks hooks;
  hooks.on_progress = [&](size_t done, size_t all) { progress.emplace_back(done, all); };
  translate_document(translator, input, output, {}, {}, hooks);
  EXPECT_EQ(read_file(output), "{\"a\": \"" + translator.translate("the blue train is near.") +
                                   "\", \"b\": 1, \"c\": \"" + translator.translate("two dogs play.") + "\"}");
  EXPECT_THAT(progress, ElementsAre(Pair(1, 2), Pair(2, 2)));
}

TEST(DocumentTranslation, MistakesAreNamedAndWriteNothing) {
  const Translator translator(kModel);
  const TemporaryFolder folder;
  const std::string input = folder / "a.json", output = folder / "b.json";
  write_file_atomically(input, "[");
  EXPECT_THROW(translate_document(translator, input, output), std::runtime_error);
  EXPECT_THROW(translate_document(translator, input, input), std::invalid_argument);
  EXPECT_THROW(translate_document(translator, folder / "a.xyz", output), std::invalid_argument);
  EXPECT_THROW(translate_document(translator, input, output, {}, {"doc", false}), std::invalid_argument);
  write_file_atomically(input, kCatalog);
  TranslationHooks hooks;
  hooks.should_stop = [] { return true; };
  EXPECT_THROW(translate_document(translator, input, output, {}, {}, hooks), Cancelled);
  EXPECT_THROW(read_file(output), std::runtime_error);
}

TEST(DocumentTranslation, TheCInterfaceWritesTheSame) {
  const Translator translator(kModel);
  const TemporaryFolder folder;
  const std::string input = folder / "a.catalog", output = folder / "b", other = folder / "c";
  write_file_atomically(input, kCatalog);
  translate_document(translator, input, output, {}, {"json", false});
  char* error = nullptr;
  transmute_translator* const opened = transmute_open(kModel, nullptr, &error);
  ASSERT_NE(opened, nullptr) << error;
  EXPECT_EQ(transmute_translate_document(opened, input.c_str(), other.c_str(), nullptr, nullptr, &error), 0);
  EXPECT_THAT(error, HasSubstr("the ending tells no format"));
  EXPECT_EQ(transmute_error_kind(), TRANSMUTE_ERROR_INVALID_ARGUMENT);
  transmute_string_free(error);
  transmute_document_options document = transmute_document_options_default();
  document.format = "json";
  EXPECT_NE(transmute_translate_document(opened, input.c_str(), other.c_str(), &document, nullptr, &error), 0);
  EXPECT_EQ(read_file(other), read_file(output));
  transmute_close(opened);
}

}  // namespace
}  // namespace transmute::testing
