// SPDX-License-Identifier: Apache-2.0
// Files of tensors: their memory is no more than the file's.
#include <transmute/formats/tensor_file.h>
#include <transmute/fuzz/fuzz.h>

using namespace transmute;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const fuzz::MemoryFile file(data, size);
  for (const bool finite : {false, true})
    fuzz::may_refuse([&] {
      size_t bytes = 0;
      for (const auto& [name, array] : read_tensor_file(file.path(), one_by_one, {{}, finite})) bytes += array.bytes();
      fuzz::require(bytes <= size);
    });
  return 0;
}
