// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/packers.h>

#include <spdlog/fmt/fmt.h>

#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

std::string packer_of(std::string_view beginning) {
  constexpr std::pair<std::string_view, const char*> kMarks[] = {
      {"\3757zXZ", "xz"}, {"\50\265\57\375", "zstd"}, {"PK\3\4", "zip"}, {"7z\274\257\47\34", "7-Zip"}};
  for (const auto& [mark, packer] : kMarks)
    if (beginning.substr(0, mark.size()) == mark) return packer;
  constexpr size_t kLevel = 3;  // its place in bzip2's mark
  const bool is_bzip2 =
      beginning.substr(0, kLevel) == "BZh" && beginning.size() > kLevel && beginning.substr(kLevel + 1, 6) == "1AY&SY";
  return is_bzip2 ? "bzip2" : "";
}

void check_not_packed(const std::string& path, std::string_view beginning) {
  if (const std::string packer = packer_of(beginning); !packer.empty())
    throw std::runtime_error(
        fmt::format("{}: is not plain or gzipped text: {} has packed it; unpack the file first", path, packer));
}

}  // namespace v0
}  // namespace transmute
