// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/downloads/downloader.h>
#include <transmute/formats/model_store.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The user's request for a model.
struct ModelRequest {
  std::string source;    ///< "en-de", "hf:owner/name", "hf:owner/name@revision", or the address of an archive
  std::string name;      ///< its name in the store; empty: the last part of the source's
  std::string sha256{};  ///< SHA-256 of the archive; empty: not known
};

/// A request whose meaning is clear before anything is asked of a server.
struct ModelPlan {
  std::string name, source;  ///< as in the store
  std::string hub_name;      ///< "owner/name"; empty: an archive
  std::string revision;      ///< as asked; empty: the main branch
  std::string sha256;        ///< SHA-256 of the archive; may be empty
};

/// @throws std::invalid_argument for a source that is none of those, a name that is_model_name() refuses, or an archive
/// over http: without a checksum
ModelPlan plan_of(const ModelRequest& request, const std::string& endpoint);

/// A model as its source describes it.
struct ModelDescription {
  ModelOrigin origin;
  std::vector<RemoteFile> files;  ///< to download
  std::optional<uint64_t> bytes;  ///< bytes of all files
};

/// @throws std::runtime_error as describe_hub_model() and Downloader
ModelDescription describe_model(Downloader& downloader, const ModelPlan& plan, const std::string& endpoint);

/// Downloads a model into the store, where it appears when it is complete and load_model() has opened it. After a
/// failure or a crash, the next call continues where it was. One process at a time.
/// @returns the model's folder
/// @throws std::runtime_error as Downloader and load_model(), and if the disk has not enough space
std::string download_model(Downloader& downloader, const ModelPlan& plan, const ModelDescription& description);

}  // namespace v0
}  // namespace transmute
