// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/model_checksums.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/common/hash.h>

#include <filesystem>
#include <sstream>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {
constexpr size_t kDigits = 8;
constexpr uint64_t kMaxBytes = 1 << 20;   // a model folder has few files
constexpr const char* kSeparator = "  ";  // as the programs for checksums write it
}  // namespace

uint32_t checksum_of(std::string_view content) {
  return crc32(0, content.data(), content.size());
}

ModelChecksums::ModelChecksums(const std::string& folder) : folder_(folder) {
  const std::string path = path_in(folder, kChecksumsFile);
  if (!std::filesystem::exists(path)) return;
  std::istringstream lines(read_regular_file(path, kMaxBytes));
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const bool is_checksum = line.size() > kDigits + 2 && line.compare(kDigits, 2, kSeparator) == 0 &&
                             line.find_first_not_of("0123456789abcdef") == kDigits;
    if (!is_checksum)
      throw std::runtime_error(
          fmt::format("{}:{}: is not a checksum and a file's name; restore the file", path, number));
    set(line.substr(kDigits + 2), static_cast<uint32_t>(std::stoul(line.substr(0, kDigits), nullptr, 16)));
  }
  if (checksums_.empty()) throw std::runtime_error(path + ": is empty; restore the file");
}

void ModelChecksums::save(const std::string& folder) const {
  std::string text;
  for (const auto& [file, checksum] : checksums_) text += fmt::format("{:08x}{}{}\n", checksum, kSeparator, file);
  write_file_atomically(path_in(folder, kChecksumsFile), text);
}

std::optional<uint32_t> ModelChecksums::of(const std::string& file) const {
  if (checksums_.empty()) return {};
  const auto found = checksums_.find(file);
  if (found == checksums_.end())
    throw std::runtime_error(
        fmt::format("{}: has no line for {}; restore the file", path_in(folder_, kChecksumsFile), file));
  return found->second;
}

bool ModelChecksums::file_exists(const std::string& file) const {
  const std::string path = path_in(folder_, file);
  const bool exists = std::filesystem::exists(path);
  if (!exists && has(file))
    throw std::runtime_error(
        fmt::format("{}: is missing, though {} names it; restore the file", path, path_in(folder_, kChecksumsFile)));
  return exists;
}

void ModelChecksums::check(const std::string& file, std::string_view content) const {
  const std::optional<uint32_t> saved = of(file);
  if (saved && *saved != checksum_of(content))
    throw std::runtime_error(fmt::format(
        "{}: is not what was saved with the model: its checksum is {:08x}, {} says {:08x}. Restore the "
        "file, or, if the change is meant, delete {} to accept the folder as it is",
        path_in(folder_, file), checksum_of(content), kChecksumsFile, *saved, path_in(folder_, kChecksumsFile)));
}

}  // namespace v0
}  // namespace transmute
