// SPDX-License-Identifier: Apache-2.0
// Tables of a token's translations.
#include <transmute/fuzz/fuzz.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/text/shortlist.h>

using namespace transmute;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Tokenizer tokenizer = testing::tiny_tokenizer();
  const fuzz::MemoryFile file(data, size);
  fuzz::may_refuse([&] {
    ShortlistOptions options;
    options.table = file.path();
    const Shortlist shortlist(options, tokenizer);
    for (const int64_t id : shortlist.tokens_for({4, 5, 6})) fuzz::require(id >= 0 && id < tokenizer.target().size());
  });
  return 0;
}
