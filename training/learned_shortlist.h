// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/shortlist.h>
#include <transmute/tokenizer/tokenizer.h>
#include <transmute/training/config.h>

#include <memory>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Learns the translations of the source's tokens by Model 1 from a sample of the training text, as make_shortlist does
/// from whole files. Memory and time are bounded, whatever the size of the text.
std::shared_ptr<const Shortlist> learn_shortlist(const TrainingConfig& config, const Tokenizer& tokenizer);

/// True if even batches of 64 of these texts need less than half of the vocabulary. With more of it, selecting the
/// weights of the listed tokens costs about as much as it saves.
bool shortlist_pays(const Shortlist& shortlist, const Tokenizer& tokenizer, const std::vector<std::string>& texts);

}  // namespace v0
}  // namespace transmute
