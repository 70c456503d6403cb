// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/attached_marks.h>

#include <transmute/text/characters.h>
#include <transmute/text/sentence_characters.h>

#include <algorithm>
#include <string_view>

namespace transmute {
inline namespace v0 {

namespace {

// The length of the asterisks or of the ellipsis at `at`; 0 if there are none.
size_t mark_length(const std::string& text, size_t at) {
  if (text[at] == '*') return std::min(text.find_first_not_of('*', at), text.size()) - at;
  for (const std::string_view ellipsis : {"...", "…"})
    if (text.compare(at, ellipsis.size(), ellipsis) == 0) return ellipsis.size();
  return 0;
}

// The ends of the marks that begin a text or follow a space, and that a word follows, with a space or without.
std::vector<size_t> ends_of_marks(const std::string& text) {
  std::vector<size_t> ends;
  for (size_t at = 0; at < text.size();) {
    const size_t length = at == 0 || text[at - 1] == ' ' ? mark_length(text, at) : 0;
    const size_t end = at + length;
    const size_t word = end < text.size() && text[end] == ' ' ? end + 1 : end;
    if (length > 0 && characters::is_letter_or_digit(characters::at(text, word))) ends.push_back(end);
    at = std::max(end, at + 1);
  }
  return ends;
}

constexpr std::string_view kClauseMarks = ":;,(";  // for which translators may write a dash

size_t count_any(std::string_view text, std::string_view characters) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [&](char c) { return characters.find(c) != std::string_view::npos; }));
}

bool has_space_in_brackets(const std::string& text) {
  bool is_within = false;
  return std::any_of(text.begin(), text.end(), [&](char c) {
    if (c == '(' || c == ')') is_within = c == '(';
    return is_within && c == ' ';
  });
}

}  // namespace

AttachedMarks::AttachedMarks(const std::string& source) {
  for (const size_t end : ends_of_marks(source)) are_attached_.push_back(source[end] != ' ');
}

bool AttachedMarks::exist() const {
  return std::find(are_attached_.begin(), are_attached_.end(), true) != are_attached_.end();
}

void AttachedMarks::restore(Rewriting& translation) const {
  if (!exist()) return;
  const std::string& text = translation.text();
  const std::vector<size_t> ends = ends_of_marks(text);
  if (ends.size() != are_attached_.size()) return;
  for (size_t i = 0; i < ends.size(); ++i) {
    const ByteSpan space{ends[i], ends[i] + 1};
    if (are_attached_[i] && text[ends[i]] == ' ' && translation.is_free(space)) translation.replace(space, "");
  }
}

JoiningMarks::JoiningMarks(const std::string& source)
    : clauses_(count_any(source, kClauseMarks)), has_spaces_in_brackets_(has_space_in_brackets(source)) {
  constexpr std::string_view kOpening = "([", kClosing = ")]", kJoining = "/+-";
  const auto is_space = [](UChar32 c) { return c < 0 || sentence_characters::is_space(c); };  // or there is none
  const auto follows_space = [&](size_t at) { return is_space(characters::before(source, at)); };
  const auto precedes_space = [&](size_t at) { return is_space(characters::at(source, at + 1)); };
  const auto add = [&](char mark, const auto& is_such, auto& marks) {
    size_t at = source.find(mark);
    if (at == std::string::npos) return;
    for (; at != std::string::npos; at = source.find(mark, at + 1))
      if (!is_such(at)) return;
    marks += mark;
  };
  const auto joins_words = [&](size_t at) {  // no "18+," and no "(+5"
    constexpr std::string_view kBegin = "([{\"'", kEnd = ")]}\"'.,:;!?";
    return !follows_space(at) && !precedes_space(at) && kBegin.find(source[at - 1]) == std::string_view::npos &&
           kEnd.find(source[at + 1]) == std::string_view::npos;
  };
  const auto is_of_word = [&](size_t at) {  // file(s)
    const UChar32 before = characters::before(source, at);
    return characters::is_letter_or_digit(before) && !sentence_characters::is_written_without_spaces(before);
  };
  std::string joints;
  for (const char mark : kJoining) add(mark, joins_words, joints);
  add('(', is_of_word, joints);
  for (const char mark : joints) joints_.emplace_back(mark, count_any(source, {&mark, 1}));
  for (const char mark : kOpening)
    add(
        mark, [&](size_t at) { return !precedes_space(at); }, no_space_after_);
  for (const char mark : kClosing)
    add(
        mark, [&](size_t at) { return !follows_space(at); }, no_space_before_);
}

void JoiningMarks::restore(Rewriting& translation) const {
  const std::string& text = translation.text();
  std::string no_space_after = no_space_after_, no_space_before = no_space_before_;
  bool joins_hyphens = false;
  for (const auto& [mark, number] : joints_) {
    if (count_any(text, {&mark, 1}) != number) continue;
    if (mark == '-') {
      joins_hyphens = count_any(text, kClauseMarks) >= clauses_;
    } else if (mark != '(') {
      no_space_after += mark;
      no_space_before += mark;
    } else if (has_spaces_in_brackets_ || !has_space_in_brackets(text)) {
      no_space_before += mark;
    }
  }
  const auto is_one_of = [&](size_t at, const std::string& marks) {
    return at < text.size() && marks.find(text[at]) != std::string::npos;  // nothing is at -1
  };
  for (size_t at = text.find(' '); at != std::string::npos; at = text.find(' ', at + 1))
    if ((is_one_of(at - 1, no_space_after) || is_one_of(at + 1, no_space_before)) && translation.is_free({at, at + 1}))
      translation.replace({at, at + 1}, "");
  if (!joins_hyphens) return;
  constexpr std::string_view kSpaced = " - ";
  for (size_t at = text.find(kSpaced); at != std::string::npos; at = text.find(kSpaced, at + kSpaced.size()))
    for (const size_t space : {at, at + 2})
      if (translation.is_free({space, space + 1})) translation.replace({space, space + 1}, "");
}

EndingEllipsis::EndingEllipsis(const TagSource& source) {
  if (source.tags.empty()) return;
  const auto [begin, end] = source.tags.back().opening;
  exists_ = end == source.text.size() && mark_length(source.text, begin) == end - begin && source.text[begin] != '*';
}

void EndingEllipsis::restore(Rewriting& translation) const {
  const std::string& text = translation.text();
  if (!exists_) return;
  for (const std::string_view mark : {".", ",", "。", "，"}) {
    if (text.size() <= mark.size() || text.compare(text.size() - mark.size(), mark.size(), mark) != 0) continue;
    const ByteSpan place{text.size() - mark.size(), text.size()};
    if (translation.is_free(place)) translation.replace(place, "");
  }
}

}  // namespace v0
}  // namespace transmute
