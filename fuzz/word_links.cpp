// SPDX-License-Identifier: Apache-2.0
// Word alignments in Pharaoh's notation.
#include <transmute/fuzz/fuzz.h>
#include <transmute/training/data/word_links.h>

using namespace transmute;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::may_refuse([&] {
    for (const auto& [source, target] : parse_word_links(std::string(reinterpret_cast<const char*>(data), size)))
      fuzz::require(source >= 0 && target >= 0);
  });
  return 0;
}
