// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/serving/metrics.h>

#include <thread>
#include <vector>

namespace transmute::testing {
namespace {

using ::testing::HasSubstr;

TEST(Histogram, CountsUpToAndIncludingEachBound) {
  Histogram histogram({1, 2, 4});
  for (const double value : {0.5, 1.0, 1.5, 4.0, 5.0}) histogram.add(value);
  EXPECT_EQ(histogram.text("h", "a=\"b\""),
            "h_bucket{a=\"b\",le=\"1\"} 2\nh_bucket{a=\"b\",le=\"2\"} 3\nh_bucket{a=\"b\",le=\"4\"} 4\n"
            "h_bucket{a=\"b\",le=\"+Inf\"} 5\nh_sum{a=\"b\"} 12\nh_count{a=\"b\"} 5\n");
  EXPECT_THAT(histogram.text("h", ""), HasSubstr("h_bucket{le=\"1\"} 2\n"));
  EXPECT_THAT(histogram.text("h", ""), HasSubstr("h_sum 12\nh_count 5\n"));
}

TEST(Metrics, EscapeTheirLabels) {
  EXPECT_EQ(metric_label("path", "a\"b\\c\nd"), "path=\"a\\\"b\\\\c d\"");
  EXPECT_EQ(metric_label("model", "a\xFFz"), "model=\"a\uFFFDz\"") << "Prometheus refuses a page that is not UTF-8";
}

TEST(Metrics, CountFromManyThreads) {
  Metrics metrics;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        metrics.count_request("/translate", 200, 0.002);
        metrics.count_tokens(2, 3);
        metrics.count_batch(5);
        metrics.count_rejection("queue");
      }
    });
  for (auto& thread : threads) thread.join();
  metrics.count_reload(true);
  metrics.count_reload(false);
  MetricsPage page;
  metrics.write(page);
  for (const char* line :
       {"transmute_requests_total{route=\"/translate\",status=\"200\"} 4000\n",
        "transmute_request_seconds_bucket{route=\"/translate\",le=\"0.005\"} 4000\n",
        "transmute_request_seconds_count{route=\"/translate\"} 4000\n",
        "transmute_tokens_total{side=\"source\"} 8000\n", "transmute_tokens_total{side=\"target\"} 12000\n",
        "transmute_batch_segments_bucket{le=\"4\"} 0\n", "transmute_batch_segments_bucket{le=\"8\"} 4000\n",
        "transmute_rejected_total{reason=\"queue\"} 4000\n", "transmute_reloads_total{result=\"done\"} 1\n",
        "transmute_reloads_total{result=\"failed\"} 1\n"})
    EXPECT_THAT(page.text(), HasSubstr(line));
}

}  // namespace
}  // namespace transmute::testing
