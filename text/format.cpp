// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/text_file.h>
#include <transmute/text/format.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/text/alignment.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>

namespace transmute {
inline namespace v0 {

std::vector<std::pair<size_t, size_t>> hard_alignment(const Hypothesis& hypothesis) {
  std::vector<std::pair<size_t, size_t>> links;
  const std::vector<std::vector<float>> alignment = balanced_alignment(hypothesis.alignment);
  for (size_t target = 0; target < alignment.size(); ++target) {
    const std::vector<float>& weights = alignment[target];
    if (weights.empty()) continue;
    const auto best = std::max_element(weights.begin(), weights.end());
    const float end = 1 - std::accumulate(weights.begin(), weights.end(), 0.0F);
    if (*best >= end) links.emplace_back(static_cast<size_t>(best - weights.begin()), target);
  }
  return links;
}

std::string pharaoh_line(const std::vector<std::pair<size_t, size_t>>& links) {
  std::string line;
  for (const auto& [source, target] : links) line += fmt::format("{}{}-{}", line.empty() ? "" : " ", source, target);
  return line;
}

std::string format_alignment(const Hypothesis& hypothesis) {
  return pharaoh_line(hypothesis.word_alignment ? *hypothesis.word_alignment : hard_alignment(hypothesis));
}

bool has_loop(const std::vector<std::string>& tokens) {
  constexpr size_t kLongestPeriod = 8, kTimes = 4, kShortestLoop = 8;
  for (size_t period = 1; period <= kLongestPeriod; ++period) {
    size_t same = 0;  // tokens in a row that equal the one a period before
    for (size_t i = period; i < tokens.size(); ++i) {
      same = tokens[i] == tokens[i - period] ? same + 1 : 0;
      if (same + period >= std::max(kTimes * period, kShortestLoop)) return true;
    }
  }
  return false;
}

std::string format_n_best(const Translation& translation, int64_t line, const SearchOptions& search) {
  std::string text;
  for (const auto& hypothesis : translation.hypotheses) {
    text += fmt::format("{} ||| {} ||| logprob= {:.6f}", line, hypothesis.text, hypothesis.log_probability);
    if (hypothesis.reverse_log_probability)
      text += fmt::format(" reverse= {:.6f}", *hypothesis.reverse_log_probability);
    text += fmt::format(" ||| {:.6f}", hypothesis.score);
    if (search.alignments || hypothesis.word_alignment) text += " ||| " + format_alignment(hypothesis);
    text += '\n';
  }
  return text;
}

namespace {

// Counts the characters before places of a text. Each count continues from the place before, so that many places in
// their order cost one pass.
class CharacterCounter {
 public:
  explicit CharacterCounter(std::string_view text) : text_(text) {}

  Json operator()(const std::pair<size_t, size_t>& bytes) {
    const size_t first = before(bytes.first);
    return Json::array({first, before(bytes.second)});
  }

 private:
  size_t before(size_t byte) {
    byte = std::min(byte, text_.size());
    if (byte >= byte_) {
      characters_ += characters_in(text_.substr(byte_, byte - byte_));
    } else {
      characters_ -= characters_in(text_.substr(byte, byte_ - byte));
    }
    byte_ = byte;
    return characters_;
  }

  std::string_view text_;
  size_t byte_ = 0;        // the place before
  size_t characters_ = 0;  // before it
};

}  // namespace

void add_confidence(const Hypothesis& hypothesis, Json& object) {
  object["confidence"] = hypothesis.confidence ? Json(*hypothesis.confidence) : Json();
  if (!hypothesis.confidence) return;
  CharacterCounter characters(hypothesis.text);
  Json words = Json::array();
  for (const WordConfidence& word : hypothesis.words)
    words.push_back({{"place", characters(word.place)}, {"confidence", word.confidence}});
  object["words"] = std::move(words);
}

Json warnings_json(const std::string& source, const Translation& translation) {
  CharacterCounter of_source(source), of_target(translation.hypotheses.front().text);
  Json list = Json::array();
  for (const TranslationWarning& warning : translation.warnings) {
    Json entry{{"kind", name_of(warning.kind)}, {"message", warning.message}};
    if (warning.source.second > warning.source.first) entry["source"] = of_source(warning.source);
    if (warning.target.second > warning.target.first) entry["target"] = of_target(warning.target);
    list.push_back(std::move(entry));
  }
  return list;
}

std::string format_json(const Translation& translation, int64_t line, const SearchOptions& search,
                        const std::string& source) {
  Json object;
  object["line"] = line + 1;
  object["source_tokens"] = translation.source_tokens;
  object["parts"] = translation.parts;
  object["warnings"] = warnings_json(source, translation);
  if (!translation.unknown.empty()) object["unknown"] = translation.unknown;
  object["hypotheses"] = Json::array();
  for (const auto& hypothesis : translation.hypotheses) {
    Json entry;
    entry["text"] = hypothesis.text;
    entry["score"] = hypothesis.score;
    entry["log_probability"] = hypothesis.log_probability;
    if (hypothesis.reverse_log_probability) entry["reverse_log_probability"] = *hypothesis.reverse_log_probability;
    entry["tokens"] = hypothesis.tokens;
    entry["token_scores"] = hypothesis.token_scores;
    add_confidence(hypothesis, entry);
    if (search.alignments) entry["alignment"] = hypothesis.alignment;
    if (hypothesis.word_alignment) entry["word_alignment"] = *hypothesis.word_alignment;
    object["hypotheses"].push_back(std::move(entry));
  }
  return json_text(object) + '\n';
}

}  // namespace v0
}  // namespace transmute
