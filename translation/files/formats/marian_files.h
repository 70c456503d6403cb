// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/translation/files/tensor_file.h>

#include <map>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace formats {

/// The content of Marian's `model.npz`.
struct MarianFile {
  NamedTensors tensors;                         ///< float32
  std::map<std::string, std::string> settings;  ///< of `special:model.yml`, as texts without their quotes
};

/// Whether a file is in Marian's binary format, which is not read: `marian-conv` makes an `.npz` of it.
bool is_marian_binary(const std::string& path);

/// @throws std::runtime_error naming the file, and the array that is damaged; also where it is a binary one.
MarianFile read_marian_file(const std::string& path);

/// The content of a file of settings, a `decoder.yml`. @throws std::runtime_error where it is far larger than one.
std::string read_marian_settings(const std::string& path);

/// The top level of a YAML file as Marian writes it: `key: value` lines. A list's items become one text, with ", "
/// between them; maps below are left out.
std::map<std::string, std::string> read_flat_yaml(const std::string& text);

/// The items of the list `key` in such a file.
std::vector<std::string> read_yaml_list(const std::string& text, const std::string& key);

/// Marian's vocabulary, by number: lines `piece: number`, pieces in quotes where YAML needs them, long ones as
/// `? piece` and `: number`. Numbers from `rows` on are left out.
/// @throws std::runtime_error naming file and line.
std::vector<std::string> read_marian_vocabulary(const std::string& path, size_t rows);

}  // namespace formats
}  // namespace v0
}  // namespace transmute
