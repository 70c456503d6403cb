#include <transmute/translation/engine.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/text_file.h>
#include <transmute/translation/text/alignment.h>
#include <transmute/translation/text/glossary.h>
#include <transmute/translation/text/inline_tags.h>
#include <transmute/translation/text/sentences.h>

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
  Ids prefix{};              // that its translation must begin with
  std::vector<Ids> terms{};  // that it must contain
};

// Parts stand in the order of their lines.
size_t first_part(const std::vector<Part>& parts, size_t line) {
  const auto before = [](const Part& part, size_t sought) { return part.line < sought; };
  return static_cast<size_t>(std::lower_bound(parts.begin(), parts.end(), line, before) - parts.begin());
}

void check(const TranslationOptions& options) {
  check_at_least_one(options.batch_size, "batch_size");
  check_at_least_one(options.batch_tokens, "batch_tokens");
  check_at_least_one(options.max_source_tokens, "max_source_tokens");
}

constexpr const char* kText = "text to translate";

// Its parts: the whole, or what is too long cut up.
std::vector<Ids> cut_up(const SubwordModel& tokenizer, const std::string& text, const TranslationOptions& options) {
  Ids ids = tokenizer.encode(text);
  if (ids.empty()) return {};
  const int64_t limit = options.max_source_tokens;
  if (static_cast<int64_t>(ids.size()) <= limit) return {std::move(ids)};
  if (options.long_texts == LongTexts::refused)
    throw std::invalid_argument(
        fmt::format("a text has {} tokens, more than {}: \"{}…\"", ids.size(), limit,
                    tokenizer.decode({ids.begin(), ids.begin() + std::min<int64_t>(limit, 8)})));
  return split_ids(ids, tokenizer.encode_as_pieces(text), limit);
}

// What a translation has to contain; unknown characters could not be written.
Ids encode_demand(const SubwordModel& tokenizer, const std::string& text, const char* what) {
  check_utf8(text, kText);
  Ids ids = tokenizer.encode(text);
  if (std::find(ids.begin(), ids.end(), special_ids::kUnknown) != ids.end())
    throw std::invalid_argument(
        fmt::format("{} \"{}\" has characters that the model's tokenizer does not know", what, text));
  return ids;
}

std::vector<Ids> encode(const SubwordModel& tokenizer, const std::string& text, const TranslationOptions& options) {
  check_utf8(text, kText);
  if (!options.split_sentences) return cut_up(tokenizer, text, options);
  std::vector<Ids> parts;
  for (const std::string& sentence : split_sentences(text))
    for (Ids& ids : cut_up(tokenizer, sentence, options)) parts.push_back(std::move(ids));
  return parts;
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

void check_at_least_one(int64_t value, const char* option) {
  if (value < 1) throw std::invalid_argument(fmt::format("{} must be at least 1, not {}", option, value));
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

std::vector<std::vector<size_t>> batches_by_length(const std::vector<size_t>& lengths, int64_t batch_size,
                                                   int64_t batch_tokens) {
  std::vector<size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return lengths[a] > lengths[b]; });
  std::vector<std::vector<size_t>> batches;
  int64_t rows_allowed = 0;
  for (const size_t text : order) {
    if (batches.empty() || static_cast<int64_t>(batches.back().size()) >= rows_allowed) {
      batches.emplace_back();
      const auto padded = static_cast<int64_t>(lengths[text]) + 1;
      rows_allowed = std::max<int64_t>(1, std::min(batch_size, batch_tokens / padded));
    }
    batches.back().push_back(text);
  }
  return batches;
}

std::vector<IdHypothesis> score_targets(const StepModel& model, const std::vector<Ids>& sources,
                                        const std::vector<Ids>& targets, const SearchOptions& options,
                                        int64_t batch_size, int64_t batch_tokens, const ParallelFor& parallel_for) {
  SearchOptions search;
  search.beam_size = 1;
  search.length_alpha = options.length_alpha;
  search.length_penalty = options.length_penalty;
  search.alignments = options.alignments;
  search.alignment_layer = options.alignment_layer;
  search.alignment_head = options.alignment_head;
  std::vector<size_t> lengths;  // targets are filled up to the longest of their batch
  for (size_t i = 0; i < targets.size(); ++i) lengths.push_back(std::max(sources[i].size(), targets[i].size()));
  const auto batches = batches_by_length(lengths, batch_size, batch_tokens);
  std::vector<IdHypothesis> scored(targets.size());
  parallel_for(batches.size(), [&](size_t b) {
    std::vector<Ids> batch_sources;
    TargetDemands demands;
    demands.prefixes_are_complete = true;
    for (const size_t i : batches[b]) {
      batch_sources.push_back(sources[i]);
      demands.prefixes.push_back(targets[i]);
    }
    auto found = beam_search(model, batch_sources, search, {}, demands);
    for (size_t i = 0; i < found.size(); ++i) scored[batches[b][i]] = std::move(found[i].front());
  });
  return scored;
}

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
    : TranslationEngine(std::vector<Transformer>{std::move(transformer)}, std::move(tokenizer), device, precision,
                        std::move(parallel_for)) {}

TranslationEngine::TranslationEngine(const std::vector<Transformer>& transformers, Tokenizer tokenizer,
                                     torch::Device device, InferencePrecision precision, ParallelFor parallel_for,
                                     WeightUse use)
    : tokenizer_(std::move(tokenizer)), parallel_for_(std::move(parallel_for)) {
  for (const Transformer& transformer : transformers)
    if (!transformer->encoder)
      throw std::invalid_argument(
          "a decoder_only model has no source to translate; LanguageModel continues text with it");
  ReadyModel ready = make_step_model(transformers, device, precision, parallel_for_, use);
  model_ = std::move(ready.model);
  plain_reason_ = std::move(ready.plain_reason);
}

std::vector<Translation> TranslationEngine::translate(const std::vector<std::string>& texts,
                                                      const TranslationOptions& options,
                                                      const TranslationHooks& hooks) const {
  check(options);
  if (options.inline_tags) return translate_tagged(texts, options, hooks);
  if (!options.target_prefixes.empty() && options.target_prefixes.size() != texts.size())
    throw std::invalid_argument(
        fmt::format("{} target prefixes were given for {} texts", options.target_prefixes.size(), texts.size()));
  std::vector<std::vector<Ids>> encoded(texts.size());
  constexpr size_t kTextsPerPiece = 64;
  constexpr size_t kFewTexts = 4;  // handing them to another thread would take as long
  const auto encode_piece = [&](size_t piece) {
    const size_t end = std::min(texts.size(), (piece + 1) * kTextsPerPiece);
    for (size_t i = piece * kTextsPerPiece; i < end; ++i) encoded[i] = encode(tokenizer_.source(), texts[i], options);
  };
  if (texts.size() <= kFewTexts) {
    encode_piece(0);
  } else {
    parallel_for_((texts.size() + kTextsPerPiece - 1) / kTextsPerPiece, encode_piece);
  }
  std::vector<Part> parts;
  for (size_t line = 0; line < encoded.size(); ++line)
    for (auto& ids : encoded[line]) parts.push_back({line, std::move(ids)});
  if (!options.target_prefixes.empty())
    for (size_t line = 0; line < texts.size(); ++line)
      if (!encoded[line].empty())
        parts[first_part(parts, line)].prefix =
            encode_demand(tokenizer_.target(), options.target_prefixes[line], "the target prefix");

  if (!options.glossary.empty()) {
    const Glossary glossary(options.glossary);
    for (Part& part : parts) {
      const bool whole = encoded[part.line].size() == 1;
      const std::string text = whole ? texts[part.line] : tokenizer_.source().decode(part.ids);
      for (const std::string& term : glossary.terms_for(text))
        part.terms.push_back(encode_demand(tokenizer_.target(), term, "the glossary's term"));
    }
  }

  Watcher watcher(hooks, tokenizer_, encoded);
  std::vector<size_t> lengths;
  for (const Part& part : parts) lengths.push_back(part.ids.size());
  const auto batches = batches_by_length(lengths, options.batch_size, options.batch_tokens);
  std::vector<Translation> decoded(parts.size());
  parallel_for_(batches.size(), [&](size_t b) {
    const std::vector<size_t>& batch = batches[b];
    std::vector<Ids> sources;
    TargetDemands demands;
    for (const size_t part : batch) {
      sources.push_back(parts[part].ids);
      if (!options.target_prefixes.empty()) demands.prefixes.push_back(parts[part].prefix);
      if (!options.glossary.empty()) demands.terms.push_back(parts[part].terms);
      if (shortlist_) demands.shortlists.push_back(shortlist_->tokens_for(parts[part].ids));
    }
    auto found = beam_search(*model_, sources, options.search, watcher.search_hooks(parts, batch), demands);
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

std::vector<Translation> TranslationEngine::translate_tagged(const std::vector<std::string>& texts,
                                                             const TranslationOptions& options,
                                                             const TranslationHooks& hooks) const {
  if (options.split_sentences || hooks.on_text)
    throw std::invalid_argument("inline_tags goes neither with split_sentences nor with on_text");
  std::vector<TaggedText> tagged;
  std::vector<std::string> plain;
  for (const std::string& text : texts) {
    check_utf8(text, kText);
    plain.push_back(tagged.emplace_back(text).plain());
  }
  TranslationOptions with_alignments = options;
  with_alignments.inline_tags = false;
  with_alignments.search.alignments = true;
  std::vector<Translation> translations = translate(plain, with_alignments, hooks);
  for (size_t i = 0; i < texts.size(); ++i) {
    std::vector<ByteSpan> source;
    if (tagged[i].has_tags()) source = tokenizer_.source().spans_in_text(plain[i]);
    for (Hypothesis& hypothesis : translations[i].hypotheses) {
      if (tagged[i].has_tags())
        hypothesis.text =
            tagged[i].restore(hypothesis.text, source, tokenizer_.target().spans_of_pieces(hypothesis.tokens),
                              balanced_alignment(hypothesis.alignment));
      if (!options.search.alignments) hypothesis.alignment.clear();
    }
  }
  return translations;
}

std::vector<Hypothesis> TranslationEngine::score(const std::vector<std::string>& sources,
                                                 const std::vector<std::string>& targets,
                                                 const TranslationOptions& options) const {
  check(options);
  if (sources.size() != targets.size())
    throw std::invalid_argument(fmt::format("{} targets were given for {} sources", targets.size(), sources.size()));
  std::vector<Ids> source_ids(sources.size()), target_ids(targets.size());
  for (size_t i = 0; i < sources.size(); ++i) {
    check_utf8(sources[i], kText);
    check_utf8(targets[i], kText);
    source_ids[i] = tokenizer_.source().encode(sources[i]);
    target_ids[i] = tokenizer_.target().encode(targets[i]);
  }
  std::vector<Hypothesis> scored;
  for (IdHypothesis& found : score_targets(*model_, source_ids, target_ids, options.search, options.batch_size,
                                           options.batch_tokens, parallel_for_)) {
    scored.push_back(to_hypothesis(std::move(found), tokenizer_.target()));
    scored.back().text = targets[scored.size() - 1];
  }
  return scored;
}

}  // namespace v0
}  // namespace transmute
