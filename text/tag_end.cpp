// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/tag_end.h>

#include <transmute/common/ascii_case.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace transmute {
inline namespace v0 {

namespace {

constexpr auto kTagStates = static_cast<size_t>(TagState::end);

bool is_html_space(char c) {
  return kHtmlSpace.find(c) != std::string_view::npos;
}

// The state where a character follows that is neither part of a value nor of a name that has begun.
TagState between_attributes(char c, TagState after_space) {
  if (is_html_space(c)) return after_space;
  if (c == '/') return TagState::self_closing;
  return c == '>' ? TagState::end : TagState::attribute_name;
}

TagState at_value(char c) {
  if (is_html_space(c)) return TagState::before_value;
  if (c == '"') return TagState::double_quoted;
  if (c == '\'') return TagState::single_quoted;
  return c == '>' ? TagState::end : TagState::unquoted;
}

using NextStates = std::array<std::array<uint8_t, kTagStates>, 256>;  // the next state, by byte and state

NextStates next_states() {
  NextStates next{};
  for (size_t byte = 0; byte < next.size(); ++byte)
    for (size_t state = 0; state < kTagStates; ++state)
      next[byte][state] = static_cast<uint8_t>(next_tag_state(static_cast<TagState>(state), static_cast<char>(byte)));
  return next;
}

}  // namespace

TagState next_tag_state(TagState state, char c) {
  switch (state) {
    case TagState::name: {
      const TagState next = between_attributes(c, TagState::before_attribute);
      return next == TagState::attribute_name ? TagState::name : next;
    }
    case TagState::before_attribute:
    case TagState::after_quoted:
    case TagState::self_closing:
      return between_attributes(c, TagState::before_attribute);
    case TagState::attribute_name:
    case TagState::after_attribute_name:
      return c == '=' ? TagState::before_value : between_attributes(c, TagState::after_attribute_name);
    case TagState::before_value:
      return at_value(c);
    case TagState::double_quoted:
      return c == '"' ? TagState::after_quoted : state;
    case TagState::single_quoted:
      return c == '\'' ? TagState::after_quoted : state;
    case TagState::unquoted:
      if (is_html_space(c)) return TagState::before_attribute;
      return c == '>' ? TagState::end : state;
    case TagState::end:
      break;
  }
  return TagState::end;
}

bool begins_tag(std::string_view text, size_t at) {
  if (at >= text.size() || text[at] != '<') return false;
  const size_t name = at + (at + 1 < text.size() && text[at + 1] == '/' ? 2 : 1);
  return name < text.size() && is_ascii_letter(text[name]);
}

size_t tag_end(std::string_view tag) {
  TagState state = TagState::name;
  for (size_t at = tag.substr(0, 2) == "</" ? 2 : 1; at < tag.size(); ++at) {
    state = next_tag_state(state, tag[at]);
    if (state == TagState::end) return at + 1;
  }
  return std::string_view::npos;
}

size_t command_end(std::string_view text, size_t at) {
  constexpr size_t kMark = 2;
  constexpr std::string_view kPhp = "<?php";
  const auto begins = [&](std::string_view beginning) { return text.compare(at, beginning.size(), beginning) == 0; };
  const auto has_space = [&](size_t place) { return place < text.size() && is_html_space(text[place]); };
  if (begins(kPhp) && has_space(at + kPhp.size()))  // the last code of a file needs no end
    return std::min(text.size() - kMark, text.find("?>", at)) + kMark;
  const char* closing = nullptr;
  if (begins("<?=") || (begins("<?") && has_space(at + kMark))) closing = "?>";
  if (begins("<%")) closing = "%>";
  if (begins("{%")) closing = "%}";
  if (begins("{#")) closing = "#}";
  if (begins("{{")) closing = "}}";
  if (closing == nullptr) return at;
  text = text.substr(0, at + kMostCommandBytes);
  text = text.substr(0, text.find(text.substr(at, kMark), at + kMark));  // none is within another
  const size_t end = text.find(closing, at + kMark);
  return end == std::string_view::npos ? at : end + kMark;
}

size_t closing_brace(std::string_view text, size_t at) {
  size_t depth = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '{') ++depth;
    if (text[at] == '}' && --depth == 0) return at + 1;
  }
  return std::string_view::npos;
}

std::vector<size_t> tag_ends(const std::string& text) {
  std::vector<size_t> ends;
  if (text.find('<') == std::string::npos) return ends;
  static const auto kNextStates = next_states();
  // For each state in which a tag may be: the end of a tag whose rest begins at the byte after `at`.
  std::array<size_t, kTagStates + 1> from_next{}, from_here{};
  size_t name_from_second = 0;  // the same for a name that begins one byte later
  for (size_t at = text.size(); at-- > 0;) {
    const size_t name_from_next = from_next[static_cast<size_t>(TagState::name)];
    if (text[at] == '<') {
      const size_t end = begins_tag(text, at) && text[at + 1] == '/' ? name_from_second : name_from_next;
      ends.push_back(begins_tag(text, at) ? end : 0);
    }
    from_next[kTagStates] = at + 1;
    const auto& next = kNextStates[static_cast<unsigned char>(text[at])];
    for (size_t state = 0; state < kTagStates; ++state) from_here[state] = from_next[next[state]];
    name_from_second = name_from_next;
    from_next = from_here;
  }
  return ends;
}

}  // namespace v0
}  // namespace transmute
