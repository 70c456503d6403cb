// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/documents/html_markup.h>
#include <transmute/text/glossary.h>
#include <transmute/text/sentences.h>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Formats of a text.
enum class TextFormat {
  text,  ///< plain, lines and all
  tags,  ///< one piece of text with inline tags such as <b> and placeholders such as {name}
  html,  ///< HTML, a page or a part of one
};

/// A text cut into segments, which are translated each by itself, and what is between them, which stays.
class Document {
 public:
  /// Cuts at line ends, tabs and leaders (...... 12) outside of tags, at <br>, and at sentence ends where
  /// `split_sentences` is set, but for those within an inline element. Plain text is also cut at four or more spaces
  /// and at the bars of tables, and text with tags at bars between its texts and after the options of a program's help.
  /// HTML is cut at elements that are not inline. What head (but for its title), script, style, pre, code, textarea,
  /// svg and math hold stays as it is, and so does what an element with translate="no" or class="notranslate", or a
  /// link of class "mention" or with one language in lang and hreflang, holds. `splitter` finds the sentences, of which
  /// none ends within a source term of the glossary.
  Document(const std::string& text, TextFormat format, bool split_sentences, const Glossary& glossary = {},
           const SentenceSplitter& splitter = SentenceSplitter());
  /// The whole text is one segment.
  explicit Document(const std::string& text);

  /// The texts to translate, in order. Character references of HTML are decoded, except within tags.
  const std::vector<std::string>& segments() const { return segments_; }

  /// The text with a translation in place of each segment.
  std::string with(const std::vector<std::string>& translations) const;
  /// The beginning of the text, as far as it is known: to the end of the partial translation of segment `unfinished`;
  /// without one, the whole text.
  std::string beginning(const std::vector<std::string>& translations, size_t unfinished) const;

 private:
  // The segments of a line or of an element's content: its sentences, or the whole.
  using SentencesOf = std::function<std::vector<std::string>(const std::string&)>;

  // A value of an attribute: bytes of the markup that it is in, and the segments of its text.
  struct Value {
    size_t begin, end;
    char quote;
    size_t first_segment, end_segment;
  };
  struct Markup {
    std::string html;
    std::vector<Value> values{};
  };

  void add_segment(const std::string& text);
  void add_lines(const std::string& text, const SentencesOf& sentences_of);
  void add_line(const std::string& line, const SentencesOf& sentences_of);
  void add_html(const std::string& html, const SentencesOf& sentences_of);
  void add_inline_html(const std::string& html, std::vector<HtmlPiece>& pieces, const SentencesOf& sentences_of);
  void add_sentences(const std::vector<std::string>& sentences);
  Markup markup_of(const std::string& html, const HtmlPiece& piece, const SentencesOf& sentences_of);
  void add_between(Markup markup);
  std::string for_model(const std::string& html, const std::vector<HtmlPiece>& pieces, const SentencesOf& sentences_of);
  std::string without_tags(const std::string& translation) const;
  std::string written(const std::vector<std::string>& translations, size_t segment) const;
  std::string written(const std::vector<std::string>& translations, const Markup& markup) const;

  TextFormat format_ = TextFormat::text;
  std::vector<std::string> segments_;
  std::vector<Markup> between_{{""}};   // text before each segment, and after the last one
  std::vector<bool> follows_sentence_;  // whether each segment follows one of the same line, element or value
  std::vector<bool> is_in_value_;       // whether each segment is in a value of the markup after it
  // For HTML alone:
  std::vector<std::map<std::string, Markup>> tags_;  // the page's text for each tag of a segment
  std::map<std::string, Markup> kept_;  // untranslated elements and shortened tags, by the tags that replace them
  std::string placeholder_;             // a string that is in each of these tags, and nowhere in the page
};

}  // namespace v0
}  // namespace transmute
