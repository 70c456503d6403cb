// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The origin of a downloaded model, which its folder keeps in `download.json`.
struct ModelOrigin {
  std::string source;                  ///< "hf:owner/name" or the address of an archive
  std::string revision;                ///< the hub's commit, or an archive's SHA-256; empty: not known
  std::string license;                 ///< as the source states it; empty: it does not
  std::vector<std::string> languages;  ///< as the source names them
};

/// The folder of the user's downloaded models, `${XDG_DATA_HOME:-~/.local/share}/transmute/models`; empty if the
/// environment names no home. It need not exist.
std::string model_store();

/// The same for those who cannot do without it.
/// @throws std::runtime_error if the environment names no home
std::string required_model_store();

/// True if a model may have this name in the store: up to 100 letters, digits and ".", "_", "-", of which the first is
/// a letter or a digit.
bool is_model_name(const std::string& name);

/// The path of the model that a user means: `name` itself, unless there is no such path but a stored model of this
/// name.
std::string model_path(const std::string& name);

/// A model in the store.
struct StoredModel {
  std::string name, folder;
  uint64_t bytes = 0;                 ///< bytes of its files
  std::optional<ModelOrigin> origin;  ///< nothing if the folder was put there by hand
};

/// All models in the store, by name.
/// @throws std::runtime_error naming the folder that cannot be read
std::vector<StoredModel> stored_models();

/// Nothing if the folder has no such file, or a damaged one.
std::optional<ModelOrigin> read_model_origin(const std::string& folder);

void write_model_origin(const std::string& folder, const ModelOrigin& origin);

/// The bytes of all files in a folder and below.
uint64_t bytes_in(const std::string& folder);

/// 297,911,201 -> "298 MB".
std::string size_text(uint64_t bytes);

}  // namespace v0
}  // namespace transmute
