// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/readable_case.h>

#include <transmute/common/ascii_case.h>
#include <transmute/common/text_file.h>
#include <transmute/common/utf8.h>
#include <transmute/text/characters.h>
#include <transmute/text/protected_spans.h>
#include <transmute/text/sentence_characters.h>
#include <transmute/text/sentence_language.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

// Bytes that the vocabulary cannot read, however many of them one unknown piece has; and the number of pieces.
using Effort = std::pair<size_t, size_t>;

Effort effort_of(const SegmentedText& segmented) {
  size_t unread = 0;
  for (size_t i = 0; i < segmented.ids.size(); ++i)
    if (segmented.ids[i] == special_ids::kUnknown) unread += segmented.spans[i].second - segmented.spans[i].first;
  return {unread, segmented.ids.size()};
}

// Calls visit(begin, end) for the words of a text, each with the white space before it, and for white space at its end.
template <class Visit>
void for_each_word(const std::string& text, const Visit& visit) {
  size_t begin = 0;
  bool in_word = false;
  for (const Character& character : Characters(text)) {
    const bool is_space = u_isUWhiteSpace(character.code);
    if (is_space && in_word) {
      visit(begin, character.begin);
      begin = character.begin;
    }
    in_word = !is_space;
  }
  if (begin < text.size()) visit(begin, text.size());
}

// Calls visit(begin, end, is_word) for the words of a text, which consist of letters, and for what is between them.
template <class Visit>
void for_each_letters(const std::string& text, const Visit& visit) {
  const auto is_letter = [&](size_t at) {
    const UChar32 c = characters::at(text, at);
    return c >= 0 && (u_isalpha(c) != 0 || u_hasBinaryProperty(c, UCHAR_GRAPHEME_EXTEND) != 0);
  };
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    const bool is_word = is_letter(begin);
    while (end < text.size() && is_letter(end) == is_word) end = characters::end(text, end);
    visit(begin, end, is_word);
  }
}

// The letters of a word without its capitals and accents.
std::string base_letters(const std::string& word) {
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* normalizer = icu::Normalizer2::getNFDInstance(error);
  if (U_FAILURE(error)) return word;
  const icu::UnicodeString whole = normalizer->normalize(icu::UnicodeString::fromUTF8(word).foldCase(), error);
  icu::UnicodeString letters;
  for (int32_t i = 0; i < whole.length(); ++i)
    if (u_hasBinaryProperty(whole[i], UCHAR_GRAPHEME_EXTEND) == 0) letters.append(whole[i]);
  std::string result;
  return letters.toUTF8String(result);
}

// The capital that a word such as Úrsula begins with, without its accent; nothing for other words.
std::string plain_capital(const std::string& word) {
  const size_t first = characters::end(word, 0);
  if (u_isupper(characters::at(word, 0)) == 0 || u_islower(characters::at(word, first)) == 0) return "";
  std::string letter = base_letters(word.substr(0, first));
  if (letter.size() != 1) return "";
  letter[0] = static_cast<char>(u_toupper(static_cast<unsigned char>(letter[0])));
  return letter;
}

bool ends_sentence(std::string_view word) {
  constexpr std::string_view kClosing = "\"')]";
  while (!word.empty() && kClosing.find(word.back()) != std::string_view::npos) word.remove_suffix(1);
  return !word.empty() && std::string_view(".!?").find(word.back()) != std::string_view::npos;
}

std::string without_marks(const std::string& word) {
  constexpr const char* kMarks = " \t\"'()[].,;:!?";
  const size_t begin = word.find_first_not_of(kMarks);
  return begin == std::string::npos ? "" : word.substr(begin, word.find_last_not_of(kMarks) + 1 - begin);
}

bool has_two_capitals(const std::string& word) {
  size_t capitals = 0;
  return !sentence_characters::all_characters(word, [&](UChar32 c) { return u_isupper(c) == 0 || ++capitals < 2; });
}

// Chooses the case of each word of a text in capitals or in title case.
class WordCases {
 public:
  WordCases(const SubwordModel& vocabulary, TextCase written, std::string locale)
      : vocabulary_(vocabulary), written_(written), locale_(std::move(locale)) {}

  // The best of the candidates; of equally good ones the first.
  RecasedText best_of(const std::string& word) {
    const std::vector<RecasedText> candidates = candidates_for(word);
    size_t best = 0;
    Effort least = effort_of(vocabulary_.segment(candidates[0].text));
    for (size_t i = 1; i < candidates.size(); ++i) {
      const Effort effort = effort_of(vocabulary_.segment(candidates[i].text));
      if (effort >= least) continue;
      least = effort;
      best = i;
    }
    is_first_ = ends_sentence(word);
    return candidates[best];
  }

 private:
  std::vector<RecasedText> candidates_for(const std::string& word) const {
    RecasedText same;
    same.append_unchanged(word);
    RecasedText lower = in_lower_case(word, locale_);
    if (written_ == TextCase::title) {
      if (has_capital_within(word)) return {same};
      // Names mostly have as many pieces in lower case, and more than one. Acronyms such as WHO have one, and may be
      // words in lower case, but emphasized words mostly fall apart.
      const auto is_one_piece = [&](const std::string& text) {
        return vocabulary_.encode(without_marks(text)).size() == 1;
      };
      const bool is_one_lower = is_one_piece(lower.text);
      // An acronym such as IBAN has no small letters to be known by; longer words are emphasized.
      constexpr int32_t kLongestAcronym = 5;
      const bool is_short = icu::UnicodeString::fromUTF8(without_marks(word)).countChar32() <= kLongestAcronym;
      if (is_short && !is_one_lower && case_of(word) == TextCase::capitals && can_write(vocabulary_, word))
        return {same};
      const bool is_known = !is_first_ && is_one_lower && !(has_two_capitals(word) && is_one_piece(word));
      return is_known ? std::vector<RecasedText>{lower, same} : std::vector<RecasedText>{same, lower};
    }
    RecasedText title = in_title_case(word, locale_);
    std::vector<RecasedText> candidates{lower, title};
    if (is_first_) std::swap(candidates[0], candidates[1]);
    candidates.push_back(same);
    if (locale_.empty() && word.find('I') != std::string::npos)
      candidates.insert(candidates.end(), {in_lower_case(word, "tr"), in_title_case(word, "tr")});
    return candidates;
  }

  const SubwordModel& vocabulary_;
  TextCase written_;
  std::string locale_;
  bool is_first_ = true;  // true at the first word of a sentence
};

// The bytes of a text whose case stays as it is, in order.
std::vector<std::pair<size_t, size_t>> kept_spans(const std::string& text, const Glossary& glossary) {
  std::vector<std::pair<size_t, size_t>> kept = spans_of_fixed_case(text);
  for (const TermMatch& term : glossary.matches_in(text)) kept.emplace_back(term.begin, term.end);
  std::sort(kept.begin(), kept.end());
  return kept;
}

// Numbers are as hard in every case.
std::string without_digits(std::string text) {
  text.erase(std::remove_if(text.begin(), text.end(), is_ascii_digit), text.end());
  return text;
}

// How many times the pieces of its readable form a text has that falls apart. One or two words in capitals may be
// acronyms; in labels, most are none.
double least_growth(const std::string& text, TextCase written) {
  if (written == TextCase::label) return 1;
  if (written == TextCase::title) return 1.05;
  return number_of_words(text) < kLeastWords ? 1.4 : 1.1;
}

// True if a text falls apart that would not in another case. A tokenizer that folds cases reads both alike; its
// translations are then in neither.
bool is_hard(const SegmentedText& written, const SegmentedText& readable, double growth) {
  if (written.ids == readable.ids) return true;
  const auto [unread, pieces] = effort_of(written);
  const auto [less_unread, fewer_pieces] = effort_of(readable);
  if (unread != less_unread) return unread > less_unread;
  return static_cast<double>(pieces) >= growth * static_cast<double>(fewer_pieces);
}

// Applies change(words) to what is between these bytes of a translation, which are in order.
template <class Change>
RecasedText changed_between(const std::vector<std::pair<size_t, size_t>>& kept, const std::string& translation,
                            const Change& change) {
  RecasedText result;
  size_t at = 0;
  for (const auto& [begin, end] : kept) {
    if (begin > at) result.append(change(translation.substr(at, begin - at)));
    if (end <= std::max(at, begin)) continue;
    at = std::max(at, begin);
    result.append_unchanged(translation.substr(at, end - at));
    at = end;
  }
  result.append(change(translation.substr(at)));
  return result;
}

// True for articles, prepositions and conjunctions, which stay small within titles. "Do" is a verb in English.
bool is_small_in_titles(const std::string& word, LanguageSet languages) {
  static const std::unordered_set<std::string> kWords{
      "der",   "die",  "das",  "den",  "dem", "des", "ein", "eine", "und", "oder", "im",   "am",    "auf",   "aus",
      "bei",   "für",  "mit",  "nach", "von", "vom", "zu",  "zum",  "zur", "el",   "los",  "las",   "un",    "una",
      "y",     "o",    "u",    "de",   "del", "a",   "al",  "en",   "con", "por",  "para", "sin",   "os",    "as",
      "um",    "uma",  "e",    "do",   "da",  "dos", "em",  "no",   "na",  "nos",  "nas",  "ao",    "aos",   "à",
      "às",    "pelo", "pela", "com",  "sem", "le",  "la",  "les",  "une", "et",   "ou",   "du",    "au",    "aux",
      "dans",  "par",  "pour", "sur",  "il",  "lo",  "gli", "uno",  "di",  "dei",  "dal",  "della", "delle", "nel",
      "nella", "per",  "su",   "het",  "een", "van", "in",  "op",   "met", "te",   "voor", "och",   "i",     "på",
      "av",    "af",   "til",  "till", "för", "med", "og",  "els",  "amb", "și",   "cu",   "din",   "pe"};
  return is_small_word(word) || (code_of(languages) != "en" && kWords.count(word) > 0);
}

// Gives each word a capital, but for small ones after another word.
RecasedText in_title(const std::string& words, const std::string& locale, LanguageSet languages) {
  RecasedText title;
  size_t done = 0;
  for_each_letters(words, [&](size_t begin, size_t end, bool is_word) {
    if (!is_word || begin == 0 || words[begin - 1] != ' ') return;
    const UChar32 before = characters::before(words, begin - 1);  // nothing after what is kept
    if ((before >= 0 && before != ',' && before != ')' && !characters::is_letter_or_digit(before)) ||
        !is_small_in_titles(words.substr(begin, end - begin), languages))
      return;
    title.append(with_capital_words(words.substr(done, begin - done), locale));
    title.append_unchanged(words.substr(begin, end - begin));
    done = end;
  });
  title.append(with_capital_words(words.substr(done), locale));
  return title;
}

}  // namespace

std::optional<RecasedText> in_readable_case(const SubwordModel& vocabulary, const std::string& text, TextCase written,
                                            const std::string& language, const Glossary& glossary) {
  if (written == TextCase::mixed) return {};
  const std::vector<std::pair<size_t, size_t>> kept = kept_spans(text, glossary);
  auto next = kept.begin();
  WordCases words(vocabulary, written, case_locale(text, language));
  RecasedText readable;
  for_each_word(text, [&](size_t begin, size_t end) {
    while (next != kept.end() && next->second <= begin) ++next;
    const std::string word = text.substr(begin, end - begin);
    const RecasedText best = words.best_of(word);
    if (next != kept.end() && next->first < end) {
      readable.append_unchanged(word);
    } else {
      readable.append(best);
    }
  });
  const auto segmented = [&](const std::string& words) { return vocabulary.segment(without_digits(words)); };
  const bool is_needed =
      readable.text != text && is_hard(segmented(text), segmented(readable.text), least_growth(text, written));
  return is_needed ? std::optional(readable) : std::nullopt;
}

std::optional<RecasedText> in_known_letters(const SubwordModel& vocabulary, const std::string& text,
                                            const std::string& language, const Glossary& glossary, SmallWords& words) {
  if (can_write(vocabulary, text)) return {};
  constexpr size_t kLeastLetters = 4;  // of a word that no other word of the translation is likely to resemble
  const std::vector<std::pair<size_t, size_t>> kept = kept_spans(text, glossary);
  auto next = kept.begin();
  const std::string locale = case_locale(text, language);
  RecasedText readable;
  bool is_first = true;
  for_each_letters(text, [&](size_t begin, size_t end, bool is_word) {
    while (next != kept.end() && next->second <= begin) ++next;
    const std::string word = text.substr(begin, end - begin);
    const bool is_kept = !is_word || (next != kept.end() && next->first < end) || can_write(vocabulary, word);
    const RecasedText lower = is_kept ? RecasedText{} : in_lower_case(word, locale);
    const std::string letter = is_kept || is_first ? "" : plain_capital(word);
    const size_t first = characters::end(word, 0);
    // A word that the vocabulary does not have as a whole is taken for a name.
    if (!letter.empty() && can_write(vocabulary, letter + word.substr(first)) &&
        vocabulary.encode_within(lower.text).size() > 1) {
      readable.append_instead(first, letter);
      readable.append_unchanged(word.substr(first));
    } else if (is_kept ||
               effort_of(vocabulary.segment(lower.text)).first >= effort_of(vocabulary.segment(word)).first) {
      readable.append_unchanged(word);
    } else {
      readable.append(lower);
      if (!is_first && characters_in(word) >= kLeastLetters) words.insert(base_letters(word));
    }
    is_first = is_first && !is_word;
  });
  if (readable.text == text) return {};
  return readable;
}

std::vector<std::pair<size_t, size_t>> spans_of_fixed_case(const std::string& text) {
  std::vector<std::pair<size_t, size_t>> fixed;
  for (const auto& [begin, length, kind] : protected_spans(text))
    if (kind != ProtectedKind::accelerator && kind != ProtectedKind::marker) fixed.emplace_back(begin, begin + length);
  return fixed;
}

RecasedText in_case(const std::string& translation, TextCase wanted, const std::string& language,
                    const std::vector<std::pair<size_t, size_t>>& kept) {
  const std::string locale = case_locale(translation, language);
  if (wanted == TextCase::capitals)
    return changed_between(kept, translation, [&](const std::string& words) { return in_capitals(words, locale); });
  const LanguageSet languages = language.empty() ? guess_languages(translation) : language_set(language_code(language));
  return changed_between(kept, translation,
                         [&](const std::string& words) { return in_title(words, locale, languages); });
}

RecasedText with_capitals_of(const SmallWords& words, const std::string& translation, const std::string& language,
                             const std::vector<std::pair<size_t, size_t>>& kept) {
  const std::string locale = case_locale(translation, language);
  return changed_between(kept, translation, [&](const std::string& text) {
    RecasedText result;
    for_each_letters(text, [&](size_t begin, size_t end, bool is_word) {
      const std::string word = text.substr(begin, end - begin);
      if (is_word && words.count(base_letters(word)) > 0) {
        result.append(with_capital_words(word, locale));
      } else {
        result.append_unchanged(word);
      }
    });
    return result;
  });
}

}  // namespace v0
}  // namespace transmute
