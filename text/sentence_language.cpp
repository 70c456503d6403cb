// SPDX-License-Identifier: Apache-2.0
#include <transmute/metrics/metric_text.h>
#include <transmute/text/sentence_language.h>

#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/uloc.h>
#include <unicode/unistr.h>
#include <unicode/ures.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <stdexcept>
#include <unordered_map>

namespace transmute {
inline namespace v0 {

namespace {

// Marks a guess from a single word. Numbers may then be ordinals.
constexpr LanguageSet kUncertain = LanguageSet{1} << 63U;

constexpr const char* kIcuBreaks = U_ICUDATA_NAME "-brkitr";

struct WordLanguages {
  std::array<LanguageSet, 6> of_kind{};  // languages by WordKind
  LanguageSet icu = 0;
};

struct KnownLanguages {
  std::map<std::string, LanguageSet> sets;  // languages by code
  std::unordered_map<std::string, WordLanguages> words;
  std::array<LanguageSet, 128> ends{};  // languages by ASCII character
  LanguageSet ordinals = 0;
};

// ICU's list, whose entries are as they are written and end in a full stop.
void add_icu_words(const std::string& code, LanguageSet language, KnownLanguages& known) {
  UErrorCode error = U_ZERO_ERROR;
  const icu::LocalUResourceBundlePointer all(ures_open(kIcuBreaks, code.c_str(), &error));
  if (U_FAILURE(error) || error == U_USING_DEFAULT_WARNING || error == U_USING_FALLBACK_WARNING) return;
  const icu::LocalUResourceBundlePointer kinds(ures_getByKey(all.getAlias(), "exceptions", nullptr, &error));
  const icu::LocalUResourceBundlePointer list(ures_getByKey(kinds.getAlias(), "SentenceBreak", nullptr, &error));
  if (U_FAILURE(error)) return;
  for (int32_t i = 0; i < ures_getSize(list.getAlias()); ++i) {
    std::string word;
    icu::ures_getUnicodeStringByIndex(list.getAlias(), i, &error).toUTF8String(word);
    if (U_FAILURE(error)) return;
    if (!word.empty() && word.back() == '.') word.pop_back();
    if (!is_word(to_lower(word), WordKind::start, language)) known.words[word].icu |= language;
  }
}

KnownLanguages read_words() {
  static const std::map<std::string, WordKind> kKinds{{"before", WordKind::before},     {"number", WordKind::number},
                                                      {"abbr", WordKind::abbreviation}, {"closing", WordKind::closing},
                                                      {"start", WordKind::start},       {"ending", WordKind::ending}};
  KnownLanguages known;
  std::istringstream lines(kSentenceWords);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream items(line);
    std::string code, kind;
    if (!(items >> code >> kind)) continue;
    LanguageSet language = ~kUncertain;
    if (code != "*") {
      const auto next = LanguageSet{1} << (known.sets.size() + 1);
      language = known.sets.emplace(code, next).first->second;
    }
    if (kind == "ordinals") known.ordinals |= language;
    for (std::string word; items >> word;) {
      if (kind == "end") {
        known.ends[static_cast<unsigned char>(word.front()) & 0x7FU] |= language;
      } else {
        known.words[word].of_kind[static_cast<size_t>(kKinds.at(kind))] |= language;
      }
    }
  }
  return known;
}

const KnownLanguages& known_languages() {
  static const KnownLanguages known = read_words();
  return known;
}

const KnownLanguages& with_icu() {
  static const KnownLanguages known = [] {
    KnownLanguages icu;
    for (const auto& [code, language] : known_languages().sets) add_icu_words(code, language, icu);
    return icu;
  }();
  return known;
}

}  // namespace

std::string language_code(const std::string& name) {
  // The closest language whose words are listed.
  static const std::map<std::string, std::string> kAlike{{"nb", "no"}, {"nn", "no"}, {"bs", "hr"}, {"sr", "hr"}};
  std::array<char, ULOC_LANG_CAPACITY> code{};
  UErrorCode error = U_ZERO_ERROR;
  uloc_getLanguage(name.c_str(), code.data(), static_cast<int32_t>(code.size()), &error);
  const std::string language = U_SUCCESS(error) && error != U_STRING_NOT_TERMINATED_WARNING ? code.data() : "";
  if (language.size() < 2 || language.size() > 3 || uloc_getISO3Language(language.c_str())[0] == '\0') return "";
  const auto alike = kAlike.find(language);
  return alike == kAlike.end() ? language : alike->second;
}

void check_language(const std::string& option, const std::string& name) {
  if (!name.empty() && language_code(name).empty())
    throw std::invalid_argument(option + ": \"" + name + "\" is no language; give a code such as de, or leave it out");
}

LanguageSet language_set(const std::string& code) {
  const auto found = known_languages().sets.find(code);
  return found == known_languages().sets.end() ? 1 : found->second | 1;
}

std::string code_of(LanguageSet languages) {
  std::string only;
  for (const auto& [code, language] : known_languages().sets) {
    if ((language & languages) == 0) continue;
    if (!only.empty()) return "";
    only = code;
  }
  return only;
}

LanguageSet guess_languages(const std::string& text) {
  const KnownLanguages& known = known_languages();
  std::array<size_t, 64> counts{};
  const std::string lower = to_lower(text);
  const auto size = static_cast<int32_t>(lower.size());
  for (int32_t at = 0; at < size;) {
    const int32_t begin = at;
    int32_t end = at;
    UChar32 c = 0;
    do {
      end = at;
      U8_NEXT(lower.data(), at, size, c);
    } while (c > 0 && u_isalpha(c) && at < size);
    if (c > 0 && u_isalpha(c)) end = at;
    const auto found = known.words.find(lower.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
    if (found == known.words.end()) continue;
    for (LanguageSet rest = found->second.of_kind[static_cast<size_t>(WordKind::start)], bit = 0; rest != 0;
         rest >>= 1U, ++bit)
      counts[bit] += rest & 1U;
  }
  size_t most = 1;
  for (const size_t count : counts) most = std::max(most, count);
  LanguageSet languages = most == 1 ? kUncertain | 1 : 1;  // "Mai" alone is no evidence of Romanian
  for (size_t bit = 0; bit < counts.size(); ++bit)
    if (counts[bit] == most) languages |= LanguageSet{1} << bit;
  return languages;
}

bool is_word(std::string_view word, WordKind kind, LanguageSet languages) {
  const auto& words = known_languages().words;
  const auto found = words.find(std::string(word));
  return found != words.end() && (found->second.of_kind[static_cast<size_t>(kind)] & languages) != 0;
}

bool is_listed_by_icu(std::string_view word, LanguageSet languages) {
  const auto found = with_icu().words.find(std::string(word));
  return found != with_icu().words.end() && (found->second.icu & languages) != 0;
}

bool is_uncertain(LanguageSet languages) {
  return (languages & kUncertain) != 0;
}

bool has_ordinals(LanguageSet languages) {
  return languages == 1 || ((known_languages().ordinals | kUncertain) & languages) != 0;
}

bool ends_sentences(char mark, LanguageSet languages) {
  return (known_languages().ends[static_cast<unsigned char>(mark) & 0x7FU] & languages & ~LanguageSet{1}) != 0;
}

}  // namespace v0
}  // namespace transmute
