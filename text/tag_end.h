// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace transmute {
inline namespace v0 {

/// States of the HTML standard's tokenizer (section 13.2.5) within a tag.
enum class TagState {
  name,
  before_attribute,
  attribute_name,
  after_attribute_name,
  before_value,
  double_quoted,
  single_quoted,
  unquoted,
  after_quoted,
  self_closing,
  end,  ///< after the tag's '>'
};

/// The white space of the HTML standard, which separates attributes and words.
constexpr std::string_view kHtmlSpace = " \t\n\f\r";

/// The state after one more character of a tag.
TagState next_tag_state(TagState state, char c);

/// True if a tag begins at `at`: '<' or "</" before a letter.
bool begins_tag(std::string_view text, size_t at);

/// The length of the tag that the text begins with; npos if the tag has no end. A '>' in a quoted value does not end
/// it.
size_t tag_end(std::string_view tag);

/// Limit for the command of a template, so that many without an end take linear time.
constexpr size_t kMostCommandBytes = 4096;

/// After the command of a template at `at`, which no browser sees: <?php … ?>, <?= … ?>, <% … %>, {% … %}, {# … #} or
/// {{ … }}. `at` where there is none.
size_t command_end(std::string_view text, size_t at);

/// After the brace that closes the one at `at`; npos without one.
size_t closing_brace(std::string_view text, size_t at);

/// For each '<' of the text, the last first, the position after the tag that begins there; 0 if no tag does. Takes
/// linear time, even for many tags without an end.
std::vector<size_t> tag_ends(const std::string& text);

}  // namespace v0
}  // namespace transmute
