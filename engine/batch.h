// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/engine/network.h>
#include <transmute/engine/workspace.h>
#include <transmute/search/step_model.h>

#include <memory>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace inference {

/// Sentences being decoded by a network, in a workspace of their own: see StepModel::start. Keys and values are in
/// float32 or bfloat16, as the network's precision says.
std::unique_ptr<DecodingBatch> start_batch(std::shared_ptr<const Network> network, std::shared_ptr<Workspace> workspace,
                                           const std::vector<Ids>& sources, AttentionChoice attention,
                                           const std::vector<Ids>& shortlists);

}  // namespace inference
}  // namespace v0
}  // namespace transmute
