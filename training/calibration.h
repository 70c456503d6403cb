// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/checks/confidence.h>
#include <transmute/text/types.h>
#include <transmute/tokenizer/tokenizer.h>

#include <optional>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The curve that explains best how good translations of held-out text are, and which of their words the references
/// have; nothing for fewer than 100 translations with a token.
/// @param target tokenizer of the translations
std::optional<ConfidenceCurve> fit_confidence(const std::vector<Translation>& translations,
                                              const std::vector<std::string>& references, const SubwordModel& target);

}  // namespace v0
}  // namespace transmute
