// SPDX-License-Identifier: Apache-2.0
// Whole models of other programs, those of the tests, one of whose files is replaced. The first line of an input names
// the file, and the rest is its content.
#include <transmute/formats/foreign/load_model.h>
#include <transmute/fuzz/fuzz.h>

#include <filesystem>
#include <set>

using namespace transmute;

namespace {

namespace fs = std::filesystem;

const fs::path kModels = TRANSMUTE_TEST_DATA "/formats";

std::set<fs::path> copy_models(const fs::path& copy) {
  std::set<fs::path> files;
  fs::copy(kModels, copy, fs::copy_options::recursive);
  for (const auto& entry : fs::recursive_directory_iterator(copy))
    if (entry.is_regular_file()) files.insert(entry.path().lexically_relative(copy));
  return files;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fs::path copy = fs::path(fuzz::scratch_folder()) / "models";
  static const std::set<fs::path> files = copy_models(copy);
  const std::string input(reinterpret_cast<const char*>(data), size);
  const size_t end = input.find('\n');
  const fs::path file = input.substr(0, end);
  if (end == std::string::npos || files.count(file) == 0) return 0;
  fuzz::write_bytes(copy / file, input.substr(end + 1));
  fuzz::may_refuse([&] { load_model(copy / file.parent_path()); });
  fs::copy_file(kModels / file, copy / file, fs::copy_options::overwrite_existing);
  return 0;
}
