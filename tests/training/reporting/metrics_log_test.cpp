// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/training/reporting/metrics_log.h>
#include <transmute/training/reporting/report.h>

#include <nlohmann/json.hpp>
#include <vector>

namespace transmute {
namespace {

using ::testing::ElementsAre;
using testing::TemporaryFolder;
using testing::write_text;

std::vector<int> steps_in(const MetricsLog& log) {
  std::vector<int> steps;
  for (const Json& record : log.records()) steps.push_back(record.at("step"));
  return steps;
}

TEST(MetricsLog, GoesOnWithoutWhatIsNoRecordAndWhatIsRepeated) {
  const TemporaryFolder folder;
  write_text(folder / "metrics.jsonl",
             "{\"type\": \"train\", \"step\": 1}\n"
             "{\"type\": \"train\", \"step\": \"two\"}\n"
             "{\"type\": 5, \"step\": 2}\n"
             "{\"type\": \"train\", \"step\": 2, \"time\": \"noon\"}\n"
             "{\"type\": \"validation\", \"step\": 2, \"samples\": 7}\n"
             "{\"type\": \"validation\", \"step\": 2, \"samples\": [{\"source\": 1}]}\n"
             "[1, 2]\n"
             "{\"type\": \"train\", \"st\n"
             "{\"type\": \"train\", \"step\": 2}\n"
             "{\"type\": \"train\", \"step\": 3}\n");
  MetricsLog log(folder / "metrics.jsonl", {2});
  EXPECT_THAT(steps_in(log), ElementsAre(1, 2));
  Json next{{"type", "train"}, {"step", 3}};
  log.write(next);
  EXPECT_THAT(steps_in(log), ElementsAre(1, 2, 3));
  ReportContent content;
  content.records = log.records();
  EXPECT_FALSE(report_html(content).empty());
}

TEST(MetricsLog, HasNoValidationThatIsStillDue) {
  const TemporaryFolder folder;
  write_text(folder / "metrics.jsonl",
             "{\"type\": \"validation\", \"step\": 1}\n"
             "{\"type\": \"train\", \"step\": 2}\n"
             "{\"type\": \"validation\", \"step\": 2}\n");
  EXPECT_THAT(steps_in(MetricsLog(folder / "metrics.jsonl", {2})), ElementsAre(1, 2, 2));
  const MetricsLog log(folder / "metrics.jsonl", {2, true});
  EXPECT_THAT(steps_in(log), ElementsAre(1, 2));
  EXPECT_EQ(log.records().back().at("type"), "train");
}

}  // namespace
}  // namespace transmute
