// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/glossary.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/text_file.h>
#include <transmute/common/utf8.h>
#include <transmute/text/characters.h>
#include <transmute/text/sentence_characters.h>
#include <transmute/tokenizer/truecase.h>
#include <unicode/bytestream.h>
#include <unicode/edits.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// True for what belongs to the character before it, such as a vowel sign.
bool is_mark(UChar32 c) {
  return u_charType(c) == U_NON_SPACING_MARK || u_charType(c) == U_COMBINING_SPACING_MARK;
}

bool is_word_character(UChar32 c) {
  return u_isalnum(c) || is_mark(c);
}

// True if a word continues across this place of the text.
bool inside_word(const std::string& text, size_t position) {
  if (position == 0 || position >= text.size()) return false;
  if (U8_IS_TRAIL(text[position])) return true;  // inside a character even
  const UChar32 before = characters::before(text, position), after = characters::at(text, position);
  using sentence_characters::is_written_without_spaces;
  if (!is_word_character(before) || !is_word_character(after)) return false;
  return is_mark(after) || !(is_written_without_spaces(before) || is_written_without_spaces(after));
}

bool is_blank(const std::string& text) {
  return text.find_first_not_of(" \t") == std::string::npos;
}

// A text in NFC and with one space for each run of white space, as tokenizers read it.
struct FoldedText {
  std::string text;
  std::vector<size_t> places;  // places of its bytes and of its end in the original
};

FoldedText in_nfc(const std::string& text) {
  FoldedText nfc;
  UErrorCode error = U_ZERO_ERROR;
  icu::Edits edits;
  icu::StringByteSink<std::string> sink(&nfc.text, static_cast<int32_t>(text.size()));
  const icu::Normalizer2* normalizer = icu::Normalizer2::getNFCInstance(error);
  if (U_SUCCESS(error)) normalizer->normalizeUTF8(0, text, sink, &edits, error);
  for (auto edit = edits.getFineIterator(); edit.next(error);)
    for (int32_t byte = 0; byte < edit.newLength(); ++byte)
      nfc.places.push_back(static_cast<size_t>(edit.sourceIndex() + (edit.hasChange() ? 0 : byte)));
  nfc.places.push_back(text.size());
  return nfc;
}

FoldedText folded_text(const std::string& original) {
  FoldedText folded;
  const auto [text, places] = in_nfc(original);
  for (const auto& [c, begin, end] : Characters(text)) {
    const bool is_space = u_isUWhiteSpace(c);
    if (is_space && !folded.text.empty() && folded.text.back() == ' ') continue;
    folded.text += is_space ? " " : text.substr(begin, end - begin);
    folded.places.insert(folded.places.end(), &places[begin], &places[is_space ? begin + 1 : end]);
  }
  folded.places.push_back(original.size());
  return folded;
}

std::string stripped(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

// The capital that the first word of a text begins with, and the text without it. At the text's end if there is none.
struct FirstCapital {
  explicit FirstCapital(const std::string& text)
      : lower(truecased(text, [](const std::string&, const std::string&) { return true; })) {
    begin = static_cast<size_t>(std::mismatch(text.begin(), text.end(), lower.begin()).first - text.begin());
    end = begin;
    if (begin == text.size()) return;
    while (U8_IS_TRAIL(text[begin])) --begin;
    do ++end;
    while (end < text.size() && U8_IS_TRAIL(text[end]));
  }

  std::string lower;
  size_t begin, end;
};

// A source term as texts are searched for it.
std::string folded_term(const std::string& source) {
  return stripped(folded_text(source).text);
}

}  // namespace

Glossary::Glossary(const std::vector<GlossaryEntry>& entries) {
  std::unordered_map<std::string, std::string> targets;
  std::vector<std::string> sources;
  for (const auto& [source, target] : entries) {
    if (find_invalid_utf8(source) != std::string::npos || find_invalid_utf8(target) != std::string::npos)
      throw std::invalid_argument("a term of the glossary is not valid UTF-8");
    const std::string term = folded_term(source);
    if (term.empty() || is_blank(target))
      throw std::invalid_argument(
          fmt::format("the glossary has a term without content: \"{}\", \"{}\"", source, target));
    const auto [known, is_new] = targets.emplace(term, target);
    if (!is_new && known->second != target)
      throw std::invalid_argument(fmt::format(
          "the glossary translates \"{}\" as \"{}\" and as \"{}\"; keep one of them", source, known->second, target));
    if (!is_new) continue;
    terms_.push_back({term.size(), target});
    sources.push_back(term);
  }
  finder_ = TermFinder(sources);
}

std::vector<TermMatch> Glossary::matches_in(const std::string& original) const {
  std::vector<TermMatch> matches;
  if (terms_.empty()) return matches;
  const auto [text, places] = folded_text(original);
  std::vector<bool> is_inside(text.size() + 1);  // a word, at each place
  std::vector<uint32_t> longest(text.size(), TermFinder::kNoTerm);
  const auto longest_word_at = [&](size_t at, uint32_t state) {
    uint32_t term = finder_.longest_at(state);
    while (term != TermFinder::kNoTerm && is_inside[at + terms_[term].length]) term = finder_.shorter_than(term);
    return term;
  };
  const FirstCapital capital(text);
  uint32_t state = TermFinder::kStart, after_capital = TermFinder::kStart;
  bool lacks_capital = false;  // the term of the first word
  for (size_t at = text.size(); at-- > 0;) {
    if (at + 1 == capital.end) after_capital = state;
    state = finder_.read(static_cast<uint8_t>(text[at]), state);
    is_inside[at] = inside_word(text, at);
    if (is_inside[at]) continue;
    longest[at] = longest_word_at(at, state);
    if (at != capital.begin) continue;
    for (size_t i = capital.end; i-- > at;)
      after_capital = finder_.read(static_cast<uint8_t>(capital.lower[i]), after_capital);
    const uint32_t term = longest_word_at(at, after_capital);
    const auto length_of = [&](uint32_t of) { return of == TermFinder::kNoTerm ? 0 : terms_[of].length; };
    lacks_capital = length_of(term) > length_of(longest[at]);
    if (lacks_capital) longest[at] = term;
  }
  for (size_t at = 0; at < text.size();) {
    if (longest[at] == TermFinder::kNoTerm) {
      ++at;
      continue;
    }
    const Term& term = terms_[longest[at]];
    matches.push_back({places[at], places[at + term.length], term.target, lacks_capital && at == capital.begin});
    at += term.length;
  }
  return matches;
}

bool continues_word(const SubwordModel& vocabulary, int64_t before, int64_t after) {
  const std::string text = vocabulary.decode({before, after});
  const size_t boundary = vocabulary.decode({before}).size();
  if (boundary == 0 || boundary >= text.size()) return false;
  constexpr std::string_view kIncomplete = "\xEF\xBF\xBD";  // the decoded byte of a character
  const std::string_view all = text;
  const bool is_byte =
      all.substr(boundary).substr(0, kIncomplete.size()) == kIncomplete ||
      (boundary >= kIncomplete.size() && all.substr(boundary - kIncomplete.size(), kIncomplete.size()) == kIncomplete);
  return is_byte || inside_word(text, boundary);
}

bool can_write(const SubwordModel& vocabulary, const std::string& text) {
  const Ids ids = vocabulary.encode(text);
  return std::find(ids.begin(), ids.end(), special_ids::kUnknown) == ids.end();
}

std::vector<GlossaryEntry> read_glossary(const std::string& path, const SubwordModel* target) {
  std::vector<GlossaryEntry> entries;
  std::unordered_map<std::string, std::pair<std::string, int64_t>> known;  // translations and their lines
  LineReader reader(path);
  const auto refuse = [&](const std::string& reason) {
    throw std::runtime_error(fmt::format("{}:{}: {}", path, reader.line_number(), reason));
  };
  for (std::string line; reader.next(line);) {
    const size_t tab = line.find('\t');
    const bool is_comment = line.rfind('#', 0) == 0 && tab == std::string::npos;
    if (is_blank(line) || is_comment) continue;
    if (line.find('\0') != std::string::npos) refuse("has a zero byte, which no term of a text has; remove it");
    GlossaryEntry entry;
    if (tab != std::string::npos) entry = {stripped(line.substr(0, tab)), stripped(line.substr(tab + 1))};
    if (entry.source.empty() || entry.target.empty() || entry.target.find('\t') != std::string::npos)
      refuse("a glossary line is a source term, one tab and a target term");
    if (target != nullptr && !can_write(*target, entry.target))
      refuse(
          fmt::format("\"{}\" has characters that the model's vocabulary lacks, so that no translation can contain it; "
                      "remove the line, or train with tokenizer.byte_fallback: true",
                      entry.target));
    const auto [first, is_new] = known.try_emplace(folded_term(entry.source), entry.target, reader.line_number());
    if (!is_new && first->second.first != entry.target)
      refuse(fmt::format("\"{}\" is translated as \"{}\" here and as \"{}\" in line {}; keep one of them", entry.source,
                         entry.target, first->second.first, first->second.second));
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace v0
}  // namespace transmute
