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

// Means of neighbors, so that a long run's page stays small.
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

// Each sentence, what it should become, and what became of it at the last few validations and at the first.
std::string samples_of(const std::vector<Json>& records) {
  using Sentence = std::pair<std::string, std::string>;  // its source and its reference
  std::vector<Sentence> order;
  std::map<Sentence, std::map<int64_t, std::string>> translations;  // by step
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

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --back: #fff; --text: #1c2024; --soft: #60646c; --line: #dfe1e6; --card: #f7f8fa;
  --c0: #0b68cb; --c1: #c4501b; --c2: #1b7f3b; }
@media (prefers-color-scheme: dark) { :root { --back: #121417; --text: #e6e8eb; --soft: #9aa0a8; --line: #30353c;
  --card: #1a1d21; --c0: #6cb2ff; --c1: #ff9a62; --c2: #63cf86; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 76rem; background: var(--back); color: var(--text);
  font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.4rem; margin: .2rem 0 .8rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 1.6rem 0 .6rem; }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 9rem), 1fr)); gap: .5rem 1rem; margin: 0; }
dt { color: var(--soft); font-size: .82rem; } dd { margin: 0; overflow-wrap: anywhere; }
.problem { margin: 1rem 0 0; padding: .5rem .8rem; border-left: 4px solid var(--c1); background: var(--card); }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 25rem), 1fr)); gap: 1rem; }
figure { margin: 0; padding: .7rem; background: var(--card); border: 1px solid var(--line); border-radius: 6px; min-width: 0; }
figcaption { display: flex; flex-wrap: wrap; gap: .1rem .9rem; font-size: .86rem; } figcaption span { color: var(--soft); }
figcaption b { color: var(--text); } i { display: inline-block; width: .7em; height: .7em; margin-right: .3em; border-radius: 50%; }
svg { display: block; width: 100%; height: auto; margin-top: .4rem; } svg text { fill: var(--soft); font-size: 12px; }
@media (max-width: 30rem) { svg text { font-size: 16px; } }
.grid { stroke: var(--line); } path { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
path.c0 { stroke: var(--c0); } path.c1 { stroke: var(--c1); } path.c2 { stroke: var(--c2); }
circle.c0 { fill: var(--c0); } circle.c1 { fill: var(--c1); } circle.c2 { fill: var(--c2); }
i.c0 { background: var(--c0); } i.c1 { background: var(--c1); } i.c2 { background: var(--c2); }
table { width: 100%; border-collapse: collapse; margin: 0 0 .9rem; background: var(--card); border: 1px solid var(--line); }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-top: 1px solid var(--line); }
th { width: 7rem; font-weight: normal; color: var(--soft); white-space: nowrap; } td { overflow-wrap: anywhere; }
pre { overflow-x: auto; padding: .7rem; background: var(--card); border: 1px solid var(--line); border-radius: 6px; font-size: .84rem; }
)";

}  // namespace

std::string report_html(const ReportContent& content) {
  std::string facts, charts;
  for (const auto& [name, value] : content.facts)
    facts += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", html_escaped(name), html_escaped(value));
  for (const Chart& chart : charts_of(content)) charts += figure_of(chart);
  const std::string samples = samples_of(content.records);
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{0}</title>\n"
      "<style>{1}</style></head>\n<body><h1>{0}</h1>\n<dl>{2}</dl>\n",
      html_escaped(content.title), kStyle, facts);
  if (!content.problem.empty()) html += "<p class=\"problem\">" + html_escaped(content.problem) + "</p>\n";
  if (!charts.empty()) html += "<h2>Curves, by step</h2>\n<div class=\"charts\">" + charts + "</div>\n";
  if (!samples.empty()) html += "<h2>Translations of the validation text</h2>\n" + samples;
  html += "<h2>Config</h2>\n<pre>" + html_escaped(content.config) + "</pre>\n</body></html>\n";
  return html;
}

}  // namespace v0
}  // namespace transmute
