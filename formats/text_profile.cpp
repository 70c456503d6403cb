// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/text_profile.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/formats/model_checksums.h>

#include <algorithm>
#include <stdexcept>
#include <tuple>

namespace transmute {
inline namespace v0 {

namespace {

constexpr size_t kMaxWords = 20'000;
constexpr size_t kMaxWordBytes = 64;
constexpr size_t kMaxLearned = 1000;

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

void check_numbers(const std::vector<double>& numbers, size_t count, double least, const char* key,
                   const std::string& name) {
  constexpr double kMost = 1000;
  const bool is_good =
      std::all_of(numbers.begin(), numbers.end(), [&](double number) { return number >= least && number <= kMost; });
  if (!is_good || (!numbers.empty() && numbers.size() != count))
    throw std::runtime_error(
        fmt::format("{}: translations.{} must be empty or {} numbers from {} to {}; restore the file", name, key, count,
                    least, kMost));
}

void check_translations(const TranslationProfile& profile, const std::string& name) {
  constexpr double kLeast = -1000, kLeastDeviation = 0.01;
  constexpr size_t kMostScripts = 200;
  check_numbers(profile.length_means, kLengthClasses, kLeast, "length_means", name);
  check_numbers(profile.length_deviations, kLengthClasses, kLeastDeviation, "length_deviations", name);
  check_numbers(profile.confidence, std::tuple_size_v<TextFeatures>, kLeast, "confidence", name);
  check_numbers(profile.word_confidence, std::tuple_size_v<WordFeatures>, kLeast, "word_confidence", name);
  if (profile.scripts.size() > kMostScripts)
    throw std::runtime_error(fmt::format("{}: translations.scripts has {} entries, more than {}; restore the file",
                                         name, profile.scripts.size(), kMostScripts));
}

void check_learned(const std::vector<std::string>& learned, const std::string& name) {
  const bool has_empty = std::find(learned.begin(), learned.end(), "") != learned.end();
  if (learned.size() > kMaxLearned || has_empty)
    throw std::runtime_error(
        fmt::format("{}: protection.learned has {}; restore the file", name,
                    has_empty ? "an empty entry" : fmt::format("more than {} entries", kMaxLearned)));
}

}  // namespace

Expectations TranslationProfile::expectations() const {
  Expectations expected;
  for (size_t i = 0; i < length_means.size() && i < length_deviations.size(); ++i)
    expected.lengths.at(i) = {length_means[i], length_deviations[i]};
  expected.scripts = scripts;
  expected.copies = copies;
  return expected;
}

std::optional<ConfidenceCurve> TranslationProfile::curve() const {
  ConfidenceCurve curve;
  if (confidence.size() != curve.text.size() || word_confidence.size() != curve.word.size()) return {};
  std::copy(confidence.begin(), confidence.end(), curve.text.begin());
  std::copy(word_confidence.begin(), word_confidence.end(), curve.word.begin());
  return curve;
}

void TranslationProfile::set(const Expectations& expected) {
  length_means.clear();
  length_deviations.clear();
  for (const LengthExpectation& length : expected.lengths) {
    length_means.push_back(length.mean);
    length_deviations.push_back(length.deviation);
  }
  scripts = expected.scripts;
  copies = expected.copies;
}

void TranslationProfile::set(const ConfidenceCurve& curve) {
  confidence.assign(curve.text.begin(), curve.text.end());
  word_confidence.assign(curve.word.begin(), curve.word.end());
}

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
  schema.section("translations", "what translations of the training text look like");
  schema.add("length_means", &translations.length_means,
             "mean of log(target characters / source characters) for sources of under 8, 8 to 15, 16 to 31, ... "
             "characters; empty: unknown");
  schema.add("length_deviations", &translations.length_deviations, "standard deviations of the same");
  schema.add("scripts", &translations.scripts, "scripts of the target text, such as Latn; empty: unknown");
  schema.add("copies", &translations.copies, "share of the pairs whose target repeats the source",
             Bounds<double>{0.0, 1.0});
  schema.add("confidence", &translations.confidence,
             "weights that turn the scores of a translation into its confidence; empty: not calibrated");
  schema.add("word_confidence", &translations.word_confidence, "weights that turn the scores of a word into its own");
  schema.section("protection", "placeholders and the like in the training text");
  schema.add("learned", &protection.learned, "frequent ones that translations kept, and that are left to the model");
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
  check_translations(profile.translations, name);
  check_learned(profile.protection.learned, name);
  return profile;
}

TextProfile load_text_profile(const std::string& folder) {
  const std::string path = path_in(folder, kTextProfileFile);
  const ModelChecksums checksums(folder);
  if (!checksums.file_exists(kTextProfileFile)) return {};
  const std::string yaml = read_regular_file(path, TextProfile::kMaxBytes);
  checksums.check(kTextProfileFile, yaml);
  return parse_text_profile(yaml, path);
}

}  // namespace v0
}  // namespace transmute
