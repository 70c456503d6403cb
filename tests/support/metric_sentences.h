// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace transmute::testing {

// The tolerance beside sacreBLEU's numbers: the same formulas on the same counts; only the last bits of exp and log
// may differ.
constexpr double kMetricTolerance = 1e-9;

constexpr std::size_t kMetricSentences = 9;

// Sentences made for these tests so that each visits a corner: numbers with commas and points, hyphens beside digits
// and letters, entities, a final sigma, spaces outside ASCII, an empty line, text tokenized already; and, the last one,
// Chinese. The first `count` of them.
inline std::vector<std::string> metric_hypotheses(std::size_t count = kMetricSentences) {
  std::vector<std::string> hypotheses{
      "The train leaves at 9:45, doesn't it?",
      "He paid 1,250.50 euros for it.",
      "A well-known rule (see page 3-4) applies.",
      "Tom &amp; Anna said: &quot;No!&quot;",
      "ΟΔΟΣ 5 is closed today .",
      "Straße\u00a0zwei,\u3000bitte.",
      "",
      "The old bridge was built in 1887 .",
      "他在2008年买了 NBA 的门票，花了$30！",
  };
  hypotheses.resize(count);
  return hypotheses;
}

// The first one or two references of the first `count` of them.
inline std::vector<std::vector<std::string>> metric_references(std::size_t references,
                                                               std::size_t count = kMetricSentences) {
  std::vector<std::vector<std::string>> chosen{
      {
          "The train leaves at 9:45, does it not?",
          "He paid 1,250.50 euros for this.",
          "A well known rule (see pages 3-4) applies.",
          "Tom & Anna said: \"No!\"",
          "οδος 5 is closed today.",
          "STRASSE zwei, bitte.",
          "This line has no translation.",
          "The old bridge was built in 1887.",
          "他在2008年购买了NBA门票，花费30美元！",
      },
      {
          "At 9:45 the train leaves, doesn't it?",
          "He has paid 1250.50 euros for it.",
          "A famous rule applies (page 3-4).",
          "Tom and Anna: \"No!\"",
          "Οδός 5 is closed.",
          "Straße zwei bitte!",
          "No translation here.",
          "They built the old bridge in 1887.",
          "2008年他花30美元买了NBA票。",
      },
  };
  chosen.resize(references);
  for (auto& sentences : chosen) sentences.resize(count);
  return chosen;
}

}  // namespace transmute::testing
