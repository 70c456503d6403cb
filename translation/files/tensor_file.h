// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>
#include <transmute/common/export.h>
#include <transmute/common/threads.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Named tensors in a file's order.
using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

/// Writes tensors in the safetensors format (a JSON header of names, types, shapes and offsets, then the raw
/// little-endian data), atomically. The header's metadata hold a CRC-32 of the data. Returns that of the whole file.
/// @throws std::runtime_error naming the file, where it cannot be written.
TRANSMUTE_API uint32_t write_tensor_file(const std::string& path, const NamedTensors& tensors);

/// What a file must fulfil beyond being sound in itself.
struct TensorFileDemands {
  std::optional<uint32_t> checksum{};  ///< CRC-32 of the whole file
  bool finite = false;                 ///< its numbers are finite, as weights have to be
};

/// Reads a safetensors file to CPU tensors. The header is checked against the file's size before anything is
/// allocated, the data against the CRC-32 where the file has one. `parallel_for` runs the reading of its pieces.
/// @throws std::runtime_error naming the file and what is wrong with it: missing, cut short, damaged, unknown
/// type, not as demanded.
TRANSMUTE_API NamedTensors read_tensor_file(const std::string& path, const ParallelFor& parallel_for = one_by_one,
                                            const TensorFileDemands& demands = {});

}  // namespace v0
}  // namespace transmute
