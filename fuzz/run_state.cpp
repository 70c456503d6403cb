// SPDX-License-Identifier: Apache-2.0
// Fuzzes the files that a run reads of itself when it continues: the checkpoint's state, the metrics, and the report
// made of them.
#include <transmute/fuzz/fuzz.h>
#include <transmute/training/checkpoint.h>
#include <transmute/training/reporting/metrics_log.h>
#include <transmute/training/reporting/report.h>

#include <spdlog/spdlog.h>
#include <nlohmann/json.hpp>

using namespace transmute;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  spdlog::set_level(spdlog::level::off);
  const std::string text(reinterpret_cast<const char*>(data), size);
  fuzz::may_refuse([&] {
    const TrainState state = state_from_json(text, "input");
    fuzz::require(state.step >= 0 && to_json(state_from_json(to_json(state), "written")) == to_json(state));
  });
  const std::string path = fuzz::scratch_folder() + "/metrics.jsonl";
  fuzz::write_bytes(path, text);
  const MetricsLog log(path, {1000, false});  // whatever is in the file
  ReportContent content;
  content.records = log.records();
  report_html(content);
  return 0;
}
