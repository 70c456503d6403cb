// SPDX-License-Identifier: Apache-2.0
// XLIFF 1.2, 2.0 and 2.1 (ISO 21720).
#include <spdlog/fmt/fmt.h>
#include <transmute/documents/ascii_text.h>
#include <transmute/documents/file_formats.h>
#include <transmute/documents/html_tokens.h>
#include <transmute/documents/message.h>
#include <transmute/documents/paired_marks.h>
#include <transmute/documents/span_file.h>
#include <transmute/documents/xml_text.h>
#include <transmute/documents/xml_tokens.h>

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

bool is_protected(std::string_view tag) {
  return xml_attribute(tag, "translate") == "no" || xml_attribute(tag, "mtype") == "protected";
}

// True for the start of an element whose content is translated.
bool is_formatting(const XmlToken& token, std::string_view xml) {
  return token.kind == XmlToken::Kind::start && lists("g mrk pc", std::string(token.local_name())) &&
         !is_protected(token.in(xml));
}

// The content of a source: texts, and the bytes that stay before each and after the last.
struct XliffSource {
  std::vector<TextMarkup> texts;
  std::vector<std::string> between{""};
  bool doubles_apostrophes = false;  // two stand for one
};

// Settings that elements inherit.
struct XliffScope {
  bool is_translated = true, keeps_lines = false;
};

// Reads a source.
class XliffSourceReader {
 public:
  XliffSourceReader(std::string_view xml, const std::vector<XmlToken>& tokens, bool keeps_lines)
      : xml_(xml), tokens_(tokens), keeps_lines_(keeps_lines) {}

  XliffSource read(size_t start) {
    begin_ = tokens_[start].end;
    pair_tags(start);
    source_.doubles_apostrophes = doubles_apostrophes(words_in(start));
    for (size_t i = start + 1; i < tokens_[start].partner; ++i) {
      const XmlToken& token = tokens_[i];
      if (is_xml_text(token)) {
        add_words(xml_text(xml_, token));
      } else if (token.kind == XmlToken::Kind::end) {
        close(token);
      } else if (open_.empty() && xml_attribute(token.in(xml_), "mtype") == "seg" && !in_part_) {
        in_part_ = token.kind == XmlToken::Kind::start;
        end_text(token.begin, token.end);
      } else if (is_formatting(token, xml_)) {
        open_.push_back(text_.open(token.in(xml_)));
      } else {
        const auto pair = pairs_.find(i);
        i = tokens_[i].partner;
        const std::string_view bytes = xml_.substr(token.begin, tokens_[i].end - token.begin);
        if (pair == pairs_.end()) {
          if (is_word(token, bytes)) {
            text_.keep_word(bytes);
          } else {
            text_.keep(bytes);
          }
        } else if (pair->second) {
          open_.push_back(text_.open(bytes));
        } else {
          text_.close(open_.back(), bytes);
          open_.pop_back();
        }
      }
    }
    const size_t end = tokens_[tokens_[start].partner].begin;
    end_text(end, end);
    return std::move(source_);
  }

 private:
  // True for what readers see as a word: no half of a pair of formatting, line break or image.
  static bool is_word(const XmlToken& token, std::string_view bytes) {
    const auto is_type = [&](const char* name) {
      return lists("fmt image lb pb xlf:lb xlf:pb", std::string(xml_attribute(bytes, name)));
    };
    return !lists("bpt bx ec ept ex it sc", std::string(token.local_name())) && !is_type("ctype") && !is_type("type") &&
           !is_type("subType");
  }

  // The key that a tag shares with the other one of its pair: <bpt> and <ept>, <bx> and <ex>, <sc> and <ec>, and the
  // START_… and CLOSE_… of Angular. The first is true for the tag that begins the pair.
  std::optional<std::pair<bool, std::string>> half_of_pair(const XmlToken& token) const {
    const std::string_view tag = token.in(xml_), name = token.local_name(), id = xml_attribute(tag, "id");
    if (lists("bpt ept bx ex", std::string(name))) {
      const std::string_view common = xml_attribute(tag, "rid");
      return std::pair(name.front() == 'b', fmt::format("{} {}", name.substr(1), common.empty() ? id : common));
    }
    if (name == "sc") return std::pair(true, std::string(id));
    if (name == "ec") return std::pair(false, std::string(xml_attribute(tag, "startRef")));
    if (name != "x") return std::nullopt;
    for (const std::string_view beginning : {"START_", "CLOSE_"}) {
      if (id.substr(0, beginning.size()) != beginning) continue;
      std::string element(id.substr(beginning.size()));  // the second link is START_LINK_1 and ends with CLOSE_LINK
      element.erase(element.find_last_not_of("0123456789_") + 1);
      return std::pair(beginning == "START_", 'x' + element);
    }
    return std::nullopt;
  }

  // Finds the tags that are pairs as the tags of an element are.
  void pair_tags(size_t start) {
    PairedMarks marks;
    for (size_t i = start + 1; i < tokens_[start].partner; ++i) {
      const XmlToken& token = tokens_[i];
      if (token.kind == XmlToken::Kind::end) {
        marks.leave();
      } else if (xml_attribute(token.in(xml_), "mtype") == "seg") {
        marks.clear();
      } else if (is_formatting(token, xml_)) {
        marks.enter();
      } else if (!is_xml_text(token)) {
        if (const auto half = half_of_pair(token); half && half->first) {
          marks.begin(half->second, i);
        } else if (half) {
          if (const auto begin = marks.end(half->second)) pairs_.insert({{*begin, true}, {i, false}});
        }
        i = tokens_[i].partner;
      }
    }
  }

  // All words in an element, with a space for each tag.
  std::string words_in(size_t start) const {
    std::string words;
    for (size_t i = start + 1; i < tokens_[start].partner; ++i)
      words += is_xml_text(tokens_[i]) ? xml_text(xml_, tokens_[i]) : " ";
    return words;
  }

  void add_words(std::string words) {
    if (source_.doubles_apostrophes) words = undoubled(words, '\'');
    if (!keeps_lines_)
      std::replace_if(
          words.begin(), words.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
    text_.add_text(words);
  }

  void close(const XmlToken& token) {
    if (open_.empty()) {
      in_part_ = false;
      return end_text(token.begin, token.end);
    }
    text_.close(open_.back(), token.in(xml_));
    open_.pop_back();
  }

  // Ends a text before a tag that stays.
  void end_text(size_t begin, size_t end) {
    if (text_.has_letters()) {
      source_.texts.push_back(std::move(text_));
      source_.between.emplace_back();
    } else {
      source_.between.back() += xml_.substr(begin_, begin - begin_);
    }
    source_.between.back() += xml_.substr(begin, end - begin);
    text_ = {};
    begin_ = end;
  }

  std::string_view xml_;
  const std::vector<XmlToken>& tokens_;
  bool keeps_lines_;
  XliffSource source_;
  TextMarkup text_;               // the text that has begun
  size_t begin_ = 0;              // its begin in the file
  std::map<size_t, bool> pairs_;  // tokens of tags that are one of a pair; true for the first
  std::vector<size_t> open_;      // numbers of its tags
  bool in_part_ = false;          // true within a part of a source that is divided
};

class XliffFile : public SpanFile {
 public:
  XliffFile(const std::string& name, std::string content, bool retranslate)
      : SpanFile(std::move(content)), tokens_(xml_tokens(content_, name)), retranslate_(retranslate) {
    const auto root = std::find_if(tokens_.begin(), tokens_.end(), [](const XmlToken& token) {
      return token.kind == XmlToken::Kind::start || token.kind == XmlToken::Kind::empty;
    });
    std::string_view version = xml_attribute(root->in(content_), "version");
    if (version.empty()) {  // "urn:oasis:names:tc:xliff:document:1.1"
      const std::string_view names = xml_attribute(root->in(content_), "xmlns");
      version = names.substr(names.rfind(':') + 1);
    }
    is_version_2_ = version.substr(0, 2) == "2.";
    if (root->local_name() != "xliff" || (!is_version_2_ && version.substr(0, 2) != "1."))
      throw std::runtime_error(fmt::format("{}: is no XLIFF 1.2, 2.0 or 2.1", name));
    read_units(static_cast<size_t>(root - tokens_.begin()), {});
    tokens_.clear();
  }

 private:
  std::string_view attribute(size_t i, std::string_view name) const {
    return xml_attribute(tokens_[i].in(content_), name);
  }
  bool is_start(size_t i) const { return tokens_[i].kind == XmlToken::Kind::start; }
  bool is_named(size_t i, const char* names) const { return lists(names, std::string(tokens_[i].local_name())); }
  size_t after(size_t i) const { return tokens_[i].partner + 1; }

  XliffScope scope_of(size_t i, XliffScope scope) const {
    if (const auto translate = attribute(i, "translate"); !translate.empty()) scope.is_translated = translate != "no";
    if (const auto space = attribute(i, "space"); !space.empty()) scope.keeps_lines = space == "preserve";
    return scope;
  }

  // Reads what is within `start`, whose depth is bounded.
  void read_units(size_t start, XliffScope around) {
    const XliffScope scope = scope_of(start, around);
    for (size_t i = start + 1; i < tokens_[start].partner; i = after(i)) {
      if (!is_start(i)) continue;
      if (is_named(i, is_version_2_ ? "segment" : "trans-unit")) read_segment(i, scope_of(i, scope));
      if (is_named(i, "file body group unit")) read_units(i, scope);
    }
  }

  // The element of this name directly within another; npos without one.
  size_t child(size_t start, const char* name) const {
    for (size_t i = start + 1; i < tokens_[start].partner; i = after(i))
      if (tokens_[i].kind != XmlToken::Kind::end && is_named(i, name)) return i;
    return std::string::npos;
  }

  bool has_translation(size_t segment, size_t target) const {
    const std::string_view state = attribute(is_version_2_ ? segment : target, "state");
    if (state == "initial" || state == "new" || state == "needs-translation") return false;
    for (size_t i = target + 1; i < tokens_[target].partner; ++i)
      if (is_xml_text(tokens_[i]) && xml_text(content_, tokens_[i]).find_first_not_of(" \t\r\n") != std::string::npos)
        return true;
    return false;
  }

  void read_segment(size_t segment, XliffScope scope) {
    constexpr size_t kNone = std::string::npos;
    const size_t whole = child(segment, "source"), target = child(segment, "target");
    if (!scope.is_translated || whole == kNone || !is_start(whole)) return;
    if (!retranslate_ && target != kNone && has_translation(segment, target)) return;
    if (attribute(segment, "approved") == "yes" || attribute(segment, "state") == "final") return;
    const size_t divided = child(segment, "seg-source");
    const size_t source = divided == kNone || !is_start(divided) ? whole : divided;
    XliffSource read = XliffSourceReader(content_, tokens_, scope_of(source, scope).keeps_lines).read(source);
    if (read.texts.empty()) return;
    std::vector<std::string> tags;
    const auto [message, is_sound] = message_of(source, tags);
    const bool stays = message.texts().empty() && (tags.empty() || message.has_own_texts());
    if (stays || (message.has_own_texts() && !is_sound)) return;
    if (message.has_own_texts()) read = {{}, {"", ""}};
    if (is_version_2_) {
      const XmlToken& tag = tokens_[segment];
      add({tag.begin,
           tag.end,
           {},
           [state = with_xml_attribute(tag.in(content_), "state", "translated")](const auto&) { return state; },
           false});
    }
    FileSpan span;
    span.keeps_bytes = false;
    span.begin = span.end = tokens_[tokens_[source].partner].end;
    const std::string_view prefix = tokens_[whole].name.substr(0, tokens_[whole].name.find("source"));
    std::string tag = fmt::format("<{}target>", prefix);
    if (target != kNone) {
      span.begin = tokens_[target].begin;
      span.end = tokens_[after(target) - 1].end;
      tag = tokens_[target].in(content_);
      if (!is_start(target)) tag.erase(tag.size() - 2, 1);
    }
    if (!is_version_2_)
      tag = with_xml_attribute(with_xml_attribute(tag, "state-qualifier", "mt-suggestion"), "state",
                               "needs-review-translation");
    read.between.front().insert(0, (target == kNone ? space_before(tokens_[whole].begin) : "") + tag);
    read.between.back() += fmt::format("</{}target>", prefix);
    if (message.has_own_texts()) {
      span.texts = message.texts();
      span.write = [read, tags, message = message](const std::vector<std::string>& translations) {
        return read.between.front() + with_tags(xml_escaped(message.with(translations)), tags) + read.between.back();
      };
      return add(std::move(span));
    }
    for (const TextMarkup& text : read.texts) span.texts.push_back(text.text());
    span.write = [read = std::move(read)](const std::vector<std::string>& translations) {
      std::string result = read.between.front();
      for (size_t i = 0; i < translations.size(); ++i)
        result += read.texts[i].written(translations[i], [&](std::string_view words, std::string_view) {
          return xml_escaped(read.doubles_apostrophes ? doubled(words, '\'') : std::string(words));
        }) + read.between[i + 1];
      return result;
    };
    add(std::move(span));
  }

  static constexpr std::string_view kPlaceholder = "{xliff.tag.";
  static std::string placeholder(size_t tag) { return fmt::format("{}{}}}", kPlaceholder, tag); }

  static std::string with_tags(std::string message, const std::vector<std::string>& tags) {
    for (size_t i = 0; i < tags.size(); ++i) {
      const std::string here = placeholder(i);
      for (size_t at = message.find(here); at != std::string::npos; at = message.find(here, at + tags[i].size()))
        message.replace(at, here.size(), tags[i]);
    }
    return message;
  }

  // A source as a message, with a placeholder for each element in it; false if a case may have other tags around its
  // words than its source.
  std::pair<Message, bool> message_of(size_t source, std::vector<std::string>& tags) const {
    std::string message;
    bool is_sound = true;
    for (size_t i = source + 1; i < tokens_[source].partner; i = after(i)) {
      if (is_xml_text(tokens_[i])) {
        const std::string text = xml_text(content_, tokens_[i]);
        is_sound = is_sound && text.find(kPlaceholder) == std::string::npos;
        message += text;
      } else {
        is_sound = is_sound && !is_formatting(tokens_[i], content_);
        message += placeholder(tags.size());
        tags.emplace_back(content_.substr(tokens_[i].begin, tokens_[after(i) - 1].end - tokens_[i].begin));
      }
    }
    return {Message(message), is_sound};
  }

  // The line end and the indentation before a tag.
  std::string space_before(size_t at) const {
    const size_t last = at == 0 ? std::string::npos : content_.find_last_not_of(" \t\r\n", at - 1);
    const size_t begin = last == std::string::npos ? 0 : last + 1;
    const std::string space = content_.substr(begin, at - begin);
    return space.find('\n') == std::string::npos ? "" : space;
  }

  std::vector<XmlToken> tokens_;
  bool retranslate_, is_version_2_ = false;
};

}  // namespace

std::unique_ptr<DocumentFile> open_xliff(const std::string& name, std::string content,
                                         const DocumentFileOptions& options) {
  return std::make_unique<XliffFile>(name, std::move(content), options.retranslate);
}

}  // namespace v0
}  // namespace transmute
