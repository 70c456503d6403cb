// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Counts how often values fall below given bounds.
class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)), counts_(bounds_.size()) {}
  void add(double value);
  /// In Prometheus' text format. `labels` are of the form `a="b"`, or empty.
  std::string text(const std::string& name, const std::string& labels) const;

 private:
  std::vector<double> bounds_;
  std::vector<size_t> counts_;  // number of values up to each bound and above the one before
  size_t all_ = 0;
  double sum_ = 0;
};

/// Writes one metric after the other in Prometheus' text format.
class MetricsPage {
 public:
  void begin(const std::string& name, const std::string& type, const std::string& help);
  /// `labels` as for Histogram.
  void add(const std::string& name, const std::string& labels, double value);
  void add(const std::string& text) { text_ += text; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// A label with its value in quotes.
std::string metric_label(const std::string& name, const std::string& value);

/// The work of a server since it started. Safe to use from many threads.
class Metrics {
 public:
  void count_request(const std::string& route, int status, double seconds);
  void count_batch(size_t segments);
  void count_tokens(size_t source, size_t target);
  void count_rejection(const std::string& reason);
  void count_reload(bool worked);
  void write(MetricsPage& page) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, size_t> requests_;
  std::map<std::string, Histogram> seconds_;
  std::map<std::string, size_t> rejections_;
  Histogram batches_{{1, 2, 4, 8, 16, 32, 64, 128}};
  size_t source_tokens_ = 0, target_tokens_ = 0, reloads_ = 0, failed_reloads_ = 0;
};

}  // namespace v0
}  // namespace transmute
