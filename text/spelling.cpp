// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/spelling.h>

#include <transmute/text/characters.h>
#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string_view>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

constexpr size_t kMostLettersBefore = 4;
constexpr size_t kMostLettersOfWord = 20;
constexpr double kProbabilityOfFrequent = 0.9;    // probability that a word is one of the frequent ones
constexpr double kProbabilityOfNewLetter = 1e-5;  // probability of a letter that no known word has
constexpr double kZipfOffset = 2;                 // Mandelbrot's, for the very first words
constexpr char32_t kBegin = 1, kEnd = 2;          // begin and end of a word
constexpr uint64_t kNoLetters = 0;

// The hash of letters that begin one letter earlier.
uint64_t extended(uint64_t letters, char32_t before) {
  const uint64_t hash = (letters ^ before) * 0x9E3779B97F4A7C15U;
  return hash ^ (hash >> 29);
}

// A letter of a word, or its end: the hashes of the letters before it, and of these with it; no letter, one, … four.
struct LetterKeys {
  std::array<uint64_t, kMostLettersBefore + 1> before{}, with{};
  size_t size = 0;
};

std::vector<LetterKeys> keys_of(const std::u32string& word) {
  const std::u32string whole = kBegin + word + kEnd;
  std::vector<LetterKeys> keys(whole.size() - 1);
  for (size_t i = 1; i < whole.size(); ++i) {
    LetterKeys& key = keys[i - 1];
    key.size = std::min(i, kMostLettersBefore) + 1;
    key.before[0] = kNoLetters;
    key.with[0] = extended(kNoLetters, whole[i]);
    for (size_t n = 1; n < key.size; ++n) {
      key.before[n] = extended(key.before[n - 1], whole[i - n]);
      key.with[n] = extended(key.with[n - 1], whole[i - n]);
    }
  }
  return keys;
}

bool is_letter_or_mark(UChar32 c) {
  return u_isalpha(c) || (U_GET_GC_MASK(c) & U_GC_M_MASK) != 0;
}

bool is_apostrophe(UChar32 c) {
  return c == '\'' || c == 0x2019;
}

// The names of languages and countries in a language, each word once.
std::vector<std::u32string> words_of_names(const std::string& code) {
  const icu::Locale locale(code.c_str());
  std::string names;
  icu::UnicodeString name;
  for (const char* const* language = icu::Locale::getISOLanguages(); *language != nullptr; ++language)
    if (std::string_view(*language).size() == 2) {  // the usual ones
      icu::Locale(*language).getDisplayLanguage(locale, name).toUTF8String(names);
      names += ' ';
    }
  for (const char* const* country = icu::Locale::getISOCountries(); *country != nullptr; ++country) {
    icu::Locale("", *country).getDisplayCountry(locale, name).toUTF8String(names);
    names += ' ';
  }
  std::vector<std::u32string> words = spelled_words(names, names.size());
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

const std::map<std::string, std::string>& lists_of_words() {
  static const std::map<std::string, std::string> lists = [] {
    std::map<std::string, std::string> by_language;
    std::istringstream lines(kLanguageWords);
    std::string code, words;
    while (lines >> code && std::getline(lines, words)) by_language[code] = words;
    return by_language;
  }();
  return lists;
}

}  // namespace

Spelling::Spelling(const std::vector<std::u32string>& frequent, const std::vector<std::u32string>& others) {
  double sum = 0, rank = kZipfOffset;
  for (const std::u32string& word : frequent) {
    // Between counting words (a weight of 1) and occurrences (1 / rank): which letters new words have.
    add(word, std::sqrt(static_cast<double>(frequent.size()) / rank));
    probabilities_[word] += 1 / rank;
    sum += 1 / rank++;
  }
  for (auto& [word, probability] : probabilities_) probability *= kProbabilityOfFrequent / sum;
  for (const std::u32string& word : others) add(word, 1);
}

void Spelling::add(const std::u32string& word, double weight) {
  for (const LetterKeys& key : keys_of(word))
    for (size_t n = 0; n < key.size; ++n) {
      Letters& with = letters_[key.with[n]];
      const bool is_new = with.count == 0;
      with.count += weight;
      Letters& before = letters_[key.before[n]];
      before.total += weight;
      if (is_new) ++before.kinds;
    }
}

double Spelling::log_probability(const std::u32string& word) const {
  double log_letters = std::log(1 - kProbabilityOfFrequent);
  for (const LetterKeys& key : keys_of(word)) {
    double probability = kProbabilityOfNewLetter;
    for (size_t n = 0; n < key.size; ++n) {
      const auto before = letters_.find(key.before[n]);
      if (before == letters_.end() || before->second.total == 0) break;
      const auto with = letters_.find(key.with[n]);
      const double count = with == letters_.end() ? 0 : with->second.count;
      probability = (count + before->second.kinds * probability) / (before->second.total + before->second.kinds);
    }
    log_letters += std::log(probability);
  }
  const auto frequent = probabilities_.find(word);
  return frequent == probabilities_.end() ? log_letters : std::log(frequent->second + std::exp(log_letters));
}

std::vector<std::u32string> spelled_words(const std::string& unnormalized, size_t most) {
  // The words of kLanguageWords are in this normal form.
  const std::string text = characters::normalized(unnormalized, icu::Normalizer2::getNFCInstance);
  std::vector<std::u32string> words(1);
  const auto end_word = [&words] {
    while (!words.back().empty() && words.back().back() == U'\'') words.back().pop_back();
    if (!words.back().empty()) words.emplace_back();
  };
  for (const Character& character : Characters(text)) {
    const UChar32 c = character.code;
    if (words.back().size() == kMostLettersOfWord) end_word();
    if (is_letter_or_mark(c))
      words.back().push_back(static_cast<char32_t>(u_tolower(c)));
    else if (is_apostrophe(c) && !words.back().empty())
      words.back().push_back(U'\'');
    else
      end_word();
  }
  end_word();
  words.pop_back();
  if (words.size() <= most) return words;
  std::vector<std::u32string> spread;
  for (size_t i = 0; i < most; ++i) spread.push_back(std::move(words[i * words.size() / most]));
  return spread;
}

const std::vector<std::string>& spelled_languages() {
  static const std::vector<std::string> codes = [] {
    std::vector<std::string> all;
    for (const auto& [code, words] : lists_of_words()) all.push_back(code);
    return all;
  }();
  return codes;
}

std::vector<std::u32string> words_of_language(const std::string& code) {
  const std::string& words = lists_of_words().at(code);
  return spelled_words(words, words.size());
}

const Spelling& spelling_of(const std::string& code) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<const Spelling>> spellings;
  const std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<const Spelling>& spelling = spellings[code];
  if (!spelling) spelling = std::make_unique<const Spelling>(words_of_language(code), words_of_names(code));
  return *spelling;
}

}  // namespace v0
}  // namespace transmute
