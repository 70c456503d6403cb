// SPDX-License-Identifier: Apache-2.0
// Text files, plain and gzipped: lines are UTF-8 and have no line end.
#include <transmute/common/text_file.h>
#include <transmute/fuzz/fuzz.h>

using namespace transmute;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  fuzz::require(find_invalid_utf8(bytes) == std::string_view::npos || find_invalid_utf8(bytes) < size);
  const fuzz::MemoryFile file(data, size);
  fuzz::may_refuse([&] {
    constexpr size_t kMost = 1000;
    LineReader reader(file.path(), {InvalidUtf8::fail, kMost});
    for (std::string line; reader.next(line);)
      fuzz::require(line.size() <= kMost && line.find('\n') == std::string::npos &&
                    find_invalid_utf8(line) == std::string::npos);
  });
  return 0;
}
