// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/types.h>

#include <vector>

namespace transmute {
inline namespace v0 {

/// Minimum Bayes risk (Kumar and Byrne, 2004): orders the candidates by their expected utility, each compared with
/// every one as if it were the reference, and keeps the first `kept` different texts. References count by their
/// probability among the candidates, or equally where the candidates are samples (Eikema and Aziz, 2020), which have
/// come as often as they are probable. Equal ones stay in their order.
void choose_by_risk(std::vector<Hypothesis>& candidates, MbrUtility utility, bool are_samples, size_t kept);

}  // namespace v0
}  // namespace transmute
