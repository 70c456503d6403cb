// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/written_forms.h>
#include <transmute/translation/guard.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/text_file.h>
#include <transmute/search/sentence_search.h>
#include <transmute/text/aligned_words.h>
#include <transmute/text/checks/brackets.h>
#include <transmute/text/checks/checks.h>
#include <transmute/text/checks/coverage.h>
#include <transmute/text/sentence_characters.h>
#include <transmute/text/sentences.h>
#include <transmute/text/split_ids.h>
#include <transmute/translation/join_parts.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

using Warnings = std::vector<TranslationWarning>;

// Standard deviations from the expected length.
constexpr double kSuspiciousLength = 4;
constexpr size_t kFewCharacters = 15;  // more or fewer prove nothing
constexpr double kShort = -1;          // standard deviations
constexpr double kImprobable = -4;     // log-probability of a token

bool is_abandoned(const Translation& translation) {
  return translation.hypotheses.front().log_probability == search::kNever;
}

// The least probable token of a translation; the end is the one after the last.
struct LeastScore {
  double score;
  size_t token;
};

LeastScore least_score(const Translation& translation) {
  const Hypothesis& best = translation.hypotheses.front();
  double end = best.log_probability;
  for (const double score : best.token_scores) end -= score;
  LeastScore least{end, best.tokens.size()};
  for (size_t i = 0; i < best.token_scores.size(); ++i)
    if (best.token_scores[i] < least.score) least = {best.token_scores[i], i};
  return least;
}

bool has(const Warnings& warnings, WarningKind kind) {
  return std::any_of(warnings.begin(), warnings.end(), [&](const auto& warning) { return warning.kind == kind; });
}

// The place in a part's own text of a place in the whole: 0 for the space before the part, which its first token has.
size_t own_place(const SourcePart& part, size_t place) {
  return std::max(place, part.begin) - part.begin;
}

// The bytes of a part's tokens. Of the tokens that one character becomes, only the last one has bytes.
ByteSpan place_of(const SourcePart& part, const ByteSpan& tokens) {
  const size_t begin = own_place(part, part.spans[tokens.first].first);
  size_t end = begin;
  for (size_t i = tokens.second - 1; end <= begin && i < part.spans.size(); ++i)
    end = own_place(part, part.spans[i].second);
  return {space_end(part.plain, begin, end), end};
}

// True if a translation has more than its source, which is all numbers and signs: "71%" has become "71% of the".
bool adds_words(std::string_view source, std::string_view target) {
  const size_t begin = target.find(source), end = begin + source.size();
  const auto has_no = [](std::string_view text, UBool (*is)(UChar32)) {
    return sentence_characters::all_characters(text, [&](UChar32 c) { return is(c) == 0; });
  };
  return begin != std::string_view::npos && target.size() > source.size() && has_no(source, u_isalpha) &&
         has_no(target.substr(0, begin), u_isdigit) && has_no(target.substr(end), u_isdigit);
}

// True if a translation is its source, which is no sentence, after a short word: "CSV" has become "O CSV".
bool adds_article(std::string_view source, std::string_view target) {
  constexpr size_t kMostWords = 3, kMostLetters = 3;
  constexpr std::string_view kEllipsis = "...";
  const size_t added = target.size() - std::min(target.size(), source.size());
  if (source.empty() || added < 2 || target.substr(added) != source || target[added - 1] != ' ') return false;
  const std::string_view article = target.substr(0, added - 1);
  const auto are_all = [](std::string_view text, UBool (*is)(UChar32)) {
    return sentence_characters::all_characters(text, [&](UChar32 c) { return is(c) != 0; });
  };
  const bool is_open = source.size() > kEllipsis.size() && source.substr(source.size() - kEllipsis.size()) == kEllipsis;
  const bool is_sentence = !is_open && std::string_view(".!?").find(source.back()) != std::string_view::npos;
  return !is_sentence && std::count(source.begin(), source.end(), ' ') < static_cast<std::ptrdiff_t>(kMostWords) &&
         are_all(article, u_isalpha) && characters_in(article) <= kMostLetters;
}

bool adds_to_source(std::string_view source, std::string_view target) {
  return adds_words(source, target) || adds_article(source, target);
}

// A part whose translation is given.
SourcePart with_translation(SourcePart part, const std::string& text, const SubwordModel& target, int64_t most_tokens) {
  const Ids own = target.encode(text);
  part.prefix.resize(part.forced.target);
  part.prefix.insert(part.prefix.end(), own.begin(), own.end());
  if (static_cast<int64_t>(part.prefix.size()) > most_tokens) part.prefix.resize(static_cast<size_t>(most_tokens));
  part.prefix_is_complete = true;
  part.terms.clear();
  return part;
}

}  // namespace

bool may_choose(const TranslationOptions& options) {
  return options.guard == Guard::retry && search::is_search(options.search) && options.search.num_hypotheses == 1 &&
         !options.search.constraint && options.mbr.candidates == 0 && options.rerank.candidates == 0;
}

double TranslationGuard::length_deviation(const SourcePart& part, const Translation& translation) const {
  return checks::length_deviation(part.plain, translation.hypotheses.front().text, model_.expected);
}

Warnings TranslationGuard::cheap_warnings(const SourcePart& part, const Translation& translation) const {
  const Hypothesis& best = translation.hypotheses.front();
  Rewriting rewriting(best.text, {});
  WrittenForms(part.plain).restore(rewriting);
  const RecasedText written = rewriting.rewritten();  // with the forms of the source
  Warnings warnings = checks::check_texts(part.plain, written.text, model_.expected);
  for (TranslationWarning& warning : warnings) warning.target = written.before(warning.target);
  const size_t source = characters_in(part.plain), target = characters_in(best.text);
  const double deviation = length_deviation(part, translation);
  const bool is_empty = space_end(best.text, 0, best.text.size()) == best.text.size() &&
                        space_end(part.plain, 0, part.plain.size()) < part.plain.size();
  if (is_empty ||
      (std::abs(deviation) > kSuspiciousLength && std::max(source, target) - std::min(source, target) > kFewCharacters))
    warnings.push_back({WarningKind::length,
                        {0, part.plain.size()},
                        {0, best.text.size()},
                        fmt::format("{} characters are translated as {}, much {} than expected", source, target,
                                    is_empty || deviation < 0 ? "fewer" : "more")});
  const bool is_free = part.prefix.size() == part.forced.target && part.terms.empty();
  // A prefix or a term may repeat the source, add to it, and have brackets.
  if (!is_free &&
      (checks::continues_source(part.plain, written.text) || !checks::has_as_many_brackets(part.plain, written.text)))
    warnings.erase(std::remove_if(warnings.begin(), warnings.end(),
                                  [](const auto& warning) { return warning.kind == WarningKind::bracket; }),
                   warnings.end());
  if (is_free && adds_to_source(part.plain, written.text))
    warnings.push_back({WarningKind::length,
                        {0, part.plain.size()},
                        {0, best.text.size()},
                        "the translation has more than the source"});
  return warnings;
}

bool TranslationGuard::is_doubtful(const SourcePart& part, const Translation& translation) const {
  const double deviation = length_deviation(part, translation);
  return deviation < kShort || (deviation < 0 && least_score(translation).score < kImprobable);
}

// Two things show that words were left out: many of them got no attention, and the translation is short; or some got
// none, and the translation continues with a token that the model did not expect there.
Warnings TranslationGuard::omissions(const SourcePart& part, const Translation& translation,
                                     const Attention& attention) const {
  constexpr double kManyWords = 3, kSomeWords = 0.2;
  const checks::Gap gap = checks::largest_gap(translation.source_tokens, attention);
  const LeastScore least = least_score(translation);
  const double deviation = length_deviation(part, translation);
  const bool is_jump = deviation < 0 && least.score < kImprobable && gap.words > kSomeWords;
  if (!is_jump && (deviation >= kShort || gap.words < kManyWords)) return {};
  const Hypothesis& best = translation.hypotheses.front();
  const ByteSpan source = place_of(part, gap.tokens);
  ByteSpan target;
  if (is_jump && least.token < best.tokens.size()) {
    target = model_.tokenizer.target().spans_of_pieces(best.tokens, best.text)[least.token];
    target.first = space_end(best.text, target.first, target.second);
  }
  const std::string words = part.plain.substr(source.first, source.second - source.first);
  return {{WarningKind::omission, source, target, fmt::format("\"{}\" may not be translated", words)}};
}

void TranslationGuard::check(const std::vector<TranslatedPart>& parts) const {
  std::vector<TranslatedPart> complete;
  for (const TranslatedPart& part : parts)
    if (!is_abandoned(part.translation)) complete.push_back(part);
  for (const TranslatedPart& part : complete) part.translation.warnings = cheap_warnings(part.source, part.translation);
  warn_of_omissions(complete);
  if (may_choose(options_)) retry(complete);
  for (const TranslatedPart& part : complete)
    for (TranslationWarning& warning : part.translation.warnings) {
      warning.source.first += part.source.begin;
      warning.source.second += part.source.begin;
    }
}

void TranslationGuard::warn_of_omissions(const std::vector<TranslatedPart>& parts) const {
  std::vector<TranslatedPart> doubtful;
  std::vector<SourcePart> given;  // the same, with their translations
  for (const TranslatedPart& part : parts) {
    if (!is_doubtful(part.source, part.translation)) continue;
    doubtful.push_back(part);
    given.push_back(with_translation(part.source, part.translation.hypotheses.front().text, model_.tokenizer.target(),
                                     model_.most_tokens));
  }
  if (doubtful.empty()) return;
  TranslationOptions aligned;
  aligned.search.alignments = true;
  const std::vector<Translation> found = model_.search(given, aligned);
  for (size_t i = 0; i < doubtful.size(); ++i) {
    auto& [source, translation, number] = doubtful[i];
    if (is_abandoned(found[i])) continue;
    for (TranslationWarning& warning : omissions(source, translation, found[i].hypotheses.front().alignment))
      translation.warnings.push_back(std::move(warning));
  }
}

void TranslationGuard::judge(const SourcePart& part, Translation& translation) const {
  translation.warnings = cheap_warnings(part, translation);
  for (TranslationWarning& warning : omissions(part, translation, translation.hypotheses.front().alignment))
    translation.warnings.push_back(std::move(warning));
}

std::vector<Ids> TranslationGuard::sentences_of(const Retried& retried) const {
  const std::vector<ByteSpan> sentences = model_.splitter.spans(retried.part.plain);
  std::vector<Ids> cut(1);
  size_t next = 1;  // sentence
  for (size_t i = 0; i < retried.ids.size(); ++i) {
    if (next < sentences.size() && own_place(retried.part, retried.part.spans[i].second) > sentences[next].first) {
      cut.emplace_back();
      ++next;
    }
    cut.back().push_back(retried.ids[i]);
  }
  return cut;
}

void TranslationGuard::retry(const std::vector<TranslatedPart>& parts) const {
  // A quarter of a batch, in some pieces or with twice the hypotheses, takes no more memory than a whole one.
  const auto together = static_cast<size_t>(std::max<int64_t>(1, options_.batch_size / 4));
  constexpr int64_t kRepeated = 3;  // tokens
  std::vector<Retried> repeating, others;
  for (const auto& [part, translation, number] : parts) {
    if (translation.warnings.empty()) continue;
    Retried retried{part, translation, has(translation.warnings, WarningKind::copy),
                    has(translation.warnings, WarningKind::bracket),
                    // A prefix and terms belong to the whole.
                    part.prefix.size() == part.forced.target && part.terms.empty(), translation.source_tokens,
                    Ids(part.ids.begin() + static_cast<int64_t>(part.forced.source), part.ids.end())};
    (has(translation.warnings, WarningKind::repetition) ? repeating : others).push_back(std::move(retried));
  }
  for (const auto* all : {&others, &repeating}) {
    TranslationOptions options = options_;
    options.search.alignments = true;
    if (all == &repeating && options.search.no_repeat_ngram == 0) options.search.no_repeat_ngram = kRepeated;
    for (size_t begin = 0; begin < all->size(); begin += together)
      search_again({all->begin() + static_cast<std::ptrdiff_t>(begin),
                    all->begin() + static_cast<std::ptrdiff_t>(std::min(begin + together, all->size()))},
                   options);
  }
}

void TranslationGuard::take_if_better(const Retried& retried, Translation&& other) const {
  if (is_abandoned(other)) return;
  const std::string &source = retried.part.plain, &text = other.hypotheses.front().text;
  // A copy with a word or two changed is worse than the copy.
  if (retried.was_copy && checks::is_half_copied(source, text)) return;
  // Other words after the source, more brackets than it has, or none, are no better than a faulty one.
  if (retried.had_bracket_fault &&
      (checks::continues_source(source, text) || !checks::has_as_many_brackets(source, text)))
    return;
  judge(retried.part, other);
  // Joined, the alignments of a text's parts take the square of its length.
  if (!options_.search.alignments && !retried.part.has_tags)
    for (Hypothesis& hypothesis : other.hypotheses) hypothesis.alignment.clear();
  if (other.warnings.size() < retried.translation.warnings.size()) retried.translation = std::move(other);
}

void TranslationGuard::search_pieces(const std::vector<Retried>& parts, const TranslationOptions& options,
                                     const std::function<std::vector<Ids>(const Retried&)>& cut_of) const {
  std::vector<SourcePart> pieces;
  std::vector<size_t> counts;
  for (const Retried& retried : parts) {
    std::vector<Ids> cut;
    if (retried.may_cut && !retried.translation.warnings.empty()) cut = cut_of(retried);
    counts.push_back(cut.size());
    for (const Ids& ids : cut) {
      SourcePart& piece = pieces.emplace_back(retried.part);
      piece.ids.resize(piece.forced.source);
      piece.ids.insert(piece.ids.end(), ids.begin(), ids.end());
      piece.begins_with_capital = piece.begins_with_capital && &ids == cut.data();
    }
  }
  if (pieces.empty()) return;
  std::vector<Translation> found = model_.search(pieces, options);
  auto next = found.begin();
  for (size_t i = 0; i < parts.size(); ++i) {
    if (counts[i] == 0) continue;
    Translation whole;
    for (size_t k = 0; k < counts[i]; ++k) append_translation(whole, std::move(*next++), " ", JoinedResults::best);
    whole.parts = 1;
    take_if_better(parts[i], std::move(whole));
  }
}

void TranslationGuard::search_wider(const std::vector<Retried>& parts, const TranslationOptions& options) const {
  TranslationOptions wide = options;
  wide.search.beam_size = std::min(kMaxHypotheses, std::max<int64_t>(2 * wide.search.beam_size, 8));
  wide.search.num_hypotheses = wide.search.beam_size;
  std::vector<const Retried*> open;
  std::vector<SourcePart> sources;
  for (const Retried& retried : parts) {
    if (retried.translation.warnings.empty()) continue;
    open.push_back(&retried);
    sources.push_back(retried.part);
  }
  if (open.empty()) return;
  std::vector<Translation> found = model_.search(sources, wide);
  for (size_t i = 0; i < open.size(); ++i)
    for (Hypothesis& hypothesis : found[i].hypotheses) {
      if (open[i]->translation.warnings.empty()) break;
      Translation other;
      other.source_tokens = found[i].source_tokens;
      other.unknown = found[i].unknown;
      other.hypotheses.push_back(std::move(hypothesis));
      take_if_better(*open[i], std::move(other));
    }
}

void TranslationGuard::take_sources(const std::vector<Retried>& parts, const TranslationOptions& options,
                                    bool (*is_taken)(std::string_view source, std::string_view target)) const {
  std::vector<const Retried*> open;
  std::vector<SourcePart> given;
  for (const Retried& retried : parts) {
    const Translation& translation = retried.translation;
    if (!retried.may_cut || translation.warnings.empty() ||
        !is_taken(retried.part.plain, translation.hypotheses.front().text))
      continue;
    open.push_back(&retried);
    given.push_back(with_translation(retried.part, retried.part.plain, model_.tokenizer.target(), model_.most_tokens));
  }
  if (open.empty()) return;
  std::vector<Translation> found = model_.search(given, options);
  for (size_t i = 0; i < open.size(); ++i) take_if_better(*open[i], std::move(found[i]));
}

void TranslationGuard::search_again(const std::vector<Retried>& parts, const TranslationOptions& options) const {
  take_sources(parts, options, adds_to_source);
  search_pieces(parts, options, [&](const Retried& retried) {
    std::vector<Ids> sentences = sentences_of(retried);
    return sentences.size() > 1 ? sentences : std::vector<Ids>();
  });
  search_wider(parts, options);
  take_sources(parts, options, [](std::string_view source, std::string_view target) {
    return checks::find_bracket_fault(source, target) && checks::continues_source(source, target);
  });
  constexpr int64_t kFewestTokens = 8;
  for (const int64_t eighths : {5, 3})
    search_pieces(parts, options, [&](const Retried& retried) {
      const int64_t limit = static_cast<int64_t>(retried.ids.size()) * eighths / 8;
      return limit >= kFewestTokens ? split_ids(retried.ids, retried.tokens, limit) : std::vector<Ids>();
    });
}

}  // namespace v0
}  // namespace transmute
