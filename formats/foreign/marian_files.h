// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/tensor_file.h>

#include <map>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace formats {

/// The content of Marian's `model.npz`.
struct MarianFile {
  NamedArrays tensors;                          ///< float32
  std::map<std::string, std::string> settings;  ///< of `special:model.yml`, as texts without their quotes
};

/// Whether a file is in Marian's binary format, which is not read: `marian-conv` makes an `.npz` of it.
bool is_marian_binary(const std::string& path);

/// @throws std::runtime_error naming the file, and the array that is damaged; also where it is a binary one.
MarianFile read_marian_file(const std::string& path);

/// What is read of a `decoder.yml`; empty where it does not say so.
struct MarianDecoder {
  std::vector<std::string> models, vocabs;
  std::string beam_size, normalize;
};

/// @param name what messages call the text
/// @throws std::runtime_error where it is no YAML or a value is of another kind
MarianDecoder parse_marian_decoder(const std::string& text, const std::string& name);
/// @throws std::runtime_error also where the file is far larger than one
MarianDecoder read_marian_decoder(const std::string& path);

/// The top level of a YAML file as Marian writes it: `key: value` lines. A list's items become one text, with ", "
/// between them; maps below are left out.
std::map<std::string, std::string> read_flat_yaml(const std::string& text);

/// Marian's vocabulary, by number. As in Marian, a `.yml`, `.yaml` or `.json` has the number of each piece, and any
/// other file has one piece a line. YAML is read as Marian writes it: lines `piece: number`, pieces in quotes where
/// YAML needs them, long ones as `? piece` and `: number`. Numbers from `rows` on are left out.
/// @throws std::runtime_error naming the file, and the line or the piece.
std::vector<std::string> read_marian_vocabulary(const std::string& path, size_t rows);

}  // namespace formats
}  // namespace v0
}  // namespace transmute
