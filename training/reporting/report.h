// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/json.h>

#include <string>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The content of a run's report.
struct ReportContent {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;  ///< name and value, for the table at the top
  std::string problem;                                     ///< what is wrong with the model; empty: nothing is known
  std::vector<Json> records;                               ///< those of `metrics.jsonl`
  bool smooths_labels = true;                              ///< whether the training's loss is of smoothed labels
  std::string config;                                      ///< the resolved YAML
};

/// One HTML page with nothing outside it, no script among others: curves of losses, scores, learning rate, gradient
/// norm and speed, sample translations over time, facts and config. Light or dark as the reader's system is, down to
/// the width of a telephone. All text is escaped.
std::string report_html(const ReportContent& content);

}  // namespace v0
}  // namespace transmute
