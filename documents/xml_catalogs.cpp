// SPDX-License-Identifier: Apache-2.0
// Catalogs of programs in XML: resources of .NET and of Android.
#include <transmute/common/text_file.h>
#include <transmute/documents/ascii_text.h>
#include <transmute/documents/file_formats.h>
#include <transmute/documents/html_tokens.h>
#include <transmute/documents/span_file.h>
#include <transmute/documents/xml_text.h>
#include <transmute/documents/xml_tokens.h>
#include <transmute/text/tag_end.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

class ResxFile : public SpanFile {
 public:
  ResxFile(const std::string& name, std::string content) : SpanFile(std::move(content)) {
    const std::vector<XmlToken> tokens = xml_tokens(content_, name);
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i].kind != XmlToken::Kind::start || tokens[i].name != "data") continue;
      const size_t end = tokens[i].partner;
      const std::string_view tag = tokens[i].in(content_);
      // Others are no text, and names such as ">>button.Name" tell designers of forms about controls.
      const bool is_text = xml_attribute(tag, "type").empty() && xml_attribute(tag, "mimetype").empty() &&
                           xml_attribute(tag, "name").substr(0, 8) != "&gt;&gt;" &&
                           xml_attribute(tag, "name").substr(0, 2) != ">>";
      for (; is_text && i < end; ++i)
        if (tokens[i].kind == XmlToken::Kind::start && tokens[i].name == "value") add_value(tokens, i);
      i = end;
    }
    add_messages(std::move(values_), MessageSyntax::any, xml_escaped);
  }

 private:
  void add_value(const std::vector<XmlToken>& tokens, size_t start) {
    const size_t end = tokens[start].partner;
    std::string text;
    for (size_t i = start + 1; i < end; ++i) {
      if (!is_xml_text(tokens[i])) return;
      text += xml_text(content_, tokens[i]);
    }
    values_.push_back({tokens[start].end, tokens[end].begin, std::move(text)});
  }

  std::vector<ProgramMessage> values_;
};

// The bytes of a tag of HTML in a text, whose quotes are its own; 0 if there is none.
size_t android_tag_length(std::string_view text, size_t at) {
  const size_t end =
      text[at] == '<' && begins_tag(text, at) ? text.find_first_of("<>", at + 1) : std::string_view::npos;
  return end != std::string_view::npos && text[end] == '>' ? end + 1 - at : 0;
}

// Backslashes and quotes of Android's strings.
class AndroidText {
 public:
  explicit AndroidText(TextMarkup& markup) : markup_(markup) {}

  // Adds decoded XML. Other white space than between quotes is as good as one space.
  void add(std::string_view text) {
    for (size_t at = 0; at < text.size(); ++at) {
      const char c = text[at];
      const size_t tag = android_tag_length(text, at);
      if (tag > 0) {
        markup_.add_text(text.substr(at, tag));
        at += tag - 1;
        ends_in_space_ = false;
      } else if (c == '\\' && at + 1 < text.size()) {
        at += add_escape(text.substr(at + 1));
      } else if (c == '"') {
        is_quoted_ = !is_quoted_;
        markup_.keep("\"");
        ends_in_space_ = false;
      } else if (!is_quoted_ && (c == '\n' || c == '\r' || c == '\t' || c == ' ')) {
        add_space();
      } else {
        markup_.add_text(text.substr(at, 1));
        ends_in_space_ = false;
      }
    }
  }

  // Adds bytes that a translation must contain as they are, and that are a word of the sentence.
  void keep_word(std::string_view bytes) {
    markup_.keep_word(bytes);
    ends_in_space_ = false;
  }

 private:
  // Returns the bytes after the backslash that it takes.
  size_t add_escape(std::string_view text) {
    ends_in_space_ = false;
    if (text.front() == 'n') {
      markup_.add_text("\n");
      return 1;
    }
    constexpr size_t kDigits = 5;  // and the 'u'
    constexpr uint32_t kFirstLetter = 0xA1, kFirstHalf = 0xD800, kLastHalf = 0xDFFF;
    const auto unit = text.front() == 'u' ? utf16_unit(text.substr(1)) : std::nullopt;
    if (unit && *unit >= kFirstLetter && (*unit < kFirstHalf || *unit > kLastHalf)) {
      std::string character;
      append_utf8(character, *unit);
      markup_.add_text(character);
      return kDigits;
    }
    if (text.front() == 'u' || text.front() == 't') {
      markup_.keep('\\' + std::string(text.substr(0, text.front() == 'u' ? kDigits : 1)));
      return std::min(text.size(), text.front() == 'u' ? kDigits : 1);
    }
    markup_.add_text(text.substr(0, 1));
    return 1;
  }

  void add_space() {
    if (!ends_in_space_) markup_.add_text(" ");
    ends_in_space_ = true;
  }

  TextMarkup& markup_;
  bool is_quoted_ = false, ends_in_space_ = true;
};

std::string android_escaped(std::string_view words, bool is_first) {
  std::string result;
  for (size_t at = 0; at < words.size(); ++at) {
    const char c = words[at];
    const size_t tag = android_tag_length(words, at);
    if (tag > 0) {
      result += words.substr(at, tag);
      at += tag - 1;
      continue;
    }
    const bool begins_reference = is_first && result.empty() && (c == '@' || c == '?');
    if (c == '\\' || c == '\'' || c == '"' || begins_reference) result += '\\';
    c == '\n' ? result += "\\n" : result += c;
  }
  return result;
}

class AndroidFile : public SpanFile {
 public:
  AndroidFile(const std::string& name, std::string content) : SpanFile(std::move(content)) {
    const std::vector<XmlToken> tokens = xml_tokens(content_, name);
    for (size_t i = 0; i < tokens.size(); ++i) {
      const XmlToken& token = tokens[i];
      if (token.kind != XmlToken::Kind::start || !lists("string plurals string-array", std::string(token.name)))
        continue;
      const bool is_kept = xml_attribute(token.in(content_), "translatable") == "false";
      for (size_t item = i; !is_kept && item < token.partner; ++item) {
        if (tokens[item].kind != XmlToken::Kind::start || (tokens[item].name != "item" && item != i)) continue;
        if (tokens[item].name != "item" && token.name != "string") continue;
        add_string(tokens, item);
        item = tokens[item].partner;
      }
      i = token.partner;
    }
  }

 private:
  void add_string(const std::vector<XmlToken>& tokens, size_t start) {
    TextMarkup markup;
    AndroidText text(markup);
    const size_t end = tokens[start].partner;
    bool has_cdata = false;
    std::vector<std::pair<size_t, size_t>> open;  // end tags and numbers
    for (size_t i = start + 1; i < end; ++i) {
      const XmlToken& token = tokens[i];
      if (is_xml_text(token)) {
        has_cdata = has_cdata || token.kind == XmlToken::Kind::cdata;
        text.add(xml_text(content_, token));
      } else if (token.kind == XmlToken::Kind::start && token.local_name() != "g") {
        open.emplace_back(token.partner, markup.open(token.in(content_)));
      } else if (token.kind == XmlToken::Kind::end) {
        markup.close(open.back().second, token.in(content_));
        open.pop_back();
      } else {  // what xliff:g holds is not translated
        text.keep_word(std::string_view(content_).substr(token.begin, tokens[token.partner].end - token.begin));
        i = token.partner;
      }
    }
    if (!markup.has_letters()) return;
    std::string words = markup.text();
    const bool is_reference = content_[tokens[start].end] == '@' || content_[tokens[start].end] == '?';
    if (is_reference || is_no_language(words)) return;
    add({tokens[start].end,
         tokens[end].begin,
         {std::move(words)},
         [markup = std::move(markup), has_cdata](const std::vector<std::string>& translations) {
           return markup.written(translations.front(), [&](std::string_view part, std::string_view before) {
             const std::string escaped = android_escaped(part, before.empty());
             return has_cdata ? xml_cdata(escaped) : xml_escaped(escaped);
           });
         }});
  }
};

}  // namespace

std::unique_ptr<DocumentFile> open_resx(const std::string& name, std::string content, const DocumentFileOptions&) {
  return std::make_unique<ResxFile>(name, std::move(content));
}

std::unique_ptr<DocumentFile> open_android(const std::string& name, std::string content, const DocumentFileOptions&) {
  return std::make_unique<AndroidFile>(name, std::move(content));
}

}  // namespace v0
}  // namespace transmute
