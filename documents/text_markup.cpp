// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/text_markup.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/documents/html_references.h>
#include <transmute/text/inline_tags.h>

#include <algorithm>
#include <array>
#include <map>

namespace transmute {
inline namespace v0 {

void TextMarkup::add_text(std::string_view words) {
  if (words.empty()) return;
  if (!pieces_.empty() && pieces_.back().kind == Kind::words) {
    pieces_.back().bytes += words;
  } else {
    pieces_.push_back({Kind::words, 0, std::string(words)});
  }
}

void TextMarkup::keep(std::string_view bytes, Kind kind) {
  if (!pieces_.empty() && pieces_.back().kind == kind) {
    pieces_.back().bytes += bytes;
  } else {
    pieces_.push_back({kind, tags_++, std::string(bytes)});
  }
}

void TextMarkup::keep_attached(std::string_view bytes) {
  constexpr std::array kBefore{Kind::kept, Kind::kept_word, Kind::closing};
  if (pieces_.empty() || std::count(kBefore.begin(), kBefore.end(), pieces_.back().kind) == 0) return keep(bytes);
  pieces_.back().bytes += bytes;
}

void TextMarkup::keep_line_break(std::string_view bytes) {
  pieces_.push_back({Kind::line_break, tags_++, std::string(bytes)});
}

size_t TextMarkup::open(std::string_view bytes) {
  pieces_.push_back({Kind::opening, tags_, std::string(bytes)});
  return tags_++;
}

void TextMarkup::close(size_t number, std::string_view bytes) {
  pieces_.push_back({Kind::closing, number, std::string(bytes)});
}

bool TextMarkup::has_letters() const {
  return std::any_of(pieces_.begin(), pieces_.end(), [](const Piece& piece) {
    return piece.kind == Kind::words && transmute::has_letters(piece.bytes);
  });
}

// Returns the shortest name of this kind that no tag among the words begins with.
std::string TextMarkup::tag_name() const {
  size_t longest = 0;  // name of a tag among the words
  for (const Piece& piece : pieces_) {
    if (piece.kind != Kind::words) continue;
    const std::string_view words = piece.bytes;
    for (const std::string_view beginning : {"<x", "</x", "<br x", "<var-x"})
      for (size_t at = words.find(beginning); at != std::string_view::npos; at = words.find(beginning, at + 1)) {
        const size_t name = at + beginning.size() - 1;
        longest = std::max(longest, std::min(words.find_first_not_of('x', name), words.size()) - name);
      }
  }
  return std::string(longest + 1, 'x');
}

// The tag of a piece that is not words. That of a line break tells by its element that one ends there.
std::string TextMarkup::tag(const Piece& piece, const std::string& name) {
  if (piece.kind == Kind::line_break) return fmt::format("<br {}{}/>", name, piece.tag);
  if (piece.kind == Kind::kept_word) return fmt::format("{}{}{}/>", kWordTag, name, piece.tag);
  return fmt::format("<{}{}{}{}>", piece.kind == Kind::closing ? "/" : "", name, piece.tag,
                     piece.kind == Kind::kept ? "/" : "");
}

std::string TextMarkup::text() const {
  const std::string name = tag_name();
  std::string text;
  for (const Piece& piece : pieces_) text += piece.kind == Kind::words ? piece.bytes : tag(piece, name);
  return text;
}

std::string TextMarkup::written(const std::string& translation, const Encode& encode) const {
  const std::string name = tag_name();
  std::map<std::string, const std::string*> tags;
  for (const Piece& piece : pieces_)
    if (piece.kind != Kind::words) tags[tag(piece, name)] = &piece.bytes;
  std::string result;
  size_t begin = 0;
  std::vector<size_t> open;  // where the tags begin that have no end yet
  const auto add_words = [&](size_t end) {
    if (end > begin) result += encode(std::string_view(translation).substr(begin, end - begin), result);
  };
  for (size_t at = translation.find('<'); at != std::string::npos; at = translation.find('<', at + 1)) {
    constexpr size_t kDigits = 20;  // bytes of a tag's number, and "</" and "/>"
    const std::string_view here = std::string_view(translation).substr(at, name.size() + kDigits);
    const auto tag = tags.find(std::string(here.substr(0, std::min(here.find('>'), here.size() - 1) + 1)));
    if (tag == tags.end()) continue;
    add_words(at);
    begin = at + tag->first.size();
    const bool ends = here[1] == '/', is_alone = tag->first[tag->first.size() - 2] == '/';
    if (!ends && !is_alone) open.push_back(result.size());
    result += *tag->second;
    if (!ends || open.empty()) continue;
    // Marks around nothing, "****", would be text.
    const std::string marks = *tag->second + *tag->second;
    if (result.compare(open.back(), std::string::npos, marks) == 0) result.resize(open.back());
    open.pop_back();
  }
  add_words(translation.size());
  return result;
}

}  // namespace v0
}  // namespace transmute
