// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/json.h>
#include <transmute/training/reporting/report.h>

#include <nlohmann/json.hpp>
#include <regex>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

ReportContent small_run() {
  ReportContent content;
  content.title = "Training of mine";
  content.facts = {{"step", "20"}};
  content.config = "training:\n  seed: 1\n";
  for (const int step : {10, 20}) {
    content.records.push_back({{"type", "train"}, {"step", step}, {"loss", 50.0 / step}, {"learning_rate", 0.001}});
    content.records.push_back({{"type", "validation"}, {"step", step}, {"loss", 60.0 / step}, {"bleu", step / 2.0}});
  }
  return content;
}

// The numbers in the curves' "d".
std::vector<double> coordinates_of(const std::string& page, const std::string& title) {
  std::smatch path;
  const std::string from = page.substr(page.find("<strong>" + title));
  std::regex_search(from, path, std::regex("<path class=\"c0\" d=\"([^\"]*)\""));
  std::vector<double> numbers;
  const std::string d = path[1];
  const std::regex kNumber("-?[0-9.]+");
  for (std::sregex_iterator it(d.begin(), d.end(), kNumber), end; it != end; ++it)
    numbers.push_back(std::stod(it->str()));
  return numbers;
}

TEST(Report, IsOnePageWithNothingOutsideIt) {
  const std::string page = report_html(small_run());
  for (const char* outside : {"<script", "src=", "href=", "http:", "https:", "url(", "@import"})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  EXPECT_THAT(page, AllOf(HasSubstr("prefers-color-scheme: dark"), HasSubstr("width=device-width")));
  for (const char* element : {"svg", "figure", "dl", "style", "body", "html"})
    EXPECT_EQ(count(page, std::string("<") + element + ">") + count(page, std::string("<") + element + " "),
              count(page, std::string("</") + element + ">"))
        << element;
}

TEST(Report, DrawsACurveThroughEachMeasurement) {
  const std::string page = report_html(small_run());
  const std::vector<double> loss = coordinates_of(page, "Loss per target token");  // x and y of steps 10 and 20
  ASSERT_EQ(loss.size(), 4U);
  EXPECT_LT(loss[0], loss[2]);
  EXPECT_LT(loss[1], loss[3]) << "a loss that falls goes down on the page, where y grows";
  const std::vector<double> bleu = coordinates_of(page, "Scores on the validation text");
  EXPECT_GT(bleu[1], bleu[3]);
  EXPECT_THAT(page, AllOf(HasSubstr("<title>step 20: 2.5</title>"), HasSubstr("<title>step 20: 10</title>")));
  EXPECT_EQ(count(page, "<figure>"), 3U) << "loss, scores, learning rate; nothing was said of the others";
}

TEST(Report, CallsTheLabelsOfTheLossSmoothedOnlyWhereTheyAre) {
  ReportContent content = small_run();
  EXPECT_THAT(report_html(content), HasSubstr("</i>training, smoothed labels <b>"));
  content.smooths_labels = false;
  EXPECT_THAT(report_html(content), AllOf(HasSubstr("</i>training <b>"), Not(HasSubstr("smoothed"))));
}

TEST(Report, EscapesWhatComesFromTheUser) {
  ReportContent content = small_run();
  content.title = content.config = "<script>alert('x')</script>";
  content.facts = {{"<b>", "\"&\""}};
  content.records.push_back({{"type", "validation"},
                             {"step", 30},
                             {"samples", {{{"source", "<i>a"}, {"reference", "b & c"}, {"translation", "</td>"}}}}});
  const std::string page = report_html(content);
  EXPECT_THAT(page, AllOf(Not(HasSubstr("<script")), Not(HasSubstr("<i>a")), HasSubstr("&lt;i&gt;a"),
                          HasSubstr("b &amp; c"), HasSubstr("<td>&lt;/td&gt;</td>"), HasSubstr("&quot;&amp;&quot;")));
}

TEST(Report, ShowsTranslationsOverTime) {
  ReportContent content = small_run();
  for (int step = 1; step <= 9; ++step)
    content.records.push_back(
        {{"type", "validation"},
         {"step", step},
         {"samples", {{{"source", "one"}, {"reference", "eins"}, {"translation", "t" + std::to_string(step)}}}}});
  const std::string page = report_html(content);
  EXPECT_EQ(count(page, "<td>one</td>"), 1U);
  EXPECT_THAT(page, AllOf(HasSubstr("<td>t1</td>"), HasSubstr("<td>t4</td>"), HasSubstr("<td>t9</td>")));
  EXPECT_THAT(page, Not(HasSubstr("<td>t3</td>"))) << "the first and the last six";
}

TEST(Report, KeepsSentencesWithTheSameSourceApart) {
  ReportContent content = small_run();
  const Json samples{{{"source", "you"}, {"reference", "du"}, {"translation", "d1"}},
                     {{"source", "you"}, {"reference", "ihr"}, {"translation", "i1"}},
                     {{"source", "you"}, {"reference", "ihr"}, {"translation", "i1"}}};
  content.records.push_back({{"type", "validation"}, {"step", 30}, {"samples", samples}});
  const std::string page = report_html(content);
  EXPECT_THAT(page, AllOf(HasSubstr("<td>you</td></tr><tr><th>reference</th><td>du</td></tr>"
                                    "<tr><th>step 30</th><td>d1</td></tr></table>"),
                          HasSubstr("<td>you</td></tr><tr><th>reference</th><td>ihr</td></tr>"
                                    "<tr><th>step 30</th><td>i1</td></tr></table>")));
  EXPECT_EQ(count(page, "<td>you</td>"), 2U);
}

TEST(Report, StaysSmallForALongRunAndSoundForAStrangeOne) {
  ReportContent content;
  for (int step = 1; step <= 100000; ++step)
    content.records.push_back({{"type", "train"}, {"step", step}, {"loss", 1.0}});
  EXPECT_LT(report_html(content).size(), 30000U);
  content.records = {{{"type", "train"}, {"step", 1}, {"loss", nullptr}, {"gradient_norm", 0.0}}};
  const std::string page = report_html(content);
  EXPECT_THAT(page, AllOf(Not(HasSubstr("nan")), Not(HasSubstr("inf")), Not(HasSubstr("Loss per"))));
  EXPECT_THAT(report_html({}), HasSubstr("</html>"));
}

}  // namespace
}  // namespace transmute
