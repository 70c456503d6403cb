// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/validation.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/ascii_case.h>
#include <transmute/common/progress.h>
#include <transmute/device/step_models.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/metrics/bootstrap.h>
#include <transmute/metrics/chrf.h>
#include <transmute/text/checks/confidence.h>
#include <transmute/text/checks/coverage.h>
#include <transmute/text/types.h>
#include <transmute/tokenizer/tokenizer.h>
#include <transmute/training/data/language_pairs.h>
#include <transmute/training/fingerprints.h>
#include <transmute/training/run_text.h>
#include <transmute/translation/engine.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

// Words between single spaces, without ASCII punctuation.
std::string spaced_words(const std::string& text) {
  std::string words = " ";
  for (const char c : text) {
    const bool is_part = (c & 0x80) != 0 || is_ascii_alphanumeric(c);
    if (is_part || words.back() != ' ') words += is_part ? c : ' ';
  }
  return words.back() == ' ' ? words : words + ' ';
}

// True if the reference, as spaced_words() writes it, has the word. Some scripts have no spaces between words.
bool has_word(const std::string& reference, const std::string& word) {
  const bool has_spaces = reference.find(' ', 1) + 1 < reference.size();
  const std::string spaced = spaced_words(word);
  return reference.find(has_spaces ? spaced : spaced.substr(1, spaced.size() - 2)) != std::string::npos;
}

// Newton's method may run away where a model's translations are all alike.
template <size_t N>
bool are_bounded(const std::array<double, N>& weights) {
  constexpr double kMost = 100;
  return std::all_of(weights.begin(), weights.end(), [](double weight) { return std::abs(weight) <= kMost; });
}

// The curve that explains best how good translations of held-out text are, and which of their words the references
// have; nothing for fewer than 100 translations with a token.
// @param target tokenizer of the translations
std::optional<ConfidenceCurve> fit_confidence(const std::vector<Translation>& translations,
                                              const std::vector<std::string>& references, const SubwordModel& target) {
  constexpr size_t kFewest = 100;
  std::vector<std::string> texts;
  for (const Translation& translation : translations) texts.push_back(translation.hypotheses.front().text);
  if (texts.size() < kFewest) return {};
  const auto counts = chrf_segment_counts(texts, {references});
  std::vector<TextFeatures> text_rows;
  std::vector<WordFeatures> word_rows;
  std::vector<double> scores, hits;
  for (size_t i = 0; i < texts.size(); ++i) {
    const Hypothesis& best = translations[i].hypotheses.front();
    if (best.tokens.empty() || best.tokens.size() != best.token_scores.size()) continue;
    const double end = best.log_probability - std::accumulate(best.token_scores.begin(), best.token_scores.end(), 0.0);
    text_rows.push_back(text_features(best.token_scores, end, !translations[i].warnings.empty()));
    scores.push_back(chrf_from_counts(counts[i]) / 100);
    const std::string reference = spaced_words(references[i]);
    const auto spans = target.spans_of_pieces(best.tokens, best.text);
    for (const ByteSpan& word : checks::words_of_tokens(best.tokens)) {
      const size_t begin = spans[word.first].first;
      word_rows.push_back(word_features(best.token_scores, word));
      hits.push_back(has_word(reference, best.text.substr(begin, spans[word.second - 1].second - begin)) ? 1 : 0);
    }
  }
  if (text_rows.size() < kFewest) return {};
  const ConfidenceCurve curve{fit_logistic(text_rows, scores), fit_logistic(word_rows, hits)};
  if (!are_bounded(curve.text) || !are_bounded(curve.word)) return {};
  return curve;
}

// The name of a metric as the log writes it.
const char* title_of(ValidationMetric metric) {
  switch (metric) {
    case ValidationMetric::bleu:
      return "BLEU";
    case ValidationMetric::chrf:
      return "chrF";
    case ValidationMetric::chrf_plus_plus:
      return "chrF++";
    default:
      return "loss";
  }
}

ChrfOptions chrf_options(int64_t word_order) {
  ChrfOptions options;
  options.word_order = word_order;
  return options;
}

BleuOptions bleu_options(const std::vector<std::string>& references) {
  BleuOptions options;
  options.tokenizer = bleu_tokenizer_for(references);
  return options;
}

ScoreOfSegments score_of_segments(const TranslatedText& text, ValidationMetric metric) {
  if (metric == ValidationMetric::bleu)
    return bleu_of_segments(text.hypotheses, text.references, bleu_options(text.references.front()));
  const int64_t word_order = metric == ValidationMetric::chrf_plus_plus ? 2 : 0;
  return chrf_of_segments(text.hypotheses, text.references, chrf_options(word_order));
}

std::vector<std::string> first_lines(const std::vector<TextFile>& files, int64_t count) {
  std::vector<std::string> lines;
  const LineSource source = lines_of(files);
  for (std::string line; static_cast<int64_t>(lines.size()) < count && source(line);) lines.push_back(line);
  return lines;
}

// The files of each pair of languages, in the order in which the pairs appear.
std::vector<std::pair<std::string, TextFiles>> files_by_languages(const TextFiles& files) {
  std::vector<std::pair<std::string, TextFiles>> all;
  for (size_t i = 0; i < files.source.size(); ++i) {
    const std::string languages = files.languages_of(i);
    auto own = std::find_if(all.begin(), all.end(), [&](const auto& other) { return other.first == languages; });
    if (own == all.end()) own = all.insert(all.end(), {languages, {}});
    own->second.source.push_back(files.source[i]);
    own->second.target.push_back(files.target[i]);
  }
  return all;
}

// The tokenizer that BLEU takes for the sentences that are translated.
BleuTokenizer bleu_tokenizer_of(const TextFiles& files, int64_t max_sentences) {
  std::vector<std::string> references;
  for (const auto& [languages, own] : files_by_languages(files))
    for (std::string& line : first_lines(own.target, max_sentences)) references.push_back(std::move(line));
  return bleu_tokenizer_for(references);
}

// The files were parallel, with lines, when the training began.
void check_still_parallel(const TextFiles& files, size_t sources, size_t references) {
  if (sources == references && sources > 0) return;
  const std::string& shorter = (sources <= references ? files.source : files.target).back().path;
  throw std::runtime_error(fmt::format(
      "{}: the validation text has changed during the training: {} of the source and {} of the target can be read; "
      "restore the file, then run again to resume",
      shorter, counted(static_cast<int64_t>(sources), "line"), format_count(static_cast<int64_t>(references))));
}

}  // namespace

std::string score_text(ValidationMetric metric, double score) {
  if (metric == ValidationMetric::loss) return fmt::format("loss {:.4f}", std::abs(score));
  return fmt::format("{} {:.2f}", title_of(metric), score);
}

double TranslatedText::bleu() const {
  return corpus_bleu(hypotheses, references, bleu_options(references.front())).score;
}

std::vector<TranslatedText> TranslatedText::by_languages() const {
  std::vector<TranslatedText> parts;
  size_t begin = 0;
  const auto part_of = [&](const std::vector<std::string>& lines, size_t count) {
    const auto first = lines.begin() + static_cast<std::ptrdiff_t>(begin);
    return std::vector<std::string>(first, first + static_cast<std::ptrdiff_t>(count));
  };
  for (const auto& [pair, count] : languages) {
    parts.push_back({part_of(sources, count), part_of(hypotheses, count), {part_of(references.front(), count)}});
    begin += count;
  }
  return parts;
}

double TranslatedText::chrf(int64_t word_order) const {
  return corpus_chrf(hypotheses, references, chrf_options(word_order));
}

Json TranslatedText::samples() const {
  constexpr size_t kCount = 5;
  Json found = Json::array();
  const size_t count = std::min(kCount, sources.size());
  for (size_t i = 0; i < count; ++i) {
    const size_t line = i * sources.size() / count;
    found.push_back(
        {{"source", sources[line]}, {"reference", references.front()[line]}, {"translation", hypotheses[line]}});
  }
  return found;
}

bool is_surely_better(const TranslatedText& a, const TranslatedText& b, ValidationMetric metric) {
  constexpr double kByChance = 0.05;
  if (a.hypotheses.empty() || a.hypotheses.size() != b.hypotheses.size()) return false;
  const ScoreOfSegments score_a = score_of_segments(a, metric), score_b = score_of_segments(b, metric);
  std::vector<size_t> all(a.hypotheses.size());
  std::iota(all.begin(), all.end(), size_t{0});
  return score_a(all) > score_b(all) && paired_bootstrap_p(all.size(), score_b, score_a) < kByChance;
}

double Validator::loss() const {
  const LossSum loss = parts_.replicas.evaluate(text_, parts_.resolved.micro_batch_tokens);
  return loss.sum / static_cast<double>(loss.tokens);
}

bool Validator::translates() const {
  return !parts_.config.is_language_model() && parts_.config.validation.max_sentences > 0;
}

ValidationMetric Validator::metric() const {
  if (!translates()) return ValidationMetric::loss;
  const ValidationMetric metric = parts_.config.validation.metric;
  return metric == ValidationMetric::automatic ? ValidationMetric::bleu : metric;
}

std::string Validator::conditions() const {
  const TextFiles files = valid_files(parts_.config);
  std::vector<std::string> paths;
  for (const auto* side : {&files.source, &files.target})
    for (const TextFile& file : *side) paths.push_back(file.path);
  const std::string text = fmt::format("text {:016x}", files_fingerprint(paths));
  if (metric() == ValidationMetric::loss) return text;
  const ValidationOptions& validation = parts_.config.validation;
  const std::string all = fmt::format("{}, max_sentences {}, beam_size {}, length_alpha {}", text,
                                      validation.max_sentences, validation.beam_size, validation.length_alpha);
  if (metric() != ValidationMetric::bleu) return all;
  const BleuTokenizer tokenizer = bleu_tokenizer_of(files, validation.max_sentences);
  // 13a is not named, so that the scores of runs that knew no other still count.
  return tokenizer == BleuTokenizer::mteval_13a ? all : all + ", tokenize " + bleu_tokenizer_name(tokenizer);
}

SearchOptions Validator::search() const {
  SearchOptions search;
  search.beam_size = parts_.config.validation.beam_size;
  search.length_alpha = parts_.config.validation.length_alpha;
  return search;
}

TranslatedText Validator::translate(const SearchOptions& search, std::shared_ptr<const Shortlist> shortlist) const {
  const int64_t max_sentences = parts_.config.validation.max_sentences;
  Transformer& transformer = parts_.replicas.transformer();
  transformer->eval();
  const ParallelFor parallel_for = [this](size_t count, const std::function<void(size_t)>& task) {
    parts_.workers.for_each_chunk(count, 1, [&](size_t i, size_t, int) { task(i); });
  };
  TranslationEngine engine(make_step_model(transformer, parts_.resolved.device, Precision::float32, parallel_for),
                           parts_.tokenizer, parallel_for);
  engine.use(std::move(shortlist));
  TranslationOptions options;
  options.guard = Guard::warn;             // the score is the search's; confidence depends on warnings
  options.letter_case = LetterCase::kept;  // what is measured is the network
  options.split_sentences = SentenceSplitting::never;
  options.protect = Protection::none;
  options.search = search;
  const DataOptions& data = parts_.config.data;  // what is learned whole is translated whole
  options.max_source_tokens = std::max(options.max_source_tokens, data.max_source_tokens);
  options.search.max_extra_length =
      std::max(options.search.max_extra_length, data.max_target_tokens - data.max_source_tokens);
  TranslatedText text;
  text.references.emplace_back();
  std::vector<Translation> translations;
  for (const auto& [languages, files] : files_by_languages(valid_files(parts_.config))) {
    const std::vector<std::string> sources = first_lines(files.source, max_sentences);
    const std::vector<std::string> references = first_lines(files.target, max_sentences);
    check_still_parallel(files, sources.size(), references.size());
    options.target_language = target_of(languages);
    for (Translation& translation : engine.translate(sources, options)) translations.push_back(std::move(translation));
    text.sources.insert(text.sources.end(), sources.begin(), sources.end());
    text.references.front().insert(text.references.front().end(), references.begin(), references.end());
    if (!languages.empty()) text.languages.emplace_back(languages, sources.size());
  }
  for (const Translation& translation : translations) text.hypotheses.push_back(translation.hypotheses.front().text);
  text.confidence = fit_confidence(translations, text.references.front(), parts_.tokenizer.target());
  return text;
}

ValidationScore Validator::measure(int64_t step) const {
  const double per_token = loss();
  ValidationScore measured;
  measured.score = -per_token;
  measured.loss = per_token;
  measured.record = {{"type", "validation"}, {"step", step}, {"loss", per_token}, {"perplexity", std::exp(per_token)}};
  measured.text = fmt::format("validation after step {}: loss {:.4f}, perplexity {:.3f}", format_count(step), per_token,
                              std::exp(per_token));
  measured.summary = fmt::format("perplexity {:.3f}", std::exp(per_token));
  measured.metric = metric();
  if (!translates()) return measured;
  const TranslatedText translated = translate();
  const double bleu = translated.bleu(), chrf = translated.chrf(0), chrf_plus_plus = translated.chrf(2);
  const std::string tokenizer = bleu_tokenizer_name(bleu_tokenizer_for(translated.references.front()));
  measured.record["bleu"] = bleu;
  measured.record["bleu_tokenizer"] = tokenizer;
  measured.record["chrf"] = chrf;
  measured.record["chrf++"] = chrf_plus_plus;
  measured.record["samples"] = translated.samples();
  measured.text += fmt::format(", BLEU{} {:.2f}, chrF {:.2f}, chrF++ {:.2f}",
                               tokenizer == "13a" ? "" : " (" + tokenizer + ")", bleu, chrf, chrf_plus_plus);
  const std::vector<TranslatedText> by_languages = translated.by_languages();
  for (size_t i = 0; i < by_languages.size(); ++i) {
    const std::string& pair = translated.languages[i].first;
    const double bleu_of_pair = by_languages[i].bleu();
    measured.record["languages"][pair] = {{"bleu", bleu_of_pair}, {"chrf", by_languages[i].chrf(0)}};
    measured.text += fmt::format("{} {} {:.2f}", i == 0 ? "; BLEU" : ",", pair, bleu_of_pair);
  }
  if (measured.metric == ValidationMetric::bleu) measured.score = bleu;
  if (measured.metric == ValidationMetric::chrf) measured.score = chrf;
  if (measured.metric == ValidationMetric::chrf_plus_plus) measured.score = chrf_plus_plus;
  if (measured.metric == ValidationMetric::loss) {
    measured.summary += ", " + score_text(ValidationMetric::bleu, bleu);
  } else {
    measured.summary = score_text(measured.metric, measured.score);
  }
  measured.translated = translated;
  return measured;
}

bool start_scores(TrainState& state, ValidationMetric metric, const std::string& conditions) {
  const bool comparable = state.metric == name_of(metric) && state.conditions == conditions;
  const bool drops = !comparable && (state.best_score || state.validations_since_best > 0);
  state.metric = name_of(metric);
  state.conditions = conditions;
  if (comparable) return false;
  state.best_score.reset();
  state.score.reset();
  state.validations_since_best = 0;
  return drops;
}

bool note_score(TrainState& state, double score) {
  if (std::isfinite(score)) state.score = score;
  const bool better = std::isfinite(score) && (!state.best_score || score > *state.best_score);
  if (better) state.best_score = score;
  state.validations_since_best = better ? 0 : state.validations_since_best + 1;
  return better;
}

}  // namespace v0
}  // namespace transmute
