// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/foreign/marian_files.h>

#include <string>

namespace transmute {
inline namespace v0 {
namespace formats {

/// True if a file is in Marian's binary format, as the models of Firefox are.
bool is_marian_binary(const std::string& path);

/// Reads a model in Marian's binary format: float32, or 8 or 16 bits as intgemm multiplies them. Ranges of activations
/// (`…_QuantMultA`) are left out.
/// @throws std::runtime_error naming the file, and the array that is damaged or of another type.
MarianFile read_marian_binary(const std::string& path);

/// Reads a model of Marian in either format, that or an archive of NumPy.
MarianFile read_marian_file(const std::string& path);

}  // namespace formats
}  // namespace v0
}  // namespace transmute
