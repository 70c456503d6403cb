// SPDX-License-Identifier: Apache-2.0
#include <transmute/serving/request_cost.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/text/inline_tags.h>
#include <transmute/tokenizer/tokenizer.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>

namespace transmute {
inline namespace v0 {

namespace {

// A range of characters, which begins where the previous one ends. The comments name those that need the most bytes.
struct CharacterRange {
  UChar32 end;
  size_t most_bytes;  // of the NFKC or NFKC_Casefold of each
};
constexpr std::array<CharacterRange, 12> kCharacterRanges{{
    {0x80, 1},       // ASCII
    {0x400, 5},      // Latin and Greek: U+00BE
    {0x587, 2},      // Cyrillic and Armenian
    {0x800, 4},      // Hebrew and Arabic: U+0678
    {0x2000, 9},     // alphabets of 3 bytes: U+0F79
    {0x3000, 12},    // symbols: U+2A0C
    {0x3200, 6},     // kana: U+30FF
    {0x3400, 18},    // squared words: U+3316
    {0xF900, 3},     // ideographs and Hangul
    {0xFE00, 33},    // ligatures: U+FDFA
    {0x10000, 4},    // full-width characters: U+FEFC
    {0x110000, 12},  // characters of 4 bytes: U+1D1C0
}};

using TokenCount = std::function<size_t(const SubwordModel& model, const std::string& text)>;

size_t exact_tokens(const SubwordModel& model, const std::string& text) {
  return model.encode(text).size();
}

// An upper bound, and quick. Each byte can be a token once the text has a space in front and is normalized.
size_t most_tokens(const SubwordModel& /*model*/, const std::string& text) {
  return 1 + most_normalized_bytes(text);
}

// An estimate for a translation of the text that is not known yet, which the model translates further.
size_t tokens_by_pivot(const SubwordModel& model, const std::string& text) {
  return std::max(text.size(), exact_tokens(model, text));
}

// Tags have no tokens.
double tokens_of_segment(const std::string& segment, const ApiRequest& request, const SubwordModel& model,
                         const TokenCount& tokens_of) {
  const std::string text = request.options.inline_tags ? TaggedText(segment).plain() : segment;
  return static_cast<double>(std::max<size_t>(1, tokens_of(model, text)));
}

// The most numbers that the alignments can have: each token of a translation has one for each token of its segment, and
// each part of a segment, of which two together have more than max_source_tokens, can have max_extra_length tokens
// more.
double alignment_numbers(const ApiRequest& request, const std::vector<Document>& documents, const TextRoutes& routes,
                         const TokenCount& tokens_of) {
  const SearchOptions& search = request.options.search;
  double numbers = 0;
  for (size_t d = 0; d < documents.size(); ++d) {
    if (routes[d]->models.empty()) continue;
    const Tokenizer& tokenizer = routes[d]->models.back().model->tokenizer();
    const double prefix =
        request.prefixes.empty() ? 0 : static_cast<double>(tokens_of(tokenizer.target(), request.prefixes[d]));
    for (const std::string& segment : documents[d].segments()) {
      const double source = tokens_of_segment(segment, request, tokenizer.source(), tokens_of);
      const double parts = 1 + 2 * source / static_cast<double>(request.options.max_source_tokens);
      const double target = source + parts * static_cast<double>(search.max_extra_length) + prefix;
      numbers += source * target * static_cast<double>(search.num_hypotheses);
    }
  }
  return numbers;
}

// The tokens of all segments, and how many more than usual their translations may have, as often as the beam is wider
// than usual. Each part of a segment can have max_extra_length tokens more.
double weighted_tokens(const ApiRequest& request, const Document& document, const TaskRoute& route,
                       const TokenCount& tokens_of) {
  const SubwordModel& model = route.models.front().model->tokenizer().source();
  const SearchOptions& search = route.options->translation.search;
  const SearchOptions usual;
  const auto more =
      static_cast<double>(std::max({search.max_extra_length - usual.max_extra_length, search.min_length, int64_t{0}}));
  double tokens = 0;
  for (const std::string& segment : document.segments()) {
    const double source = tokens_of_segment(segment, request, model, tokens_of);
    tokens += source + more * std::ceil(source / static_cast<double>(request.options.max_source_tokens));
  }
  const int64_t width = std::max(search.beam_size, search.num_hypotheses);
  return tokens * std::max(1.0, static_cast<double>(width) / static_cast<double>(usual.beam_size));
}

double weighted_tokens(const ApiRequest& request, const std::vector<Document>& documents, const TextRoutes& routes,
                       const TokenCount& tokens_of) {
  double tokens = 0;
  for (size_t d = 0; d < documents.size(); ++d)
    if (!routes[d]->models.empty()) tokens += weighted_tokens(request, documents[d], *routes[d], tokens_of);
  return tokens;
}

}  // namespace

size_t most_normalized_bytes(const std::string& text) {
  size_t bytes = 0;
  const auto size = static_cast<int32_t>(text.size());
  for (int32_t at = 0; at < size;) {
    UChar32 code = 0;
    U8_NEXT_OR_FFFD(text.data(), at, size, code);
    const auto* range = kCharacterRanges.begin();
    while (code >= range->end) ++range;
    bytes += range->most_bytes;
  }
  return bytes;
}

void check_alignments(const ApiRequest& request, const std::vector<Document>& documents, const TextRoutes& routes) {
  const bool are_sent = request.options.search.alignments;
  if (!are_sent && !request.options.inline_tags) return;
  const double most = are_sent ? 8e6 : 64e6;
  const auto fits = [&](const TokenCount& tokens_of) {
    return alignment_numbers(request, documents, routes, tokens_of) <= most;
  };
  const bool has_pivot =
      std::any_of(routes.begin(), routes.end(), [](const auto& route) { return route->models.size() > 1; });
  if ((!are_sent && fits(most_tokens)) || fits(has_pivot ? tokens_by_pivot : exact_tokens)) return;
  throw ApiError(413, are_sent ? "alignments of so much text would be too large; send fewer or shorter sentences at a "
                                 "time, or ask for fewer hypotheses"
                               : "a text with markup has too long sentences; send shorter ones, or fewer at a time");
}

void check_tokens(const ApiRequest& request, const std::vector<Document>& documents, const TextRoutes& routes,
                  const ApiLimits& limits) {
  const auto most = static_cast<double>(limits.tokens);
  if (weighted_tokens(request, documents, routes, most_tokens) <= most) return;
  const double tokens = weighted_tokens(request, documents, routes, exact_tokens);
  if (tokens <= most) return;
  throw ApiError(413, fmt::format("the texts have {:.0f} tokens, where wide beams and long translations count more; a "
                                  "request may have {} (--max-tokens); send less text at a time",
                                  tokens, limits.tokens));
}

}  // namespace v0
}  // namespace transmute
