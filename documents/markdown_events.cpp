// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/markdown_dialects.h>
#include <transmute/documents/markdown_events.h>

#include <spdlog/fmt/fmt.h>

#include <exception>
#include <limits>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

using Kind = MarkdownEvent::Kind;

Kind kind_of(MD_TEXTTYPE type) {
  switch (type) {
    case MD_TEXT_BR:
      return Kind::hard_break;
    case MD_TEXT_SOFTBR:
      return Kind::soft_break;
    case MD_TEXT_ENTITY:
      return Kind::reference;
    case MD_TEXT_HTML:
      return Kind::html;
    case MD_TEXT_CODE:
    case MD_TEXT_LATEXMATH:
      return Kind::code_words;
    default:
      return Kind::words;
  }
}

// Collects the parser's events.
class MarkdownGatherer {
 public:
  MarkdownGatherer(std::string_view content, const std::function<void(const MarkdownParagraph& paragraph)>& use)
      : content_(content), use_(use) {}

  void enter(MD_BLOCKTYPE type) {
    flush();
    is_verbatim_ = type == MD_BLOCK_CODE || type == MD_BLOCK_HTML;
    paragraph_.is_cell = type == MD_BLOCK_TH || type == MD_BLOCK_TD;
  }
  void leave() {
    flush();
    is_verbatim_ = false;
    paragraph_.is_cell = false;
  }
  void add_span(Kind kind, MD_SPANTYPE type) { paragraph_.events.push_back({kind, type}); }
  void add_text(MD_TEXTTYPE type, const char* text, MD_SIZE size) {
    if (is_verbatim_) return;
    MarkdownEvent event{kind_of(type)};
    const std::less<> before;  // the parser's line ends are not those of the content
    if (!before(text, content_.data()) && before(text, content_.data() + content_.size())) {
      event.begin = static_cast<size_t>(text - content_.data());
      event.end = event.begin + size;
    }
    if (type == MD_TEXT_HTML && continues_tag(event)) {
      if (event.begin != std::string::npos) paragraph_.events.back().end = event.end;
      return;
    }
    paragraph_.events.push_back(event);
  }

  std::exception_ptr error;

 private:
  // The parser reports the lines of a tag one by one, and the line ends between them.
  bool continues_tag(const MarkdownEvent& event) {
    const bool follows_line_end = std::exchange(is_line_end_, event.begin == std::string::npos);
    const bool begins_tag = !is_line_end_ && !follows_line_end && content_[event.begin] == '<';
    return !begins_tag && !paragraph_.events.empty() && paragraph_.events.back().kind == Kind::html;
  }
  void flush() {
    if (!paragraph_.events.empty()) use_(paragraph_);
    paragraph_.events.clear();
  }

  std::string_view content_;
  const std::function<void(const MarkdownParagraph& paragraph)>& use_;
  MarkdownParagraph paragraph_;
  bool is_verbatim_ = false;
  bool is_line_end_ = false;  // the last event of HTML was a line end
};

// The parser is written in C, so exceptions must not pass through it.
template <typename Call>
int guarded(void* gatherer, const Call& call) {
  auto& to = *static_cast<MarkdownGatherer*>(gatherer);
  try {
    call(to);
    return 0;
  } catch (...) {
    to.error = std::current_exception();
    return 1;
  }
}

}  // namespace

void read_markdown(const std::string& name, std::string_view content, size_t begin,
                   const std::function<void(const MarkdownParagraph& paragraph)>& use) {
  if (content.size() > std::numeric_limits<int32_t>::max())
    throw std::runtime_error(fmt::format("{}: is longer than 2 GiB; divide it", name));
  const std::string parsed = as_common_mark(content);
  MarkdownGatherer gatherer(parsed, use);
  MD_PARSER parser{};
  parser.flags = MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS | MD_FLAG_LATEXMATHSPANS;
  parser.enter_block = [](MD_BLOCKTYPE type, void*, void* to) {
    return guarded(to, [&](MarkdownGatherer& all) { all.enter(type); });
  };
  parser.leave_block = [](MD_BLOCKTYPE, void*, void* to) {
    return guarded(to, [](MarkdownGatherer& all) { all.leave(); });
  };
  parser.enter_span = [](MD_SPANTYPE type, void*, void* to) {
    return guarded(to, [&](MarkdownGatherer& all) { all.add_span(Kind::open, type); });
  };
  parser.leave_span = [](MD_SPANTYPE type, void*, void* to) {
    return guarded(to, [&](MarkdownGatherer& all) { all.add_span(Kind::close, type); });
  };
  parser.text = [](MD_TEXTTYPE type, const MD_CHAR* text, MD_SIZE size, void* to) {
    return guarded(to, [&](MarkdownGatherer& all) { all.add_text(type, text, size); });
  };
  const int failure = md_parse(parsed.data() + begin, static_cast<MD_SIZE>(parsed.size() - begin), &parser, &gatherer);
  if (gatherer.error) std::rethrow_exception(gatherer.error);
  if (failure != 0) throw std::bad_alloc();
}

}  // namespace v0
}  // namespace transmute
