// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/source_parts.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/text_file.h>
#include <transmute/text/readable_case.h>
#include <transmute/text/sentences.h>
#include <transmute/text/split_ids.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// For each token whether a cut before it would fall into a source term.
std::vector<bool> are_inside(const std::vector<std::pair<size_t, size_t>>& tokens,
                             const std::vector<TermMatch>& terms) {
  std::vector<bool> inside;
  auto term = terms.begin();
  for (const auto& [begin, end] : tokens) {
    while (term != terms.end() && term->end <= begin) ++term;
    inside.push_back(term != terms.end() && term->begin < begin);
  }
  return inside;
}

// What stands at the unknown tokens of a text.
std::vector<std::string> unknown_text(const SubwordModel& tokenizer, const std::string& text, const Ids& ids) {
  std::vector<std::string> unknown;
  if (std::find(ids.begin(), ids.end(), special_ids::kUnknown) == ids.end()) return unknown;
  const std::vector<std::pair<size_t, size_t>> spans = source_spans(tokenizer, text);
  for (size_t token = 0; token < ids.size(); ++token) {
    if (ids[token] != special_ids::kUnknown || unknown.size() == kMostUnknown) continue;
    const auto [begin, end] = spans.at(token);
    const size_t first = std::min(text.find_first_not_of(' ', begin), end);
    std::string surface = text.substr(first, end - first);
    if (std::find(unknown.begin(), unknown.end(), surface) == unknown.end()) unknown.push_back(std::move(surface));
  }
  return unknown;
}

// The text that joins a part to the one before it. A word that is cut, such as a long web address, has nothing there;
// what has no spaces, such as Chinese, leaves the space to the target language.
std::string gap_before(const std::string& plain, size_t content, const std::vector<SourcePart>& before) {
  if (before.empty()) return "";
  if (content > 0 || plain.empty() || before.back().plain.empty()) return " ";
  const std::string& last = before.back().plain;
  const bool is_cut_word = static_cast<unsigned char>(last.back()) < 0x80 && last.back() != ' ' &&
                           static_cast<unsigned char>(plain.front()) < 0x80;
  return is_cut_word ? "" : " ";
}

// In parts of at most max_source_tokens. `tag`: that the text has in front, or had before.
std::vector<SourcePart> cut_up(const SubwordModel& tokenizer, const std::string& text, size_t number,
                               const TranslationOptions& options, const Glossary& glossary, Ids& tag) {
  SourcePart whole = whole_source(tokenizer, text, number);
  if (whole.tag.empty()) {
    whole.tag = tag;
  } else {
    tag = whole.tag;
  }
  if (whole.ids.empty()) return {};
  const Ids& ids = whole.ids;
  whole.unknown = unknown_text(tokenizer, text, ids);
  const int64_t limit = options.max_source_tokens;
  if (static_cast<int64_t>(ids.size()) <= limit) return {std::move(whole)};
  if (options.long_texts == LongTexts::refused || options.search.constraint)
    throw TextTooLong(number, fmt::format("{} tokens, more than {}: \"{}…\"", ids.size(), limit,
                                          tokenizer.decode({ids.begin(), ids.begin() + std::min<int64_t>(limit, 8)})));
  const std::vector<std::pair<size_t, size_t>> spans = source_spans(tokenizer, text);
  std::vector<Ids> cut =
      split_ids(ids, source_pieces(tokenizer, text), limit, are_inside(spans, glossary.matches_in(text)));
  std::vector<SourcePart> parts;
  size_t token = 0, begin = spans.front().first;
  for (Ids& part : cut) {
    token += part.size();
    const size_t end = token < spans.size() ? std::max(begin, spans[token].first) : text.size();
    std::string plain = text.substr(begin, end - begin);
    const size_t content = std::min(plain.find_first_not_of(' '), plain.size());
    std::string gap = gap_before(plain, content, parts);
    plain.erase(0, content);
    parts.push_back({number, std::move(plain), std::move(part), whole.tag});
    parts.back().gap = std::move(gap);
    parts.back().begins_sentence = parts.size() == 1;
    begin = end;
  }
  parts.front().unknown = std::move(whole.unknown);
  return parts;
}

// A sentence of a text, in the case in which it is read.
struct Sentence {
  std::pair<size_t, size_t> span;
  TextCase written = TextCase::mixed;
  std::optional<RecasedText> recased{};  // where it is read in another case
};

// A tag that names the language stays as it is.
void read_in_other_case(const SubwordModel& tokenizer, const std::string& text, const TranslationOptions& options,
                        const Glossary& glossary, Sentence& sentence) {
  const std::string whole = text.substr(sentence.span.first, sentence.span.second - sentence.span.first);
  const size_t tag = leading_tag(tokenizer, whole).empty() ? 0 : whole.find("<<") + 2;
  const std::string content = whole.substr(tag);
  const TextCase written = case_of(content);
  const auto readable = in_readable_case(tokenizer, content, written, options.source_language, glossary);
  if (!readable) return;
  sentence.written = written;
  sentence.recased.emplace().append_unchanged(whole.substr(0, tag));
  sentence.recased->append(*readable);
}

ReadText read_text(const std::string& text, const std::vector<Sentence>& sentences) {
  ReadText read;
  size_t done = 0;
  for (const auto& [span, written, recased] : sentences) {
    read.recased.append_unchanged(text.substr(done, span.first - done));
    const size_t begin = read.recased.text.size();
    done = span.second;
    if (recased) {
      read.recased.append(*recased);
    } else {
      read.recased.append_unchanged(text.substr(span.first, done - span.first));
    }
    read.sentences.emplace_back(begin, read.recased.text.size());
  }
  read.recased.append_unchanged(text.substr(done));
  return read;
}

// One text.
struct EncodedText {
  std::vector<SourcePart> parts;
  std::optional<ReadText> recased{};  // where any of it is read in another case
};

// A prefix of several sentences translates several of the text, and it is not known where they end.
bool stays_whole(size_t text, const TranslationOptions& options) {
  if (options.split_sentences == SentenceSplitting::always || options.target_prefixes.empty()) return false;
  return SentenceSplitter(options.target_language).spans(options.target_prefixes[text]).size() > 1;
}

EncodedText encode(const SubwordModel& tokenizer, const std::string& text, size_t number,
                   const TranslationOptions& options, const Glossary& glossary, const SentencesOf& sentences_of) {
  check_utf8(text, "text", number + 1);
  std::vector<Sentence> sentences;
  if (sentences_of && !stays_whole(number, options))
    for (const auto& span : sentences_of(number)) sentences.push_back({span});
  if (sentences.size() <= 1) sentences = {{{0, text.size()}}};
  const bool may_adapt = options.letter_case == LetterCase::adapted && !options.search.constraint;
  EncodedText encoded;
  bool is_recased = false;
  Ids tag;  // for all sentences that follow it
  size_t end_before = 0;
  for (Sentence& sentence : sentences) {
    if (may_adapt) read_in_other_case(tokenizer, text, options, glossary, sentence);
    const auto& [begin, end] = sentence.span;
    const std::string read = sentence.recased ? sentence.recased->text : text.substr(begin, end - begin);
    is_recased = is_recased || sentence.recased;
    std::vector<SourcePart> parts = cut_up(tokenizer, read, number, options, glossary, tag);
    if (!parts.empty() && !encoded.parts.empty())
      parts.front().gap = begin > end_before ? text.substr(end_before, begin - end_before) : " ";
    for (SourcePart& part : parts) {
      part.written = sentence.written;
      encoded.parts.push_back(std::move(part));
    }
    end_before = end;
  }
  if (is_recased) encoded.recased = read_text(text, sentences);
  return encoded;
}

// A prefix in the source's case is read in another one as well, if its own can be restored.
std::string recased_prefix(const SubwordModel& tokenizer, const std::string& prefix, TextCase written,
                           const std::string& language) {
  if (written == TextCase::mixed || case_of(prefix) != written) return prefix;
  const auto readable = in_readable_case(tokenizer, prefix, written, language, {});
  if (!readable || in_case(readable->text, written, language, {}).text != prefix) return prefix;
  return readable->text;
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

std::string leading_tag(const SubwordModel& tokenizer, const std::string& text) {
  if (text.compare(0, 2, ">>") != 0) return "";
  const Ids tag = whole_source(tokenizer, text, 0).tag;
  return tag.empty() ? "" : tokenizer.piece(tag.front());
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

std::vector<std::pair<size_t, size_t>> source_spans(const SubwordModel& tokenizer, const std::string& text,
                                                    const std::vector<std::pair<size_t, size_t>>& sentences) {
  std::vector<std::pair<size_t, size_t>> spans;
  for (const auto& [begin, end] : sentences)
    for (const auto& [first, last] : source_spans(tokenizer, text.substr(begin, end - begin)))
      spans.emplace_back(begin + first, begin + last);
  return spans;
}

int SourceParts::sentences_of(size_t text) const {
  int sentences = 0;
  for (size_t part = first_of(text); part < parts.size() && parts[part].text == text; ++part)
    sentences += parts[part].begins_sentence ? 1 : 0;
  return std::max(sentences, 1);
}

size_t SourceParts::first_of(size_t text) const {
  const auto before = [](const SourcePart& part, size_t sought) { return part.text < sought; };
  return static_cast<size_t>(std::lower_bound(parts.begin(), parts.end(), text, before) - parts.begin());
}

SourceParts encode_texts(const SubwordModel& tokenizer, const std::vector<std::string>& texts,
                         const TranslationOptions& options, const Glossary& glossary, const ParallelFor& parallel_for,
                         const SentencesOf& sentences_of) {
  std::vector<EncodedText> encoded(texts.size());
  constexpr size_t kTextsAtOnce = 64;
  constexpr size_t kFewTexts = 4;  // handing them to another thread would take as long
  const auto encode_some = [&](size_t some) {
    const size_t end = std::min(texts.size(), (some + 1) * kTextsAtOnce);
    for (size_t i = some * kTextsAtOnce; i < end; ++i)
      encoded[i] = encode(tokenizer, texts[i], i, options, glossary, sentences_of);
  };
  if (texts.size() <= kFewTexts) {
    encode_some(0);
  } else {
    parallel_for((texts.size() + kTextsAtOnce - 1) / kTextsAtOnce, encode_some);
  }
  SourceParts sources;
  for (EncodedText& of_text : encoded) {
    const std::string& text = of_text.recased ? of_text.recased->recased.text : texts[sources.counts.size()];
    size_t end = 0;  // of the part before
    for (SourcePart& part : of_text.parts) {
      part.begin = std::min(text.find(part.plain, end), text.size());
      end = std::min(part.begin + part.plain.size(), text.size());
      sources.parts.push_back(std::move(part));
    }
    const size_t number = sources.counts.size();
    sources.counts.push_back(of_text.parts.size());
    if (of_text.recased) sources.recased.emplace(number, std::move(*of_text.recased));
  }
  return sources;
}

void demand_prefixes(SourceParts& sources, const std::vector<std::string>& prefixes, const SubwordModel& tokenizer,
                     const std::string& language) {
  for (size_t text = 0; text < prefixes.size(); ++text) {
    if (sources.counts[text] == 0) continue;
    check_utf8(prefixes[text], "target prefix", text + 1);
    SourcePart& part = sources.parts[sources.first_of(text)];
    const std::string recased = recased_prefix(tokenizer, prefixes[text], part.written, language);
    part.prefix_is_recased = recased != prefixes[text];
    if (!can_write(tokenizer, recased))
      throw BadText(text, fmt::format("its target prefix \"{}\" has characters that the model's vocabulary lacks",
                                      prefixes[text]));
    Ids prefix = tokenizer.encode(recased);
    if (static_cast<int64_t>(prefix.size()) > kMaxWholeTokens)
      throw BadText(text, fmt::format("its target prefix has {} tokens, more than {}; shorten it", prefix.size(),
                                      kMaxWholeTokens));
    part.prefix = std::move(prefix);
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

void demand_terms(SourceParts& sources, const Glossary& glossary, const Tokenizer& tokenizer) {
  for (SourcePart& part : sources.parts) {
    size_t tokens = 0;
    for (const std::string& term : glossary.terms_for(part.plain)) {
      check_utf8(term, "the glossary's term");
      if (!can_write(tokenizer.target(), term))
        throw std::invalid_argument(
            fmt::format("the glossary's term \"{}\" has characters that the model's vocabulary lacks", term));
      part.terms.push_back(tokenizer.target().encode(term));
      tokens += part.terms.back().size();
    }
    if (tokens > kMaxTermTokens)
      throw BadText(part.text, fmt::format("the glossary demands terms of {} tokens of one translation, more than {}; "
                                           "shorten its entries, or split the text into shorter lines or paragraphs",
                                           tokens, kMaxTermTokens));
  }
}

}  // namespace v0
}  // namespace transmute
