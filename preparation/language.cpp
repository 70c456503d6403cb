// SPDX-License-Identifier: Apache-2.0
#include <transmute/preparation/language.h>

#include <transmute/common/hash.h>
#include <transmute/text/sentence_language.h>
#include <transmute/text/spelling.h>

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

constexpr size_t kMostWords = 40;  // of a text, which settle its language
constexpr size_t kMostLanguages = 64;

using WordCounts = std::array<uint8_t, kMostLanguages>;

uint64_t hash_of_word(const std::u32string& word) {
  return hash_bytes(word.data(), word.size() * sizeof(char32_t));
}

// The languages, as a set of bits by their place in spelled_languages(), of the hash of each frequent word. Single
// letters are left out: in code they stand for anything.
const std::unordered_map<uint64_t, uint64_t>& languages_of_words() {
  static const std::unordered_map<uint64_t, uint64_t> languages = [] {
    std::unordered_map<uint64_t, uint64_t> all;
    const std::vector<std::string>& codes = spelled_languages();
    for (size_t i = 0; i < std::min(codes.size(), kMostLanguages); ++i)
      for (const std::u32string& word : words_of_language(codes[i]))
        if (word.size() > 1) all[hash_of_word(word)] |= uint64_t{1} << i;
    return all;
  }();
  return languages;
}

// The number of the words that are frequent in each language.
WordCounts frequent_words(const std::vector<std::u32string>& words) {
  WordCounts counts{};
  for (const std::u32string& word : words) {
    const auto found = languages_of_words().find(hash_of_word(word));
    if (found == languages_of_words().end()) continue;
    for (uint64_t rest = found->second; rest != 0; rest &= rest - 1)
      ++counts[static_cast<size_t>(__builtin_ctzll(rest))];
  }
  return counts;
}

double log_probability_of(const std::vector<std::u32string>& words, const std::string& code) {
  const Spelling& spelling = spelling_of(code);
  double sum = 0;
  for (const std::u32string& word : words) sum += spelling.log_probability(word);
  return sum;
}

// The code of a language among the known ones.
std::string known_code(const std::string& language) {
  std::string code = language.substr(0, language.find_first_of("-_"));
  if (const std::string usual = language_code(language); !usual.empty() && usual != "no") code = usual;
  if (language.compare(0, 2, "sr") == 0 && language.find("Latn") == std::string::npos) return "";  // Cyrillic
  if (code == "no" || code == "nn" || language_code(language) == "no") code = "nb";
  const std::vector<std::string>& codes = spelled_languages();
  return std::find(codes.begin(), codes.end(), code) == codes.end() ? "" : code;
}

}  // namespace

LanguageCheck::LanguageCheck(const std::string& language) : code_(known_code(language)) {
  languages_of_words();
}

std::string LanguageCheck::other_language(const std::string& text) const {
  // Words of which there must be more than in the expected language, and the logarithm of how much more probable the
  // text must be in the other language.
  constexpr size_t kFewestWords = 4, kMoreWords = 2;
  constexpr double kSure = 10;
  if (!is_known()) return "";
  std::vector<std::u32string> words = spelled_words(text, kMostWords);
  std::sort(words.begin(), words.end());  // each counts once: "VAR1, VAR2" is not Danish
  words.erase(std::unique(words.begin(), words.end()), words.end());
  if (words.size() < kFewestWords) return "";
  const std::vector<std::string>& codes = spelled_languages();
  const WordCounts counts = frequent_words(words);
  const size_t expected = counts[static_cast<size_t>(std::find(codes.begin(), codes.end(), code_) - codes.begin())];
  const size_t most = *std::max_element(counts.begin(), counts.end());
  if (most < expected + kMoreWords) return "";
  const double log_expected = log_probability_of(words, code_);
  std::pair<double, std::string> best{log_expected + kSure, ""};
  for (size_t i = 0; i < codes.size() && i < kMostLanguages; ++i)
    if (counts[i] >= expected + kMoreWords)
      best = std::max(best, std::pair(log_probability_of(words, codes[i]), codes[i]));
  return best.second;
}

std::string language_of(const std::vector<std::string>& texts) {
  std::map<std::string, size_t> votes;
  size_t all = 0;
  for (const std::string& text : texts) {
    const WordCounts counts = frequent_words(spelled_words(text, kMostWords));
    const auto most = std::max_element(counts.begin(), counts.end());
    if (*most < 2 || std::count(counts.begin(), counts.end(), *most) > 1) continue;
    ++votes[spelled_languages()[static_cast<size_t>(most - counts.begin())]];
    ++all;
  }
  for (const auto& [code, count] : votes)
    if (2 * count > all) return code;
  return "";
}

}  // namespace v0
}  // namespace transmute
