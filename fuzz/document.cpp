// SPDX-License-Identifier: Apache-2.0
// HTML and what a model makes of it: a browser sees no markup in the answer that the page did not have. Other texts
// come back byte for byte.
#include <transmute/documents/document.h>
#include <transmute/fuzz/fuzz.h>

#include <algorithm>
#include <cctype>

using namespace transmute;

namespace {

// The document writes line ends within segments as blanks.
std::string on_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

bool begins_markup(const std::string& text, size_t at) {
  const char next = at + 1 < text.size() ? text[at + 1] : ' ';
  return text[at] == '<' &&
         (std::isalpha(static_cast<unsigned char>(next)) != 0 || next == '/' || next == '!' || next == '?');
}

void require_no_new_markup(const std::string& answer, const std::string& page) {
  const std::string known = on_one_line(page), text = on_one_line(answer);
  for (size_t at = 0; at < text.size(); ++at) {
    if (!begins_markup(text, at)) continue;
    const size_t end = std::min(text.find('>', at), text.size() - 1);
    fuzz::require(known.find(text.substr(at, end + 1 - at)) != std::string::npos);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const bool split_sentences = (input.byte() & 1) != 0;
  const std::string translation = input.text(), page = input.rest();
  const Document document(page, TextFormat::html, split_sentences);
  require_no_new_markup(document.with(document.segments()), page);
  std::vector<std::string> translations = document.segments();
  for (std::string& segment : translations) segment = translation + segment;
  require_no_new_markup(document.with(translations), page);
  require_no_new_markup(document.beginning(translations, 0), page);
  const Document tagged(page, TextFormat::tags, split_sentences);
  tagged.with(tagged.segments());
  for (const TextFormat format : {TextFormat::text, TextFormat::tags}) {
    const Document whole(page, format, /*split_sentences=*/false);
    fuzz::require(whole.with(whole.segments()) == page);
  }
  return 0;
}
