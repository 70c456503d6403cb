// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/model_folder.h>
#include <transmute/network/precision.h>

#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace formats {

/// Facts about a model that its files do not contain.
struct ModelFacts {
  std::string source_language;      ///< code, such as "en"; empty: unknown
  std::string target_language;      ///< likewise
  std::string license;              ///< SPDX identifier, such as "MIT"; empty: unknown
  std::vector<std::string> scores;  ///< one line each, such as "BLEU 41.2 on newstest2014"
};

/// The README.md of a model that is passed on: its languages, license, size and scores, with the metadata that Hugging
/// Face's hub reads.
/// @param usage how to run the model, in Markdown
std::string model_card(const LoadedModel& model, Precision precision, const ModelFacts& facts,
                       const std::string& usage);

/// The usage of what save_hugging_face_folder() writes.
std::string hugging_face_usage();

}  // namespace formats
}  // namespace v0
}  // namespace transmute
