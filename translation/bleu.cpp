#include <transmute/translation/bleu.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <locale>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <unicode/locid.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

namespace transmute {
namespace {

// --- Text as Python sees it --------------------------------------------------------------------------------

// The code points that Python's str.isspace() accepts, and therefore str.split() and str.rstrip() remove:
// bidirectional class WS, B or S, or category Zs. It differs from ICU's u_isspace and u_isUWhiteSpace at
// U+001C to U+001F or at U+0085, so it stands here in full.
bool is_python_space(UChar32 c) {
  if (c < 0x80) return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

// str.split(): the pieces between runs of whitespace, none of them empty. They point into `text`.
std::vector<std::string_view> split_at_space(std::string_view text) {
  std::vector<std::string_view> words;
  const auto size = static_cast<int32_t>(text.size());
  int32_t word_begin = 0;
  for (int32_t next = 0; next < size;) {
    const int32_t begin = next;
    UChar32 c;
    U8_NEXT(text.data(), next, size, c);  // invalid bytes come as c < 0, which is no space
    if (!is_python_space(c)) continue;
    if (begin > word_begin) words.push_back(text.substr(word_begin, begin - word_begin));
    word_begin = next;
  }
  if (size > word_begin) words.push_back(text.substr(word_begin));
  return words;
}

// str.rstrip(). Not the same as splitting alone: 13a looks at line feeds inside the segment.
std::string_view strip_right(std::string_view text) {
  auto end = static_cast<int32_t>(text.size());
  while (end > 0) {
    int32_t previous = end;
    UChar32 c;
    U8_PREV(text.data(), 0, previous, c);
    if (!is_python_space(c)) break;
    end = previous;
  }
  return text.substr(0, end);
}

// str.lower(): full mappings of the root locale, a Greek capital sigma by its context.
std::string to_lower(const std::string& text) {
  std::string lowered;
  icu::UnicodeString::fromUTF8(text).toLower(icu::Locale::getRoot()).toUTF8String(lowered);
  return lowered;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// --- Tokenisation 13a --------------------------------------------------------------------------------------
//
// mteval-v13a.pl rewrites a line by a sequence of substitutions; the four below that insert spaces are its
// "language-dependent part". All of them single out ASCII characters, and no byte of a longer UTF-8 sequence
// is ASCII, so they work on bytes. A rule that looks at two characters consumes both, as a regular expression
// does: in "a.,b" the comma is not examined with the full stop as its left neighbour.

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_period_or_comma(char c) {
  return c == '.' || c == ',';
}

// ASCII punctuation other than the apostrophe, the comma, the hyphen and the full stop; and the space.
bool is_separate_symbol(char c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') ||
         (c >= ':' && c <= '@') || c == '/';
}

std::string space_out_symbols(std::string_view line) {
  std::string spaced;
  spaced.reserve(2 * line.size());
  for (const char c : line) {
    if (is_separate_symbol(c)) {
      spaced.append({' ', c, ' '});
    } else {
      spaced.push_back(c);
    }
  }
  return spaced;
}

// Rewrites each pair of neighbours that satisfies `is_pair`, from left to right without overlap.
template <typename IsPair, typename AppendPair>
std::string rewrite_pairs(std::string_view line, IsPair is_pair, AppendPair append_pair) {
  std::string rewritten;
  rewritten.reserve(line.size() + line.size() / 4);
  std::size_t i = 0;
  while (i < line.size()) {
    if (i + 1 < line.size() && is_pair(line[i], line[i + 1])) {
      append_pair(rewritten, line[i], line[i + 1]);
      i += 2;
    } else {
      rewritten.push_back(line[i]);
      ++i;
    }
  }
  return rewritten;
}

void append_right_apart(std::string& out, char left, char right) {
  out.append({left, ' ', right, ' '});
}

void append_left_apart(std::string& out, char left, char right) {
  out.append({' ', left, ' ', right});
}

// "3.5" and "1,000" stay whole; every other full stop or comma becomes a token.
std::string space_out_periods_and_commas(std::string_view line) {
  const std::string after_non_digit = rewrite_pairs(
      line, [](char left, char right) { return !is_digit(left) && is_period_or_comma(right); }, append_right_apart);
  return rewrite_pairs(
      after_non_digit, [](char left, char right) { return is_period_or_comma(left) && !is_digit(right); },
      append_left_apart);
}

std::string space_out_hyphens_after_digits(std::string_view line) {
  return rewrite_pairs(
      line, [](char left, char right) { return is_digit(left) && right == '-'; }, append_right_apart);
}

// The order matters twice: "-\n" must go before "\n", and "&amp;lt;" becomes "&lt;", then "<".
std::string resolve_markup(std::string line) {
  replace_all(line, "<skipped>", "");
  replace_all(line, "-\n", "");
  replace_all(line, "\n", " ");
  replace_all(line, "&quot;", "\"");
  replace_all(line, "&amp;", "&");
  replace_all(line, "&lt;", "<");
  replace_all(line, "&gt;", ">");
  return line;
}

std::string tokenize_13a(std::string_view segment) {
  // Spaces around the line give the two-character rules a neighbour at both ends.
  const std::string padded = " " + resolve_markup(std::string(segment)) + " ";
  return space_out_hyphens_after_digits(space_out_periods_and_commas(space_out_symbols(padded)));
}

std::string tokenize_none(std::string_view segment) {
  return std::string(segment);
}

// A tokeniser marks token borders by whitespace. A new one is a function and a row here.
struct TokenizerEntry {
  BleuTokenizer tokenizer;
  const char* name;
  std::string (*tokenize)(std::string_view segment);
};

constexpr TokenizerEntry kTokenizers[] = {
    {BleuTokenizer::mteval_13a, "13a", tokenize_13a},
    {BleuTokenizer::none, "none", tokenize_none},
};

const TokenizerEntry& tokenizer_entry(BleuTokenizer tokenizer) {
  for (const TokenizerEntry& entry : kTokenizers) {
    if (entry.tokenizer == tokenizer) return entry;
  }
  throw std::invalid_argument("BleuOptions::tokenizer has the undefined value " +
                              std::to_string(static_cast<int>(tokenizer)));
}

// --- Counting ----------------------------------------------------------------------------------------------

using TokenId = int64_t;
constexpr TokenId kNoToken = -1;

// Tokens in order; the unused tail of a shorter n-gram holds kNoToken.
using Ngram = std::array<TokenId, kBleuMaxOrder>;
using NgramCounts = std::map<Ngram, int64_t>;

// Numbers tokens in order of appearance, so that n-grams compare as integers.
class Vocabulary {
 public:
  TokenId id_of(std::string_view token) { return ids_.emplace(token, static_cast<TokenId>(ids_.size())).first->second; }

 private:
  std::unordered_map<std::string, TokenId> ids_;
};

// Turns raw segments into token ids as the options ask.
class SegmentReader {
 public:
  explicit SegmentReader(const BleuOptions& options)
      : letter_case_(options.letter_case), tokenize_(tokenizer_entry(options.tokenizer).tokenize) {}

  std::vector<TokenId> read(const std::string& segment) {
    const std::string cased = letter_case_ == BleuCase::lower ? to_lower(segment) : segment;
    const std::string tokenized = tokenize_(strip_right(cased));
    std::vector<TokenId> ids;
    for (const std::string_view token : split_at_space(tokenized)) ids.push_back(vocabulary_.id_of(token));
    return ids;
  }

 private:
  BleuCase letter_case_;
  std::string (*tokenize_)(std::string_view);
  Vocabulary vocabulary_;
};

std::size_t order_of(const Ngram& ngram) {
  return static_cast<std::size_t>(std::find(ngram.begin(), ngram.end(), kNoToken) - ngram.begin());
}

NgramCounts count_ngrams(const std::vector<TokenId>& tokens) {
  NgramCounts counts;
  for (std::size_t begin = 0; begin < tokens.size(); ++begin) {
    Ngram ngram;
    ngram.fill(kNoToken);
    const std::size_t longest = std::min(kBleuMaxOrder, tokens.size() - begin);
    for (std::size_t length = 1; length <= longest; ++length) {
      ngram[length - 1] = tokens[begin + length - 1];
      ++counts[ngram];
    }
  }
  return counts;
}

// What all references of one segment say together.
struct ReferenceCounts {
  NgramCounts ngrams;            // of each n-gram, the most that any one reference has
  std::vector<int64_t> lengths;  // tokens, per reference
};

void add_reference(ReferenceCounts& references, const std::vector<TokenId>& tokens) {
  references.lengths.push_back(static_cast<int64_t>(tokens.size()));
  for (const auto& [ngram, count] : count_ngrams(tokens)) {
    int64_t& most = references.ngrams[ngram];
    most = std::max(most, count);
  }
}

// The reference length closest to the hypothesis's; of two equally close ones, the shorter.
int64_t closest_length(const std::vector<int64_t>& reference_lengths, int64_t hypothesis_length) {
  const auto distance_then_length = [hypothesis_length](int64_t length) {
    return std::make_pair(std::abs(length - hypothesis_length), length);
  };
  return *std::min_element(reference_lengths.begin(), reference_lengths.end(),
                           [&](int64_t a, int64_t b) { return distance_then_length(a) < distance_then_length(b); });
}

// Adds one segment to the corpus counts in `sums`.
void count_segment(BleuScore& sums, const std::vector<TokenId>& hypothesis, const ReferenceCounts& references) {
  const auto length = static_cast<int64_t>(hypothesis.size());
  sums.hypothesis_length += length;
  sums.reference_length += closest_length(references.lengths, length);
  for (const auto& [ngram, count] : count_ngrams(hypothesis)) {
    const std::size_t order = order_of(ngram);
    sums.totals[order - 1] += count;
    const auto found = references.ngrams.find(ngram);
    if (found != references.ngrams.end()) sums.matches[order - 1] += std::min(count, found->second);
  }
}

// --- Scoring -----------------------------------------------------------------------------------------------

double brevity_penalty(int64_t hypothesis_length, int64_t reference_length) {
  if (hypothesis_length >= reference_length) return 1.0;
  if (hypothesis_length == 0) return 0.0;
  return std::exp(1.0 - static_cast<double>(reference_length) / static_cast<double>(hypothesis_length));
}

// Percent. The order of operations is sacreBLEU's, so that results agree to the last bit.
std::array<double, kBleuMaxOrder> smoothed_precisions(const BleuScore& counts) {
  std::array<double, kBleuMaxOrder> precisions{};
  double divisor = 1.0;
  for (std::size_t i = 0; i < kBleuMaxOrder; ++i) {
    if (counts.totals[i] == 0) break;  // longer n-grams do not exist either
    const auto matches = static_cast<double>(counts.matches[i]);
    const auto total = static_cast<double>(counts.totals[i]);
    if (counts.matches[i] > 0) {
      precisions[i] = 100.0 * matches / total;
    } else {
      divisor *= 2.0;
      precisions[i] = 100.0 / (divisor * total);
    }
  }
  return precisions;
}

double geometric_mean(const std::array<double, kBleuMaxOrder>& values) {
  double log_sum = 0.0;
  for (const double value : values) {
    if (value == 0.0) return 0.0;
    log_sum += std::log(value);
  }
  return std::exp(log_sum / static_cast<double>(values.size()));
}

void finish_score(BleuScore& score) {
  score.brevity_penalty = brevity_penalty(score.hypothesis_length, score.reference_length);
  // Without a single match smoothing must not conjure a score.
  const auto is_zero = [](int64_t count) { return count == 0; };
  if (std::all_of(score.matches.begin(), score.matches.end(), is_zero)) return;
  score.precisions = smoothed_precisions(score);
  score.score = score.brevity_penalty * geometric_mean(score.precisions);
}

void check_segment_counts(const std::vector<std::string>& hypotheses,
                          const std::vector<std::vector<std::string>>& references) {
  if (hypotheses.empty()) throw std::invalid_argument("BLEU needs at least one segment; there are no hypotheses");
  if (references.empty()) throw std::invalid_argument("BLEU needs at least one reference set; there is none");
  for (std::size_t r = 0; r < references.size(); ++r) {
    if (references[r].size() == hypotheses.size()) continue;
    throw std::invalid_argument("reference set " + std::to_string(r + 1) + " has " +
                                std::to_string(references[r].size()) + " segments but there are " +
                                std::to_string(hypotheses.size()) +
                                " hypotheses; give one reference segment per hypothesis, in the same order");
  }
}

// --- Printing ----------------------------------------------------------------------------------------------

// The classic locale keeps the decimal point even where the application has set a locale with a comma.
std::string fixed_decimals(double value, int decimals) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out << std::fixed << std::setprecision(decimals) << value;
  return out.str();
}

double length_ratio(const BleuScore& score) {
  if (score.reference_length == 0) return 0.0;
  return static_cast<double>(score.hypothesis_length) / static_cast<double>(score.reference_length);
}

}  // namespace

BleuScore corpus_bleu(const std::vector<std::string>& hypotheses,
                      const std::vector<std::vector<std::string>>& references, const BleuOptions& options) {
  check_segment_counts(hypotheses, references);
  SegmentReader reader(options);
  BleuScore score;
  for (std::size_t segment = 0; segment < hypotheses.size(); ++segment) {
    ReferenceCounts reference_counts;
    for (const auto& reference_set : references) {
      add_reference(reference_counts, reader.read(reference_set[segment]));
    }
    count_segment(score, reader.read(hypotheses[segment]), reference_counts);
  }
  finish_score(score);
  return score;
}

std::string bleu_signature(const BleuOptions& options, std::size_t num_references) {
  const std::string letter_case = options.letter_case == BleuCase::lower ? "lc" : "mixed";
  return "nrefs:" + std::to_string(num_references) + "|case:" + letter_case +
         "|eff:no|tok:" + bleu_tokenizer_name(options.tokenizer) + "|smooth:exp|version:transmute-1";
}

std::string format_bleu(const BleuScore& score, const std::string& signature) {
  std::string line = signature.empty() ? "BLEU" : "BLEU|" + signature;
  line += " = " + format_bleu_score_only(score);
  for (std::size_t i = 0; i < kBleuMaxOrder; ++i) {
    line += (i == 0 ? " " : "/") + fixed_decimals(score.precisions[i], 1);
  }
  line += " (BP = " + fixed_decimals(score.brevity_penalty, 3);
  line += " ratio = " + fixed_decimals(length_ratio(score), 3);
  line += " hyp_len = " + std::to_string(score.hypothesis_length);
  line += " ref_len = " + std::to_string(score.reference_length) + ")";
  return line;
}

std::string format_bleu_score_only(const BleuScore& score) {
  return fixed_decimals(score.score, 2);
}

std::string bleu_tokenizer_name(BleuTokenizer tokenizer) {
  return tokenizer_entry(tokenizer).name;
}

BleuTokenizer bleu_tokenizer_from_name(const std::string& name) {
  std::string known;
  for (const TokenizerEntry& entry : kTokenizers) {
    if (name == entry.name) return entry.tokenizer;
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw std::invalid_argument("unknown BLEU tokenizer \"" + name + "\"; known are: " + known);
}

}  // namespace transmute
