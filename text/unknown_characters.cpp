// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/sentence_characters.h>
#include <transmute/text/unknown_characters.h>

#include <transmute/common/text_file.h>
#include <transmute/text/glossary.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <iterator>
#include <string>

namespace transmute {
inline namespace v0 {

namespace {

std::string utf8_of(int32_t character) {
  std::string text;
  append_utf8(text, static_cast<uint32_t>(character));
  return text;
}

}  // namespace

UnknownCharacters::UnknownCharacters(const SubwordModel& vocabulary) : vocabulary_(vocabulary) {
  constexpr int32_t kInNoText = 0x10FFFD;  // for private use
  exist_ = !can_write(vocabulary, utf8_of(kInNoText));
  for (int64_t id = special_ids::kCount; exist_ && id < vocabulary.size(); ++id) {
    const std::string piece = vocabulary.piece(id);
    sentence_characters::all_characters(piece, [&](UChar32 c) {
      if (c >= 0) in_pieces_.insert(c);
      return true;
    });
  }
  // Pieces that name languages or fill up the vocabulary do not spell their characters.
  for (auto c = in_pieces_.begin(); c != in_pieces_.end();)
    c = can_write(vocabulary, utf8_of(*c)) ? std::next(c) : in_pieces_.erase(c);
}

bool UnknownCharacters::is_known(int32_t character) const {
  return in_pieces_.count(character) > 0 || can_write(vocabulary_, utf8_of(character));
}

bool UnknownCharacters::contain(int32_t character) const {
  const auto has = [&](UProperty property) { return u_hasBinaryProperty(character, property) != 0; };
  const bool is_ignorable = has(UCHAR_DEFAULT_IGNORABLE_CODE_POINT);
  // Marks are known with their letters, and spaces and controls show nothing.
  const bool is_visible = u_isgraph(character) != 0 && !has(UCHAR_GRAPHEME_EXTEND);
  const bool ends_sentence = has(UCHAR_S_TERM);  // which decides where texts are cut
  return exist_ && (is_ignorable || is_visible) && !ends_sentence && !is_known(character);
}

}  // namespace v0
}  // namespace transmute
