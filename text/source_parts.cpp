// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/source_parts.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <transmute/common/text_file.h>
#include <transmute/text/aligned_words.h>
#include <transmute/text/sentence_characters.h>
#include <transmute/text/sentence_language.h>
#include <transmute/text/sentences.h>
#include <transmute/text/split_ids.h>
#include <transmute/tokenizer/truecase.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// For each token whether a cut before it would fall into a source term.
std::vector<bool> are_inside(const std::vector<ByteSpan>& tokens, const std::vector<TermMatch>& terms) {
  std::vector<bool> inside;
  auto term = terms.begin();
  for (const auto& [begin, end] : tokens) {
    while (term != terms.end() && term->end <= begin) ++term;
    inside.push_back(term != terms.end() && term->begin < begin);
  }
  return inside;
}

// The characters of a text that it has unknown tokens for.
std::vector<std::string> unknown_text(const std::string& text, const SegmentedText& tokens) {
  std::vector<std::string> unknown;
  for (size_t token = 0; token < tokens.ids.size() && unknown.size() < kMostUnknown; ++token) {
    if (tokens.ids[token] != special_ids::kUnknown) continue;
    const auto [begin, end] = tokens.spans[token];
    const size_t first = space_end(text, begin, end);
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
  const bool is_cut_word = static_cast<unsigned char>(last.back()) < 0x80 &&
                           space_begin(last, 0, last.size()) == last.size() &&
                           static_cast<unsigned char>(plain.front()) < 0x80;
  return is_cut_word ? "" : " ";
}

SourcePart to_part(SegmentedSource&& source, const std::string& text, size_t number) {
  SourcePart part{number, text.substr(source.begin), std::move(source.tokens.ids), std::move(source.tokens.spans)};
  part.tag = std::move(source.tag);
  part.begin = source.begin;
  return part;
}

// In parts of at most max_source_tokens. `tag`: that the text has in front, or had before.
std::vector<SourcePart> cut_up(const SubwordModel& tokenizer, const std::string& text, size_t number,
                               const TranslationOptions& options, const Glossary& glossary, Ids& tag) {
  SegmentedSource source = segment_source(tokenizer, text);
  if (source.tag.empty()) source.tag = tag;
  tag = source.tag;
  const auto& [ids, pieces, spans] = source.tokens;
  if (ids.empty()) return {};
  std::vector<std::string> unknown = unknown_text(text, source.tokens);
  const int64_t limit = options.max_source_tokens;
  std::vector<SourcePart> parts;
  if (static_cast<int64_t>(ids.size()) <= limit) {
    parts.push_back(to_part(std::move(source), text, number));
    parts.front().unknown = std::move(unknown);
    return parts;
  }
  if (options.long_texts == LongTexts::refused || options.search.constraint)
    throw TextTooLong(number, fmt::format("{} tokens, more than {}: \"{}…\"", ids.size(), limit,
                                          tokenizer.decode({ids.begin(), ids.begin() + std::min<int64_t>(limit, 8)})));
  size_t begin = spans.front().first;
  auto first = spans.begin();
  for (Ids& of_part : split_ids(ids, pieces, limit, are_inside(spans, glossary.matches_in(text)))) {
    const auto last = first + static_cast<std::ptrdiff_t>(of_part.size());
    const size_t end = last != spans.end() ? std::max(begin, last->first) : text.size();
    std::string plain = text.substr(begin, end - begin);
    const size_t content = space_end(plain, 0, plain.size());
    std::string gap = gap_before(plain, content, parts);
    plain.erase(0, content);
    parts.push_back({number, std::move(plain), std::move(of_part), {first, last}, source.tag});
    parts.back().begin = begin + content;
    parts.back().gap = std::move(gap);
    parts.back().begins_sentence = parts.size() == 1;
    begin = end;
    first = last;
  }
  parts.front().unknown = std::move(unknown);
  return parts;
}

// A sentence of a text, in the case in which it is read.
struct Sentence {
  ByteSpan span;
  TextCase written = TextCase::mixed;
  std::optional<RecasedText> recased{};  // where it is read in another case
};

// The text without the tag that names its language.
std::string without_tag(const SubwordModel& tokenizer, const std::string& text) {
  return text.substr(tokenizer.tag_of(text).place.second);
}

// True for "1. First" and "1.2. First". In German, "1. Mai" may be an ordinal number with a noun.
bool item_begins_with_capital(const std::string& text, const std::string& language) {
  constexpr size_t kMostDigits = 3;
  size_t number = sentence_characters::outline_number_length(text);
  if (number == 0) {
    const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits == 0 || digits > kMostDigits || text.compare(digits, 2, ". ") != 0) return false;
    static const LanguageSet kGerman = language_set("de") & ~LanguageSet{1};
    const LanguageSet languages = language.empty() ? guess_languages(text) : language_set(language_code(language));
    if ((languages & kGerman) != 0) return false;
    number = digits + 1;
  }
  return !begins_in_lower_case(std::string_view(text).substr(number));
}

// True for a text of which every letter is a capital, and which is no name or acronym.
bool is_long_in_capitals(const std::string& text) {
  return case_of(text) == TextCase::capitals && number_of_words(text) >= kLeastWords &&
         in_capitals(text, "").text == text;
}

// A tag stays as it is. Sentences of a long text in capitals are in capitals even if they can be read.
void read_in_other_case(const SubwordModel& tokenizer, const std::string& text, bool is_in_capitals,
                        const TranslationOptions& options, const Glossary& glossary, Sentence& sentence,
                        SmallWords& small_words) {
  const std::string whole = text.substr(sentence.span.first, sentence.span.second - sentence.span.first);
  const std::string content = without_tag(tokenizer, whole);
  const bool adapts = options.letter_case == LetterCase::adapted;
  const TextCase written = adapts ? case_of(content) : TextCase::mixed;
  const std::string label = content.substr(0, adapts ? label_length(content) : 0);
  const std::string rest = content.substr(label.size());
  // The rest may have too few words to be a title by itself.
  const bool is_apart =
      written == TextCase::mixed || rest.empty() || (written == TextCase::title && case_of(rest) == TextCase::mixed);
  const bool has_label = is_apart && is_label_in_capitals(label);
  auto readable = in_readable_case(tokenizer, has_label ? label : content, has_label ? TextCase::label : written,
                                   options.source_language, glossary);
  const bool keeps_case = written == TextCase::capitals && (is_in_capitals || is_long_in_capitals(content));
  if (has_label) {
    sentence.written = TextCase::label;
    if (!readable) readable.emplace().append_unchanged(label);
    const auto known = in_known_letters(tokenizer, rest, options.source_language, glossary, small_words);
    known ? readable->append(*known) : readable->append_unchanged(rest);
  } else if (readable || keeps_case) {
    sentence.written = written;
    if (!readable) readable.emplace().append_unchanged(content);
  } else {
    readable = in_known_letters(tokenizer, content, options.source_language, glossary, small_words);
  }
  if (!readable) return;
  sentence.recased.emplace().append_unchanged(whole.substr(0, whole.size() - content.size()));
  sentence.recased->append(*readable);
}

RecasedText recased_text(const std::string& text, const std::vector<Sentence>& sentences) {
  RecasedText whole;
  size_t done = 0;
  for (const auto& [span, written, recased] : sentences) {
    whole.append_unchanged(text.substr(done, span.first - done));
    done = span.second;
    if (recased) {
      whole.append(*recased);
    } else {
      whole.append_unchanged(text.substr(span.first, done - span.first));
    }
  }
  whole.append_unchanged(text.substr(done));
  return whole;
}

// A prefix of several sentences translates several of the text, and it is not known where they end.
bool stays_whole(size_t text, const TranslationOptions& options) {
  if (options.split_sentences == SentenceSplitting::always || options.target_prefixes.empty()) return false;
  return SentenceSplitter(options.target_language).spans(options.target_prefixes[text]).size() > 1;
}

SourceText encode(const SubwordModel& tokenizer, const std::string& text, size_t number,
                  const TranslationOptions& options, const Glossary& glossary, const SentencesOf& sentences_of) {
  check_utf8(text, "text", number + 1);
  check_tag(tokenizer, text, number);
  std::vector<Sentence> sentences;
  if (sentences_of && !stays_whole(number, options))
    for (const auto& span : sentences_of(number)) sentences.push_back({span});
  if (sentences.size() <= 1) sentences = {{{0, text.size()}}};
  const bool is_in_capitals = is_long_in_capitals(without_tag(tokenizer, text));
  SourceText encoded;
  bool is_recased = false;
  Ids tag;                              // for all sentences that follow it
  size_t end_before = 0, read_end = 0;  // end of the sentence before, and of what is read of it
  for (Sentence& sentence : sentences) {
    if (!options.search.constraint && !tokenizer.is_listed())
      read_in_other_case(tokenizer, text, is_in_capitals, options, glossary, sentence, encoded.small_words);
    const auto& [begin, end] = sentence.span;
    const std::string read = sentence.recased ? sentence.recased->text : text.substr(begin, end - begin);
    is_recased = is_recased || sentence.recased;
    std::vector<SourcePart> parts = cut_up(tokenizer, read, number, options, glossary, tag);
    if (!parts.empty() && !encoded.parts.empty())
      parts.front().gap = begin > end_before ? text.substr(end_before, begin - end_before) : " ";
    const size_t read_begin = read_end + (begin - end_before);
    if (!parts.empty()) {
      const std::string as_written = without_tag(tokenizer, text.substr(begin, end - begin));
      parts.front().begins_with_capital = !begins_in_lower_case(as_written);
      parts.front().item_begins_with_capital = item_begins_with_capital(as_written, options.source_language);
    }
    for (SourcePart& part : parts) {
      part.written = sentence.written == TextCase::label && !part.begins_sentence ? TextCase::mixed : sentence.written;
      part.begin += read_begin;
      for (ByteSpan& span : part.spans) span = {span.first + read_begin, span.second + read_begin};
      encoded.parts.push_back(std::move(part));
    }
    read_end = read_begin + read.size();
    end_before = end;
  }
  if (is_recased) encoded.recased = recased_text(text, sentences);
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

SegmentedSource segment_source(const SubwordModel& tokenizer, const std::string& text) {
  SegmentedSource source{tokenizer.segment(text)};
  auto& [ids, pieces, spans] = source.tokens;
  if (!tokenizer.begins_with_tag(ids)) return source;
  source.tag = {ids.front()};
  source.begin = space_end(text, spans.front().second, text.size());
  ids.erase(ids.begin());
  pieces.erase(pieces.begin());
  spans.erase(spans.begin());
  return source;
}

SourcePart whole_source(const SubwordModel& tokenizer, const std::string& text, size_t number) {
  return to_part(segment_source(tokenizer, text), text, number);
}

std::string leading_tag(const SubwordModel& tokenizer, const std::string& text) {
  const SubwordModel::Tag tag = tokenizer.tag_of(text);
  return tag.id < special_ids::kCount ? "" : tokenizer.piece(tag.id);
}

void check_tag(const SubwordModel& tokenizer, const std::string& text, size_t number) {
  const SubwordModel::Tag tag = tokenizer.tag_of(text);
  if (tag.id != special_ids::kUnknown) return;
  const auto [begin, end] = tag.place;
  throw BadText(number, fmt::format("its tag {} names no language of the model, which has {}",
                                    text.substr(begin, end - begin), fmt::join(tokenizer.language_names(), ", ")));
}

bool SourceText::changes_case() const {
  return std::any_of(parts.begin(), parts.end(),
                     [](const SourcePart& part) { return part.written != TextCase::mixed; });
}

int SourceText::sentences() const {
  const auto begun =
      std::count_if(parts.begin(), parts.end(), [](const SourcePart& part) { return part.begins_sentence; });
  return std::max(static_cast<int>(begun), 1);
}

std::vector<ByteSpan> SourceText::spans() const {
  std::vector<ByteSpan> spans;
  for (const SourcePart& part : parts) spans.insert(spans.end(), part.spans.begin(), part.spans.end());
  return spans;
}

std::vector<ByteSpan> with_words(std::string_view text, const std::vector<ByteSpan>& sentences,
                                 const std::vector<size_t>& line_ends) {
  std::vector<ByteSpan> joined;
  bool was_wordless = false;
  for (const auto& [begin, end] : sentences) {
    const bool is_wordless = sentence_characters::all_characters(text.substr(begin, end - begin),
                                                                 [](UChar32 c) { return u_isalpha(c) == 0; });
    const size_t before = joined.empty() ? begin : joined.back().second;
    const auto line_end = std::lower_bound(line_ends.begin(), line_ends.end(), before);
    const bool is_on_line = text.substr(before, begin - before).find_first_of("\r\n") == std::string_view::npos &&
                            (line_end == line_ends.end() || *line_end > begin);
    if (!joined.empty() && is_on_line && (is_wordless || was_wordless)) {
      joined.back().second = end;
      was_wordless = is_wordless && was_wordless;
    } else {
      joined.emplace_back(begin, end);
      was_wordless = is_wordless;
    }
  }
  return joined;
}

SourceTexts encode_texts(const SubwordModel& tokenizer, const std::vector<std::string>& texts,
                         const TranslationOptions& options, const Glossary& glossary, const ParallelFor& parallel_for,
                         const SentencesOf& sentences_of) {
  SourceTexts encoded(texts.size());
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
  return encoded;
}

void demand_prefix(SourcePart& part, const std::string& prefix, const SubwordModel& tokenizer,
                   const std::string& language) {
  check_utf8(prefix, "target prefix", part.text + 1);
  const std::string recased = recased_prefix(tokenizer, prefix, part.written, language);
  part.prefix_is_recased = recased != prefix;
  if (!can_write(tokenizer, recased))
    throw BadText(part.text,
                  fmt::format("its target prefix \"{}\" has characters that the model's vocabulary lacks", prefix));
  part.prefix = tokenizer.encode(recased);
  if (!prefix.empty()) part.begins_with_capital = !begins_in_lower_case(prefix);
  if (static_cast<int64_t>(part.prefix.size()) > kMaxWholeTokens)
    throw BadText(part.text, fmt::format("its target prefix has {} tokens, more than {}; shorten it",
                                         part.prefix.size(), kMaxWholeTokens));
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

void add_languages(SourcePart& part, const LanguageTokens& languages) {
  const Ids& before = part.tag.empty() ? languages.source : part.tag;
  part.ids.insert(part.ids.begin(), before.begin(), before.end());
  part.forced.source = before.size();
  part.prefix.insert(part.prefix.begin(), languages.target.begin(), languages.target.end());
  part.forced.target = languages.target.size();
}

void demand_terms(SourcePart& part, const Glossary& glossary, const Tokenizer& tokenizer) {
  size_t tokens = 0;
  std::unordered_set<std::string> demanded;
  for (const auto& [begin, end, term, has_capital] : glossary.matches_in(part.plain)) {
    if ((has_capital && !part.begins_sentence) || !demanded.insert(term).second) continue;
    check_utf8(term, "the glossary's term");
    if (!can_write(tokenizer.target(), term))
      throw std::invalid_argument(
          fmt::format("the glossary's term \"{}\" has characters that the model's vocabulary lacks", term));
    part.terms.push_back(tokenizer.target().encode_within(term));
    tokens += part.terms.back().size();
  }
  if (tokens > kMaxTermTokens)
    throw BadText(part.text, fmt::format("the glossary demands terms of {} tokens of one translation, more than {}; "
                                         "shorten its entries, or split the text into shorter lines or paragraphs",
                                         tokens, kMaxTermTokens));
}

}  // namespace v0
}  // namespace transmute
