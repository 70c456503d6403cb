// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/tensor_file.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/common/hash.h>
#include <transmute/common/json.h>
#include <transmute/common/mapped_file.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

constexpr std::pair<NumberType, const char*> kTypeNames[] = {
    {NumberType::float32, "F32"}, {NumberType::float64, "F64"}, {NumberType::bfloat16, "BF16"},
    {NumberType::float16, "F16"}, {NumberType::int64, "I64"},   {NumberType::int32, "I32"},
    {NumberType::int16, "I16"},   {NumberType::int8, "I8"},     {NumberType::uint8, "U8"},
    {NumberType::boolean, "BOOL"}};

constexpr size_t kLengthBytes = sizeof(uint64_t);
constexpr size_t kAlignment = 64;  // alignment of the data, for products that read them where they are mapped
// More than the optimizer's state of 1,000 layers has; a header is read into memory many times its size.
constexpr size_t kMaxTensors = 100'000;
constexpr uint64_t kMaxHeaderBytes = 32 << 20;  // a third of what the format allows
constexpr size_t kMaxDimensions = 16;           // most dimensions of a tensor
constexpr size_t kMaxHeaderValues = kMaxTensors * (kMaxDimensions + 8);
constexpr JsonLimits kHeaderLimits{/*depth=*/4, /*members=*/kMaxTensors, /*repeated_names=*/false, kMaxHeaderValues};
constexpr const char* kMetadata = "__metadata__";
constexpr const char* kChecksum = "crc32";

const char* safetensors_name(NumberType type) {
  for (const auto& [known, name] : kTypeNames)
    if (known == type) return name;
  throw std::logic_error("a type of numbers that safetensors files do not have");
}

[[noreturn]] void damaged(const std::string& path, const std::string& what) {
  throw std::runtime_error(fmt::format("{}: damaged ({}); restore the file or use another checkpoint", path, what));
}

// The place of a tensor's data, relative to the end of the header.
struct Entry {
  std::string name;
  NumberType type;
  std::vector<int64_t> shape;
  uint64_t begin;
  uint64_t end;
};

NumberType parse_type(const std::string& path, const std::string& name) {
  for (const auto& [type, known] : kTypeNames)
    if (name == known) return type;
  throw std::runtime_error(fmt::format("{}: holds a tensor of the unknown type '{}'", path, name));
}

// The header of the file. The JSON reader refuses names that are no UTF-8.
Json parse_header(const std::string& path, const std::string& text) {
  if (text.empty() || text.front() != '{') damaged(path, "its header does not begin with '{'");
  try {
    return parse_json(text, kHeaderLimits);
  } catch (const JsonLimitError& error) {
    damaged(path, fmt::format("in its header, {}", error.what()));
  }
}

// A whole number, which the JSON reader would also make of 1.5.
void require_integer(const std::string& path, const std::string& name, const Json& json) {
  if (!json.is_number_integer()) damaged(path, fmt::format("a size or offset of '{}' is not a whole number", name));
}

Entry parse_entry(const std::string& path, const std::string& name, const Json& json) {
  const Json& shape = json.at("shape");
  const Json& offsets = json.at("data_offsets");
  for (const Json* numbers : {&shape, &offsets}) {
    if (!numbers->is_array()) damaged(path, fmt::format("shape and data_offsets of '{}' must be lists", name));
    for (const Json& number : *numbers) require_integer(path, name, number);
  }
  if (shape.size() > kMaxDimensions) damaged(path, fmt::format("impossible shape of '{}'", name));
  if (offsets.size() != 2) damaged(path, fmt::format("'{}' needs two data_offsets", name));
  Entry entry{name, parse_type(path, json.at("dtype").get<std::string>()), shape.get<std::vector<int64_t>>(),
              offsets.at(0).get<uint64_t>(), offsets.at(1).get<uint64_t>()};
  uint64_t bytes = size_of(entry.type), reach = bytes;  // sizes that overflow are refused beside a 0, too
  for (const int64_t size : entry.shape) {
    const auto count = static_cast<uint64_t>(std::max<int64_t>(size, 1));
    if (size < 0 || reach > (uint64_t{1} << 62) / count) damaged(path, fmt::format("impossible shape of '{}'", name));
    bytes *= static_cast<uint64_t>(size);
    reach *= count;
  }
  if (entry.end < entry.begin || entry.end - entry.begin != bytes)
    damaged(path, fmt::format("shape and size of '{}' disagree", name));
  return entry;
}

// Sorted by place; they must fill the data part without a gap or an overlap.
std::vector<Entry> parse_entries(const std::string& path, const Json& header, uint64_t data_bytes) {
  std::vector<Entry> entries;
  for (const auto& [name, json] : header.items()) {
    if (name != kMetadata) {
      entries.push_back(parse_entry(path, name, json));
      continue;
    }
    if (!json.is_object()) damaged(path, "its metadata is not a map");
    for (const auto& [key, value] : json.items())
      if (!value.is_string()) damaged(path, fmt::format("its metadata's '{}' is not text", key));
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.begin < b.begin; });
  uint64_t position = 0;
  for (const auto& entry : entries) {
    if (entry.begin != position) damaged(path, fmt::format("gap or overlap before '{}'", entry.name));
    position = entry.end;
  }
  if (position != data_bytes)
    damaged(path, fmt::format("{} bytes of data where the header says {}", data_bytes, position));
  return entries;
}

// One thread reads so much at a time.
constexpr uint64_t kChunkBytes = 4 << 20;
struct Chunk {
  uint64_t offset;  // in the file
  char* to;
  uint64_t bytes;
  size_t array;
  bool is_mapped;  // in `to` already
  uint32_t crc = 0;
  bool is_finite = true;
};

struct ChunkChecks {
  bool checksum;
  bool finite;
};

// In parts that are still in the cache when they are checked.
void read_chunk(const InputFile& file, const std::string& path, ChunkChecks checks, NumberType type, Chunk& chunk) {
  constexpr uint64_t kPartBytes = 1 << 18;
  for (uint64_t at = 0; at < chunk.bytes; at += kPartBytes) {
    const size_t bytes = std::min(kPartBytes, chunk.bytes - at);
    if (!chunk.is_mapped && file.read(chunk.offset + at, chunk.to + at, bytes) < bytes) damaged(path, "cut short");
    if (checks.checksum) chunk.crc = crc32(chunk.crc, chunk.to + at, bytes);
    if (checks.finite && !all_finite(chunk.to + at, bytes / size_of(type), type)) chunk.is_finite = false;
  }
  // Most processes use less of a mapped file than they check, and not all of it at once.
  if (chunk.is_mapped) MappedFile::forget(chunk.to, chunk.bytes);
}

}  // namespace

uint32_t write_tensor_file(const std::string& path, const NamedArrays& arrays) {
  Json header = Json::object();
  header[kMetadata] = Json::object();
  uint64_t position = 0;
  uint32_t crc = 0;
  for (const auto& [name, array] : arrays) {
    const uint64_t bytes = array.bytes();
    header[name] = {{"dtype", safetensors_name(array.type())},
                    {"shape", array.shape()},
                    {"data_offsets", {position, position + bytes}}};
    position += bytes;
    crc = crc32(crc, array.data(), bytes);
  }
  header[kMetadata] = {{"format", "pt"}, {kChecksum, fmt::format("{:08x}", crc)}};
  std::string text = header.dump();
  const size_t before_data = (kLengthBytes + text.size() + kAlignment - 1) / kAlignment * kAlignment;
  text.resize(before_data - kLengthBytes, ' ');

  AtomicFile file(path);
  const uint64_t length = text.size();
  file.write(&length, kLengthBytes);
  file.write(text.data(), text.size());
  for (const auto& [name, array] : arrays) file.write(array.data(), array.bytes());
  file.commit();
  const uint32_t before = crc32(crc32(0, &length, kLengthBytes), text.data(), text.size());
  return joined_crc32(before, crc, position);
}

NamedArrays read_tensor_file(const std::string& path, const ParallelFor& parallel_for,
                             const TensorFileDemands& demands) {
  const InputFile file(path);
  uint64_t header_bytes = 0;
  if (file.read(0, &header_bytes, kLengthBytes) < kLengthBytes) damaged(path, "shorter than a header");
  if (header_bytes > file.size() - kLengthBytes) damaged(path, "impossible header size");
  if (header_bytes > kMaxHeaderBytes)
    damaged(path, fmt::format("a header of {} bytes; {} is the most", header_bytes, kMaxHeaderBytes));
  std::string text(header_bytes, '\0');
  if (file.read(kLengthBytes, text.data(), text.size()) < text.size()) damaged(path, "cut short");

  const uint64_t data_begin = kLengthBytes + header_bytes;
  Json header;
  std::vector<Entry> entries;
  try {
    header = parse_header(path, text);
    entries = parse_entries(path, header, file.size() - data_begin);
  } catch (const Json::exception& error) {
    damaged(path, fmt::format("unreadable header: {}", error.what()));
  }

  // All memory before any is touched: see map_memory.
  const auto mapping = demands.memory == WeightMemory::mapped ? std::make_shared<MappedFile>(file, path) : nullptr;
  NamedArrays arrays;
  std::vector<Chunk> chunks;
  for (const auto& entry : entries) {
    const uint64_t offset = data_begin + entry.begin;
    const bool is_mapped = mapping && offset % size_of(entry.type) == 0;
    arrays.emplace_back(entry.name, is_mapped ? Array(entry.shape, entry.type,
                                                      MappedFile::part(mapping, offset, entry.end - entry.begin))
                                              : Array(entry.shape, entry.type));
    char* data = static_cast<char*>(arrays.back().second.data());
    for (uint64_t at = entry.begin; at < entry.end; at += kChunkBytes)
      chunks.push_back({data_begin + at, data + (at - entry.begin), std::min(kChunkBytes, entry.end - at),
                        arrays.size() - 1, is_mapped});
  }

  const bool has_checksum = header.contains(kMetadata) && header[kMetadata].contains(kChecksum);
  const ChunkChecks checks{has_checksum || demands.checksum, demands.finite};
  parallel_for(chunks.size(),
               [&](size_t p) { read_chunk(file, path, checks, entries[chunks[p].array].type, chunks[p]); });
  uint32_t crc = 0;
  uint32_t file_crc = crc32(crc32(0, &header_bytes, kLengthBytes), text.data(), text.size());
  for (const Chunk& chunk : chunks) {
    crc = joined_crc32(crc, chunk.crc, chunk.bytes);
    file_crc = joined_crc32(file_crc, chunk.crc, chunk.bytes);
  }
  if (demands.checksum.value_or(file_crc) != file_crc) damaged(path, "its checksum does not match its content");
  if (has_checksum && header[kMetadata][kChecksum] != fmt::format("{:08x}", crc))
    damaged(path,
            fmt::format("its checksum does not match its content; if you changed that, leave {} out of the metadata",
                        kChecksum));
  for (const Chunk& chunk : chunks)
    if (!chunk.is_finite)
      damaged(path, fmt::format("'{}' has numbers that are infinite or no numbers", entries[chunk.array].name));
  return arrays;
}

}  // namespace v0
}  // namespace transmute
