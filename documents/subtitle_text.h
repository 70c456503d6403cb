// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The syntax of text in a format of subtitles.
struct SubtitleSyntax {
  const char* line_break = "\n";  ///< as the format writes one within a cue
  bool has_references = false;    ///< such as &amp;
  bool has_overrides = false;     ///< markup is {\i1}, not <i>
};

/// The words of a cue, without what is around them.
struct CueText {
  std::string before, after;              ///< tags and white space around the words, which stay
  std::string html;                       ///< the words on one line; tags are <b N> and <img N>
  std::vector<std::string> opening_tags;  ///< by N
  std::vector<std::string> closing_tags;  ///< the end of <b N>; empty for <img N>
  std::string words;                      ///< without tags
  size_t most_lines = 2;                  ///< of the translation: two, or as many as the words take
  size_t longest_line = 0;                ///< columns of the longest line
};

/// Takes the tags out of a part of a cue. Their numbers begin with `first_tag`.
CueText read_cue_text(const std::string& text, const SubtitleSyntax& syntax, size_t first_tag = 0);

/// The bytes of the tags and spaces that a text begins with.
size_t leading_tags(const std::string& text, const SubtitleSyntax& syntax);

/// The words of consecutive cues as one text, with an <img N> before each cue but the first. Their numbers follow those
/// of the cues' tags.
std::string joined_cues(const std::vector<CueText>& cues);

/// Divides a translation of joined_cues() among the cues: near its <img N>, which alignment has put where the words of
/// the next cue are, and so that each cue has about its share. `shares` tells how much of the text each should have, as
/// they add up to 1; they alone count where an <img N> is missing, or the translation has the words of the cues in
/// another order. Lines are not longer than 42 columns (characters, of which those of Chinese, Japanese and Korean
/// count twice) or, where the cue's are, those of the cue, and not more than the cue's, or two, where the words have
/// room.
/// @param html of the translation; the tags' numbers continue from cue to cue
/// @returns the words of each cue, with its tags and line breaks
std::vector<std::string> divide_among_cues(const std::string& html, const std::vector<CueText>& cues,
                                           const std::vector<double>& shares, const SubtitleSyntax& syntax);

}  // namespace v0
}  // namespace transmute
