// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/join_parts.h>
#include <transmute/translation/stand_ins.h>

#include <transmute/common/ascii_case.h>
#include <transmute/text/sentence_characters.h>

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

constexpr const char* kDigits = "0123456789";
// Three digits have no separator, and are no year.
constexpr int kFirst = 711, kLast = 999;

bool is_digit(const std::string& text, size_t at) {
  return at < text.size() && is_ascii_digit(text[at]);
}

// True for an ASCII letter, digit or underscore, to which a number would be glued: "%1s", "{0}px".
bool is_glue(const std::string& text, size_t at) {
  return at < text.size() && is_of_ascii_name(text[at]);
}

bool is_glued(const std::string& text, size_t begin, size_t end) {
  return is_glue(text, begin - 1) || is_glue(text, end);  // nothing is at -1
}

// Two numbers with one of them between them may be read as one, a range or a time.
constexpr std::string_view kSeparators = ".,:'/-";

bool has_separator(const std::string& text, size_t at) {
  return at < text.size() && kSeparators.find(text[at]) != std::string_view::npos;
}

// True if a separator, or a space where `spaces_count`, is between [begin, end) and a digit.
bool is_beside_digit(const std::string& text, size_t begin, size_t end, bool spaces_count) {
  const auto separates = [&](size_t at) {
    return has_separator(text, at) || (spaces_count && at < text.size() && text[at] == ' ');
  };
  return (separates(begin - 1) && is_digit(text, begin - 2)) || (separates(end) && is_digit(text, end + 1));
}

// Calls body(begin, end) for each run of digits until it returns false.
template <class Body>
void for_numbers(const std::string& text, const Body& body) {
  for (size_t at = text.find_first_of(kDigits); at != std::string::npos;) {
    const size_t end = std::min(text.find_first_not_of(kDigits, at), text.size());
    if (!body(at, end)) return;
    at = text.find_first_of(kDigits, end);
  }
}

// True for {% if user %} and <% end %>; <%= name %> stands for words.
bool is_command(const std::string& text, const ProtectedSpan& span) {
  const std::string_view beginning = std::string_view(text).substr(span.begin, 3);
  return beginning.substr(0, 2) == "{%" || (beginning.substr(0, 2) == "<%" && beginning != "<%=");
}

// True for a message of ICU with words of its own: {n, plural, one {# file} other {# files}}.
bool has_words_of_message(const std::string& word) {
  return word.find('{') != std::string::npos && word.find(',') != std::string::npos &&
         word.find_first_of(" \t\n") != std::string::npos;
}

bool is_word(const std::string& text, const ProtectedSpan& span) {
  switch (span.kind) {
    case ProtectedKind::placeholder:  // but "%%", entities, and escapes such as \n
      return !is_command(text, span) && text.compare(span.begin, span.length, "%%") != 0 && text[span.begin] != '&' &&
             text[span.begin] != '\\';
    case ProtectedKind::argument:
    case ProtectedKind::address:
    case ProtectedKind::path:
    case ProtectedKind::identifier:
      return true;
    case ProtectedKind::unknown:
      return sentence_characters::has_letter_or_digit(text.substr(span.begin, span.length));
    default:
      return false;
  }
}

// The words, with the words and the unknown marks that touch them, or have but a separator between them.
std::vector<ProtectedSpan> words_of(const std::string& text, const std::vector<ProtectedSpan>& spans) {
  std::vector<ProtectedSpan> all;
  const auto touch = [&](const ProtectedSpan& next) {
    const size_t end = all.empty() ? std::string::npos : all.back().begin + all.back().length;
    return end == next.begin || (end + 1 == next.begin && has_separator(text, end));
  };
  for (auto span = spans.begin(); span != spans.end(); ++span) {
    const size_t end = span->begin + span->length;
    if (!is_word(text, *span)) {
      const bool is_before_word = span + 1 != spans.end() && end == span[1].begin && is_word(text, span[1]);
      const bool belongs = is_before_word || (touch(*span) && !is_glue(text, end));
      if (span->kind != ProtectedKind::unknown || !belongs) continue;
    }
    if (!touch(*span)) {
      all.push_back(*span);
      continue;
    }
    all.back().length = end - all.back().begin;
    if (span->kind == ProtectedKind::argument) all.back().kind = span->kind;
  }
  return all;
}

}  // namespace

void add_numbers(const std::string& text, std::unordered_set<std::string>& numbers) {
  for_numbers(text, [&](size_t begin, size_t end) { return numbers.insert(text.substr(begin, end - begin)), true; });
}

StandIns::StandIns(const std::string& text, const std::vector<ProtectedSpan>& spans,
                   std::unordered_set<std::string> taken) {
  add_numbers(text, taken);
  std::string words = text;  // without the marks of emphasized words, which are not glued to them
  for (const ProtectedSpan& span : spans) {
    if (span.kind != ProtectedKind::emphasis) continue;
    words.replace(span.begin, span.length, span.length, ' ');
    is_emphasized_ = true;
  }
  int number = kFirst;
  size_t copied = 0;
  for (const ProtectedSpan& span : words_of(text, spans)) {
    const size_t end = span.begin + span.length;
    const std::string word = text.substr(span.begin, span.length);
    const bool is_argument = span.kind == ProtectedKind::argument;
    while (taken.count(std::to_string(number)) > 0) ++number;
    if (is_glued(words, span.begin, end) || is_beside_digit(text, span.begin, end, true) || number > kLast ||
        (span.kind == ProtectedKind::placeholder && has_words_of_message(word))) {
      if (!is_argument) continue;
      replaced_.clear();  // or arguments with and without numbers would change places
      return;
    }
    read_.append_unchanged(text.substr(copied, span.begin - copied));
    read_.append_instead(span.length, std::to_string(number));
    replaced_.push_back({std::to_string(number++), word, is_argument});
    copied = end;
  }
  read_.append_unchanged(text.substr(copied));
  for (const ProtectedSpan& span : spans)
    if (span.kind == ProtectedKind::unknown) add_unknown(text.substr(span.begin, span.length), unknown_);
}

std::optional<RecasedText> StandIns::restored(const std::string& translation) const {
  struct Found {
    size_t begin, end, number;
  };
  std::vector<Found> found;
  bool is_right = true;
  std::string words = translation;
  if (is_emphasized_) std::replace(words.begin(), words.end(), '_', ' ');
  for_numbers(translation, [&](size_t begin, size_t end) {
    const std::string_view digits = std::string_view(translation).substr(begin, end - begin);
    const auto same = std::find_if(replaced_.begin(), replaced_.end(),
                                   [&](const Replaced& replaced) { return replaced.number == digits; });
    if (same == replaced_.end()) return true;
    const auto number = static_cast<size_t>(same - replaced_.begin());
    is_right = !is_glued(words, begin, end) && !is_beside_digit(translation, begin, end, false) &&
               std::none_of(found.begin(), found.end(), [&](const Found& other) { return other.number == number; });
    found.push_back({begin, end, number});
    return is_right;
  });
  if (!is_right || found.size() != replaced_.size()) return {};
  std::vector<size_t> arguments;
  for (const Found& one : found)
    if (replaced_[one.number].is_argument) arguments.push_back(one.number);
  std::sort(arguments.begin(), arguments.end());
  RecasedText all;
  size_t copied = 0;
  auto argument = arguments.begin();
  for (const auto& [begin, end, number] : found) {
    all.append_unchanged(translation.substr(copied, begin - copied));
    all.append_instead(end - begin, replaced_[replaced_[number].is_argument ? *argument++ : number].text);
    copied = end;
  }
  all.append_unchanged(translation.substr(copied));
  return all;
}

bool StandIns::restore(Translation& translation) const {
  std::vector<RecasedText> all;
  for (const Hypothesis& hypothesis : translation.hypotheses) {
    std::optional<RecasedText> one = restored(hypothesis.text);
    if (!one) return false;
    all.push_back(*std::move(one));
  }
  for (TranslationWarning& warning : translation.warnings) {
    warning.source = read_.before(warning.source);
    warning.target = all.front().now(warning.target);
  }
  for (size_t i = 0; i < all.size(); ++i) {
    Hypothesis& hypothesis = translation.hypotheses[i];
    for (WordConfidence& word : hypothesis.words) word.place = all[i].now(word.place);
    hypothesis.text = std::move(all[i].text);
  }
  const auto is_protected = [&](const std::string& word) {
    return std::find(unknown_.begin(), unknown_.end(), word) != unknown_.end();
  };
  std::vector<std::string>& all_unknown = translation.unknown;
  all_unknown.erase(std::remove_if(all_unknown.begin(), all_unknown.end(), is_protected), all_unknown.end());
  for (const std::string& word : unknown_) add_unknown(word, all_unknown);
  return true;
}

}  // namespace v0
}  // namespace transmute
