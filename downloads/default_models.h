// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A model that `get` downloads for a pair of languages.
struct DefaultModel {
  const char* pair;    ///< "en-de": source and target
  const char* source;  ///< "hf:owner/name"
};

/// Models of the OPUS-MT project (Tiedemann and Thottingal, 2020). The license that the hub states for one is shown
/// before it is downloaded.
const std::vector<DefaultModel>& default_models();

/// The source for a pair; empty if there is none.
std::string default_source(const std::string& pair);

}  // namespace v0
}  // namespace transmute
