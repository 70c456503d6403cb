// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/checks/numbers.h>

#include <transmute/common/ascii_case.h>
#include <transmute/text/characters.h>
#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/rbnf.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/uscript.h>
#include <unicode/utf16.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

namespace transmute {
inline namespace v0 {
namespace checks {

namespace {

bool is_inside(size_t at, const std::vector<ByteSpan>& spans) {
  return std::any_of(spans.begin(), spans.end(),
                     [&](const ByteSpan& span) { return span.first <= at && at < span.second; });
}

// Digits and the separators between them: "1,000.5" has three groups.
struct Number {
  std::vector<std::string> groups;  // in ASCII digits
  std::vector<UChar32> separators;  // one fewer
  std::vector<ByteSpan> spans;      // spans of the groups
  bool is_scaled = false;           // a word such as "million" follows
  bool is_hour = false;             // minutes follow, as in 7:30
  bool is_minute = false;
  bool is_joined = false;  // to another number, as those of 2020-01-01 are
  bool is_matched = false;
};

// A group of digits that no number of the other side has.
struct Group {
  std::string digits;
  int64_t value;
  ByteSpan span;  // of the whole number if its groups are one
  bool is_hour, is_minute;
  bool is_joined;     // to other digits
  bool is_continued;  // a later group of one number, as in 1.05
};

bool is_separator(UChar32 c) {
  constexpr std::array<UChar32, 9> kSeparators{'.', ',', '\'', 0x2019, 0xA0, 0x202F, 0x2009, 0x66B, 0x66C};
  return std::find(kSeparators.begin(), kSeparators.end(), c) != kSeparators.end();
}

// The unit that a character of Chinese, Japanese or Korean names; 0 for others.
int64_t unit_of(UChar32 c) {
  constexpr std::array<std::pair<int64_t, std::u32string_view>, 5> kUnits{
      {{100, U"百백"}, {1000, U"千천"}, {10'000, U"万萬만"}, {100'000'000, U"億亿억"}, {1'000'000'000'000, U"兆조"}}};
  for (const auto& [unit, names] : kUnits)
    if (names.find(static_cast<char32_t>(c)) != std::u32string_view::npos) return unit;
  return 0;
}

bool is_scale_word(std::string_view after) {
  while (!after.empty() && (after.front() == ' ' || after.substr(0, 2) == "\u00A0"))
    after.remove_prefix(after.front() == ' ' ? 1 : 2);
  icu::UnicodeString word =
      icu::UnicodeString::fromUTF8({after.data(), static_cast<int32_t>(std::min<size_t>(after.size(), 24))});
  word.toLower();
  constexpr std::array kStems{
      u"thousand", u"tausend", u"mille",   u"mil ",   u"milio", u"milló",  u"milj",    u"mio",      u"mrd",
      u"mld",      u"milli",   u"billi",   u"bili",   u"bn",    u"trill",  u"тыс",     u"млн",      u"млрд",
      u"мільй",    u"мільяр",  u"tys",     u"tisíc",  u"mila",  u"milh",   u"milij",   u"milyon",   u"milyar",
      u"miliar",   u"bilh",    u"bin ",    u"tuhat",  u"tuhan", u"tūkst",  u"tisuć",   u"hiljad",   u"tusen",
      u"tusind",   u"duizend", u"ezer",    u"хиляд",  u"хиљад", u"милион", u"милиард", u"милијард", u"χιλι",
      u"εκατομ",   u"δισεκ",   u"triệu",   u"tỷ",     u"tỉ ",   u"nghìn",  u"ngàn",    u"juta",     u"ribu",
      u"ألف",      u"آلاف",    u"مليون",   u"ملايين", u"مليار", u"هزار",   u"میلیون",  u"میلیارد",  u"אלף",
      u"אלפ",      u"מיליון",  u"מיליארד", u"lakh",   u"crore", u"हज़ार",   u"हजार",    u"लाख",      u"करोड",
      u"พัน",       u"หมื่น",     u"แสน",     u"ล้าน",    u"милли"};
  return unit_of(word.char32At(0)) > 0 ||
         std::any_of(kStems.begin(), kStems.end(), [&](const char16_t* stem) { return word.startsWith(stem); });
}

std::string digits_from(std::string_view text, size_t& at) {
  std::string digits;
  while (at < text.size()) {
    const Character character = character_at(text, at);
    const int32_t value = u_charDigitValue(character.code);
    if (value < 0) break;
    digits.push_back(static_cast<char>('0' + value));
    at = character.end;
  }
  return digits;
}

// True if a space at `at` separates thousands: three digits follow, and at most three come before.
bool separates_thousands(std::string_view text, size_t at, const std::string& before) {
  size_t next = at + 1;
  return before.size() <= 3 && digits_from(text, next).size() == 3;
}

// The value of digits with units between them, such as 1億2000万, that begin at `at`; moves `at` to their end. Returns
// 0 for a single number with its unit, which may have decimals, as in 1.2億.
int64_t value_with_units(std::string_view text, size_t& at) {
  constexpr size_t kMostDigits = 6;  // so that no value overflows
  constexpr int64_t kMost = 1'000'000'000'000'000'000, kTenThousand = 10'000;
  int64_t total = 0, below_ten_thousand = 0, unit = kMost;
  size_t parts = 0, end = at;
  for (size_t next = at; unit > 1; ++parts) {
    if (parts > 0 && next < text.size() && text[next] == ' ') ++next;
    std::string digits = digits_from(text, next);
    if (next < text.size() && text[next] == ',' && separates_thousands(text, next, digits))
      digits += digits_from(text, ++next);
    if (digits.empty() || digits.size() > kMostDigits || std::stoll(digits) >= unit) break;
    int64_t part = std::stoll(digits);
    for (unit = 1; next < text.size();) {
      const Character character = character_at(text, next);
      const int64_t factor = unit_of(character.code);
      if (factor == 0) break;
      if (below_ten_thousand + part > (kMost - total) / factor) return 0;
      if (factor < kTenThousand) {
        part *= factor;
      } else {
        total += (below_ten_thousand + part) * factor;
        below_ten_thousand = part = 0;
      }
      unit = factor;
      next = character.end;
    }
    below_ten_thousand += part;
    end = next;
  }
  if (parts < 2) return 0;
  at = end;
  return total + below_ten_thousand;
}

// Notes what the numbers are to each other, as in 7:30 and 2020-01-01.
void relate(std::string_view text, Number& before, Number& after) {
  const size_t end = before.spans.back().second;
  if (end + 1 != after.spans.front().first || std::string_view("-:/").find(text[end]) == std::string_view::npos) return;
  before.is_joined = after.is_joined = true;
  if (text[end] == ':' && before.groups.back().size() <= 2 && after.groups.front().size() == 2)
    before.is_hour = after.is_minute = true;
}

// True for digits after a point alone, as in ".08 percent".
bool lacks_zero(std::string_view text, size_t at) {
  return at > 0 && (text[at - 1] == '.' || text[at - 1] == ',') && (at == 1 || text[at - 2] == ' ');
}

std::vector<Number> numbers_in(std::string_view text, const std::vector<ByteSpan>& ignored) {
  std::vector<Number> numbers;
  for (size_t at = 0; at < text.size();) {
    const Character first = character_at(text, at);
    if (u_charDigitValue(first.code) < 0 || is_inside(at, ignored)) {
      at = first.end;
      continue;
    }
    Number number;
    if (size_t end = at; const int64_t value = value_with_units(text, end)) {
      number.groups.push_back(std::to_string(value));
      number.spans.emplace_back(at, end);
      numbers.push_back(std::move(number));
      at = end;
      continue;
    }
    if (lacks_zero(text, at)) {
      number.groups.emplace_back("0");
      number.spans.emplace_back(at - 1, at - 1);
      number.separators.push_back(text[at - 1]);
    }
    while (true) {
      const size_t begin = at;
      number.groups.push_back(digits_from(text, at));
      number.spans.emplace_back(begin, at);
      if (at >= text.size()) break;
      const Character separator = character_at(text, at);
      const bool joins = separator.end < text.size() && u_charDigitValue(character_at(text, separator.end).code) >= 0 &&
                         (is_separator(separator.code) ||
                          (separator.code == ' ' && separates_thousands(text, at, number.groups.back())));
      if (!joins) break;
      number.separators.push_back(separator.code);
      at = separator.end;
    }
    number.is_scaled = is_scale_word(text.substr(at));
    if (!numbers.empty()) relate(text, numbers.back(), number);
    numbers.push_back(std::move(number));
  }
  return numbers;
}

std::string without_leading_zeros(std::string digits) {
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  return digits.empty() ? "0" : digits;
}

std::string decimal(std::string whole, std::string fraction) {
  fraction.erase(fraction.find_last_not_of('0') + 1);
  whole = without_leading_zeros(std::move(whole));
  return fraction.empty() ? whole : whole + '.' + fraction;
}

std::string joined(const std::vector<std::string>& groups, size_t count) {
  std::string digits;
  for (size_t i = 0; i < count; ++i) digits += groups[i];
  return digits;
}

// True if the first `count` groups are thousands, or lakhs (1,00,000), with the same separator between them. 0.500 has
// no thousands.
bool are_thousands(const Number& number, size_t count) {
  if (number.groups.front().size() > 3 || (count > 1 && number.groups.front().front() == '0')) return false;
  for (size_t i = 1; i < count; ++i) {
    const size_t digits = number.groups[i].size();
    const bool fits = digits == 3 || (digits == 2 && i + 1 < count && number.separators.front() == ',');
    if (!fits || number.separators[i - 1] != number.separators.front()) return false;
  }
  return true;
}

// The value of the number. "1.250" may be thousands or a decimal, and counts as thousands, so that it is not 1.25.
// Empty for dates and the like, which are several numbers.
std::string reading_of(const Number& number) {
  const size_t count = number.groups.size();
  if (count == 1 || are_thousands(number, count)) return without_leading_zeros(joined(number.groups, count));
  const UChar32 last = number.separators.back();
  const bool may_be_decimal = last == '.' || last == ',' || last == 0x66B;
  if (may_be_decimal && (count == 2 || (number.separators.front() != last && are_thousands(number, count - 1))))
    return decimal(joined(number.groups, count - 1), number.groups.back());
  return "";
}

std::string significant(const std::string& reading) {
  std::string digits;
  for (const char c : reading)
    if (c != '.') digits.push_back(c);
  digits.erase(digits.find_last_not_of('0') + 1);
  return without_leading_zeros(digits);
}

void match_by_value(std::vector<Number>& source, std::vector<Number>& target) {
  std::vector<std::string> readings;
  for (const Number& other : target) readings.push_back(reading_of(other));
  for (Number& number : source) {
    const std::string reading = reading_of(number);
    const auto is_same = [&](const Number& other) {
      const std::string& of_other = readings[static_cast<size_t>(&other - target.data())];
      if (other.is_matched || of_other.empty()) return false;
      return reading == of_other ||
             ((number.is_scaled || other.is_scaled) && significant(reading) == significant(of_other));
    };
    const auto same = reading.empty() ? target.end() : std::find_if(target.begin(), target.end(), is_same);
    if (same == target.end()) continue;
    number.is_matched = same->is_matched = true;
  }
}

int64_t value_of(const std::string& digits) {
  return std::strtoll(digits.c_str(), nullptr, 10);  // the largest value for more digits
}

// The groups of the numbers left. Later zeros, such as the minutes of 17.00, may be left out, but not those of 1,000.
std::vector<Group> groups_of(const std::vector<Number>& numbers) {
  std::vector<Group> groups;
  for (const Number& number : numbers) {
    if (number.is_matched) continue;
    const size_t count = number.groups.size();
    const bool is_one = !reading_of(number).empty();
    const ByteSpan whole{number.spans.front().first, number.spans.back().second};
    for (size_t i = 0; i < count; ++i) {
      constexpr size_t kDigitsOfThousands = 3;
      const std::string& digits = number.groups[i];
      const int64_t value = value_of(digits);
      if (number.spans[i].first == number.spans[i].second) continue;  // the zero that .08 lacks
      if (value == 0 && i > 0 && !(is_one && digits.size() == kDigitsOfThousands)) continue;
      groups.push_back({digits, value, is_one ? whole : number.spans[i], number.is_hour, number.is_minute,
                        number.is_joined || count > 1, is_one && i > 0});
    }
  }
  return groups;
}

// Removes pairs for which `are_same(group of the source, group of the target)` holds.
template <class Same>
void match_groups(std::vector<Group>& source, std::vector<Group>& target, const Same& are_same) {
  for (auto group = source.begin(); group != source.end();) {
    const auto same =
        std::find_if(target.begin(), target.end(), [&](const Group& other) { return are_same(*group, other); });
    if (same == target.end()) {
      ++group;
      continue;
    }
    target.erase(same);
    group = source.erase(group);
  }
}

// 4.3. is 04/03, but 1.5 is not 1.05.
bool are_same_digits(const Group& a, const Group& b) {
  if (a.is_continued && b.is_continued) return a.digits == b.digits;
  return without_leading_zeros(a.digits) == without_leading_zeros(b.digits);
}

// 5 p.m. and 17 Uhr; the 1960s and the sixties in digits; years of Thailand's calendar.
bool are_same_time(const Group& a, const Group& b) {
  constexpr int64_t kFirstYear = 1000, kThaiYears = 543;
  if (a.is_continued || b.is_continued) return false;
  const int64_t earlier = std::min(a.value, b.value), later = std::max(a.value, b.value);
  return (later - earlier == 12 && later <= 24) || (earlier >= kFirstYear && later - earlier == kThaiYears) ||
         (earlier < 100 && earlier % 10 == 0 && later >= 1000 && later < 2100 && (later - earlier) % 100 == 0);
}

// True for the vowels and tones of Thai that follow a consonant, so that no word begins with them.
bool is_thai_sign(UChar32 c) {
  return (c >= 0xE30 && c <= 0xE3A) || (c >= 0xE45 && c <= 0xE4E);
}

// The words of a text in lower case, without what is between them: a number may be several words.
struct Letters {
  icu::UnicodeString text;
  std::vector<bool> begins_word;  // for each unit of the text, and its end
};

Letters letters_of(icu::UnicodeString text) {
  text.toLower();
  Letters letters;
  bool begins_word = true;
  for (int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1)) {
    const UChar32 c = text.char32At(i);
    const bool is_letter = u_isalpha(c) != 0 || is_thai_sign(c);
    if (is_letter) {
      letters.text.append(c);
      letters.begins_word.resize(static_cast<size_t>(letters.text.length()), false);
      letters.begins_word[static_cast<size_t>(letters.text.length() - U16_LENGTH(c))] = begins_word;
    }
    begins_word = !is_letter;
  }
  letters.begins_word.push_back(true);
  return letters;
}

Letters letters_of(std::string_view text) {
  return letters_of(icu::UnicodeString::fromUTF8({text.data(), static_cast<int32_t>(text.size())}));
}

bool has_spaces_between_words(UChar32 c) {
  UErrorCode error = U_ZERO_ERROR;
  const UScriptCode script = uscript_getScript(c, &error);
  return script != USCRIPT_HAN && script != USCRIPT_HIRAGANA && script != USCRIPT_KATAKANA &&
         script != USCRIPT_HANGUL && script != USCRIPT_THAI;
}

bool has_word_beginning_with(const Letters& letters, const icu::UnicodeString& beginning) {
  for (int32_t at = letters.text.indexOf(beginning); at >= 0; at = letters.text.indexOf(beginning, at + 1))
    if (letters.begins_word[static_cast<size_t>(at)]) return true;
  return false;
}

// True if words of the text begin with the letters of `number`, as in "zweimal"; short ones must be whole words.
bool has_number(const Letters& letters, const icu::UnicodeString& number) {
  constexpr int32_t kShort = 3;
  const bool is_anywhere = !has_spaces_between_words(number.char32At(0));
  for (int32_t at = letters.text.indexOf(number); at >= 0; at = letters.text.indexOf(number, at + 1)) {
    const auto begin = static_cast<size_t>(at), end = begin + static_cast<size_t>(number.length());
    if (is_thai_sign(letters.text.char32At(at + number.length()))) continue;  // 3 is the beginning of "can"
    if (is_anywhere || (letters.begins_word[begin] && (number.length() > kShort || letters.begins_word[end])))
      return true;
  }
  return false;
}

// A way to spell a number out, in letters alone.
struct SpelledNumber {
  icu::UnicodeString letters;
  bool is_whole;  // false: without its first word, as "hundert" for "einhundert"
};

// Spells numbers out in a language.
struct Speller {
  const char* language;
  bool inflects = false;  // there are more forms than ICU knows, which differ in their last letters
  // A text without any of these letters is in another language; empty: may be in this one.
  std::u16string_view letters{};
  std::unique_ptr<icu::RuleBasedNumberFormat> format{};  // made when it is needed, as it takes 0.5 MB
  std::map<int64_t, std::shared_ptr<const std::vector<SpelledNumber>>> numbers{};  // see spelled_numbers()
  std::mutex mutex{};  // guards both: ICU does not promise that threads may share a format
};

std::array<Speller, 44>& spellers() {
  // The Lithuanian word for 2 is the German "du".
  static std::array<Speller, 44> all{{{"en"},       {"de"},       {"fr"},       {"fr_BE"},
                                      {"fr_CH"},    {"es"},       {"it"},       {"pt"},
                                      {"nl"},       {"sv"},       {"da"},       {"tr"},
                                      {"zh"},       {"ja"},       {"ko"},       {"ar"},
                                      {"hi"},       {"bg"},       {"ca"},       {"et"},
                                      {"fa"},       {"he"},       {"hr"},       {"hy"},
                                      {"id"},       {"is"},       {"ka"},       {"mk"},
                                      {"nb"},       {"sk"},       {"sl"},       {"sr"},
                                      {"vi"},       {"pl", true}, {"cs", true}, {"ru", true},
                                      {"uk", true}, {"ro", true}, {"hu", true}, {"fi", true},
                                      {"el", true}, {"lv", true}, {"th"},       {"lt", true, u"ėįų"}}};
  return all;
}

// Null if ICU lacks the language.
const icu::RuleBasedNumberFormat* format_of(Speller& speller) {
  UErrorCode error = U_ZERO_ERROR;
  if (!speller.format)
    speller.format =
        std::make_unique<icu::RuleBasedNumberFormat>(icu::URBNF_SPELLOUT, icu::Locale(speller.language), error);
  if (U_FAILURE(error)) speller.format.reset();
  return speller.format.get();
}

// The letters of a number in words; empty if the rules write it in digits.
icu::UnicodeString spelled(const icu::RuleBasedNumberFormat& format, int32_t rule_set, int64_t value) {
  UErrorCode error = U_ZERO_ERROR;
  icu::FieldPosition position;
  icu::UnicodeString text;
  format.format(value, format.getRuleSetName(rule_set), text, position, error);
  bool has_digits = false;  // as the Russian ordinals of a million have: "1000000-я" would be spelled "я", which is "I"
  for (int32_t i = 0; i < text.length(); ++i) has_digits |= u_isdigit(text[i]) != 0;
  return U_SUCCESS(error) && !has_digits ? letters_of(text).text : icu::UnicodeString();
}

// True if a word of the text begins as `number` does, but for its last letters: "pěti" for "pět".
bool has_inflected(const Letters& letters, const icu::UnicodeString& number) {
  constexpr int32_t kShortest = 3, kLongestEnding = 2;
  if (number.length() < kShortest) return false;
  return has_word_beginning_with(letters, {number, 0, std::max(kShortest, number.length() - kLongestEnding)});
}

// Beginnings of words for numbers that no rule of ICU's makes.
bool has_other_word(int64_t value, const Letters& letters) {
  static const std::vector<std::pair<int64_t, std::vector<const char16_t*>>> kWords{
      {1, {u"once", u"singl", u"only"}},
      {2, {u"twice", u"both",  u"coupl",  u"doubl", u"pair",  u"paar",   u"beid",  u"doppel", u"zwo",
           u"ambos", u"ambas", u"entram", u"båda",  u"begge", u"molemm", u"két",   u"mindké", u"dvou",
           u"dvoj",  u"dvěm",  u"obou",   u"oběma", u"obie",  u"obaj",   u"oboje", u"двох",   u"двом",
           u"двоих", u"двое",  u"двоє",   u"оба",   u"обе",   u"обо",    u"обид"}},
      {3, {u"tří", u"třem", u"třech", u"трёх", u"трех", u"трое", u"трьо", u"троє"}},
      {4, {u"čtvero", u"четверо"}},
      {12,
       {u"dozen", u"dutzend", u"douzain", u"docen", u"dozzin", u"dúzi", u"dozijn", u"dussin", u"tuzin", u"tucet",
        u"дюжин"}},
  };
  for (const auto& [number, words] : kWords)
    if (number == value)
      return std::any_of(words.begin(), words.end(),
                         [&](const char16_t* word) { return has_word_beginning_with(letters, word); });
  return false;
}

// True if the text has one of Arabic's and Hebrew's forms of nouns of which there are two, such as ساعتين, "2 hours".
bool has_dual(const Letters& letters) {
  constexpr std::array kNouns{u"ساعتين", u"ساعتان", u"دقيقتين", u"دقيقتان", u"يومين",  u"يومان", u"أسبوعين", u"أسبوعان",
                              u"شهرين",  u"شهران",  u"سنتين",   u"سنتان",   u"عامين",  u"عامان", u"مرتين",   u"مرتان",
                              u"שעתיים", u"יומיים", u"שבועיים", u"חודשיים", u"שנתיים", u"פעמיים"};
  constexpr std::array kArticles{u"", u"ال", u"ה", u"ב"};
  return std::any_of(kNouns.begin(), kNouns.end(), [&](const char16_t* noun) {
    return std::any_of(kArticles.begin(), kArticles.end(), [&](const char16_t* article) {
      return has_word_beginning_with(letters, icu::UnicodeString(article) + noun);
    });
  });
}

// The ways to spell a number out in a language; the last numbers' are kept, because ICU takes long, and the check of
// each new attempt at a translation asks for the same. Null if ICU lacks the language.
std::shared_ptr<const std::vector<SpelledNumber>> spelled_numbers(Speller& speller, int64_t value) {
  constexpr size_t kMostNumbers = 100;
  const std::lock_guard<std::mutex> lock(speller.mutex);
  if (const auto found = speller.numbers.find(value); found != speller.numbers.end()) return found->second;
  const icu::RuleBasedNumberFormat* const format = format_of(speller);
  if (format == nullptr) return nullptr;
  std::vector<SpelledNumber> ways;
  const auto add = [&](const icu::UnicodeString& letters, bool is_whole) {
    const auto is_same = [&](const SpelledNumber& way) { return way.letters == letters && way.is_whole == is_whole; };
    if (std::none_of(ways.begin(), ways.end(), is_same)) ways.push_back({letters, is_whole});
  };
  for (int32_t set = 0; set < format->getNumberOfRuleSetNames(); ++set) {
    icu::UnicodeString number = spelled(*format, set, value);
    if (number.isEmpty()) continue;
    add(number, true);
    const icu::UnicodeString one = value < 100 ? icu::UnicodeString() : spelled(*format, set, 1);
    if (!one.isEmpty() && number.startsWith(one) && number != one) add(number.remove(0, one.length()), false);
  }
  if (speller.numbers.size() == kMostNumbers) speller.numbers.clear();
  return speller.numbers[value] = std::make_shared<const std::vector<SpelledNumber>>(std::move(ways));
}

// ICU takes milliseconds to spell a number in all languages: of more numbers than this, the rest counts as not spelled
// out. As many faults are reported (add_warning).
constexpr size_t kMostSpelled = 100;

bool is_spelled_out(int64_t value, const Letters& letters) {
  if (letters.text.isEmpty()) return false;
  if (has_other_word(value, letters) || (value == 2 && has_dual(letters))) return true;
  const std::u16string_view text(letters.text.getBuffer(), static_cast<size_t>(letters.text.length()));
  for (Speller& speller : spellers()) {
    if (!speller.letters.empty() && text.find_first_of(speller.letters) == std::u16string_view::npos) continue;
    const auto ways = spelled_numbers(speller, value);
    const auto is_in_text = [&](const SpelledNumber& way) {
      return has_number(letters, way.letters) ||
             (way.is_whole && speller.inflects && has_inflected(letters, way.letters));
    };
    if (ways && std::any_of(ways->begin(), ways->end(), is_in_text)) return true;
  }
  return false;
}

bool is_roman(int64_t value, std::string_view text) {
  constexpr std::array<std::pair<int64_t, const char*>, 5> kDigits{
      {{10, "X"}, {9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"}}};
  if (value < 2 || value > 39) return false;  // "I" is a word too
  std::string roman;
  for (const auto& [worth, letters] : kDigits)
    for (; value >= worth; value -= worth) roman += letters;
  for (size_t at = text.find(roman); at != std::string_view::npos; at = text.find(roman, at + 1)) {
    const auto is_letter = [&](size_t i) {
      return i < text.size() && (is_ascii_letter(text[i]) || (text[i] & 0x80) != 0);
    };
    if (at > 0 && is_letter(at - 1)) continue;
    for (const std::string_view ending : {"", "e", "ème", "ᵉ"}) {  // the French write XXIe siècle
      const size_t end = at + roman.size() + ending.size();
      if (text.substr(at + roman.size(), ending.size()) == ending && !is_letter(end)) return true;
    }
  }
  return false;
}

// Marks the numbers with thousands that the other side's text has in words: 2,000,000 is "zwei Millionen".
void match_words(std::vector<Number>& numbers, std::string_view other_text) {
  std::optional<Letters> letters;
  size_t asked = 0;
  for (Number& number : numbers) {
    const size_t count = number.groups.size();
    if (number.is_matched || count == 1 || !are_thousands(number, count)) continue;
    if (++asked > kMostSpelled) return;
    if (!letters) letters = letters_of(other_text);
    const auto is_word = [&](const std::string& digits) {
      const int64_t value = value_of(digits);
      return value == 0 || is_spelled_out(value, *letters);
    };
    number.is_matched =
        is_word(joined(number.groups, count)) || std::all_of(number.groups.begin(), number.groups.end(), is_word);
  }
}

template <class IsDropped>
void drop_if(std::vector<Group>& groups, const IsDropped& is_dropped) {
  groups.erase(std::remove_if(groups.begin(), groups.end(), is_dropped), groups.end());
}

// Removes the groups that the other side's text has as a word.
void drop_words(std::vector<Group>& groups, std::string_view other_text) {
  if (groups.empty()) return;
  const Letters letters = letters_of(other_text);
  size_t asked = 0;
  const auto is_word = [&](const Group& group) {
    if (++asked > kMostSpelled) return false;
    if (is_spelled_out(group.value, letters) || is_roman(group.value, other_text)) return true;
    // 14:30 is "half past two" or "halb drei", and the words for its minutes are many.
    if (group.is_minute) return group.value % 15 == 0;
    if (!group.is_hour) return false;
    const int64_t hour = group.value % 12, next = hour % 12 + 1;
    return is_spelled_out(hour, letters) || is_spelled_out(next, letters);
  };
  drop_if(groups, is_word);
}

// The numbers that tokenizers, which use NFKC, read in m², CO₂ and ½. Digits are left out: those beside such a mark
// would join it.
std::vector<Number> numbers_of_marks(std::string_view text) {
  std::string marks(text);
  for (const Character& character : Characters(text)) {
    const size_t length = character.end - character.begin;
    if (u_charDigitValue(character.code) >= 0) marks.replace(character.begin, length, length, ' ');
  }
  return numbers_in(characters::normalized(marks, icu::Normalizer2::getNFKCInstance), {});
}

bool has_digits(const std::vector<Number>& numbers, const std::string& digits) {
  const std::string wanted = without_leading_zeros(digits);
  return std::any_of(numbers.begin(), numbers.end(), [&](const Number& number) {
    return std::any_of(number.groups.begin(), number.groups.end(),
                       [&](const std::string& group) { return without_leading_zeros(group) == wanted; });
  });
}

// Removes those that the other side's text has in marks such as ².
void drop_marks(std::vector<Group>& groups, std::string_view other_text) {
  if (groups.empty()) return;
  const std::vector<Number> marks = numbers_of_marks(other_text);
  drop_if(groups, [&](const Group& group) { return has_digits(marks, group.digits); });
}

// Removes those that the other side has elsewhere, except for parts of a number: a translation may say a number twice.
template <class IsPart>
void drop_repeated(std::vector<Group>& groups, const std::vector<Number>& other, const IsPart& is_part) {
  drop_if(groups, [&](const Group& group) { return !is_part(group) && has_digits(other, group.digits); });
}

// True for both numbers of 2-2 and 10/10/2020, which are said once: "2 all", "10 October".
bool is_doubled(const Group& group, std::string_view text) {
  const size_t size = group.digits.size(), begin = group.span.first, end = group.span.second;
  return (begin > size && text.substr(begin - size - 1, size) == group.digits) ||
         (end < text.size() && text.substr(end + 1, size) == group.digits);
}

// True if one of the numbers has just these digits and is joined to no other.
bool is_alone(const Group& group, const std::vector<Number>& numbers) {
  return std::any_of(numbers.begin(), numbers.end(), [&](const Number& number) {
    return !number.is_joined && number.groups.size() == 1 && number.groups.front() == group.digits;
  });
}

// True for the number in 12月, 12월 and "tháng 12".
bool is_month(const Group& group, std::string_view text) {
  constexpr std::string_view kMonth = "háng ";  // after T or t
  if (group.value < 1 || group.value > 12) return false;
  const std::string_view after = text.substr(group.span.second, 3);
  const size_t begin = group.span.first;
  return after == "月" || after == "월" ||
         (begin > kMonth.size() && text.substr(begin - kMonth.size(), kMonth.size()) == kMonth &&
          (text[begin - kMonth.size() - 1] | 0x20) == 't');
}

// Removes months, which most languages write as names, but no month in the place of another of `other_count` groups.
void drop_months(std::vector<Group>& groups, std::string_view text, size_t other_count) {
  for (auto group = groups.begin(); group != groups.end() && groups.size() > other_count;)
    group = is_month(*group, text) ? groups.erase(group) : group + 1;
}

// True for the number in 1時間, 1个 and "1 주", where other languages say "an hour", "each" or "last week", but not for
// the one in 第1次, "the first time".
bool counts_one(const Group& group, std::string_view text) {
  constexpr std::u32string_view kCounters = U"時时小分秒天周週星个個箇かヶ年주시분초년개名人回次項项件",
                                kFirst = U"第제";
  if (group.value != 1 || group.is_joined) return false;
  const UChar32 before = characters::before(text, group.span.first);
  if (before > 0 && kFirst.find(static_cast<char32_t>(before)) != std::u32string_view::npos) return false;
  size_t at = group.span.second;
  if (at < text.size() && text[at] == ' ') ++at;
  const UChar32 counter = characters::at(text, at);
  return counter > 0 && kCounters.find(static_cast<char32_t>(counter)) != std::u32string_view::npos;
}

std::vector<NumberFault> faults_of(std::vector<Group> source, std::vector<Group> target) {
  const auto are_of_one = [](const Group& a, const Group& b) { return a.span == b.span; };
  source.erase(std::unique(source.begin(), source.end(), are_of_one), source.end());
  target.erase(std::unique(target.begin(), target.end(), are_of_one), target.end());
  std::vector<NumberFault> faults;
  for (size_t i = 0; i < std::max(source.size(), target.size()); ++i)
    faults.push_back(
        {i < source.size() ? source[i].span : ByteSpan{}, i < target.size() ? target[i].span : ByteSpan{}});
  return faults;
}

}  // namespace

std::vector<NumberFault> compare_numbers(std::string_view source, std::string_view target,
                                         const std::vector<ByteSpan>& ignored_source,
                                         const std::vector<ByteSpan>& ignored_target) {
  std::vector<Number> in_source = numbers_in(source, ignored_source), in_target = numbers_in(target, ignored_target);
  match_by_value(in_source, in_target);
  match_words(in_source, target);
  match_words(in_target, source);
  std::vector<Group> missing = groups_of(in_source), added = groups_of(in_target);
  if (missing.empty() && added.empty()) return {};
  match_groups(missing, added, are_same_digits);
  match_groups(missing, added, are_same_time);
  drop_marks(missing, target);
  drop_marks(added, source);
  if (missing.empty() != added.empty()) {
    drop_repeated(missing, in_target, [&](const Group& group) {
      return group.is_joined && !(is_doubled(group, source) && is_alone(group, in_target));
    });
    drop_repeated(added, in_source, [](const Group& group) { return group.is_continued; });  // January 1st is 01.01.
  }
  drop_words(missing, target);
  drop_words(added, source);
  drop_if(missing, [&](const Group& group) { return counts_one(group, source); });
  drop_if(added, [&](const Group& group) { return counts_one(group, target); });
  drop_months(missing, source, added.size());
  drop_months(added, target, missing.size());
  return faults_of(std::move(missing), std::move(added));
}

}  // namespace checks
}  // namespace v0
}  // namespace transmute
