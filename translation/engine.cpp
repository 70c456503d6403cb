#include <transmute/translation/engine.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/text_file.h>
#include <transmute/translation/transformer_step_model.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace transmute {

namespace {

// A piece of work for search: an input line, or a part of an over-long one.
struct Part {
  size_t line;
  Ids ids;
};

void check(const TranslationOptions& options) {
  const auto at_least_one = [](int64_t value, const char* name) {
    if (value < 1) throw std::invalid_argument(fmt::format("{} must be at least 1, not {}", name, value));
  };
  at_least_one(options.batch_size, "batch_size");
  at_least_one(options.batch_tokens, "batch_tokens");
  at_least_one(options.max_source_tokens, "max_source_tokens");
}

std::vector<Ids> encode(const SubwordModel& tokenizer, const std::string& text, int64_t limit) {
  if (const size_t bad = find_invalid_utf8(text); bad != std::string::npos)
    throw std::invalid_argument(fmt::format("text to translate is not valid UTF-8 (byte {})", bad + 1));
  Ids ids = tokenizer.encode(text);
  if (ids.empty()) return {};
  if (static_cast<int64_t>(ids.size()) <= limit) return {std::move(ids)};
  return split_ids(ids, tokenizer.encode_as_pieces(text), limit);
}

// Parts of similar length together, the longest first: little padding, and the last batches are the short
// ones, so that workers end at about the same time. Returns the batches as lists of part numbers.
std::vector<std::vector<size_t>> make_batches(const std::vector<Part>& parts, const TranslationOptions& options) {
  std::vector<size_t> order(parts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return parts[a].ids.size() > parts[b].ids.size(); });
  std::vector<std::vector<size_t>> batches;
  int64_t rows_allowed = 0;
  for (const size_t part : order) {
    if (batches.empty() || static_cast<int64_t>(batches.back().size()) >= rows_allowed) {
      batches.emplace_back();
      const auto padded = static_cast<int64_t>(parts[part].ids.size()) + 1;
      rows_allowed = std::max<int64_t>(1, std::min(options.batch_size, options.batch_tokens / padded));
    }
    batches.back().push_back(part);
  }
  return batches;
}

void append(Translation& translation, const std::vector<Hypothesis>& part) {
  if (translation.hypotheses.empty()) {
    translation.hypotheses = part;
    return;
  }
  // Parts of an over-long line: the best of each, joined.
  ++translation.parts;
  translation.hypotheses.resize(1);
  Hypothesis& whole = translation.hypotheses.front();
  if (!whole.text.empty() && !part.front().text.empty()) whole.text += ' ';
  whole.text += part.front().text;
  whole.score += part.front().score;
  whole.log_probability += part.front().log_probability;
}

bool ends_with_any(const std::string& piece, std::initializer_list<const char*> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](const std::string& end) {
    return piece.size() >= end.size() && piece.compare(piece.size() - end.size(), end.size(), end) == 0;
  });
}

// How good a place for a cut is behind piece i: 3 after a sentence, 2 after a clause, 1 before a word, 0
// inside one.
int cut_quality(const std::vector<std::string>& pieces, size_t i) {
  static const std::string kWordStart = "\u2581";
  const bool word_follows = i + 1 < pieces.size() && pieces[i + 1].compare(0, kWordStart.size(), kWordStart) == 0;
  const bool wide_mark = ends_with_any(pieces[i], {"。", "！", "？"});
  if (wide_mark) return 3;
  if (!word_follows) return 0;
  if (ends_with_any(pieces[i], {".", "!", "?", "…"})) return 3;
  return ends_with_any(pieces[i], {",", ";", ":", "、", "，", ")"}) ? 2 : 1;
}

}  // namespace

std::vector<Ids> split_ids(const Ids& ids, const std::vector<std::string>& pieces, int64_t limit) {
  std::vector<Ids> parts;
  const auto most = static_cast<size_t>(limit);
  size_t begin = 0;
  while (ids.size() - begin > most) {
    size_t cut = begin + most;
    int best = 0;
    for (size_t i = begin + most; i > begin; --i) {
      const int quality = cut_quality(pieces, i - 1);
      if (quality > best) {
        best = quality;
        cut = i;
      }
    }
    parts.emplace_back(ids.begin() + static_cast<int64_t>(begin), ids.begin() + static_cast<int64_t>(cut));
    begin = cut;
  }
  parts.emplace_back(ids.begin() + static_cast<int64_t>(begin), ids.end());
  return parts;
}

TranslationEngine::TranslationEngine(Transformer transformer, Tokenizer tokenizer, torch::Device device,
                                     WorkerCrew& workers)
    : transformer_(std::move(transformer)), tokenizer_(std::move(tokenizer)), device_(device), workers_(workers) {}

std::vector<Translation> TranslationEngine::translate(const std::vector<std::string>& texts,
                                                      const TranslationOptions& options) const {
  check(options);
  std::vector<std::vector<Ids>> encoded(texts.size());
  constexpr size_t kLinesPerPiece = 64;
  workers_.for_each_piece(texts.size(), kLinesPerPiece, [&](size_t begin, size_t end, int) {
    for (size_t i = begin; i < end; ++i) encoded[i] = encode(tokenizer_.source(), texts[i], options.max_source_tokens);
  });
  std::vector<Part> parts;
  for (size_t line = 0; line < encoded.size(); ++line)
    for (auto& ids : encoded[line]) parts.push_back({line, std::move(ids)});

  const TransformerStepModel model(transformer_, device_);
  const std::vector<std::vector<size_t>> batches = make_batches(parts, options);
  std::vector<std::vector<Hypothesis>> decoded(parts.size());
  workers_.for_each_piece(batches.size(), 1, [&](size_t b, size_t, int) {
    std::vector<Ids> sources;
    for (const size_t part : batches[b]) sources.push_back(parts[part].ids);
    const auto found = beam_search(model, sources, options.search);
    for (size_t i = 0; i < found.size(); ++i)
      for (const auto& hypothesis : found[i])
        decoded[batches[b][i]].push_back(
            {tokenizer_.target().decode(hypothesis.ids), hypothesis.score, hypothesis.log_probability});
  });

  std::vector<Translation> translations(texts.size());
  for (size_t part = 0; part < parts.size(); ++part) append(translations[parts[part].line], decoded[part]);
  for (auto& translation : translations)
    if (translation.hypotheses.empty()) translation.hypotheses.emplace_back();
  return translations;
}

}  // namespace transmute
