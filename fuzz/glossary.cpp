// SPDX-License-Identifier: Apache-2.0
// Files of terms, and texts in which they are looked for.
#include <transmute/fuzz/fuzz.h>
#include <transmute/text/glossary.h>

using namespace transmute;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const fuzz::MemoryFile file(data, size);
  fuzz::may_refuse([&] {
    const std::vector<GlossaryEntry> entries = read_glossary(file.path());
    const Glossary glossary(entries);
    for (const GlossaryEntry& entry : entries) {
      const std::string text = entry.source + " and " + entry.target;
      for (const TermMatch& match : glossary.matches_in(text))
        fuzz::require(match.begin < match.end && match.end <= text.size());
    }
  });
  return 0;
}
