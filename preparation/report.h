// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/preparation/preparation.h>

#include <string>

namespace transmute {
inline namespace v0 {

/// The result of a preparation as a page of HTML: what was left out by which rule, its limits, and examples.
std::string preparation_page(const Preparation& preparation, const PreparationOutcome& outcome, double seconds);

/// The same as numbers in JSON, without examples.
std::string preparation_json(const Preparation& preparation, const PreparationOutcome& outcome, double seconds);

/// The same as lines for a terminal.
std::string preparation_summary(const Preparation& preparation, const PreparationOutcome& outcome, double seconds);

}  // namespace v0
}  // namespace transmute
