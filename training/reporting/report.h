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
  std::string problem;                                     ///< fault of the model; empty: none is known
  std::vector<Json> records;                               ///< records of `metrics.jsonl`
  bool smooths_labels = true;                              ///< whether the training's loss includes label smoothing
  std::string config;                                      ///< the resolved YAML
};

/// One HTML page that needs no other file and no script: curves of losses, scores, learning rate, gradient norm and
/// speed, sample translations over time, facts and config. It is light or dark as the reader's system is, and fits the
/// width of a telephone. All text is escaped.
std::string report_html(const ReportContent& content);

}  // namespace v0
}  // namespace transmute
