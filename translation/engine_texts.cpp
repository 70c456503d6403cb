// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/alignment.h>
#include <transmute/text/characters.h>
#include <transmute/text/inline_tags.h>
#include <transmute/text/source_case.h>
#include <transmute/text/source_parts.h>
#include <transmute/text/word_alignment.h>
#include <transmute/text/written_text.h>
#include <transmute/translation/engine.h>
#include <transmute/translation/join_parts.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

bool overlaps_term(const ProtectedSpan& span, const std::vector<TermMatch>& terms) {
  return std::any_of(terms.begin(), terms.end(), [&](const TermMatch& term) {
    return term.begin < span.begin + span.length && term.end > span.begin;
  });
}

void rewrite(Hypothesis& hypothesis, RecasedText&& restored, std::vector<ByteSpan>& tokens,
             std::vector<TranslationWarning>& warnings) {
  for (ByteSpan& span : tokens) span = restored.now(span);
  for (TranslationWarning& warning : warnings) warning.target = restored.now(warning.target);
  for (WordConfidence& word : hypothesis.words) word.place = restored.now(word.place);
  hypothesis.text = std::move(restored.text);
}

// The words without spaces around them, at their places in the text; `plain` is the text without its tags. A word is
// cut where the text has a space in it, as beside a tag.
std::vector<WordConfidence> placed_words(const Hypothesis& hypothesis, const std::string& plain, const Places& places) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const std::string_view text = hypothesis.text;
  std::vector<WordConfidence> placed;
  for (const WordConfidence& word : hypothesis.words) {
    size_t end = std::string::npos;  // of what the text has of the word so far
    for (size_t byte = word.place.first; byte < word.place.second; ++byte) {
      if (kSpaces.find(plain[byte]) != std::string_view::npos) continue;
      const size_t at = place_in(places, byte);
      if (end > at || text.substr(end, at - end).find_first_of(kSpaces) != std::string_view::npos)
        placed.push_back({{at, at}, word.confidence});
      placed.back().place.second = end = at + 1;
    }
  }
  return placed;
}

}  // namespace

IsUnknown TranslationEngine::is_unknown() const {
  if (!unknown_characters_.exist()) return {};
  return [this](int32_t character) { return unknown_characters_.contain(character); };
}

std::optional<Glossary> TranslationEngine::read_glossary(const TranslationOptions& options) const {
  const auto is_ascii = [](const GlossaryEntry& entry) {
    return std::all_of(entry.source.begin(), entry.source.end(), [](char c) { return U8_IS_SINGLE(c); });
  };
  if (!unknown_characters_.exist() || options.protect == Protection::none ||
      std::all_of(options.glossary.begin(), options.glossary.end(), is_ascii))
    return {};
  std::vector<GlossaryEntry> entries, changed;
  std::unordered_set<std::string> sources;
  for (const GlossaryEntry& entry : options.glossary) {
    const auto keeps_none = [](const ProtectedSpan&) { return false; };
    const TaggedText read(entry.source, tags_and_spans(entry.source, false, keeps_none, is_unknown()));
    (read.plain() == entry.source ? entries : changed).push_back({read.plain(), entry.target});
    if (read.plain() == entry.source) sources.insert(entry.source);
  }
  if (changed.empty()) return {};
  // A term that differs from another one but in such marks is read as that one.
  for (GlossaryEntry& entry : changed)
    if (sources.insert(entry.source).second) entries.push_back(std::move(entry));
  return Glossary(entries);
}

TaggedText TranslationEngine::tagged_text(const std::string& text, const std::string& prefix,
                                          const TranslationOptions& options, const Glossary& glossary,
                                          std::vector<ProtectedSpan>& spans) const {
  const auto unprotected = [&] {
    return TaggedText(text, options.inline_tags ? inline_tags(text) : std::vector<InlineTag>{});
  };
  const bool protects = options.protect != Protection::none && !options.search.constraint;
  if (!protects || text.size() > static_cast<size_t>(kMaxWholeTokens)) return unprotected();
  const size_t tag_end = tokenizer_.source().tag_of(text).place.second;
  std::optional<std::vector<TermMatch>> terms;  // found on demand, because most texts have no spans
  const auto is_protected = [&](const ProtectedSpan& span) {
    const std::string kept = text.substr(span.begin, span.length);
    const bool is_unknown = span.kind == ProtectedKind::unknown;
    if (!is_unknown && options.protect == Protection::automatic && learned_.count(kept) > 0) return false;
    if (!terms) terms = glossary.matches_in(text);
    if (overlaps_term(span, *terms) || (!prefix.empty() && prefix.find(kept) != std::string::npos)) return false;
    if (span.kind == ProtectedKind::marker && !prefix.empty()) return false;  // it makes sense only at the start
    if (span.begin < tag_end) return false;
    spans.push_back(span);
    return true;
  };
  const std::vector<InlineTag> tags = tags_and_spans(text, options.inline_tags, is_protected, is_unknown());
  std::vector<std::string> unknown;
  for (const ProtectedSpan& span : spans)
    if (span.kind == ProtectedKind::unknown) add_unknown(text.substr(span.begin, span.length), unknown);
  TaggedText tagged(text, tags, std::move(unknown));
  // A translation must begin with its prefix, and what has nothing to translate has no search.
  return tagged.is_blank() && !prefix.empty() ? unprotected() : tagged;
}

void TranslationEngine::finish_text(const TaggedText& tagged, const TranslationOptions& options,
                                    const SourceTexts& sources, const SourceCase& cases, const WrittenText& written,
                                    const Joined& joined) const {
  const RecasedText* const read = cases.read(joined.number);
  size_t of_prefix = 0;  // tokens; inline tags may surround them
  if (tagged.has_tags() && !options.inline_tags && !sources[joined.number].parts.empty()) {
    const SourcePart& first = sources[joined.number].parts.front();
    of_prefix = first.prefix.size() - first.forced.target;
  }
  const bool needs_spans = tagged.has_tags() || options.word_alignments;
  std::vector<ByteSpan> spans;
  if (needs_spans) spans = sources[joined.number].spans();
  std::vector<size_t> words;
  if (options.word_alignments) words = words_of_spans(spans, read != nullptr ? read->text : tagged.plain());
  if (read != nullptr)
    for (ByteSpan& span : spans) span = read->before(span);
  std::vector<std::string> demanded;
  if (written.exist()) {
    for (const GlossaryEntry& entry : options.glossary) demanded.push_back(entry.target);
    if (!options.target_prefixes.empty()) demanded.push_back(options.target_prefixes[joined.number]);
  }
  Translation& translation = joined.translation;
  std::vector<TranslationWarning> of_others;  // only the best translation has warnings
  for (Hypothesis& hypothesis : translation.hypotheses) {
    const bool is_best = &hypothesis == translation.hypotheses.data();
    std::vector<TranslationWarning>& warnings = is_best ? translation.warnings : of_others;
    std::vector<ByteSpan> tokens;
    if (needs_spans) tokens = tokenizer_.target().spans_of_pieces(hypothesis.tokens, hypothesis.text);
    if (read != nullptr) {
      rewrite(hypothesis, cases.restore(joined.number, joined.ends, hypothesis.text), tokens, warnings);
      for (TranslationWarning& warning : warnings) warning.source = read->before(warning.source);
    }
    if (written.exist()) rewrite(hypothesis, written.restore(hypothesis.text, demanded), tokens, warnings);
    if (options.word_alignments)
      hypothesis.word_alignment = word_links(hypothesis, words, words_of_spans(tokens, hypothesis.text));
    std::string plain;
    Places places;  // in the text with its tags
    if (tagged.is_changed()) {
      const auto balanced = balanced_alignment(options.search.alignments ? hypothesis.alignment
                                                                         : std::exchange(hypothesis.alignment, {}));
      const size_t certain = std::min(of_prefix, tokens.size());  // an abandoned translation has none
      const size_t prefix = certain == 0 ? 0 : tokens[certain - 1].second;
      TaggedTranslation restored = tagged.place({hypothesis.text, spans, tokens, balanced, prefix});
      for (TranslationWarning& warning : warnings) {
        warning.source = span_in(tagged.source().places, warning.source);
        warning.source.second = characters::next_boundary(tagged.source().text, warning.source.second);
        warning.target = span_in(restored.places, warning.target);
      }
      if (hypothesis.word_alignment && !options.inline_tags)
        hypothesis.word_alignment =
            links_with_spans(*hypothesis.word_alignment, tagged.source(), hypothesis.text, restored);
      plain = std::exchange(hypothesis.text, std::move(restored.text));
      places = std::move(restored.places);
    }
    hypothesis.words = placed_words(hypothesis, tagged.is_changed() ? plain : hypothesis.text, places);
    if (!options.search.alignments) hypothesis.alignment.clear();
  }
  for (const std::string& unknown : tagged.unknown()) add_unknown(unknown, translation.unknown);
}

}  // namespace v0
}  // namespace transmute
