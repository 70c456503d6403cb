// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/downloaded_file.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>

#include <filesystem>
#include <stdexcept>

namespace transmute {
inline namespace v0 {
namespace formats {

std::string downloaded_file(const std::string& folder, const std::string& name) {
  const std::string path = path_in(folder, name);
  if (!std::filesystem::exists(path))
    throw std::runtime_error(fmt::format("{}: no such file; download it with the model's other files", path));
  return path;
}

}  // namespace formats
}  // namespace v0
}  // namespace transmute
