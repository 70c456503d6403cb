// SPDX-License-Identifier: Apache-2.0
// The pickle of a TorchScript file, in an archive whose other records are sound.
#include <transmute/formats/torchscript_file.h>
#include <transmute/fuzz/fuzz.h>
#include <transmute/tests/support/zip_files.h>

#include <string>

using namespace transmute;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string pickle(reinterpret_cast<const char*>(data), size);
  const std::string bytes = testing::zip_of(
      {{"m/data.pkl", pickle}, {"m/data/0", std::string(64, '\1')}, {"m/data/1", std::string(4096, '\2')}});
  const fuzz::MemoryFile file(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  const ZipArchive archive(file.path());  // is sound: not inside may_refuse
  fuzz::may_refuse([&] {
    for (const auto& [name, array] : read_torchscript_parameters(archive)) array.copy();
  });
  return 0;
}
