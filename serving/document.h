// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// How a text is written.
enum class TextFormat {
  text,  ///< plain, lines and all
  tags,  ///< one piece of text with inline tags such as <b> and placeholders such as {name}
  html,  ///< HTML, a page or a part of one
};

/// A text cut into segments, which are translated each by itself, and what stands between them, which stays.
class Document {
 public:
  /// Cuts at line breaks, and at sentence ends where `split_sentences` is set, but for those within an inline element.
  /// HTML is cut at elements that are not inline. What head, script, style, pre, code, textarea, svg and math hold
  /// stays as it is, and so does what an element with translate="no" or class="notranslate" holds.
  Document(const std::string& text, TextFormat format, bool split_sentences);
  /// The whole text is one segment.
  explicit Document(const std::string& text);

  /// What is to be translated, in order. Character references of HTML are decoded, but for those within tags.
  const std::vector<std::string>& segments() const { return segments_; }

  /// The text with a translation in place of each segment.
  std::string with(const std::vector<std::string>& translations) const;
  /// Its beginning, up to the end of what is there of segment `unfinished`; of none: the whole.
  std::string beginning(const std::vector<std::string>& translations, size_t unfinished) const;

 private:
  void add_segment(const std::string& text);
  void add_lines(const std::string& text, bool split_sentences, TextFormat format);
  void add_line(const std::string& line, bool split_sentences, TextFormat format);
  void add_sentences(const std::vector<std::string>& sentences);
  void add_html(const std::string& html, bool split_sentences);
  void add_inline_html(const std::string& html, bool split_sentences);
  std::string for_model(const std::string& html);
  std::string written(const std::string& translation, size_t segment) const;

  bool is_html_ = false;
  std::vector<std::string> segments_;
  std::vector<std::string> between_{""};  // before each segment, and behind the last
  // Of HTML: what stands in the page for each tag that a segment has.
  std::vector<std::map<std::string, std::string>> tags_;
  std::map<std::string, std::string> kept_;  // untranslated elements and shortened tags, by the tags in their place
  std::string placeholder_;                  // what is in each of these tags, and nowhere in the page
};

}  // namespace v0
}  // namespace transmute
