// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/xml_text.h>

#include <transmute/common/ascii_case.h>
#include <transmute/common/text_file.h>
#include <transmute/documents/ascii_text.h>
#include <transmute/documents/html_references.h>
#include <transmute/documents/html_tokens.h>
#include <transmute/documents/message.h>
#include <transmute/metrics/metric_text.h>
#include <transmute/text/sentence_characters.h>
#include <unicode/bytestream.h>
#include <unicode/casemap.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <regex>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

std::string comparison_key(std::string text) {
  const auto is_space = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
  text.erase(std::remove_if(text.begin(), text.end(), is_space), text.end());
  text.erase(0, text.find_first_not_of("<>="));
  std::string key;
  icu::StringByteSink<std::string> sink(&key);
  UErrorCode error = U_ZERO_ERROR;
  icu::CaseMap::utf8Fold(0, text, sink, nullptr, error);
  return key;
}

// True if the pattern, in which * stands for any characters, is that of the text.
bool matches(std::string_view pattern, std::string_view text) {
  size_t star = pattern.find('*');
  if (star == std::string_view::npos || text.substr(0, star) != pattern.substr(0, star)) return false;
  for (size_t at = 0; star != std::string_view::npos; star = pattern.find('*')) {
    at = text.find(pattern.substr(0, star));
    if (at == std::string_view::npos) return false;
    text.remove_prefix(at + star);
    pattern.remove_prefix(star + 1);
  }
  return text.size() >= pattern.size() && text.substr(text.size() - pattern.size()) == pattern;
}

}  // namespace

bool is_xml_text(const XmlToken& token) {
  return token.kind == XmlToken::Kind::text || token.kind == XmlToken::Kind::cdata;
}

std::string xml_text(std::string_view xml, const XmlToken& token) {
  constexpr size_t kCdataBegin = 9, kCdataEnd = 3;
  const std::string_view bytes = token.in(xml);
  if (token.kind == XmlToken::Kind::cdata)
    return std::string(bytes.substr(kCdataBegin, bytes.size() - kCdataBegin - kCdataEnd));
  return with_references_decoded(bytes);
}

std::string without_forbidden(std::string_view text) {
  std::string allowed;
  for (const char c : text)
    if (static_cast<unsigned char>(c) >= ' ' || c == '\t' || c == '\n' || c == '\r') allowed += c;
  return allowed;
}

std::optional<uint32_t> excel_escape_at(std::string_view text, size_t at) {
  const std::string_view here = text.substr(at, kExcelEscapeBytes);
  const bool has_marks = here.size() == kExcelEscapeBytes && here.substr(0, 2) == "_x" && here.back() == '_';
  return has_marks ? utf16_unit(here.substr(2)) : std::nullopt;
}

std::string with_excel_escapes_decoded(std::string_view text) {
  std::string decoded;
  Utf16Units units;
  for (size_t at = 0; at < text.size(); ++at) {
    const auto unit = excel_escape_at(text, at);
    if (unit && units.add(*unit, decoded)) {
      at += kExcelEscapeBytes - 1;
    } else {
      decoded += text[at];
    }
  }
  return decoded;
}

std::string excel_escaped(std::string_view text) {
  std::string escaped;
  for (size_t at = 0; at < text.size(); ++at) {
    if (excel_escape_at(text, at)) escaped += "_x005F";
    escaped += text[at];
  }
  return escaped;
}

void KeptTexts::add(std::string_view text) {
  texts_.insert(comparison_key(std::string(text)));
}

void KeptTexts::add_pattern(std::string_view pattern) {
  constexpr size_t kMostPatterns = 100;  // each is compared with each text
  const std::string key = comparison_key(std::string(pattern));
  const size_t size = characters_in(key), given = size - static_cast<size_t>(std::count(key.begin(), key.end(), '*'));
  const size_t least = !key.empty() && key.front() == '*' && key.back() == '*' ? 4 : 3;  // "and" is in many words
  if (given >= least && size <= kMostCharacters && patterns_.size() < kMostPatterns) patterns_.insert(key);
}

bool KeptTexts::contain(const std::string& text) const {
  const std::string key = comparison_key(text);
  return texts_.count(key) > 0 || (characters_in(key) <= kMostCharacters &&
                                   std::any_of(patterns_.begin(), patterns_.end(),
                                               [&](const std::string& pattern) { return matches(pattern, key); }));
}

bool is_made_description(std::string_view text) {
  constexpr const char* kPictures = "avif bmp emf eps gif heic ico jfif jpeg jpg pdf pict png svg tif tiff webp wmf";
  constexpr size_t kLongestCell = 12;
  static const std::regex kCell("\\$?[A-Z]{1,3}\\$?[0-9]+");  // after the name of a sheet and a full stop
  const std::string ending(text.substr(std::min(text.rfind('.'), text.size() - 1) + 1));
  return text.find('\\') != std::string_view::npos || text.find("://") != std::string_view::npos ||
         lists(kPictures, lower_case(ending)) || is_no_language(std::string(text)) ||
         (ending.size() <= kLongestCell && std::regex_match(ending, kCell));
}

bool has_small_words(std::string_view text, size_t fewest) {
  const std::vector<std::string_view> words = split_at_space(text);
  const auto small = std::count_if(words.begin(), words.end(), [](std::string_view word) {
    word = word.substr(0, word.find_last_not_of(",.:!?") + 1);
    return word.size() > 1 && sentence_characters::all_characters(word, [](UChar32 c) { return u_islower(c) != 0; });
  });
  return words.size() >= fewest && 2 * static_cast<size_t>(small) > words.size();
}

std::string xml_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : without_forbidden(text)) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string xml_cdata(std::string_view text) {
  std::string section = "<![CDATA[";
  const std::string allowed = without_forbidden(text);
  for (size_t at = 0; at < allowed.size(); ++at) {
    if (allowed.compare(at, 3, "]]>") == 0)
      section += "]]]]><![CDATA[>", at += 2;
    else
      section += allowed[at];
  }
  return section + "]]>";
}

}  // namespace v0
}  // namespace transmute
