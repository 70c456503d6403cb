// SPDX-License-Identifier: Apache-2.0
// The records of zip archives.
#include <transmute/common/zip_archive.h>
#include <transmute/fuzz/fuzz.h>

using namespace transmute;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const fuzz::MemoryFile file(data, size);
  fuzz::may_refuse([&] {
    const ZipArchive archive(file.path());
    for (const std::string& name : archive.names())
      fuzz::may_refuse([&] { fuzz::require(archive.read(name).size() == archive.size(name)); });
  });
  return 0;
}
