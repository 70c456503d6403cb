// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/files.h>
#include <transmute/documents/document_parts.h>
#include <transmute/tests/support/copied_model.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/zip_files.h>
#include <transmute/translation/document_texts.h>
#include <transmute/translation/document_translation.h>
#include <transmute/translation/transmute.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
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

TEST(DocumentTranslation, DeclaresTheLanguageThatTheModelNames) {
  const CopiedModel model("marian_ctranslate2");
  const auto page_in = [&] {
    const Translator translator(model.folder());
    const std::string input = model.path("a.html"), output = model.path("b.html");
    write_file_atomically(input, "<html lang=\"en\"><p>two dogs play.</p></html>");
    translate_document(translator, input, output);
    EXPECT_THAT(read_file(output), HasSubstr(translator.translate("two dogs play.")));
    return read_file(output);
  };
  EXPECT_THAT(page_in(), HasSubstr("<html lang=\"en\">"));
  write_file_atomically(model.path("tokenizer_config.json"), R"({"source_lang": "eng", "target_lang": "deu"})");
  EXPECT_THAT(page_in(), HasSubstr("<html lang=\"de\">"));
}

TEST(DocumentTranslation, NamesTextsThatStay) {
  const Translator translator(kModel);
  const TemporaryFolder folder;
  const std::string input = folder / "a.xlsx", title = "the red dog is near.";
  constexpr size_t kMost = 32;  // characters of the title of what a cell asks for
  ASSERT_GT(translator.translate(title).size(), kMost);
  write_zip(input, {{"[Content_Types].xml", "<Types/>"},
                    {"xl/worksheets/sheet1.xml", "<dataValidation promptTitle=\"" + title + "\"/>"}});
  std::vector<std::string> warnings;
  DocumentOptions document;
  document.on_warning = [&](const std::string& message) { warnings.push_back(message); };
  translate_document(translator, input, folder / "b.xlsx", {}, document);
  EXPECT_THAT(warnings,
              ElementsAre(HasSubstr("a.xlsx: xl/worksheets/sheet1.xml: the text \"the red dog is near. …\"")));
}

TEST(DocumentTranslation, MistakesAreNamedAndWriteNothing) {
  const Translator translator(kModel);
  const TemporaryFolder folder;
  const std::string input = folder / "a.json", output = folder / "b.json";
  write_file_atomically(input, "[");
  EXPECT_THROW(translate_document(translator, input, output), std::runtime_error);
  EXPECT_THROW(translate_document(translator, input, input), std::invalid_argument);
  EXPECT_THROW(translate_document(translator, folder / "a.xyz", output), std::invalid_argument);
  EXPECT_THROW(translate_document(translator, input, folder / "b.html"), std::invalid_argument);
  EXPECT_THROW(translate_document(translator, input, output, {}, {"doc", false}), std::invalid_argument);
  EXPECT_THROW(translate_document(translator, folder / "a.docm", folder / "b.docx"), std::invalid_argument)
      << "Word would not open it";
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

// Parts of one text each, or of none, that count how many bytes of them are in memory.
class CountedParts : public DocumentParts {
 public:
  struct Memory {
    size_t parts = 0, bytes = 0, most_bytes = 0;
  };

  // A part of kEmpty bytes has no texts.
  explicit CountedParts(std::vector<size_t> sizes) : sizes_(std::move(sizes)) {}

  TextFormat text_format() const override { return TextFormat::tags; }
  size_t size() const override { return sizes_.size(); }
  size_t bytes(size_t part) const override { return sizes_[part]; }
  std::shared_ptr<const DocumentFile> open(size_t part) const override {
    if (sizes_[part] == kEmpty) return nullptr;
    return std::make_shared<Part>(sizes_[part], memory_);
  }
  void write(const ContentOf& content_of, const ByteSink& sink, const LanguagePair& /*languages*/) const override {
    for (size_t part = 0; part < size(); ++part) sink(content_of(part).value_or("nothing") + '\n');
  }

  const Memory& memory() const { return memory_; }
  static constexpr size_t kEmpty = 7;

 private:
  class Part : public DocumentFile {
   public:
    Part(size_t bytes, Memory& memory) : bytes_(bytes), memory_(memory) {
      texts_ = {"two dogs play."};
      ++memory.parts;
      memory.most_bytes = std::max(memory.most_bytes, memory.bytes += bytes);
    }
    ~Part() override {
      --memory_.parts;
      memory_.bytes -= bytes_;
    }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;
    TextFormat text_format() const override { return TextFormat::tags; }
    std::string with(const std::vector<std::string>& translations) const override { return translations.at(0); }

   private:
    size_t bytes_;
    Memory& memory_;
  };

  std::vector<size_t> sizes_;
  mutable Memory memory_;
};

TEST(DocumentTranslation, MemoryDependsOnTheLargestPartAndNotOnTheirNumber) {
  const Translator translator(kModel);
  constexpr size_t kMegabyte = 1 << 20, kLargest = 40 * kMegabyte;
  std::vector<size_t> sizes(100, kMegabyte);
  sizes[3] = CountedParts::kEmpty;
  const std::string line = translator.translate("two dogs play.") + '\n';
  const auto most_bytes_of = [&](const std::vector<size_t>& of) {
    const CountedParts parts(of);
    std::string written, expected;
    size_t translated = 0, most_parts = 0;
    DocumentCall call;
    call.segments = count_segments(parts);
    call.on_translation = [&](const std::string&, const Translation&) {
      ++translated;
      most_parts = std::max(most_parts, parts.memory().parts);
    };
    write_translated(translator, parts, {}, call, [&](std::string_view bytes) { written += bytes; });
    for (const size_t size : of) expected += size == CountedParts::kEmpty ? "nothing\n" : line;
    EXPECT_EQ(written, expected);
    EXPECT_EQ(translated, of.size() - 1);
    EXPECT_GE(most_parts, 4U);  // small parts fill batches together
    EXPECT_EQ(parts.memory().parts, 0U);
    return parts.memory().most_bytes;
  };
  EXPECT_LE(most_bytes_of(sizes), 10 * kMegabyte);
  sizes[50] = kLargest;
  EXPECT_EQ(most_bytes_of(sizes), kLargest);
}

}  // namespace
}  // namespace transmute::testing
