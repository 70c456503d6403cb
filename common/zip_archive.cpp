// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/zip_archive.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/hash.h>

#include <utility>

namespace transmute {
inline namespace v0 {

ZipArchive::ZipArchive(const std::string& path) : file_(path), bytes_(zip_bytes(path, file_)) {
  for (ZipRecord& record : read_zip_directory(bytes_).records) {
    const std::string name = record.name.substr(record.name.find('/') + 1);
    if (!records_.emplace(name, std::move(record)).second)
      damaged_archive(path, fmt::format("it has '{}' twice", name));
  }
}

std::vector<std::string> ZipArchive::names() const {
  std::vector<std::string> names;
  for (const auto& [name, record] : records_) names.push_back(name);
  return names;
}

const ZipRecord& ZipArchive::record(const std::string& name) const {
  const auto found = records_.find(name);
  if (found == records_.end()) damaged_archive(bytes_.name, fmt::format("it has no record '{}'", name));
  return found->second;
}

// The place of the first byte of a record, all of whose bytes are in the file.
uint64_t ZipArchive::data_begin(const std::string& name) const {
  const ZipRecord& found = record(name);
  if (!found.is_stored()) damaged_archive(bytes_.name, fmt::format("'{}' is compressed", name));
  return zip_data_begin(bytes_, found);
}

uint64_t ZipArchive::size(const std::string& name) const {
  data_begin(name);
  return record(name).size;
}

std::string ZipArchive::read(const std::string& name) const {
  std::string content(size(name), '\0');
  read_into(name, content.data(), content.size());
  if (crc32(0, content.data(), content.size()) != record(name).crc)
    damaged_archive(bytes_.name, fmt::format("'{}' does not match its checksum", name));
  return content;
}

void ZipArchive::read_into(const std::string& name, void* to, uint64_t count) const {
  const uint64_t begin = data_begin(name);
  if (count > record(name).size || file_.read(begin, to, count) < count)
    damaged_archive(bytes_.name, fmt::format("'{}' is cut short", name));
}

}  // namespace v0
}  // namespace transmute
