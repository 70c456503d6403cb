// SPDX-License-Identifier: Apache-2.0
#include <transmute/preparation/xml_units.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/text_file.h>
#include <transmute/documents/xml_text.h>
#include <transmute/preparation/pair_reader.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

constexpr size_t kUnitBlock = 1 << 18, kMostUnitBytes = size_t{8} << 20;

std::string_view tag_name(std::string_view tag) {
  const size_t begin = tag.find_first_not_of("</");
  return tag.substr(begin, tag.find_first_of(" \t\r\n/>", begin) - begin);
}

std::string_view local_part(std::string_view name) {
  return name.substr(name.find(':') + 1);
}

}  // namespace

XmlUnits::XmlUnits(const std::string& path, std::string root, std::vector<std::string> units, TakeTag take_tag)
    : path_(path), root_(std::move(root)), units_(std::move(units)), take_tag_(std::move(take_tag)), source_(path) {
  fill();
  buffer_.erase(0, byte_order_mark_length(buffer_));
  if (is_utf_16(std::string_view(buffer_).substr(0, 1000)))
    throw std::runtime_error(utf_16_message(path_, buffer_, true));
}

std::string XmlUnits::place() const {
  return fmt::format("{}, unit {}", path_, count_);
}

void XmlUnits::refuse(const std::string& why) const {
  throw std::runtime_error(fmt::format("{}: {} (after {} of its units)", path_, why, count_));
}

// Appends another block; false at the end of the file.
bool XmlUnits::fill() {
  buffer_.erase(0, position_);
  position_ = 0;
  const size_t kept = buffer_.size();
  if (kept > kMostUnitBytes) refuse("it has an element or a tag of more than 8 MiB");
  buffer_.resize(kept + kUnitBlock);
  buffer_.resize(kept + source_.read(buffer_.data() + kept, kUnitBlock));
  if (!source_.error().empty()) refuse("it cannot be read: " + source_.error());
  return buffer_.size() > kept;
}

// The distance of `what` from position_; it is `from` or more.
size_t XmlUnits::find(std::string_view what, size_t from, const char* within) {
  while (true) {
    const size_t found = buffer_.find(what, position_ + from);
    if (found != std::string::npos) return found - position_;
    const size_t searched = buffer_.size() - position_;
    from = std::max(from, searched - std::min(searched, what.size() - 1));
    if (!fill()) refuse(fmt::format("it ends within {}; is it whole?", within));
  }
}

// The distance of the end of the tag at position_. A '>' may be in the value of an attribute.
size_t XmlUnits::tag_end() {
  char quote = '\0';
  for (size_t i = 1;; ++i) {
    while (position_ + i >= buffer_.size())
      if (!fill()) refuse("it ends within a tag; is it whole?");
    const char c = buffer_[position_ + i];
    if (quote != '\0')
      quote = c == quote ? '\0' : quote;
    else if (c == '"' || c == '\'')
      quote = c;
    else if (c == '>')
      return i + 1;
  }
}

// Moves to the next '<'; false at the end of the file.
bool XmlUnits::skip_to_markup() {
  while (true) {
    position_ = std::min(buffer_.find('<', position_), buffer_.size());
    if (position_ < buffer_.size()) return true;
    if (fill()) continue;
    if (!has_root_) refuse(fmt::format("it has no element <{}>", root_));
    if (depth_ > 0) refuse(fmt::format("it ends before </{}>; is it whole?", root_));
    return false;
  }
}

bool XmlUnits::next(std::string& unit) {
  constexpr size_t kLongestOpening = 9;  // "<![CDATA["
  while (skip_to_markup()) {
    while (buffer_.size() - position_ < kLongestOpening && fill()) {
    }
    const auto begins_with = [&](std::string_view what) { return buffer_.compare(position_, what.size(), what) == 0; };
    if (begins_with("<!--")) {
      position_ += find("-->", 4, "a comment") + 3;
    } else if (begins_with("<?")) {
      position_ += find("?>", 2, "a processing instruction") + 2;
    } else if (begins_with("<![CDATA[")) {
      position_ += find("]]>", kLongestOpening, "a CDATA section") + 3;
    } else if (begins_with("<!")) {
      const size_t end = tag_end();
      if (buffer_.substr(position_, end).find('[') != std::string::npos)
        refuse("it declares entities or elements, which are not read; remove the declarations");
      position_ += end;
    } else if (read_tag(unit)) {
      return true;
    }
  }
  return false;
}

// The distance of the end of the end tag that begins with `closing` from position_. Comments and CDATA are passed over.
size_t XmlUnits::end_tag_end(const std::string& closing, size_t from) {
  constexpr std::string_view kComment = "<!--", kCdata = "<![CDATA[";
  while (true) {
    const size_t tag = find("<", from, "a unit"), tag_end = find(">", tag, "a unit");
    const auto begins_with = [&](std::string_view what) {
      return buffer_.compare(position_ + tag, what.size(), what) == 0;
    };
    from = tag_end + 1;
    if (begins_with(kComment))
      from = find("-->", tag + kComment.size(), "a comment") + 3;
    else if (begins_with(kCdata))
      from = find("]]>", tag + kCdata.size(), "a CDATA section") + 3;
    else if (begins_with(closing) &&  // </tuv> is none of <tu>
             buffer_.find_first_not_of(" \t\r\n", position_ + tag + closing.size()) == position_ + tag_end)
      return from;
  }
}

// Reads the tag at position_; true if it begins a unit, which is then read.
bool XmlUnits::read_tag(std::string& unit) {
  const size_t end = tag_end();
  const std::string tag = buffer_.substr(position_, end);
  const std::string_view name = tag_name(tag);
  const bool is_end = tag[1] == '/', is_empty = tag[tag.size() - 2] == '/';
  if (!std::exchange(has_root_, true) && local_part(name) != root_)
    refuse(fmt::format("its outermost element is <{}>, not <{}>", name, root_));
  const bool is_unit = std::find(units_.begin(), units_.end(), local_part(name)) != units_.end();
  if (!is_unit || is_end || is_empty) {
    position_ += end;
    if (!is_end) take_tag_(local_part(name), tag);
    if (is_end && depth_ == 0) refuse(fmt::format("</{}> ends no element that is open", name));
    if (!is_empty) depth_ += is_end ? -1 : 1;
    return false;
  }
  const size_t unit_end = end_tag_end(fmt::format("</{}", name), end);
  unit = buffer_.substr(position_, unit_end);
  position_ += unit_end;
  ++count_;
  return true;
}

std::string text_within(std::string_view xml, const std::vector<XmlToken>& tokens, size_t element) {
  constexpr std::array<std::string_view, 11> kCodes{"bpt", "ept", "ph", "it", "ut", "x", "bx", "ex", "sc", "ec", "cp"};
  std::string text;
  for (size_t i = element + 1; i < tokens[element].partner; ++i) {
    const XmlToken& token = tokens[i];
    if (is_xml_text(token))
      text += xml_text(xml, token);
    else if (token.kind == XmlToken::Kind::start &&
             std::find(kCodes.begin(), kCodes.end(), token.local_name()) != kCodes.end())
      i = token.partner;
  }
  return on_one_line(text);
}

}  // namespace v0
}  // namespace transmute
