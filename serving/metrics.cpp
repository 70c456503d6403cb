// SPDX-License-Identifier: Apache-2.0
#include <transmute/serving/metrics.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/text_file.h>

#include <algorithm>

namespace transmute {
inline namespace v0 {

namespace {

const std::vector<double>& second_bounds() {
  static const std::vector<double> bounds{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
  return bounds;
}

}  // namespace

void Histogram::add(double value) {
  const auto bound = std::lower_bound(bounds_.begin(), bounds_.end(), value);
  if (bound != bounds_.end()) ++counts_[static_cast<size_t>(bound - bounds_.begin())];
  ++all_;
  sum_ += value;
}

std::string Histogram::text(const std::string& name, const std::string& labels) const {
  const std::string before = labels.empty() ? "" : labels + ",";
  const std::string braces = labels.empty() ? "" : "{" + labels + "}";
  std::string text;
  size_t up_to = 0;
  for (size_t i = 0; i < bounds_.size(); ++i) {
    up_to += counts_[i];
    text += fmt::format("{}_bucket{{{}le=\"{}\"}} {}\n", name, before, bounds_[i], up_to);
  }
  return text + fmt::format("{0}_bucket{{{1}le=\"+Inf\"}} {2}\n{0}_sum{3} {4}\n{0}_count{3} {2}\n", name, before, all_,
                            braces, sum_);
}

void MetricsPage::begin(const std::string& name, const std::string& type, const std::string& help) {
  text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
}

void MetricsPage::add(const std::string& name, const std::string& labels, double value) {
  text_ += fmt::format("{}{} {}\n", name, labels.empty() ? "" : "{" + labels + "}", value);
}

std::string metric_label(const std::string& name, const std::string& value) {
  std::string escaped;
  for (const char c : with_valid_utf8(value)) {  // a path may be of any bytes
    if (c == '\\' || c == '"') escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return name + "=\"" + escaped + "\"";
}

void Metrics::count_request(const std::string& route, int status, double seconds) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++requests_[{route, status}];
  seconds_.try_emplace(route, second_bounds()).first->second.add(seconds);
}

void Metrics::count_batch(size_t segments) {
  const std::lock_guard<std::mutex> lock(mutex_);
  batches_.add(static_cast<double>(segments));
}

void Metrics::count_tokens(size_t source, size_t target) {
  const std::lock_guard<std::mutex> lock(mutex_);
  source_tokens_ += source;
  target_tokens_ += target;
}

void Metrics::count_rejection(const std::string& reason) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++rejections_[reason];
}

void Metrics::count_reload(bool worked) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++(worked ? reloads_ : failed_reloads_);
}

void Metrics::write(MetricsPage& page) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  page.begin("transmute_requests_total", "counter", "Requests answered, by route and status.");
  for (const auto& [what, count] : requests_)
    page.add("transmute_requests_total",
             metric_label("route", what.first) + "," + metric_label("status", std::to_string(what.second)),
             static_cast<double>(count));
  page.begin("transmute_request_seconds", "histogram", "Time from a complete request to its answer, by route.");
  for (const auto& [route, seconds] : seconds_)
    page.add(seconds.text("transmute_request_seconds", metric_label("route", route)));
  page.begin("transmute_rejected_total", "counter", "Requests that were turned away, by reason.");
  for (const auto& [reason, count] : rejections_)
    page.add("transmute_rejected_total", metric_label("reason", reason), static_cast<double>(count));
  page.begin("transmute_batch_segments", "histogram", "Segments translated together.");
  page.add(batches_.text("transmute_batch_segments", ""));
  page.begin("transmute_tokens_total", "counter", "Tokens of texts and of their translations.");
  page.add("transmute_tokens_total", metric_label("side", "source"), static_cast<double>(source_tokens_));
  page.add("transmute_tokens_total", metric_label("side", "target"), static_cast<double>(target_tokens_));
  page.begin("transmute_reloads_total", "counter", "Reloads of the models, by result.");
  page.add("transmute_reloads_total", metric_label("result", "done"), static_cast<double>(reloads_));
  page.add("transmute_reloads_total", metric_label("result", "failed"), static_cast<double>(failed_reloads_));
}

}  // namespace v0
}  // namespace transmute
