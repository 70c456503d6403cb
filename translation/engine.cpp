#include <transmute/translation/engine.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/text_file.h>
#include <transmute/translation/inference/inference_model.h>
#include <transmute/translation/transformer_step_model.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <numeric>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

// A piece of work for search: an input line, or a part of an over-long one.
struct Part {
  size_t line;
  Ids ids;
};

// Parts stand in the order of their lines.
size_t first_part(const std::vector<Part>& parts, size_t line) {
  const auto before = [](const Part& part, size_t sought) { return part.line < sought; };
  return static_cast<size_t>(std::lower_bound(parts.begin(), parts.end(), line, before) - parts.begin());
}

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

Hypothesis to_hypothesis(IdHypothesis&& found, const SubwordModel& target) {
  Hypothesis hypothesis;
  hypothesis.text = target.decode(found.ids);
  hypothesis.score = found.score;
  hypothesis.log_probability = found.log_probability;
  for (const int64_t id : found.ids) hypothesis.tokens.push_back(target.piece(id));
  hypothesis.token_scores = std::move(found.token_scores);
  hypothesis.token_scores.pop_back();  // the end's
  hypothesis.alignment = std::move(found.alignment);
  if (hypothesis.alignment.empty()) return hypothesis;
  hypothesis.alignment.pop_back();
  for (auto& row : hypothesis.alignment) row.pop_back();
  return hypothesis;
}

// `more` translates the source tokens that follow the `width` that `rows` stands for.
void append_alignment(std::vector<std::vector<float>>& rows, size_t width, std::vector<std::vector<float>>&& more,
                      size_t more_width) {
  for (auto& row : rows) row.resize(width + more_width);
  for (auto& row : more) {
    row.insert(row.begin(), width, 0.0F);
    rows.push_back(std::move(row));
  }
}

// Parts of a text are translated apart and joined by a space.
void join(std::string& whole, const std::string& part) {
  if (!whole.empty() && !part.empty()) whole += ' ';
  whole += part;
}

// Adds the translation of the next part of an over-long line: the best of each, joined.
void append(Translation& whole, Translation&& part) {
  if (whole.hypotheses.empty()) {
    whole = std::move(part);
    return;
  }
  ++whole.parts;
  whole.hypotheses.resize(1);
  Hypothesis& joined = whole.hypotheses.front();
  Hypothesis& next = part.hypotheses.front();
  join(joined.text, next.text);
  joined.score += next.score;
  joined.log_probability += next.log_probability;
  const auto move_all = [](auto& from, auto& to) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  move_all(next.tokens, joined.tokens);
  move_all(next.token_scores, joined.token_scores);
  append_alignment(joined.alignment, whole.source_tokens.size(), std::move(next.alignment), part.source_tokens.size());
  move_all(part.source_tokens, whole.source_tokens);
}

// Calls a caller's hooks one at a time, and counts the texts that are done.
class Watcher {
 public:
  Watcher(const TranslationHooks& hooks, const Tokenizer& tokenizer, const std::vector<std::vector<Ids>>& encoded)
      : hooks_(hooks), tokenizer_(tokenizer), encoded_(encoded), parts_left_(encoded.size()) {
    for (size_t text = 0; text < encoded.size(); ++text) {
      parts_left_[text] = encoded[text].size();
      if (encoded[text].empty()) ++done_;
    }
  }

  /// The hooks of one batch's search, whose sentences are these parts.
  SearchHooks search_hooks(const std::vector<Part>& parts, const std::vector<size_t>& batch) {
    SearchHooks hooks;
    if (hooks_.should_stop)
      hooks.should_stop = [this] {
        const std::lock_guard<std::mutex> lock(mutex_);
        return hooks_.should_stop();
      };
    if (hooks_.on_text)
      hooks.on_tokens = [this, &parts, &batch](size_t sentence, const Ids& certain) {
        const size_t text = parts[batch[sentence]].line;
        if (encoded_[text].size() > 1) return;  // its parts may be decoded in any order
        say(text, tokenizer_.target().decode(certain));
      };
    return hooks;
  }

  /// A part of the text is translated. `whole` tells the text's translation, and is asked when it is complete.
  void part_done(size_t text, const std::function<std::string()>& whole) {
    if (!hooks_.on_text && !hooks_.on_progress) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--parts_left_[text] > 0) return;
    if (hooks_.on_text) hooks_.on_text(text, whole());
    if (hooks_.on_progress) hooks_.on_progress(++done_, parts_left_.size());
  }

 private:
  void say(size_t text, const std::string& so_far) {
    const std::lock_guard<std::mutex> lock(mutex_);
    hooks_.on_text(text, so_far);
  }

  const TranslationHooks& hooks_;
  const Tokenizer& tokenizer_;
  const std::vector<std::vector<Ids>>& encoded_;
  std::mutex mutex_;
  std::vector<size_t> parts_left_;
  size_t done_ = 0;
};

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
                                     InferencePrecision precision, ParallelFor parallel_for)
    : tokenizer_(std::move(tokenizer)), parallel_for_(std::move(parallel_for)) {
  if (device.is_cpu()) plain_reason_ = InferenceModel::why_not(transformer->options);
  if (device.is_cpu() && plain_reason_.empty()) {
    model_ = std::make_shared<InferenceModel>(transformer, precision);
    return;
  }
  if (precision != InferencePrecision::float32)
    throw std::invalid_argument(device.is_cpu()
                                    ? "this model can only be translated with in float32: " + plain_reason_
                                    : "precisions other than float32 are for the CPU; leave the precision at float32");
  model_ = std::make_shared<TransformerStepModel>(std::move(transformer), device);
}

std::vector<Translation> TranslationEngine::translate(const std::vector<std::string>& texts,
                                                      const TranslationOptions& options,
                                                      const TranslationHooks& hooks) const {
  check(options);
  std::vector<std::vector<Ids>> encoded(texts.size());
  constexpr size_t kTextsPerPiece = 64;
  constexpr size_t kFewTexts = 4;  // handing them to another thread would take as long
  const auto encode_piece = [&](size_t piece) {
    const size_t end = std::min(texts.size(), (piece + 1) * kTextsPerPiece);
    for (size_t i = piece * kTextsPerPiece; i < end; ++i)
      encoded[i] = encode(tokenizer_.source(), texts[i], options.max_source_tokens);
  };
  if (texts.size() <= kFewTexts) {
    encode_piece(0);
  } else {
    parallel_for_((texts.size() + kTextsPerPiece - 1) / kTextsPerPiece, encode_piece);
  }
  std::vector<Part> parts;
  for (size_t line = 0; line < encoded.size(); ++line)
    for (auto& ids : encoded[line]) parts.push_back({line, std::move(ids)});

  Watcher watcher(hooks, tokenizer_, encoded);
  const std::vector<std::vector<size_t>> batches = make_batches(parts, options);
  std::vector<Translation> decoded(parts.size());
  parallel_for_(batches.size(), [&](size_t b) {
    const std::vector<size_t>& batch = batches[b];
    std::vector<Ids> sources;
    for (const size_t part : batch) sources.push_back(parts[part].ids);
    auto found = beam_search(*model_, sources, options.search, watcher.search_hooks(parts, batch));
    for (size_t i = 0; i < found.size(); ++i) {
      Translation& translation = decoded[batch[i]];
      for (auto& hypothesis : found[i])
        translation.hypotheses.push_back(to_hypothesis(std::move(hypothesis), tokenizer_.target()));
      for (const int64_t id : sources[i]) translation.source_tokens.push_back(tokenizer_.source().piece(id));
    }
    for (const size_t part : batch) {
      watcher.part_done(parts[part].line, [&] {
        std::string whole;
        for (size_t i = first_part(parts, parts[part].line); i < parts.size() && parts[i].line == parts[part].line; ++i)
          join(whole, decoded[i].hypotheses.front().text);
        return whole;
      });
    }
  });

  std::vector<Translation> translations(texts.size());
  for (size_t part = 0; part < parts.size(); ++part) append(translations[parts[part].line], std::move(decoded[part]));
  for (auto& translation : translations)
    if (translation.hypotheses.empty()) translation.hypotheses.emplace_back();
  return translations;
}

}  // namespace v0
}  // namespace transmute
