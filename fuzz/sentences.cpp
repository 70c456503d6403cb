// SPDX-License-Identifier: Apache-2.0
// Sentences of any bytes: they come in order, are parts of the text, and cut no character.
#include <transmute/common/text_file.h>
#include <transmute/fuzz/fuzz.h>
#include <transmute/text/sentences.h>

using namespace transmute;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const bool is_utf8 = find_invalid_utf8(text) == std::string::npos;
  fuzz::may_refuse([&] {
    size_t at = 0;
    for (const std::string& sentence : SentenceSplitter().split(text)) {
      at = text.find(sentence, at);
      fuzz::require(at != std::string::npos && !sentence.empty());
      fuzz::require(!is_utf8 || find_invalid_utf8(sentence) == std::string::npos);
      at += sentence.size();
    }
  });
  return 0;
}
