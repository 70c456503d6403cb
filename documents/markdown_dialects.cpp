// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/ascii_case.h>
#include <transmute/documents/html_tokens.h>
#include <transmute/documents/markdown_dialects.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

constexpr size_t kNone = std::string_view::npos;
constexpr std::string_view kMarkdownSpace = " \t\r\n";

bool begins(std::string_view text, std::string_view beginning) {
  return text.substr(0, beginning.size()) == beginning;
}

std::string_view without_space_after(std::string_view line) {
  return line.substr(0, line.find_last_not_of(kMarkdownSpace) + 1);
}

// True for a statement of JavaScript, as MDX has them: import Tabs from '@theme/Tabs';
bool is_statement(std::string_view line) {
  const std::string_view statement = line.substr(0, line.find_last_not_of(';') + 1);
  if (begins(line, "export const ")) return statement.size() < line.size();
  const size_t name = std::min(statement.find(" from '"), statement.find(" from \""));
  return begins(line, "import ") && name != kNone && (statement.back() == '\'' || statement.back() == '"');
}

// The bytes of a block that is no Markdown, or 0 if there is none: "{% highlight … %}" to "{% endhighlight %}" of
// Jekyll, "{{< highlight … >}}" to "{{< /highlight >}}" of Hugo, statements of MDX, and on lines of their own,
// \begin{…} to \end{…}, \[ to \], and $$ to $$.
size_t verbatim_length(std::string_view text) {
  constexpr size_t kMostBytes = 1 << 15;  // limit, so that many without an end take linear time
  constexpr const char* kVerbatim = "code codeblock comment highlight math mermaid";
  text = text.substr(0, kMostBytes);
  const std::string_view line = without_space_after(text.substr(0, text.find('\n')));
  if (is_statement(line)) return line.size();
  const auto after = [&](std::string_view closing, size_t from) {
    const size_t at = text.find(closing, from);
    const size_t end = at == kNone ? kNone : at + closing.size();
    const size_t next = end == kNone ? kNone : std::min(text.find_first_not_of(" \t\r.,;", end), text.size());
    return next == kNone || (next < text.size() && text[next] != '\n') ? 0 : next;
  };
  constexpr std::string_view kBegin = "\\begin", kFormula = "$$";
  if (line == kFormula) return after(kFormula, kFormula.size());
  const bool has_name = begins(line, "\\begin{") && line.find('}') != kNone;
  if (line == "\\[" || line == "\\\\[" || has_name) {
    const std::string_view opening = line.substr(0, has_name ? line.find('}') + 1 : line.size());
    text = text.substr(0, text.find(opening, opening.size()));  // a block has none of the same kind within it
    return after(has_name ? "\\end" + std::string(opening.substr(kBegin.size())) : "\\]", opening.size());
  }
  const std::string_view opening = begins(line, "{%") ? "{%" : begins(line, "{{<") ? "{{<" : "{{%";
  const auto name_of = [&](size_t tag) {
    const std::string_view inner =
        text.substr(std::min(text.find_first_not_of(" -", tag + opening.size()), text.size()));
    return inner.substr(0, inner.find_first_of(" -%>}\t\r\n"));
  };
  const std::string name(name_of(0)), end_name = (opening == "{%" ? "end" : "/") + name;
  if (!begins(line, opening) || name.empty() || !lists(kVerbatim, name)) return 0;
  for (size_t tag = text.find(opening, opening.size()); tag != kNone; tag = text.find(opening, tag + opening.size())) {
    if (name_of(tag) == name) return 0;
    if (name_of(tag) == end_name) return after(opening == "{{<" ? ">}}" : opening == "{%" ? "%}" : "%}}", tag);
  }
  return 0;
}

// The length of a label, such as "[a]" or "[]", at the beginning of a text; 0 if there is none on one line.
size_t label_length(std::string_view text) {
  constexpr size_t kMostBytes = 1000;
  if (!begins(text, "[")) return 0;
  const size_t end = text.substr(0, kMostBytes).find_first_of("[]`\\\n", 1);
  return end == kNone || text[end] != ']' ? 0 : end + 1;
}

// The bytes before the title of a container: ":::tip[Title]" of Docusaurus, "::: tip Title" of VitePress, and
// ":::{card} Title" of MyST, which also writes "```{note} Title". All of the line where it has no title for people. 0
// for code.
size_t bytes_before_container_title(std::string_view line) {
  constexpr const char* kTitled =
      "admonition attention card caution danger deprecated details dropdown error example grid-item-card hint "
      "important info list-table note question quote seealso success tab-item table tip todo versionadded "
      "versionchanged warning";
  const bool is_fence = line.front() != ':';
  const size_t begin = std::min(line.find_first_not_of(line.front()), line.size());
  const size_t kind = std::min(line.find_first_not_of(' ', begin), line.size());
  const size_t end = std::min(line.find_first_of(" [", kind), line.size());
  std::string name = lower_case(std::string(line.substr(kind, end - kind)));
  const bool is_directive = name.size() > 2 && name.front() == '{' && name.back() == '}';
  if (is_directive) name = name.substr(1, name.size() - 2);
  const bool is_titled = lists(kTitled, name);
  if (is_fence && (!is_directive || (!is_titled && name != "figure"))) return 0;
  return is_titled ? end + (line.substr(end, 1) == "[" ? 1 : 0) : line.size();
}

// True for a line such as "(name)=", which other pages of MyST refer to, and for one between the parts of a card.
bool is_mark_of_myst(std::string_view line) {
  constexpr std::string_view kEnd = ")=";
  const size_t size = std::max(line.size(), kEnd.size()) - kEnd.size();
  const bool is_target = begins(line, "(") && line.substr(size) == kEnd && line.find_first_of("()", 1) == size;
  return is_target || line == "+++" || line == "^^^";
}

// The bytes at the beginning of a line that are no text, where the line has no other markup and stands alone: all but
// the title of a container, or of a block of Python-Markdown ("/// note | Title"), all but the meaning of an
// abbreviation ("*[HTML]: Meaning"), marks of MyST, and those of tabs in books of d2l (":begin_tab:`toc`",
// ":end_tab:"). 0 for other lines.
size_t bytes_before_own_text(std::string_view line) {
  constexpr size_t kFewestSlashes = 3;
  line = without_space_after(line);
  if (begins(line, ":::")) return bytes_before_container_title(line);
  if (begins(line, ":begin_tab:`") || line == ":end_tab:" || is_mark_of_myst(line)) return line.size();
  if (begins(line, "*[")) {
    const size_t label = label_length(line.substr(1));
    const bool is_abbreviation = line.substr(1 + label, 2) == ": ";
    return label > 2 && is_abbreviation ? 1 + label + 2 : 0;
  }
  const size_t slashes = std::min(line.find_first_not_of('/'), line.size());
  const size_t kind = std::min(line.find_first_not_of(' ', slashes), line.size());
  const size_t bar = std::min(line.find('|'), line.size());
  const std::string_view name = without_space_after(line.substr(kind, bar - std::min(bar, kind)));
  const bool is_name =
      std::all_of(name.begin(), name.end(), [](char c) { return c == '-' || c == '_' || is_ascii_alphanumeric(c); });
  if (slashes < kFewestSlashes || !is_name || (name.empty() && kind < line.size())) return 0;
  constexpr std::string_view kCaption = "caption";  // of a figure or a table, before its number or identifier
  const bool is_caption = name.size() >= kCaption.size() && name.substr(name.size() - kCaption.size()) == kCaption;
  return name == "html" || is_caption || bar == line.size() ? line.size() : bar + 1;
}

// Code between lines such as "```".
class Fence {
 public:
  // True for a line of the code, and for those before and after it.
  bool takes(std::string_view line) {
    const size_t marks = fence_marks(line);
    if (marks_ > 0) {
      if (marks >= marks_ && line.front() == mark_ && without_space_after(line).size() == marks) marks_ = 0;
      return true;
    }
    if (marks == 0) return false;
    mark_ = line.front();
    marks_ = marks;
    return true;
  }
  bool is_open() const { return marks_ > 0; }

 private:
  char mark_ = ' ';
  size_t marks_ = 0;  // number of marks that began the open block
};

// Tells which lines begin and end the text that MyST writes as if it were code: "```{note}" to "```".
class FencedTexts {
 public:
  // The bytes at the beginning of a line that are no text; 0 for a line that is none of such.
  size_t bytes_before_title(std::string_view line) {
    line = without_space_after(line);
    const size_t marks = fence_marks(line);
    if (marks == 0) return 0;
    const char mark = line.front();
    if (marks == line.size() && !fences_.empty() && mark == fences_.back().first && marks >= fences_.back().second) {
      fences_.pop_back();
      return line.size();
    }
    const size_t length = bytes_before_container_title(line);
    if (length > 0) fences_.emplace_back(mark, marks);
    return length;
  }

 private:
  std::vector<std::pair<char, size_t>> fences_;  // open blocks: the mark, and how many began each
};

// True for the first line of a directive of MyST, which options may follow: ":::{card} Title".
bool begins_directive(std::string_view line) {
  const size_t name = std::min(line.find_first_not_of(":`~ "), line.size());
  return line.substr(name, 1) == "{" && name + 1 < line.size() && is_ascii_letter(line[name + 1]);
}

// True for an option of a directive of MyST: ":name: value".
bool is_option_of_myst(std::string_view line) {
  const size_t end = line.find_first_not_of("abcdefghijklmnopqrstuvwxyz-_", 1);
  return begins(line, ":") && end > 1 && end < line.size() && line[end] == ':';
}

// Finds the later paragraphs of a footnote or a definition, which are indented as code is.
class IndentedParagraphs {
 public:
  // True for a line of such a paragraph.
  // @param words the line from its first character that is no white space
  bool take(std::string_view line, std::string_view words) {
    constexpr size_t kTabWidth = 4;
    const size_t indent = line.size() - words.size();
    const bool is_blank = without_space_after(words).empty(), is_note = begins(words, "[^") || begins(words, ": ");
    const bool is_indented = indent >= kTabWidth || begins(line, "\t");
    if (!is_blank && !is_indented && (is_note || is_after_blank_)) has_note_ = is_note;
    const bool is_paragraph = has_note_ && is_indented && is_after_blank_ && !is_blank;
    is_after_blank_ = is_blank || is_paragraph;
    return is_paragraph;
  }

 private:
  bool has_note_ = false;        // the lines before are a footnote or a definition
  bool is_after_blank_ = false;  // its first paragraph has ended
};

// Writes blanks, items of lists, marks of headings and marks of quotations in place of what only other programs
// understand.
void replace_blocks(std::string& content) {
  Fence fence;
  FencedTexts texts;
  IndentedParagraphs indented;
  bool has_options = false;   // the lines before are a directive of MyST
  bool has_settings = false;  // they began its options in YAML, between lines of "---"
  for (size_t begin = 0, next = 0; begin < content.size(); begin = next) {
    next = std::min(content.find('\n', begin), content.size() - 1) + 1;
    const size_t at = std::min(content.find_first_not_of(" \t>", begin), next);
    const std::string_view rest = std::string_view(content).substr(at), line = rest.substr(0, next - at);
    const size_t before_text = fence.is_open() ? 0 : texts.bytes_before_title(line);
    const bool is_container = before_text > 0 || (!fence.is_open() && begins(line, ":::"));
    has_settings = has_settings && !is_container;
    const bool is_rule = (has_options || has_settings) && without_space_after(line) == "---";
    const bool is_option = is_rule || has_settings || (has_options && is_option_of_myst(line));
    if (is_rule) has_settings = !has_settings;
    has_options = (is_option && !is_rule) || (is_container && begins_directive(line));
    // Code may be in an item of a list.
    if (before_text == 0 && fence.takes(line.substr(std::min(line.find_first_not_of(" *+-.)0123456789"), line.size()))))
      continue;
    if (indented.take(std::string_view(content).substr(begin, next - begin), line)) content[begin] = '>';
    if (const size_t length = is_option ? line.size() : verbatim_length(rest); length > 0) {
      next = at + length;
      for (size_t i = at; i < next; ++i)
        if (content[i] != '\n' && content[i] != '\r') content[i] = ' ';
    } else if (bytes_before_title(line) > 0) {
      const std::string_view item = begins(line, "???+") ? "-   %" : "-   ";
      content.replace(at, item.size(), item);
    } else if (const size_t length = std::max(before_text, bytes_before_own_text(line)); length > 0) {
      const size_t bracket = line[length - 1] == '[' ? line.rfind(']') : kNone;  // after a title
      if (bracket != kNone) std::fill(content.begin() + at + bracket, content.begin() + at + line.size() - 1, ' ');
      content.replace(at, length, length, ' ');
      content[at] = '#';
    }
  }
}

// The labels that begin lines, as in "[a]: address", in small letters.
std::set<std::string> defined_labels(std::string_view content) {
  std::set<std::string> labels;
  for (size_t begin = 0; begin < content.size(); begin = std::min(content.find('\n', begin), content.size() - 1) + 1) {
    const std::string_view line = content.substr(std::min(content.find_first_not_of(" \t>", begin), content.size()));
    const size_t length = label_length(line);
    if (length > 0 && line.substr(length, 1) == ":") labels.insert(lower_case(std::string(line.substr(0, length))));
  }
  return labels;
}

// The length of the label or the attributes after the bracket at `at`; 0 if there is none. A label that the page
// defines needs no attributes to be a link.
size_t bytes_after_bracket(std::string_view content, size_t at, const std::set<std::string>& labels) {
  constexpr size_t kMostBytes = 1000, kEmptyLabel = 2;
  const size_t after = at + 1;
  const bool has_words = at > 0 && content[at - 1] != '[';
  if (const size_t length = label_length(content.substr(after)); length > 0)
    return length > kEmptyLabel || has_words ? length : 0;  // int[][] has no link
  const size_t length = attributes_length(content, after);
  if (length == 0) return 0;
  const size_t least = after - std::min(after, kMostBytes);
  const std::string_view words = content.substr(least, after - least);
  const size_t begin = words.rfind('[');
  return begin != kNone && labels.count(lower_case(std::string(words.substr(begin)))) > 0 ? 0 : length;
}

// Writes an address in place of what comes after the words of a link: a label, which another file may define, or
// attributes. Writes letters in place of other attributes, and of tags of site generators in addresses, as these have
// signs of markup.
void replace_addresses(std::string& content) {
  const std::set<std::string> labels = defined_labels(content);
  bool is_address = false;
  for (size_t at = 0, next = 0; at < content.size(); at = next) {
    const std::string_view rest = std::string_view(content).substr(at);
    next = at + (content[at] == '\\' ? 2 : 1);
    if (content[at] == ')' || kMarkdownSpace.find(content[at]) != kNone) is_address = false;
    if (begins(rest, "[^")) {
      next = at + std::max<size_t>(label_length(rest), 1);  // a footnote is no link
    } else if (begins(rest, "](") || begins(rest, "]:")) {
      is_address = true;
      next = std::min(content.find_first_not_of(' ', next + 1), content.size());
    } else if (content[at] == ']' && bytes_after_bracket(content, at, labels) > 0) {
      const size_t end = next + bytes_after_bracket(content, at, labels);
      std::fill(content.begin() + next, content.begin() + end, 'x');
      content[next] = '(';
      content[end - 1] = ')';
      next = end;
    } else if (const size_t tag = is_address ? site_tag_length(rest) : 0;
               tag > 0 && rest.substr(0, tag).find_first_of("`\n") == kNone) {
      content.replace(at, tag, tag, 'x');
      next = at + tag;
    } else if (const size_t length = attributes_length(content, at); length > 0) {
      content.replace(at + 1, length - 2, length - 2, 'x');
      next = at + length;
    }
  }
}

// Writes "<?--" and "-?>" in place of "<!--" at the end of a line and of the "-->" after it, because MD4C reads no such
// comment within a paragraph.
void replace_comments(std::string& content) {
  constexpr std::string_view kBegin = "<!--", kEnd = "-->", kOtherEnd = "?>";
  for (size_t at = content.find(kBegin), end = 0; at != kNone; at = content.find(kBegin, end)) {
    end = std::min(content.find(kEnd, at), content.size());
    if (end == content.size()) return;
    const std::string_view comment = std::string_view(content).substr(at, end - at);
    const size_t next = comment.find_first_not_of(" \t\r", kBegin.size());
    if (comment.substr(std::min(next, comment.size()), 1) == "\n" && comment.find(kOtherEnd) == kNone)
      content[at + 1] = content[end + 1] = '?';
  }
}

// True if a paragraph ends before the line at `line`.
bool ends_paragraph(std::string_view content, size_t line) {
  const size_t words = content.find_first_not_of(" \t\r>", line);
  return words == kNone || content[words] == '\n';
}

// Replaces the marks of highlighted ==words== by those of deleted ones, which the parser knows, but which do not nest.
// The first has no letter before it, the last has none after it, and there is no white space on their inner sides.
void replace_highlights(std::string& content) {
  constexpr size_t kMarks = 2;
  constexpr const char* kFound = "=~\n";
  const auto byte = [&](size_t at) { return at < content.size() ? content[at] : ' '; };
  const auto is_inside = [](char c) { return c != '~' && kMarkdownSpace.find(c) == kNone; };
  const auto is_outside = [](char c) { return c != '~' && c != '\\' && !is_ascii_alphanumeric(c); };
  size_t open = kNone;
  bool is_deleted = false;
  for (size_t at = content.find_first_of(kFound), next = 0; at != kNone; at = content.find_first_of(kFound, next)) {
    const char mark = content[at];
    next = mark == '\n' ? at + 1 : std::min(content.find_first_not_of(mark, at), content.size());
    if (mark == '\n' && ends_paragraph(content, next)) {
      open = kNone;
      is_deleted = false;
    }
    if (mark == '\n' || next - at != kMarks) continue;
    const char before = byte(at - 1), after = byte(next);
    if (mark == '~') {
      open = kNone;
      is_deleted = !is_deleted;
    } else if (open != kNone && is_inside(before) && is_outside(after)) {
      for (const size_t marks : {open, at}) content.replace(marks, kMarks, kMarks, '~');
      open = kNone;
    } else if (!is_deleted && is_outside(before) && is_inside(after)) {
      open = at;
    }
  }
}

// Replaces dollar signs that are none of a formula, as Pandoc knows them: the first has no white space after it, the
// last has none before it and no digit after it. To the parser, any two of them, such as those of prices, are a
// formula.
void replace_other_dollars(std::string& content) {
  constexpr size_t kMostDollars = 2;
  const auto is_space = [&](size_t at) { return at >= content.size() || kMarkdownSpace.find(content[at]) != kNone; };
  size_t open = kNone, dollars = 0;  // candidates for the start of a formula
  const auto drop_open = [&] {
    if (open != kNone) content.replace(open, dollars, dollars, '%');
    open = kNone;
  };
  for (size_t at = 0, next = 0; at < content.size(); at = next) {
    next = at + (content[at] == '\\' ? 2 : 1);
    if (content[at] == '\n' && ends_paragraph(content, next)) drop_open();
    if (content[at] != '$') continue;
    next = std::min(content.find_first_not_of('$', at), content.size());
    const bool is_digit = next < content.size() && is_ascii_digit(content[next]);
    if (open != kNone && next - at == dollars && (dollars == kMostDollars || (!is_space(at - 1) && !is_digit))) {
      open = kNone;
      continue;
    }
    drop_open();
    open = at;
    dollars = next - at;
    if (dollars > kMostDollars || (dollars == 1 && is_space(next))) drop_open();
  }
  drop_open();
}

// True for a heading or an item of a list that no paragraph continues with.
bool begins_block(std::string_view line) {
  constexpr size_t kMostIndent = 3, kLevels = 6;
  const size_t mark = std::min(line.find_first_not_of(' '), line.size());
  const bool is_heading = line.substr(mark, 1) == "#";
  const size_t end = line.find_first_not_of(is_heading ? "#" : "-*+", mark);
  return mark <= kMostIndent && end != kNone && end > mark && end - mark <= (is_heading ? kLevels : 1) &&
         line[end] == ' ' && line.find_first_not_of(kMarkdownSpace, end) != kNone;
}

// Writes letters in place of brackets after so many lines of one paragraph as no page has: MD4C before 0.5 seeks the
// line of each from the first one on.
void replace_brackets_of_long_paragraphs(std::string& content) {
  constexpr size_t kMostLines = 10'000;
  size_t lines = 0;
  bool is_table = false;  // the rows of a table are no lines of a paragraph
  for (size_t begin = 0, next = 0; begin < content.size(); begin = next) {
    next = std::min(content.find('\n', begin), content.size() - 1) + 1;
    const std::string_view line = std::string_view(content).substr(begin, next - begin);
    if (begins_block(line)) lines = 0;
    if (ends_paragraph(content, begin)) {
      lines = 0;
      continue;
    }
    if (lines < 2) is_table = lines == 1 && line.find_first_not_of("-:| \t\r\n>") == kNone && line.find('|') != kNone;
    const bool is_too_late = ++lines > kMostLines && !is_table;
    if (is_too_late) std::replace(content.begin() + begin, content.begin() + next, '[', 'x');
  }
}

}  // namespace

std::string as_common_mark(std::string_view content) {
  std::string result(content);
  replace_blocks(result);
  replace_addresses(result);
  replace_comments(result);
  replace_highlights(result);
  replace_other_dollars(result);
  replace_brackets_of_long_paragraphs(result);
  return result;
}

size_t fence_marks(std::string_view line) {
  constexpr size_t kFewest = 3;
  if (line.empty() || (line.front() != '`' && line.front() != '~')) return 0;
  const size_t marks = std::min(line.find_first_not_of(line.front()), line.size());
  return marks < kFewest || (line.front() == '`' && line.find('`', marks) != kNone) ? 0 : marks;
}

size_t site_tag_length(std::string_view text) {
  constexpr size_t kMostBytes = 1000;  // limit, so that many without an end take linear time
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kTags{
      {{"{%", "%}"}, {"{*", "*}"}, {"{{<", ">}}"}, {"{{%", "%}}"}, {"{{", "}}"}}};
  const auto tag =
      std::find_if(kTags.begin(), kTags.end(), [&](const auto& marks) { return begins(text, marks.first); });
  if (tag == kTags.end()) return 0;
  const size_t end = text.substr(0, kMostBytes).find(tag->second);
  return end == kNone ? 0 : end + tag->second.size();
}

size_t attributes_length(std::string_view text, size_t at) {
  constexpr size_t kMostBytes = 4096;  // limit, so that many without an end take linear time
  constexpr std::string_view kOfPlaceholders = "{$#%", kComment = "{/*", kCommentEnd = "*/}";
  const bool is_placeholder = at > 0 && kOfPlaceholders.find(text[at - 1]) != kNone;
  text = text.substr(at, kMostBytes);
  if (!begins(text, "{") || is_placeholder) return 0;
  const bool is_comment = begins(text, kComment);
  const size_t end = is_comment ? text.find(kCommentEnd, kComment.size()) + kCommentEnd.size() : text.find('}') + 1;
  if (end < kCommentEnd.size() || text.substr(0, end).find_first_of("`\n") != kNone) return 0;
  text = text.substr(1, end - 1);
  if (is_comment || text.front() == '#' || text.front() == ':') return end;
  const auto is_of_name = [&](size_t place) {
    const char c = text[place];
    return c == '-' || c == '_' || is_ascii_alphanumeric(c) || static_cast<unsigned char>(c) >= 0x80;
  };
  const size_t first = text.find_first_not_of(' ');
  if (text[first] == '#' || text[first] == '.') return is_of_name(first + 1) ? end : 0;
  size_t name = first;
  while (is_of_name(name) || text[name] == ':') ++name;
  const bool is_all = text.find_first_not_of(' ', name) == text.size() - 1;
  if (is_all && begins(text.substr(first), "data-")) return end;
  return text[name] == '=' && text[name + 1] != '=' ? end : 0;
}

size_t bytes_before_title(std::string_view line) {
  constexpr size_t kMarks = 3;
  constexpr int kMostWords = 3;
  line = without_space_after(line);
  const bool is_tab = begins(line, "===");
  if (!is_tab && !begins(line, "!!!") && !begins(line, "???")) return 0;
  const size_t kind = begins(line, "???+") ? kMarks + 1 : kMarks;
  const size_t quote = std::min(line.find('"', kind), line.size());
  const std::string_view words = line.substr(kind, quote - kind);
  const bool are_names = std::all_of(
      words.begin(), words.end(), [](char c) { return c == ' ' || c == '-' || c == '_' || is_ascii_alphanumeric(c); });
  if (!are_names || words.substr(0, 1) != " " || words.substr(0, 2) == "  ") return 0;
  const bool has_title = quote + 1 < line.size() && line.back() == '"';
  if (quote < line.size() && !has_title) return 0;
  if (is_tab ? words != " " || !has_title : words == " ") return 0;
  if (std::count(words.begin(), words.end(), ' ') > kMostWords + (has_title ? 1 : 0)) return 0;
  return has_title ? quote + 1 : line.size();
}

}  // namespace v0
}  // namespace transmute
