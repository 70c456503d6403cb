// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/common/threads.h>
#include <transmute/network/array.h>

#include <cstdint>
#include <optional>
#include <string>

namespace transmute {
inline namespace v0 {

/// Writes arrays in the safetensors format (a JSON header of names, types, shapes and offsets, then the raw
/// little-endian data), atomically. The header's metadata contain a CRC-32 of the data. Returns the CRC-32 of the whole
/// file.
/// @throws std::runtime_error naming the file if it cannot be written.
TRANSMUTE_API uint32_t write_tensor_file(const std::string& path, const NamedArrays& arrays);

/// The place of a file's numbers once it is read.
enum class WeightMemory {
  mapped,  ///< in the file's own pages, which processes share; see MappedFile
  own      ///< in memory of this process, whatever becomes of the file
};

/// Additional requirements on a file and its reading.
struct TensorFileDemands {
  std::optional<uint32_t> checksum{};  ///< CRC-32 of the whole file
  bool finite = false;                 ///< all values must be finite, as in weights
  WeightMemory memory = WeightMemory::own;
};

/// Reads a safetensors file. The header is checked against the file's size before anything is
/// allocated, and the data against the CRC-32 if the file has one. `parallel_for` distributes the reading.
/// @throws std::runtime_error naming the file and what is wrong with it: missing, truncated, damaged, of an
/// unknown type, or contrary to `demands`.
TRANSMUTE_API NamedArrays read_tensor_file(const std::string& path, const ParallelFor& parallel_for = one_by_one,
                                           const TensorFileDemands& demands = {});

}  // namespace v0
}  // namespace transmute
