// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/downloads/downloader.h>
#include <transmute/formats/model_store.h>

#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A model on the hub, pinned to one commit.
struct HubModel {
  ModelOrigin origin;
  std::vector<RemoteFile> files;  ///< those that transmute reads, with sizes and digests
};

/// The hub's address: `HF_ENDPOINT` for a mirror, else https://huggingface.co. Without a slash at the end.
/// @throws std::invalid_argument for a variable that is no address
std::string hub_endpoint();

/// True for the name of a model on the hub: "owner/name".
bool is_hub_name(const std::string& name);

/// Asks the hub's interface for a model.
/// @param revision a branch, tag or commit; empty: the main branch
/// @throws std::runtime_error if the hub does not answer, answers something else, or has no model there that
/// transmute reads
HubModel describe_hub_model(Downloader& downloader, const std::string& endpoint, const std::string& name,
                            const std::string& revision);

/// The files of a model that transmute reads, by name: settings, vocabularies, and weights in the first of the formats
/// safetensors, PyTorch, CTranslate2, Marian, and checkpoints of training programs that is there. Empty if there are
/// no weights, or several checkpoints of which none is called the best.
std::vector<std::string> needed_files(const std::vector<std::string>& names);

}  // namespace v0
}  // namespace transmute
