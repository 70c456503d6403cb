// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/engine.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/text_file.h>
#include <transmute/search/batches.h>
#include <transmute/search/required_terms.h>
#include <transmute/search/search.h>
#include <transmute/search/sentence_search.h>
#include <transmute/text/inline_tags.h>
#include <transmute/text/minimum_risk.h>
#include <transmute/text/source_case.h>
#include <transmute/text/source_parts.h>
#include <transmute/text/written_text.h>
#include <transmute/tokenizer/truecase.h>
#include <transmute/translation/call_hooks.h>
#include <transmute/translation/guard.h>
#include <transmute/translation/join_parts.h>
#include <transmute/translation/stand_ins.h>
#include <transmute/translation/text_pieces.h>
#include <transmute/translation/torn_names.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <stdexcept>
#include <unordered_set>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

void check_candidates(int64_t candidates, const SearchOptions& search, const char* what) {
  if (candidates < 0 || candidates > kMaxCandidates)
    throw std::invalid_argument(
        fmt::format("{}.candidates must be from 0 to {}, not {}", what, kMaxCandidates, candidates));
  if (candidates > 0 && search.alternatives)
    throw std::invalid_argument(
        fmt::format("{} cannot be combined with alternatives, whose order is that of their first tokens", what));
}

void check(const TranslationOptions& options) {
  check_at_least_one(options.batch_size, "batch_size");
  check_at_least_one(options.batch_tokens, "batch_tokens");
  check_at_least_one(options.max_source_tokens, "max_source_tokens");
  check_candidates(options.mbr.candidates, options.search, "mbr");
  check_candidates(options.rerank.candidates, options.search, "rerank");
  if (!(options.rerank.weight >= 0 && std::isfinite(options.rerank.weight)))
    throw std::invalid_argument(
        fmt::format("rerank.weight must be finite and at least 0, not {}", options.rerank.weight));
  if (options.mbr.candidates > 0 && options.rerank.candidates > 0)
    throw std::invalid_argument("mbr cannot be combined with rerank: each decides which translation is chosen");
  if (!options.glossary.empty() && !search::is_search(options.search))
    throw std::invalid_argument(
        "only a search can be made to use a glossary's terms; neither sampling nor alternatives can");
  if (options.search.constraint && options.split_sentences == SentenceSplitting::always)
    throw std::invalid_argument("split_sentences cannot be combined with a constraint, which is about a whole output");
  if (options.search.constraint && options.inline_tags)
    throw std::invalid_argument("inline_tags cannot be combined with a constraint, which is about a whole output");
}

// The search options, with as many results as are to be compared.
SearchOptions search_of(const TranslationOptions& options) {
  SearchOptions search = options.search;
  const int64_t candidates = std::max(options.mbr.candidates, options.rerank.candidates);
  if (candidates == 0) return search;
  search.num_hypotheses = std::max(search.num_hypotheses, candidates);
  if (!search.sampling) search.beam_size = std::max(search.beam_size, search.num_hypotheses);
  return search;
}

LanguageNames languages_of(const TranslationOptions& options) {
  return {options.source_language, options.target_language};
}

// The reverse model's names for the languages; its source is the target. Where nothing else is said, what the model
// itself calls them.
LanguageNames reversed_languages(const TranslationOptions& options, const Tokenizer& tokenizer) {
  const LanguagePieces pieces = tokenizer.source().languages();
  LanguageNames names{options.rerank.source_language, options.rerank.target_language};
  if (names.source.empty() && pieces == LanguagePieces::both_sides) names.source = options.target_language;
  if (names.target.empty() && pieces != LanguagePieces::none) names.target = options.source_language;
  const bool lacks_source = names.source.empty() && pieces == LanguagePieces::both_sides;
  const bool lacks_target = names.target.empty() && pieces != LanguagePieces::none;
  if (lacks_source || lacks_target)
    throw std::invalid_argument(
        fmt::format("the reverse model must be told {}{}{}",
                    lacks_source ? "its source language, the translation's (--rerank-source-language)" : "",
                    lacks_source && lacks_target ? ", and " : "",
                    lacks_target ? "its target language, the text's (--rerank-target-language)" : ""));
  try {
    language_tokens(names, tokenizer);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(
        fmt::format("the reverse model: {}. --rerank-source-language and --rerank-target-language name its languages",
                    error.what()));
  }
  return names;
}

// The options for the reverse model.
TranslationOptions reversed(const TranslationOptions& options, const Tokenizer& tokenizer) {
  TranslationOptions reverse;
  reverse.search.length_alpha = options.search.length_alpha;
  reverse.search.length_penalty = options.search.length_penalty;
  reverse.batch_size = options.batch_size;
  reverse.batch_tokens = options.batch_tokens;
  LanguageNames languages = reversed_languages(options, tokenizer);
  reverse.source_language = std::move(languages.source);
  reverse.target_language = std::move(languages.target);
  return reverse;
}

// An alignment has a number for each pair of tokens.
void check_can_be_aligned(const SourceText& text) {
  size_t tokens = 0;
  for (const SourcePart& part : text.parts)
    if (tokens += part.ids.size(); tokens > static_cast<size_t>(kMaxWholeTokens))
      throw BadText(part.text, fmt::format("it has {} tokens or more; an alignment takes at most {}: split it into "
                                           "shorter lines or paragraphs",
                                           tokens, kMaxWholeTokens));
}

// A prefix and terms may exceed every other limit of a translation's length, but not the learned positions.
void check_demands_fit(const SourcePart& part, int64_t most_tokens) {
  size_t demanded = part.prefix.size();
  for (const Ids& term : part.terms) demanded += term.size();
  if (static_cast<int64_t>(demanded) > most_tokens)
    throw BadText(part.text, fmt::format("its translation must have {} tokens for its prefix and terms, but the "
                                         "model has learned positions for {}; shorten them",
                                         demanded, most_tokens));
}

// Bytes of the plain text at which sentences end: at each <br> and before each further item of a list. The plain text
// lacks the marker of the first item, but a "2)" begins an item only after a "1)".
std::vector<size_t> line_ends_of(const TaggedText& tagged, const SentenceSplitter& splitter) {
  std::vector<size_t> ends = tagged.line_ends();
  const TagSource& source = tagged.source();
  if (source.tags.empty() || source.tags.front().role != TagRole::marker) return ends;
  const auto text_of = [&](const ByteSpan& span) { return source.text.substr(span.first, span.second - span.first); };
  const std::string marker = text_of(source.tags.front().opening);
  std::string text = source.plain;
  std::vector<size_t> places;  // of the marker and of its like, which the vocabulary may lack
  for (const TagSource::Tag& tag : source.tags) {
    if (text_of(tag.opening) != marker) continue;
    places.push_back(tag.content.first + places.size() * marker.size());
    text.insert(places.back(), marker);
  }
  for (const auto& [begin, end] : splitter.spans(text)) {
    const auto before = std::lower_bound(places.begin(), places.end(), end) - places.begin();
    ends.push_back(end - static_cast<size_t>(before) * marker.size());
  }
  std::sort(ends.begin(), ends.end());
  return ends;
}

// The runs of digits of the glossary.
std::unordered_set<std::string> numbers_in_terms(const TranslationOptions& options) {
  std::unordered_set<std::string> numbers;
  for (const GlossaryEntry& entry : options.glossary) {
    add_numbers(entry.source, numbers);
    add_numbers(entry.target, numbers);
  }
  return numbers;
}

// Keeps the best of hypotheses with one text. Those of a search differ in their tokens, but two of them may become the
// same text when they get the source's case, marks and spaces.
void drop_repeated_texts(std::vector<Hypothesis>& hypotheses) {
  std::unordered_set<std::string> texts;
  hypotheses.erase(std::remove_if(hypotheses.begin(), hypotheses.end(),
                                  [&](const Hypothesis& one) { return !texts.insert(one.text).second; }),
                   hypotheses.end());
}

}  // namespace

TranslationEngine::TranslationEngine(ReadyModel model, Tokenizer tokenizer, ParallelFor parallel_for)
    : model_(std::move(model.model)),
      architecture_(model.architecture),
      slow_reason_(std::move(model.slow_reason)),
      most_tokens_(model.most_tokens),
      tokenizer_(std::move(tokenizer)),
      unknown_characters_(tokenizer_.source()),
      reads_digits_(can_write(tokenizer_.source(), "0 1 2 3 4 5 6 7 8 9")),
      parallel_for_(std::move(parallel_for)) {}

SearchOptions TranslationEngine::with_head(SearchOptions search) const {
  if (search.alignment_layer != 0 || search.alignment_head != 0) return search;
  search.alignment_layer = alignment_layer_;
  search.alignment_head = alignment_head_;
  return search;
}

void TranslationEngine::check_options(const TranslationOptions& given) const {
  if (architecture_ == Architecture::decoder_only)
    throw std::invalid_argument(
        "a decoder_only model has no source to translate; LanguageModel continues text with it");
  check(given);
  check_hypotheses(given.search);  // before search_of increases their number
  SearchOptions search = with_head(search_of(given));
  search.alignments |= given.word_alignments || given.inline_tags;
  check_search_options(search);
  if (given.search.constraint && shortlist_ && shortlist_is_asked_for_)
    throw std::invalid_argument(
        "a shortlist cannot be combined with a constraint (on trees, for one), which may allow other tokens");
  if (given.rerank.candidates > 0 && !reverse_)
    throw std::invalid_argument("rerank needs a model of the opposite direction: TranslatorOptions::reverse_model");
  model_->check({search.alignments || search.coverage_beta > 0, search.alignment_layer, search.alignment_head});
  if (given.rerank.candidates > 0) reverse_->check_options(reversed(given, reverse_->tokenizer()));
}

std::vector<Translation> TranslationEngine::translate(const std::vector<std::string>& texts,
                                                      const TranslationOptions& given,
                                                      const TranslationHooks& hooks) const {
  check_options(given);
  if ((given.mbr.candidates > 0 || given.rerank.candidates > 0) && hooks.on_text)
    throw std::invalid_argument(
        fmt::format("{} cannot be combined with on_text: the translation is chosen only at the end",
                    given.mbr.candidates > 0 ? "mbr" : "rerank"));
  if (given.inline_tags && hooks.on_text) throw std::invalid_argument("inline_tags cannot be combined with on_text");
  const std::vector<std::string>& prefixes = given.target_prefixes;
  if (!prefixes.empty() && prefixes.size() != texts.size())
    throw std::invalid_argument(
        fmt::format("the numbers of target prefixes ({}) and texts ({}) differ", prefixes.size(), texts.size()));
  std::vector<bool> cuts;
  for (size_t i = 0; i < texts.size(); ++i) {
    check_utf8(texts[i], "text", i + 1);
    cuts.push_back(is_cut(texts[i], given));
  }
  if (std::find(cuts.begin(), cuts.end(), true) == cuts.end()) return translate_whole(texts, given, hooks);
  const TextPieces pieces(texts, cuts, splitter_for(given), Glossary(given.glossary), given.inline_tags);
  try {
    return pieces.joined(translate_whole(pieces.pieces(), given, pieces.hooks(hooks)), given.search, hooks);
  } catch (const TextTooLong& error) {
    throw TextTooLong(pieces.text_of(error.text()), error.reason());
  } catch (const BadText& error) {
    throw BadText(pieces.text_of(error.text()), error.reason());
  }
}

bool TranslationEngine::is_cut(const std::string& text, const TranslationOptions& options) const {
  if (text.size() <= static_cast<size_t>(kMaxWholeTokens) || !splits_sentences(options) || options.search.constraint ||
      options.word_alignments || options.search.alignments || !options.target_prefixes.empty() ||
      !leading_tag(tokenizer_.source(), text).empty())
    return false;
  const bool protects = options.protect != Protection::none;
  const auto is_protected = [&](const ProtectedSpan&) { return protects; };
  return !tags_and_spans(text, options.inline_tags, is_protected, protects ? is_unknown() : IsUnknown{}).empty();
}

std::vector<Translation> TranslationEngine::translate_whole(const std::vector<std::string>& texts,
                                                            const TranslationOptions& given,
                                                            const TranslationHooks& hooks) const {
  const std::vector<std::string>& prefixes = given.target_prefixes;
  TranslationOptions options = given;
  // Streamed text is final, so the guard must not search again.
  if (hooks.on_text && given.guard == Guard::retry) options.guard = Guard::warn;
  const Glossary glossary(given.glossary);
  const std::unordered_set<std::string> in_terms = numbers_in_terms(given);
  // Inline tags and placeholders are not among the words that are aligned then.
  const bool may_number = reads_digits_ && !(given.inline_tags && given.word_alignments);
  std::vector<StandIns> stand_ins(texts.size());
  std::vector<TaggedText> tagged;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string prefix = prefixes.empty() ? "" : prefixes[i];
    std::vector<ProtectedSpan> spans, others;
    tagged.push_back(tagged_text(texts[i], prefix, given, glossary, spans));
    if (!may_number || !prefix.empty() || spans.empty() || tagged.back().is_blank()) continue;
    stand_ins[i] = StandIns(texts[i], spans, in_terms);
    if (stand_ins[i].exist()) tagged.back() = tagged_text(stand_ins[i].text(), "", given, glossary, others);
  }
  TranslationHooks first = hooks;
  if (hooks.on_text)
    first.on_text = [&](size_t text, const std::string& so_far) {
      if (!stand_ins[text].exist()) hooks.on_text(text, so_far);
    };
  const std::optional<Glossary> changed = read_glossary(given);
  const Glossary& read = changed ? *changed : glossary;
  std::vector<Translation> translations = translate_tagged(tagged, options, read, first);
  std::vector<size_t> lost;  // the texts whose translations lack a number
  for (size_t i = 0; i < texts.size(); ++i) {
    if (!stand_ins[i].exist()) continue;
    if (!stand_ins[i].restore(translations[i])) {
      lost.push_back(i);
    } else if (hooks.on_text) {
      hooks.on_text(i, translations[i].hypotheses.front().text);
    }
  }
  TranslationHooks again = hooks;
  again.on_progress = nullptr;  // they have been counted
  if (!lost.empty()) {
    tagged.assign(texts.size(), TaggedText(""));
    for (const size_t i : lost) {
      std::vector<ProtectedSpan> spans;
      tagged[i] = tagged_text(texts[i], "", given, glossary, spans);
    }
    std::vector<Translation> found = translate_tagged(tagged, options, read, again);
    for (const size_t i : lost) translations[i] = std::move(found[i]);
  }
  if (may_number && prefixes.empty() && may_choose(options))
    mend_names(texts, options, read, in_terms, again, translations);
  if (!options.search.sampling)
    for (Translation& translation : translations) drop_repeated_texts(translation.hypotheses);
  return translations;
}

void TranslationEngine::mend_names(const std::vector<std::string>& texts, const TranslationOptions& options,
                                   const Glossary& glossary, const std::unordered_set<std::string>& in_terms,
                                   const TranslationHooks& hooks, std::vector<Translation>& translations) const {
  if (options.protect == Protection::none) return;
  std::vector<StandIns> stand_ins(texts.size());
  std::vector<TaggedText> tagged(texts.size(), TaggedText(""));
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].size() > static_cast<size_t>(kMaxWholeTokens)) continue;  // nothing is taken out of it
    const std::vector<ProtectedSpan> names = torn_names(texts[i], translations[i].hypotheses.front().text);
    if (names.empty() || !glossary.matches_in(texts[i]).empty()) continue;
    std::vector<ProtectedSpan> spans, others;
    tagged_text(texts[i], "", options, glossary, spans);
    const auto is_in_name = [&](const ProtectedSpan& span) {
      return std::any_of(names.begin(), names.end(), [&](const ProtectedSpan& name) {
        return span.begin < name.begin + name.length && name.begin < span.begin + span.length;
      });
    };
    spans.erase(std::remove_if(spans.begin(), spans.end(), is_in_name), spans.end());
    spans.insert(spans.end(), names.begin(), names.end());
    std::sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    stand_ins[i] = StandIns(texts[i], spans, in_terms);
    if (stand_ins[i].exist()) tagged[i] = tagged_text(stand_ins[i].text(), "", options, glossary, others);
  }
  if (std::none_of(stand_ins.begin(), stand_ins.end(), [](const StandIns& text) { return text.exist(); })) return;
  std::vector<Translation> found = translate_tagged(tagged, options, glossary, hooks);
  for (size_t i = 0; i < texts.size(); ++i)
    if (stand_ins[i].exist() && stand_ins[i].restore(found[i]) &&
        found[i].warnings.size() <= translations[i].warnings.size())
      translations[i] = std::move(found[i]);
}

std::vector<Translation> TranslationEngine::translate_tagged(const std::vector<TaggedText>& tagged,
                                                             const TranslationOptions& given, const Glossary& glossary,
                                                             const TranslationHooks& hooks) const {
  TranslationOptions options = given;
  options.search = with_head(options.search);
  options.search.alignments |= given.word_alignments;
  const LanguageTokens languages = language_tokens(languages_of(options), tokenizer_);
  const int64_t room = most_tokens_ - most_language_tokens(tokenizer_.source());
  options.max_source_tokens = std::max<int64_t>(1, std::min(options.max_source_tokens, room));
  const std::vector<std::string>& prefixes = options.target_prefixes;
  std::vector<std::string> plain;
  std::vector<WrittenText> written;
  for (const TaggedText& text : tagged) {
    plain.push_back(text.plain());
    written.emplace_back(text.source());
  }
  const SentenceSplitter splitter = splitter_for(given);
  const SentencesOf sentences_of = [&](size_t text) {
    return with_words(plain[text], splitter.spans(plain[text], glossary, line_ends_of(tagged[text], splitter)),
                      tagged[text].line_ends());
  };
  SourceTexts sources = encode_texts(tokenizer_.source(), plain, options, glossary, parallel_for_,
                                     splits_sentences(given) ? sentences_of : nullptr);
  for (size_t text = 0; text < sources.size(); ++text) {
    std::vector<SourcePart>& parts = sources[text].parts;
    if (options.search.alignments || tagged[text].has_tags()) check_can_be_aligned(sources[text]);
    if (!prefixes.empty() && !parts.empty())
      demand_prefix(parts.front(), prefixes[text], tokenizer_.target(), options.target_language);
    for (SourcePart& part : parts) {
      part.has_tags = tagged[text].has_tags();
      part.lends_capital = options.letter_case == LetterCase::adapted && begins_in_upper_case(part.plain) &&
                           case_of(part.plain) != TextCase::capitals;
      add_languages(part, languages);
      demand_terms(part, glossary, tokenizer_);
      check_demands_fit(part, most_tokens_);
    }
  }
  const SourceCase cases(sources, tokenizer_, options.target_language);
  const auto complete = [&](const Joined& joined) {
    joined.translation.sentences = sources[joined.number].sentences();
    finish_text(tagged[joined.number], given, sources, cases, written[joined.number], joined);
  };
  const auto so_far = [&](const SourcePart& part, const Ids& certain, bool is_whole) -> std::optional<std::string> {
    // A tag's place and a mark's form may depend on what follows, and a letter's case on the rest of its part.
    const bool is_recased = part.written != TextCase::mixed || !sources[part.text].small_words.empty();
    if (tagged[part.text].has_tags() || written[part.text].exist() || (is_recased && !is_whole)) return {};
    if (!is_whole) return so_far_in_written_case(certain, part, tokenizer_.target());
    std::string whole = in_written_case(tokenizer_.target().decode(certain), part, tokenizer_.target());
    return is_recased ? cases.restore(part, whole).text : whole;
  };
  return translate_parts(sources, options, hooks, complete, so_far);
}

std::vector<Translation> TranslationEngine::translate_parts(const SourceTexts& sources,
                                                            const TranslationOptions& options,
                                                            const TranslationHooks& hooks,
                                                            const std::function<void(const Joined& joined)>& complete,
                                                            const SoFar& so_far) const {
  std::vector<Translation> translations(sources.size());
  std::vector<std::vector<Translation>> of_parts(sources.size());
  std::vector<TranslatedPart> parts;
  std::vector<size_t> counts, lengths;
  std::vector<int64_t> for_terms;
  for (size_t text = 0; text < sources.size(); ++text) {
    counts.push_back(sources[text].parts.size());
    of_parts[text].resize(counts.back());
    for (size_t i = 0; i < counts.back(); ++i) {
      const SourcePart& part = sources[text].parts[i];
      parts.push_back({part, of_parts[text][i], i});
      lengths.push_back(std::max(part.ids.size(), part.prefix.size()));
      for_terms.push_back(search::hypotheses_for_terms(part.terms));
    }
  }
  // A stream needs its first sentences first, so that its parts are sorted by length only within each batch_size.
  const size_t together = hooks.on_text ? static_cast<size_t>(options.batch_size) : parts.size();
  std::vector<std::vector<size_t>> batches;
  for (size_t begin = 0; begin < parts.size(); begin += together) {
    const auto of_these = [&](const auto& all) {
      return std::vector(&all[begin], all.data() + std::min(all.size(), begin + together));
    };
    for (auto& batch : batches_by_length(of_these(lengths), options.batch_size, options.batch_tokens,
                                         search_size(search_of(options)), of_these(for_terms))) {
      for (size_t& part : batch) part += begin;
      batches.push_back(std::move(batch));
    }
  }
  CallHooks call_hooks(hooks, counts);
  const auto join = [&](size_t text) {
    Translation& whole = translations[text];
    const bool is_recased = sources[text].recased.has_value(), changes_case = sources[text].changes_case();
    std::vector<size_t> ends;
    for (size_t i = 0; i < counts[text]; ++i) {
      call_hooks.check();
      if (call_hooks.is_unwanted(text)) {
        whole = {};
        Hypothesis& abandoned = whole.hypotheses.emplace_back();
        abandoned.score = abandoned.log_probability = search::kNever;
        return;
      }
      Translation& part = of_parts[text][i];
      // Other combinations would have other ends, of which each has its own case.
      if (changes_case && counts[text] > 1) part.hypotheses.resize(1);
      append_translation(whole, std::exchange(part, {}), sources[text].parts[i].gap, joined_results(options.search));
      if (is_recased) ends.push_back(whole.hypotheses.front().text.size());
    }
    if (whole.hypotheses.empty()) whole.hypotheses.emplace_back();
    if (complete) complete({text, ends, whole});
  };
  for (size_t text = 0; text < sources.size(); ++text)
    if (counts[text] == 0) join(text);
  parallel_for_(batches.size(), [&](size_t b) {
    std::vector<TranslatedPart> batch;
    for (const size_t part : batches[b]) batch.push_back(parts[part]);
    search_batch(batch, options, call_hooks, so_far);
    judge_batch(batch, options, call_hooks);
    for (const TranslatedPart& part : batch) {
      const size_t text = part.source.text;
      if (!call_hooks.part_done(text)) continue;
      join(text);
      call_hooks.text_done(text, translations[text].hypotheses.front().text);
    }
  });
  return translations;
}

void TranslationEngine::search_batch(const std::vector<TranslatedPart>& batch, const TranslationOptions& options,
                                     CallHooks& call_hooks, const SoFar& so_far) const {
  SearchOptions search = search_of(options);
  SearchContext context;
  context.excluded = tokenizer_.target().line_breaks();
  context.most_tokens = most_tokens_;
  for (const std::string& text : options.suppress_sequences)
    if (Ids ids = tokenizer_.target().encode_within(text); !ids.empty()) context.suppressed.push_back(std::move(ids));
  // A search asks about the same tokens over and over, and an answer takes two decodings.
  context.is_inside_word = [this, known = std::map<std::pair<int64_t, int64_t>, bool>()](int64_t before,
                                                                                         int64_t after) mutable {
    const auto [answer, is_new] = known.try_emplace({before, after});
    if (is_new) answer->second = continues_word(tokenizer_.target(), before, after);
    return answer->second;
  };
  const bool is_shortlisted = shortlist_ && (shortlist_is_asked_for_ || (!search.constraint && !search.sampling));
  std::vector<SearchRequest> requests;
  for (const auto& [part, translation, number] : batch) {
    search.alignments |= part.has_tags;
    SearchRequest& request = requests.emplace_back();
    request = {part.ids, part.prefix, static_cast<int64_t>(part.forced.target), part.terms};
    request.prefix_is_complete = part.prefix_is_complete;
    request.prefix_is_certain = tokenizer_.target().is_listed() && !part.prefix_is_complete;
    if (is_shortlisted && !part.prefix_is_complete) request.shortlist = shortlist_->tokens_for(part.ids);
    if (search.constraint) request.text = part.plain;
  }
  // Equal samples stay, because their number is the weight of their text for mbr.
  if (search.num_hypotheses > 1 && !search.sampling && options.mbr.candidates == 0)
    context.text_of = [this](const Ids& ids) { return tokenizer_.target().decode(ids); };
  const auto text_of = [&](size_t sentence) { return batch[sentence].source.text; };
  CallHooks::SoFar part_so_far;
  if (so_far)
    part_so_far = [&](size_t sentence, const Ids& certain, bool is_whole) -> std::optional<PartSoFar> {
      const TranslatedPart& part = batch[sentence];
      std::optional<std::string> text = so_far(part.source, certain, is_whole);
      if (!text) return {};
      return PartSoFar{part.number, part.source.gap, *std::move(text), is_whole};
    };
  auto found = beam_search(*model_, requests, search, call_hooks.search_hooks(text_of, part_so_far), context);
  for (size_t i = 0; i < found.size(); ++i) {
    const auto& [part, translation, number] = batch[i];
    for (auto& hypothesis : found[i]) {
      if (!options.search.alignments && !part.has_tags) hypothesis.alignment.clear();  // found for other texts' tags
      translation.hypotheses.push_back(to_hypothesis(std::move(hypothesis), part, tokenizer_.target()));
    }
    if (options.mbr.candidates > 0)
      choose_by_risk(translation.hypotheses, options.mbr.utility, options.search.sampling.has_value(),
                     static_cast<size_t>(options.search.num_hypotheses));
    translation.unknown = part.unknown;
    for (size_t token = part.forced.source; token < part.ids.size(); ++token)
      translation.source_tokens.push_back(tokenizer_.source().piece(part.ids[token]));
  }
  if (options.rerank.candidates > 0) rerank(batch, options);
}

void TranslationEngine::rerank(const std::vector<TranslatedPart>& batch, const TranslationOptions& options) const {
  const TranslationOptions reverse = reversed(options, reverse_->tokenizer());
  const LanguageTokens languages = language_tokens(languages_of(reverse), reverse_->tokenizer());
  std::vector<std::string> candidates, sources;
  std::vector<Hypothesis*> scored;
  for (const auto& [part, translation, number] : batch) {
    const size_t before = scored.size();
    for (Hypothesis& hypothesis : translation.hypotheses) {
      if (!reverse_->can_score(hypothesis.text, part.plain, languages)) {
        hypothesis.reverse_log_probability = search::kNever;
        if (options.rerank.weight > 0) hypothesis.score = search::kNever;
        continue;
      }
      candidates.push_back(hypothesis.text);
      sources.push_back(part.plain);
      scored.push_back(&hypothesis);
    }
    if (scored.size() == before)
      throw BadText(part.text,
                    fmt::format("it cannot be reranked: it or each of its translations has more than the {} tokens "
                                "that the reverse model takes; set a lower limit of source tokens, or split it into "
                                "shorter lines or paragraphs",
                                reverse_->most_scored_tokens()));
  }
  const std::vector<Hypothesis> found = reverse_->score(candidates, sources, reverse);
  for (size_t i = 0; i < found.size(); ++i) {
    scored[i]->reverse_log_probability = found[i].log_probability;
    if (options.rerank.weight > 0) scored[i]->score += options.rerank.weight * found[i].score;
  }
  for (const TranslatedPart& part : batch) {
    std::vector<Hypothesis>& hypotheses = part.translation.hypotheses;
    std::stable_sort(hypotheses.begin(), hypotheses.end(),
                     [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
    const auto kept = static_cast<size_t>(options.search.num_hypotheses);
    if (hypotheses.size() > kept) hypotheses.resize(kept);
  }
}

bool TranslationEngine::can_score(const std::string& source, const std::string& target,
                                  const LanguageTokens& languages) const {
  if (tokenizer_.source().tag_of(source).id == special_ids::kUnknown) return false;
  const size_t of_source = tokenizer_.source().encode(source).size() + languages.source.size();
  const size_t of_target = tokenizer_.target().encode(target).size() + languages.target.size();
  return static_cast<int64_t>(std::max(of_source, of_target)) <= most_scored_tokens();
}

std::vector<Hypothesis> TranslationEngine::score(const std::vector<std::string>& sources,
                                                 const std::vector<std::string>& targets,
                                                 const TranslationOptions& options,
                                                 const TranslationHooks& hooks) const {
  check(options);
  if (sources.size() != targets.size())
    throw std::invalid_argument(
        fmt::format("the numbers of targets ({}) and sources ({}) differ", targets.size(), sources.size()));
  const LanguageTokens languages = language_tokens(languages_of(options), tokenizer_);
  CallHooks call_hooks(hooks, {});
  SourceTexts pairs;
  for (size_t i = 0; i < sources.size(); ++i) {
    call_hooks.check();
    check_utf8(sources[i], "source", i + 1);
    check_utf8(targets[i], "target", i + 1);
    check_tag(tokenizer_.source(), sources[i], i);
    SourcePart& pair = pairs.emplace_back().parts.emplace_back(whole_source(tokenizer_.source(), sources[i], i));
    pair.prefix = tokenizer_.target().encode(targets[i]);
    pair.prefix_is_complete = true;
    add_languages(pair, languages);
    const size_t tokens = std::max(pair.ids.size(), pair.prefix.size());
    const char* const longer = pair.ids.size() == tokens ? "source" : "target";
    if (static_cast<int64_t>(tokens) > kMaxWholeTokens)
      throw BadText(pair.text, fmt::format("the {} has {} tokens; scoring takes at most {}: split it into lines",
                                           longer, tokens, kMaxWholeTokens));
    if (static_cast<int64_t>(tokens) > most_tokens_)
      throw BadText(pair.text,
                    fmt::format("the {} has {} tokens, but the model has learned positions for {}; split it into lines",
                                longer, tokens, most_tokens_));
  }
  return score_parts(pairs, targets, options, hooks);
}

std::vector<Hypothesis> TranslationEngine::score_parts(const SourceTexts& sources,
                                                       const std::vector<std::string>& texts,
                                                       const TranslationOptions& options,
                                                       const TranslationHooks& hooks) const {
  const SearchOptions given = with_head(options.search);
  TranslationOptions scoring;
  scoring.search.beam_size = 1;
  scoring.search.max_extra_length = 0;
  scoring.search.length_alpha = given.length_alpha;
  scoring.search.length_penalty = given.length_penalty;
  scoring.search.alignments = given.alignments;
  scoring.search.alignment_layer = given.alignment_layer;
  scoring.search.alignment_head = given.alignment_head;
  scoring.batch_size = options.batch_size;
  scoring.batch_tokens = options.batch_tokens;
  scoring.guard = Guard::off;
  TranslationHooks stop;
  stop.should_stop = hooks.should_stop;
  std::vector<Hypothesis> scored;
  for (Translation& found : translate_parts(sources, scoring, stop, {}, {})) {
    scored.push_back(std::move(found.hypotheses.front()));
    scored.back().text = texts[scored.size() - 1];
  }
  return scored;
}

}  // namespace v0
}  // namespace transmute
