// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/downloaded_file.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>

#include <filesystem>
#include <stdexcept>
#include <string_view>

namespace transmute {
inline namespace v0 {
namespace formats {

std::string downloaded_file(const std::string& folder, const std::string& name) {
  constexpr std::string_view kPointerBegin = "version https://git-lfs";
  const std::string path = path_in(folder, name);
  if (!std::filesystem::exists(path))
    throw std::runtime_error(fmt::format("{}: no such file; download it with the model's other files", path));
  std::string begin(kPointerBegin.size(), '\0');
  begin.resize(InputFile(path).read(0, begin.data(), begin.size()));
  if (begin == kPointerBegin)
    throw std::runtime_error(
        fmt::format("{}: a pointer of Git LFS in place of the file; run `git lfs pull` in its folder", path));
  return path;
}

}  // namespace formats
}  // namespace v0
}  // namespace transmute
