// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/reporting/report.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/html.h>
#include <transmute/common/progress.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

namespace transmute {
inline namespace v0 {

namespace {

struct Point {
  double step, value;
};

struct Series {
  std::string name;
  std::vector<Point> points;
};

struct Chart {
  std::string title;
  std::vector<Series> series;
};

Series series_of(const std::vector<Json>& records, const std::string& name, const char* type, const char* key) {
  Series series{name, {}};
  for (const auto& record : records) {
    if (record.value("type", "") != type || !record.contains(key) || !record.at(key).is_number()) continue;
    const double value = record.at(key).get<double>();
    if (std::isfinite(value)) series.points.push_back({record.value("step", 0.0), value});
  }
  return series;
}

// Replaces neighbors by their means, so that a long run's page stays small.
std::vector<Point> thinned(const std::vector<Point>& points) {
  constexpr size_t kMostPoints = 300;
  const size_t stride = (points.size() + kMostPoints - 1) / kMostPoints;
  if (stride < 2) return points;
  std::vector<Point> means;
  for (size_t begin = 0; begin < points.size(); begin += stride) {
    const size_t end = std::min(points.size(), begin + stride);
    Point mean{0, 0};
    for (size_t i = begin; i < end; ++i) {
      mean.step += points[i].step / static_cast<double>(end - begin);
      mean.value += points[i].value / static_cast<double>(end - begin);
    }
    means.push_back(mean);
  }
  return means;
}

// The distance between marks on an axis: 1, 2 or 5 times a power of ten.
double mark_distance(double range, double marks) {
  const double rough = range / marks;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough) return factor * power;
  return 10 * power;
}

std::string number(double value) {
  if (std::abs(value) >= 1000) return format_count(std::llround(value));
  return fmt::format("{:.4g}", std::abs(value) < 1e-12 ? 0.0 : value);
}

// An axis from the least to the largest number, in pixels.
struct Axis {
  Axis(double least, double most, double from_pixel, double to_pixel)
      : least(least), most(most), from(from_pixel), to(to_pixel) {
    if (this->most - this->least < 1e-12 * std::max(1.0, std::abs(this->most))) {
      const double around = std::max(std::abs(this->most) * 0.5, 1e-6);
      this->least -= around;
      this->most += around;
    }
  }
  double at(double value) const { return from + (value - least) / (most - least) * (to - from); }
  std::vector<double> marks(double count) const {
    const double distance = mark_distance(most - least, count);
    std::vector<double> values;
    for (double mark = std::ceil(least / distance) * distance; mark <= most + distance * 1e-9; mark += distance)
      values.push_back(mark);
    return values;
  }
  double least, most, from, to;
};

std::string svg_of(const Chart& chart) {
  constexpr double kWidth = 480, kHeight = 240, kLeft = 58, kRight = 12, kTop = 10, kBottom = 26;
  double last_step = 1, least = INFINITY, most = -INFINITY;
  for (const auto& series : chart.series)
    for (const auto& point : series.points) {
      last_step = std::max(last_step, point.step);
      least = std::min(least, point.value);
      most = std::max(most, point.value);
    }
  const double margin = (most - least) * 0.04;
  const Axis steps(0, last_step, kLeft, kWidth - kRight);
  const Axis values(least - margin, most + margin, kHeight - kBottom, kTop);

  std::string svg = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">", kWidth, kHeight,
                                html_escaped(chart.title));
  for (const double mark : values.marks(6))
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/><text x=\"{3}\" "
        "y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>",
        kLeft, kWidth - kRight, values.at(mark), kLeft - 6, values.at(mark) + 4, number(mark));
  for (const double mark : steps.marks(4))
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>", steps.at(mark), kHeight - 8,
                       number(mark));
  for (size_t s = 0; s < chart.series.size(); ++s) {
    const std::vector<Point> points = thinned(chart.series[s].points);
    std::string path;
    for (const auto& point : points)
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", steps.at(point.step), values.at(point.value));
    svg += fmt::format("<path class=\"c{}\" d=\"{}\"/>", s, path);
    constexpr size_t kMostDots = 60;
    for (const auto& point : points)
      if (points.size() <= kMostDots)
        svg += fmt::format(
            "<circle class=\"c{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\"><title>step {}: {}</title></circle>", s,
            steps.at(point.step), values.at(point.value), number(point.step), number(point.value));
  }
  return svg + "</svg>";
}

std::string figure_of(const Chart& chart) {
  std::string legend;
  for (size_t s = 0; s < chart.series.size(); ++s)
    legend += fmt::format("<span><i class=\"c{}\"></i>{} <b>{}</b></span> ", s, html_escaped(chart.series[s].name),
                          number(chart.series[s].points.back().value));
  return fmt::format("<figure><figcaption><strong>{}</strong> {}</figcaption>{}</figure>\n", html_escaped(chart.title),
                     legend, svg_of(chart));
}

std::vector<Chart> charts_of(const ReportContent& content) {
  const std::vector<Json>& records = content.records;
  std::vector<Chart> charts = {
      {"Loss per target token",
       {series_of(records, content.smooths_labels ? "training, smoothed labels" : "training", "train", "loss"),
        series_of(records, "validation", "validation", "loss")}},
      {"Scores on the validation text",
       {series_of(records, "BLEU", "validation", "bleu"), series_of(records, "chrF", "validation", "chrf"),
        series_of(records, "chrF++", "validation", "chrf++")}},
      {"What the decoder sees of the source",
       {series_of(records, "entropy of its attention, of the maximum", "train", "attention_entropy"),
        series_of(records, "of the sharpest head", "train", "sharpest_head"),
        series_of(records, "share of the encoder's output that differs by position", "train", "position_variance")}},
      {"Learning rate", {series_of(records, "last", "train", "learning_rate")}},
      {"Gradient norm", {series_of(records, "before clipping", "train", "gradient_norm")}},
      {"Target tokens per second", {series_of(records, "last", "train", "target_tokens_per_second")}}};
  for (auto& chart : charts) {
    auto& series = chart.series;
    series.erase(std::remove_if(series.begin(), series.end(), [](const Series& one) { return one.points.empty(); }),
                 series.end());
  }
  charts.erase(std::remove_if(charts.begin(), charts.end(), [](const Chart& chart) { return chart.series.empty(); }),
               charts.end());
  return charts;
}

// Each sentence with its reference and its translations at the last few validations and at the first one.
std::string samples_of(const std::vector<Json>& records) {
  using Sentence = std::pair<std::string, std::string>;  // its source and its reference
  std::vector<Sentence> order;
  std::map<Sentence, std::map<int64_t, std::string>> translations;  // translations by step
  for (const auto& record : records) {
    if (!record.contains("samples")) continue;
    for (const auto& sample : record.at("samples")) {
      const Sentence sentence(sample.at("source").get<std::string>(), sample.at("reference").get<std::string>());
      if (translations.count(sentence) == 0) order.push_back(sentence);
      translations[sentence][record.value("step", int64_t{0})] = sample.at("translation").get<std::string>();
    }
  }
  constexpr size_t kShown = 6;
  std::string html;
  for (const auto& sentence : order) {
    html += fmt::format("<table><tr><th>source</th><td>{}</td></tr><tr><th>reference</th><td>{}</td></tr>",
                        html_escaped(sentence.first), html_escaped(sentence.second));
    const auto& by_step = translations[sentence];
    size_t i = 0;
    for (const auto& [step, translation] : by_step) {
      if (i == 0 || i + kShown >= by_step.size())
        html += fmt::format("<tr><th>step {}</th><td>{}</td></tr>", format_count(step), html_escaped(translation));
      ++i;
    }
    html += "</table>\n";
  }
  return html;
}

}  // namespace

std::string report_html(const ReportContent& content) {
  std::string facts, charts;
  for (const auto& [name, value] : content.facts)
    facts += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", html_escaped(name), html_escaped(value));
  for (const Chart& chart : charts_of(content)) charts += figure_of(chart);
  const std::string samples = samples_of(content.records);
  std::string body = "<dl>" + facts + "</dl>\n";
  if (!content.problem.empty()) body += "<p class=\"problem\">" + html_escaped(content.problem) + "</p>\n";
  if (!charts.empty()) body += "<h2>Curves, by step</h2>\n<div class=\"charts\">" + charts + "</div>\n";
  if (!samples.empty()) body += "<h2>Translations of the validation text</h2>\n" + samples;
  body += "<h2>Config</h2>\n<pre>" + html_escaped(content.config) + "</pre>\n";
  return report_page(content.title, body);
}

}  // namespace v0
}  // namespace transmute
