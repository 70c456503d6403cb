// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/text/source_parts.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/text_file.h>
#include <transmute/translation/text/glossary.h>
#include <transmute/translation/text/sentences.h>
#include <transmute/translation/text/split_ids.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// In parts of at most max_source_tokens. `tag`: that the text has in front, or had before.
std::vector<SourcePart> cut_up(const SubwordModel& tokenizer, const std::string& text, size_t number,
                               const TranslationOptions& options, Ids& tag) {
  SourcePart whole = whole_source(tokenizer, text, number);
  if (whole.tag.empty()) {
    whole.tag = tag;
  } else {
    tag = whole.tag;
  }
  if (whole.ids.empty()) return {};
  const Ids& ids = whole.ids;
  const int64_t limit = options.max_source_tokens;
  if (static_cast<int64_t>(ids.size()) <= limit) return {std::move(whole)};
  if (options.long_texts == LongTexts::refused || options.search.constraint)
    throw TextTooLong(number, fmt::format("{} tokens, more than {}: \"{}…\"", ids.size(), limit,
                                          tokenizer.decode({ids.begin(), ids.begin() + std::min<int64_t>(limit, 8)})));
  std::vector<SourcePart> parts;
  for (Ids& part : split_ids(ids, source_pieces(tokenizer, text), limit))
    parts.push_back({number, tokenizer.decode(part), std::move(part), whole.tag});
  return parts;
}

// What a translation has to contain; unknown characters could not be written.
Ids encode_demand(const SubwordModel& tokenizer, const std::string& text, const std::string& what) {
  check_utf8(text, what);
  if (!can_write(tokenizer, text))
    throw std::invalid_argument(fmt::format("{} \"{}\" has characters that the model's vocabulary lacks", what, text));
  return tokenizer.encode(text);
}

std::vector<SourcePart> encode(const SubwordModel& tokenizer, const std::string& text, size_t number,
                               const TranslationOptions& options) {
  check_utf8(text, "text", number + 1);
  Ids tag;  // for all sentences that follow it
  if (!options.split_sentences) return cut_up(tokenizer, text, number, options, tag);
  std::vector<SourcePart> parts;
  for (const std::string& sentence : split_sentences(text))
    for (SourcePart& part : cut_up(tokenizer, sentence, number, options, tag)) parts.push_back(std::move(part));
  return parts;
}

}  // namespace

SourcePart whole_source(const SubwordModel& tokenizer, const std::string& text, size_t number) {
  SourcePart whole{number, text, tokenizer.encode(text)};
  if (!tokenizer.begins_with_tag(whole.ids)) return whole;
  whole.tag = {whole.ids.front()};
  whole.ids.erase(whole.ids.begin());
  whole.plain.erase(0, tokenizer.spans_in_text(text).front().second);
  whole.plain.erase(0, whole.plain.find_first_not_of(' '));
  return whole;
}

std::vector<std::string> source_pieces(const SubwordModel& tokenizer, const std::string& text) {
  std::vector<std::string> pieces = tokenizer.encode_as_pieces(text);
  if (tokenizer.begins_with_tag(tokenizer.encode(text))) pieces.erase(pieces.begin());
  return pieces;
}

std::vector<std::pair<size_t, size_t>> source_spans(const SubwordModel& tokenizer, const std::string& text) {
  SegmentedText segmented = tokenizer.segment(text);
  if (tokenizer.begins_with_tag(segmented.ids)) segmented.spans.erase(segmented.spans.begin());
  return std::move(segmented.spans);
}

size_t SourceParts::first_of(size_t text) const {
  const auto before = [](const SourcePart& part, size_t sought) { return part.text < sought; };
  return static_cast<size_t>(std::lower_bound(parts.begin(), parts.end(), text, before) - parts.begin());
}

SourceParts encode_texts(const SubwordModel& tokenizer, const std::vector<std::string>& texts,
                         const TranslationOptions& options, const ParallelFor& parallel_for) {
  std::vector<std::vector<SourcePart>> encoded(texts.size());
  constexpr size_t kTextsAtOnce = 64;
  constexpr size_t kFewTexts = 4;  // handing them to another thread would take as long
  const auto encode_some = [&](size_t some) {
    const size_t end = std::min(texts.size(), (some + 1) * kTextsAtOnce);
    for (size_t i = some * kTextsAtOnce; i < end; ++i) encoded[i] = encode(tokenizer, texts[i], i, options);
  };
  if (texts.size() <= kFewTexts) {
    encode_some(0);
  } else {
    parallel_for((texts.size() + kTextsAtOnce - 1) / kTextsAtOnce, encode_some);
  }
  SourceParts sources;
  for (std::vector<SourcePart>& of_text : encoded) {
    sources.counts.push_back(of_text.size());
    for (SourcePart& part : of_text) sources.parts.push_back(std::move(part));
  }
  return sources;
}

void demand_prefixes(SourceParts& sources, const std::vector<std::string>& prefixes, const SubwordModel& tokenizer) {
  for (size_t text = 0; text < prefixes.size(); ++text) {
    if (sources.counts[text] == 0) continue;
    Ids prefix = encode_demand(tokenizer, prefixes[text], fmt::format("target prefix {}", text + 1));
    if (static_cast<int64_t>(prefix.size()) > kMaxWholeTokens)
      throw BadText(text, fmt::format("its target prefix has {} tokens, more than {}; shorten it", prefix.size(),
                                      kMaxWholeTokens));
    sources.parts[sources.first_of(text)].prefix = std::move(prefix);
  }
}

LanguageTokens language_tokens(const LanguageNames& names, const Tokenizer& tokenizer) {
  LanguageTokens tokens;
  switch (tokenizer.source().languages()) {
    case LanguagePieces::none:
      if (!names.source.empty() || !names.target.empty())
        throw std::invalid_argument("the model translates between two languages; name no source or target language");
      return tokens;
    case LanguagePieces::tags:
      if (!names.source.empty())
        throw std::invalid_argument("the model has languages for its target alone; name no source language");
      if (!names.target.empty()) tokens.source = {tokenizer.source().language(names.target)};
      return tokens;
    case LanguagePieces::both_sides:
      break;
  }
  if (names.source.empty() || names.target.empty())
    throw std::invalid_argument(
        "the model translates between many languages: name the source language and the target language "
        "(--source-language and --target-language)");
  return {{tokenizer.source().language(names.source)}, {tokenizer.target().language(names.target)}};
}

Ids encoder_language(const LanguageNames& names, const Tokenizer& tokenizer) {
  if (tokenizer.source().languages() != LanguagePieces::both_sides) return language_tokens(names, tokenizer).source;
  if (!names.target.empty())
    throw std::invalid_argument("the model's encoder is told the source language alone; name no target language");
  if (names.source.empty())
    throw std::invalid_argument("the model reads many languages: name the source language (--source-language)");
  return {tokenizer.source().language(names.source)};
}

void add_languages(SourceParts& sources, const LanguageTokens& languages) {
  for (SourcePart& part : sources.parts) {
    const Ids& before = part.tag.empty() ? languages.source : part.tag;
    part.ids.insert(part.ids.begin(), before.begin(), before.end());
    part.given.source = before.size();
    part.prefix.insert(part.prefix.begin(), languages.target.begin(), languages.target.end());
    part.given.target = languages.target.size();
  }
}

void demand_terms(SourceParts& sources, const std::vector<GlossaryEntry>& glossary, const Tokenizer& tokenizer) {
  if (glossary.empty()) return;
  const Glossary terms(glossary);
  for (SourcePart& part : sources.parts) {
    size_t tokens = 0;
    for (const std::string& term : terms.terms_for(part.plain)) {
      part.terms.push_back(encode_demand(tokenizer.target(), term, "the glossary's term"));
      tokens += part.terms.back().size();
    }
    if (tokens > kMaxTermTokens)
      throw BadText(part.text, fmt::format("the glossary demands terms of {} tokens of one translation, more than {}; "
                                           "shorten its entries, or split the text into lines",
                                           tokens, kMaxTermTokens));
  }
}

}  // namespace v0
}  // namespace transmute
