// SPDX-License-Identifier: Apache-2.0
// The pickle of a TorchScript file, in an archive whose other records are sound.
#include <transmute/common/hash.h>
#include <transmute/formats/torchscript_file.h>
#include <transmute/fuzz/fuzz.h>

#include <utility>
#include <vector>

using namespace transmute;

namespace {

void add(std::string& bytes, uint64_t value, int count) {
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
}

// Writes an archive as PKWARE's APPNOTE.TXT says, without compression.
std::string archive_of(const std::vector<std::pair<std::string, std::string>>& records) {
  std::string archive, list;
  for (const auto& record : records) {
    const std::string &name = record.first, &content = record.second;
    const uint32_t crc = crc32(0, content.data(), content.size());
    const auto add_common = [&](std::string& to) {
      for (int i = 0; i < 5; ++i) add(to, 0, 2);
      add(to, crc, 4);
      add(to, content.size(), 4);
      add(to, content.size(), 4);
      add(to, name.size(), 2);
      add(to, 0, 2);
    };
    add(list, 0x02014b50, 4);
    add(list, 0, 2);
    add_common(list);
    for (int i = 0; i < 3; ++i) add(list, 0, 2);
    add(list, 0, 4);
    add(list, archive.size(), 4);
    list += name;
    add(archive, 0x04034b50, 4);
    add_common(archive);
    archive += name + content;
  }
  std::string end;
  add(end, 0x06054b50, 4);
  add(end, 0, 4);
  add(end, records.size(), 2);
  add(end, records.size(), 2);
  add(end, list.size(), 4);
  add(end, archive.size(), 4);
  add(end, 0, 2);
  return archive + list + end;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string pickle(reinterpret_cast<const char*>(data), size);
  const std::string bytes =
      archive_of({{"m/data.pkl", pickle}, {"m/data/0", std::string(64, '\1')}, {"m/data/1", std::string(4096, '\2')}});
  const fuzz::MemoryFile file(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  const ZipArchive archive(file.path());  // is sound: not inside may_refuse
  fuzz::may_refuse([&] {
    for (const auto& [name, array] : read_torchscript_parameters(archive)) array.copy();
  });
  return 0;
}
