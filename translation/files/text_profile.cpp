// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/files/text_profile.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/translation/files/model_checksums.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

constexpr size_t kMaxWords = 20'000;
constexpr size_t kMaxWordBytes = 64;

std::string all_keys_of(TextProfile profile) {
  ConfigSchema schema;
  profile.declare(schema);
  return schema.to_yaml();
}

void check_words(const std::vector<std::string>& words, const std::string& name) {
  if (words.size() > kMaxWords)
    throw std::runtime_error(fmt::format("{}: sentences.words has {} entries, more than {}; restore the file", name,
                                         words.size(), kMaxWords));
  const auto bad = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word.empty() || word.size() > kMaxWordBytes || word.find_first_of(" \t\r\n") != std::string::npos;
  });
  if (bad != words.end())
    throw std::runtime_error(
        fmt::format("{}: entry {} of sentences.words is not a word of at most {} bytes; restore the file", name,
                    bad - words.begin() + 1, kMaxWordBytes));
}

}  // namespace

void TextProfile::declare(ConfigSchema& schema) {
  schema.section("", "");
  schema.add("format_version", &format_version, "version of this file; written by train");
  schema.section("sentences", "sentences of the training text's source side");
  schema.add("language", &sentences.language, "code of the source language; empty: unknown");
  schema.add("lines", &sentences.lines, "number of lines that were examined; 0: nothing is known",
             Bounds<int64_t>{0, int64_t{1} << 40});
  schema.add("lines_with_several", &sentences.lines_with_several, "share of these lines with more than one sentence",
             Bounds<double>{0.0, 1.0});
  schema.add("words", &sentences.words, "words that are followed by a full stop within a sentence, in lower case");
}

std::string TextProfile::to_yaml() const {
  std::string yaml = all_keys_of(*this);
  return yaml == all_keys_of(TextProfile()) ? "" : yaml;
}

TextProfile parse_text_profile(const std::string& yaml, const std::string& name) {
  TextProfile profile;
  if (yaml.empty()) return profile;
  ConfigSchema schema;
  profile.declare(schema);
  std::string fault;
  try {
    schema.read_text(yaml, name);
  } catch (const std::invalid_argument& error) {
    fault = error.what();
  }
  // Another version may have other keys, so its number is the better explanation.
  if (profile.format_version != TextProfile::kFormatVersion)
    throw std::runtime_error(
        fmt::format("{}: the text profile has format version {}, this build reads version {}; use the transmute that "
                    "wrote it, or train again",
                    name, profile.format_version, TextProfile::kFormatVersion));
  if (!fault.empty()) throw std::runtime_error(fault);
  check_words(profile.sentences.words, name);
  return profile;
}

TextProfile load_text_profile(const std::string& folder) {
  const std::string path = path_in(folder, kTextProfileFile);
  const ModelChecksums checksums(folder);
  if (!std::filesystem::exists(path)) {
    if (checksums.has(kTextProfileFile))
      throw std::runtime_error(
          fmt::format("{}: is missing, though {} names it; restore the file", path, path_in(folder, kChecksumsFile)));
    return {};
  }
  const std::string yaml = read_regular_file(path, TextProfile::kMaxBytes);
  checksums.check(kTextProfileFile, yaml);
  return parse_text_profile(yaml, path);
}

}  // namespace v0
}  // namespace transmute
