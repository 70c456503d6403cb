// SPDX-License-Identifier: Apache-2.0
// YAML: the scalars that are values. yaml-cpp finds them; where each ends is read from the file.
#include <spdlog/fmt/fmt.h>
#include <transmute/common/ascii_case.h>
#include <transmute/common/text_file.h>
#include <transmute/documents/ascii_text.h>
#include <transmute/documents/file_formats.h>
#include <transmute/documents/html_tokens.h>
#include <transmute/documents/span_file.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// A scalar that is a value.
struct YamlScalar {
  size_t begin = 0;  // begin of its tag and anchor, if there is one
  std::string value;
  bool in_flow = false;  // within brackets or braces
};

// Collects the scalars of all documents.
class YamlScalars : public YAML::EventHandler {
 public:
  std::vector<YamlScalar> scalars;
  YAML::Mark document;

  void OnDocumentStart(const YAML::Mark& begin) override { document = begin; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override { next_is_key(); }
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override { next_is_key(); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, const std::string& value) override {
    const bool is_key = next_is_key();
    const bool is_text = tag.empty() || tag == "?" || tag == "!" || tag == "tag:yaml.org,2002:str";
    if (!is_key && is_text && mark.pos >= 0) scalars.push_back({static_cast<size_t>(mark.pos), value, in_flow()});
  }
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value style) override {
    open(false, style);
  }
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value style) override {
    open(true, style);
  }
  void OnMapEnd() override { open_.pop_back(); }

 private:
  struct Collection {
    bool is_map, is_flow, is_key;
    bool next_is_key;  // true if a map's key comes next
  };

  // True if the node that begins is a key, or within one.
  bool next_is_key() {
    if (open_.empty()) return false;
    Collection& around = open_.back();
    const bool is_key = around.is_key || (around.is_map && around.next_is_key);
    around.next_is_key = !around.next_is_key;
    return is_key;
  }
  bool in_flow() const { return !open_.empty() && open_.back().is_flow; }
  void open(bool is_map, YAML::EmitterStyle::value style) {
    const bool is_flow = style == YAML::EmitterStyle::Flow || in_flow();
    const bool is_key = next_is_key();
    open_.push_back({is_map, is_flow, is_key, true});
  }

  std::vector<Collection> open_;
};

std::vector<YamlScalar> scalars_of(const std::string& text, const std::string& name) {
  YamlScalars found;
  const auto refuse = [&](const YAML::Mark& mark, const std::string& why) {
    throw std::runtime_error(fmt::format("{}:{}:{}: not valid YAML: {}", name, mark.line + 1, mark.column + 1, why));
  };
  try {
    std::istringstream input(text);
    YAML::Parser parser(input);
    for (int last = -1; parser.HandleNextDocument(found); last = found.document.pos)
      if (found.document.pos == last) refuse(found.document, "no value can begin here");  // nor would it ever end
  } catch (const YAML::DeepRecursion& error) {
    refuse(error.mark, "nested too deeply");
  } catch (const YAML::ParserException& error) {
    refuse(error.mark, error.msg);
  }
  return std::move(found.scalars);
}

bool is_yaml_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// True if a plain scalar would be read as something else than a text, in YAML 1.1 or 1.2.
bool is_yaml_word(const std::string& text) {
  const std::string word = lower_case(text), number = word.substr(word.find_first_of("+-") == 0 ? 1 : 0);
  if (lists("true false yes no on off y n null ~ << .inf +.inf -.inf .nan", word)) return true;
  if (number.size() > 2 && number[0] == '0' && std::string_view("box").find(number[1]) != std::string_view::npos)
    return number.find_first_not_of("0123456789abcdef_", 2) == std::string::npos;
  const bool is_date = word.find('-') == 4;  // 2025-03-03 12:00:00Z
  return word.find_first_not_of(is_date ? "0123456789+-.: tz" : "0123456789+-.,:e_") == std::string::npos;
}

bool can_be_plain(const std::string& text, bool in_flow) {
  constexpr std::string_view kIndicators = "-?:,[]{}#&*!|>'\"%@`= \t";
  if (text.empty() || is_yaml_word(text) || kIndicators.find(text.front()) != std::string_view::npos) return false;
  if (is_yaml_space(text.back()) || text.back() == ':') return false;
  if (std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; })) return false;
  if (in_flow && text.find_first_of(",[]{}:") != std::string::npos) return false;
  return text.find(": ") == std::string::npos && text.find(" #") == std::string::npos;
}

std::string yaml_in_double_quotes(const std::string& text) {
  return in_double_quotes(text, "\"\\\a\b\x1B\f\n\r\t\v", "\"\\abefnrtv", [](char c) {
    const bool is_control = static_cast<unsigned char>(c) < ' ' || c == 0x7F;
    return is_control ? fmt::format("\\x{:02x}", c) : std::string(1, c);
  });
}

std::string in_single_quotes(const std::string& text) {
  if (std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }))
    return yaml_in_double_quotes(text);
  return '\'' + doubled(text, '\'') + '\'';
}

// The lines of a block, of which the first has its indentation before it. Folded ones have an empty line for each line
// end that is one to a reader.
std::string in_block(const std::string& text, const std::string& line_end, const std::string& indentation,
                     bool is_folded) {
  std::string result;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\n') {
      result += text[at];
      continue;
    }
    if (is_folded && (at == 0 || text[at - 1] != '\n')) result += line_end;
    result += line_end;
    if (at + 1 < text.size() && text[at + 1] != '\n') result += indentation;
  }
  return result;
}

class YamlFile : public SpanFile {
 public:
  YamlFile(const std::string& name, std::string content) : SpanFile(std::move(content)) {
    const size_t mark = byte_order_mark_length(content_);
    for (const YamlScalar& scalar : scalars_of(content_, name))
      add_scalar(scalar, skip_properties(scalar.begin + mark));
  }

 private:
  size_t skip_space(size_t at) const {
    while (at < content_.size() && is_yaml_space(content_[at])) ++at;
    return at;
  }

  // After a tag, an anchor, and comments after these.
  size_t skip_properties(size_t at) const {
    while (at < content_.size() && (content_[at] == '&' || content_[at] == '!' || content_[at] == '#')) {
      const bool is_address = content_.compare(at, 2, "!<") == 0;  // which may have a comma
      const char* const ends = content_[at] == '#' ? "\n" : is_address ? "> \t\r\n" : " \t\r\n,[]{}";
      const size_t end = std::min(content_.find_first_of(ends, at), content_.size());
      at = skip_space(end < content_.size() && content_[end] == '>' ? end + 1 : end);
    }
    return at;
  }

  void add_scalar(const YamlScalar& scalar, size_t begin) {
    if (begin >= content_.size()) return;
    const bool in_flow = scalar.in_flow;
    if (content_[begin] == '"') {
      size_t end = begin + 1;
      while (end < content_.size() && content_[end] != '"') end += content_[end] == '\\' ? 2 : 1;
      if (end < content_.size()) add_message(begin, end + 1, Message(scalar.value), yaml_in_double_quotes);
    } else if (content_[begin] == '\'') {
      size_t end = begin + 1;
      while (end < content_.size() && (content_[end] != '\'' || content_.compare(end + 1, 1, "'") == 0))
        end += content_[end] == '\'' ? 2 : 1;
      if (end < content_.size()) add_message(begin, end + 1, Message(scalar.value), in_single_quotes);
    } else if (content_[begin] == '|' || content_[begin] == '>') {
      add_block(begin, scalar.value);
    } else if (!is_yaml_word(scalar.value) && content_[begin] != ':') {  // :symbol of Ruby
      const size_t end = plain_end(begin, scalar.value);
      if (end > begin)
        add_message(begin, end, Message(scalar.value), [=](const std::string& text) {
          return can_be_plain(text, in_flow) ? text : in_single_quotes(text);
        });
    }
  }

  // The end of a plain scalar, whose lines may be folded; `begin` if it is another one.
  size_t plain_end(size_t begin, const std::string& value) const {
    size_t at = begin;
    for (size_t i = 0; i < value.size();) {
      if (at == content_.size()) return begin;
      if (is_yaml_space(value[i])) {
        if (!is_yaml_space(content_[at])) return begin;
        while (i < value.size() && is_yaml_space(value[i])) ++i;
        at = skip_space(at);
      } else if (value[i++] != content_[at++]) {
        return begin;
      }
    }
    return at;
  }

  void add_block(size_t begin, const std::string& value) {
    const size_t header_end = content_.find('\n', begin);
    const size_t first_word = value.find_first_not_of('\n'), last_word = value.find_last_not_of('\n');
    if (header_end == std::string::npos || first_word == std::string::npos) return;
    std::string header = content_.substr(begin, header_end - begin);
    header.resize(std::min(header.find('#'), header.size()));
    const bool is_folded = content_[begin] == '>';
    const bool has_lines_within = is_folded && value.find("\n ") != std::string::npos;  // which are not folded
    if (header.find_first_of("123456789") != std::string::npos || has_lines_within) return;
    size_t first = header_end + 1;
    while (first < content_.size() && content_.find_first_not_of(" \r", first) == content_.find('\n', first))
      first = content_.find('\n', first) + 1;
    const size_t text = std::min(content_.find_first_not_of(' ', first), content_.size());
    const std::string indentation = content_.substr(first, text - first);
    if (indentation.empty()) return;
    size_t end = text;
    for (size_t line = first; line < content_.size();) {
      const size_t line_end = std::min(content_.find('\n', line), content_.size());
      const size_t words = std::min(content_.find_first_not_of(" \r", line), line_end);
      if (words < line_end) {
        if (words - line < indentation.size()) break;
        end = line_end > line && content_[line_end - 1] == '\r' ? line_end - 1 : line_end;
      }
      line = line_end + 1;
    }
    const std::string line_end = content_[header_end - 1] == '\r' ? "\r\n" : "\n";
    add_message(text, end, Message(value.substr(first_word, last_word + 1 - first_word)),
                [=](const std::string& translated) { return in_block(translated, line_end, indentation, is_folded); });
  }
};

}  // namespace

std::unique_ptr<DocumentFile> open_yaml(const std::string& name, std::string content, const DocumentFileOptions&) {
  return std::make_unique<YamlFile>(name, std::move(content));
}

}  // namespace v0
}  // namespace transmute
