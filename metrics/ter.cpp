// SPDX-License-Identifier: Apache-2.0
#include <transmute/metrics/ter.h>

#include <transmute/metrics/metric_text.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace transmute {
inline namespace v0 {
namespace {

// Tercom's limits, and sacreBLEU's on the shifts that are tried for one segment.
constexpr int64_t kMaxShiftWords = 10;
constexpr int64_t kMaxShiftDistance = 50;
constexpr int64_t kBeamWidth = 25;
constexpr int64_t kMaxCandidates = 1000;

using Words = std::vector<int64_t>;  // numbered

class WordNumbers {
 public:
  Words of(const std::vector<std::string>& words) {
    Words numbers;
    for (const std::string& word : words)
      numbers.push_back(numbers_.emplace(word, static_cast<int64_t>(numbers_.size())).first->second);
    return numbers;
  }

 private:
  std::unordered_map<std::string, int64_t> numbers_;
};

enum class Edit : char { undefined, match, substitute, insert, remove };

// The edits that turn a hypothesis into the reference, by words: "insert" takes a word of the reference that the
// hypothesis lacks.
struct Alignment {
  std::vector<int64_t> hypothesis_of;  // of each reference word: the hypothesis's word, or the last before it; -1: none
  std::vector<char> reference_is_wrong, hypothesis_is_wrong;
};

// Levenshtein distance to one reference, near the diagonal only. Of equally good edits it takes a match or
// substitution, then a removal, then an insertion. Rows that the last hypothesis had too are kept: shifts change
// little. A row has only the cells near the diagonal, so that memory is linear in the length.
class EditDistance {
 public:
  explicit EditDistance(const Words& reference) : reference_(reference) {}

  int64_t operator()(const Words& hypothesis) {
    const auto same = static_cast<size_t>(
        std::mismatch(hypothesis.begin(), hypothesis.end(), last_.begin(), last_.end()).first - hypothesis.begin());
    // The last row of a hypothesis is wider than its beam.
    const size_t kept =
        last_.size() == hypothesis.size() ? std::min(same, hypothesis.empty() ? 0 : last_.size() - 1) : 0;
    if (rows_.empty()) {
      rows_.emplace_back();
      for (int64_t j = 0; j <= reference_size(); ++j) rows_[0].cells.push_back({j, Edit::insert});
    }
    rows_.resize(kept + 1);
    last_ = hypothesis;
    for (size_t i = kept + 1; i <= hypothesis.size(); ++i) add_row(static_cast<int64_t>(i));
    return rows_.back().cells.back().cost;
  }

  // The alignment of the hypothesis that was measured last.
  Alignment alignment() const {
    std::vector<Edit> edits;
    size_t i = rows_.size() - 1;
    for (int64_t j = reference_size(); i > 0 || j > 0;) {
      edits.push_back(rows_[i].at(j).edit);
      if (edits.back() != Edit::insert) --i;
      if (edits.back() != Edit::remove) --j;
    }
    Alignment found;
    int64_t hypothesis = -1;
    for (auto edit = edits.rbegin(); edit != edits.rend(); ++edit) {
      const char is_wrong = *edit == Edit::match ? 0 : 1;
      if (*edit != Edit::insert) {
        ++hypothesis;
        found.hypothesis_is_wrong.push_back(is_wrong);
      }
      if (*edit != Edit::remove) {
        found.hypothesis_of.push_back(hypothesis);
        found.reference_is_wrong.push_back(is_wrong);
      }
    }
    return found;
  }

 private:
  struct Cell {
    int64_t cost = std::numeric_limits<int64_t>::max() / 2;
    Edit edit = Edit::undefined;
  };

  struct Row {
    int64_t begin = 0;
    std::vector<Cell> cells;  // from `begin` on

    Cell at(int64_t j) const {
      const bool is_near = begin <= j && j - begin < static_cast<int64_t>(cells.size());
      return is_near ? cells[static_cast<size_t>(j - begin)] : Cell{};
    }
  };

  int64_t reference_size() const { return static_cast<int64_t>(reference_.size()); }

  void add_row(int64_t i) {
    const auto words = static_cast<int64_t>(last_.size());
    const double ratio = static_cast<double>(reference_size()) / static_cast<double>(words);
    const int64_t width = static_cast<double>(kBeamWidth) < ratio / 2
                              ? static_cast<int64_t>(std::ceil(ratio / 2 + static_cast<double>(kBeamWidth)))
                              : kBeamWidth;
    const auto diagonal = static_cast<int64_t>(std::floor(static_cast<double>(i) * ratio));
    const int64_t begin = std::max<int64_t>(0, diagonal - width);
    const int64_t end = i == words ? reference_size() + 1 : std::min(reference_size() + 1, diagonal + width);
    rows_.push_back({begin, {}});
    const Row& above = rows_[static_cast<size_t>(i) - 1];
    Row& row = rows_.back();
    row.cells.reserve(static_cast<size_t>(std::max<int64_t>(0, end - begin)));
    for (int64_t j = begin; j < end; ++j) {
      Cell cell;
      const auto offer = [&](const Cell& from, int64_t cost, Edit edit) {
        if (cell.cost > from.cost + cost) cell = {from.cost + cost, edit};
      };
      if (j > 0) {
        const bool matches = last_[static_cast<size_t>(i) - 1] == reference_[static_cast<size_t>(j) - 1];
        offer(above.at(j - 1), matches ? 0 : 1, matches ? Edit::match : Edit::substitute);
      }
      offer(above.at(j), 1, Edit::remove);
      if (j > 0) offer(row.at(j - 1), 1, Edit::insert);
      row.cells.push_back(cell);
    }
  }

  const Words& reference_;
  Words last_;
  std::vector<Row> rows_;
};

// `length` words from `start` on move to before word `target` of those that stay or move.
Words shifted(const Words& words, int64_t start, int64_t length, int64_t target) {
  Words result = words;
  const auto begin = result.begin() + start, end = begin + length;
  if (target < start) {
    std::rotate(result.begin() + target, begin, end);
  } else {
    // A target within the words that move counts from where they were.
    const int64_t behind =
        target > start + length ? target : std::min<int64_t>(length + target, static_cast<int64_t>(words.size()));
    std::rotate(begin, end, result.begin() + behind);
  }
  return result;
}

struct Shift {
  // Better shifts are greater: by the edits saved, then longer, further to the front, and to further in front.
  std::tuple<int64_t, int64_t, int64_t, int64_t> rank;
  Words words;
};

// The places of words in a row that both have, of every length.
struct Match {
  int64_t hypothesis, reference, length;
};

// The matches that begin at one word of the hypothesis.
std::vector<Match> matches_at(int64_t h, const Words& hypothesis, const Words& reference) {
  const auto hypothesis_size = static_cast<int64_t>(hypothesis.size());
  const auto reference_size = static_cast<int64_t>(reference.size());
  std::vector<Match> matches;
  for (int64_t r = std::max<int64_t>(0, h - kMaxShiftDistance); r < std::min(reference_size, h + kMaxShiftDistance + 1);
       ++r)
    for (int64_t length = 1;
         length <= kMaxShiftWords && h + length <= hypothesis_size && r + length <= reference_size &&
         hypothesis[static_cast<size_t>(h + length - 1)] == reference[static_cast<size_t>(r + length - 1)];
         ++length)
      matches.push_back({h, r, length});
  return matches;
}

// True if any of `length` words from `begin` on is wrong.
bool any_wrong(const std::vector<char>& is_wrong, int64_t begin, int64_t length) {
  return std::any_of(is_wrong.begin() + begin, is_wrong.begin() + begin + length,
                     [](char wrong) { return wrong != 0; });
}

// The shift that saves most edits, which may be none or fewer. Counts what it tries.
std::optional<Shift> best_shift(const Words& hypothesis, const Words& reference, EditDistance& distance,
                                int64_t& candidates) {
  const int64_t before = distance(hypothesis);
  const Alignment aligned = distance.alignment();
  std::optional<Shift> best;
  const auto try_shifts_of = [&](const Match& match) {
    const int64_t now_at = aligned.hypothesis_of[static_cast<size_t>(match.reference)];
    if (!any_wrong(aligned.hypothesis_is_wrong, match.hypothesis, match.length) ||
        !any_wrong(aligned.reference_is_wrong, match.reference, match.length) ||
        (match.hypothesis <= now_at && now_at < match.hypothesis + match.length))
      return;
    int64_t last_target = -1;
    for (int64_t offset = -1; offset < match.length; ++offset) {
      const int64_t behind = match.reference + offset;
      const int64_t target = behind < 0 ? 0 : aligned.hypothesis_of[static_cast<size_t>(behind)] + 1;
      if (target == last_target) continue;
      last_target = target;
      Shift shift{{}, shifted(hypothesis, match.hypothesis, match.length, target)};
      shift.rank = {before - distance(shift.words), match.length, -match.hypothesis, -target};
      ++candidates;
      if (!best || shift.rank > best->rank) best = std::move(shift);
    }
  };
  for (size_t h = 0; h < hypothesis.size() && candidates < kMaxCandidates; ++h)
    for (const Match& match : matches_at(static_cast<int64_t>(h), hypothesis, reference))
      if (candidates < kMaxCandidates) try_shifts_of(match);
  return best;
}

// sacreBLEU tokenizes references twice, hypotheses once, and Tercom's normalization changes its own output: "man's."
// becomes "man's ." and that "man 's .".
std::vector<std::string> reference_words(const TerOptions& options, const std::string& segment) {
  std::vector<std::string> words = words_for_ter(options, segment);
  if (!options.normalized) return words;
  std::string line;
  for (const std::string& word : words) line += word + ' ';
  return words_for_ter(options, line);
}

int64_t edits_between(Words hypothesis, const Words& reference) {
  if (reference.empty()) return static_cast<int64_t>(hypothesis.size());
  EditDistance distance(reference);
  int64_t shifts = 0, candidates = 0;
  while (true) {
    std::optional<Shift> shift = best_shift(hypothesis, reference, distance, candidates);
    if (candidates >= kMaxCandidates || !shift || std::get<0>(shift->rank) <= 0) break;
    ++shifts;
    hypothesis = std::move(shift->words);
  }
  return shifts + distance(hypothesis);
}

}  // namespace

TerCounts& TerCounts::operator+=(const TerCounts& other) {
  edits += other.edits;
  reference_length += other.reference_length;
  return *this;
}

std::vector<TerCounts> ter_segment_counts(const std::vector<std::string>& hypotheses,
                                          const std::vector<std::vector<std::string>>& references,
                                          const TerOptions& options) {
  check_segment_counts(hypotheses, references, "TER");
  std::vector<TerCounts> counts;
  for (size_t segment = 0; segment < hypotheses.size(); ++segment) {
    WordNumbers numbers;
    const Words hypothesis = numbers.of(words_for_ter(options, hypotheses[segment]));
    int64_t fewest = std::numeric_limits<int64_t>::max();
    double lengths = 0;
    for (const auto& set : references) {
      const Words reference = numbers.of(reference_words(options, set[segment]));
      fewest = std::min(fewest, edits_between(hypothesis, reference));
      lengths += static_cast<double>(reference.size());
    }
    counts.push_back({static_cast<double>(fewest), lengths / static_cast<double>(references.size())});
  }
  return counts;
}

double ter_from_counts(const TerCounts& counts) {
  if (counts.reference_length > 0) return 100 * (counts.edits / counts.reference_length);
  return counts.edits > 0 ? 100 : 0;
}

double corpus_ter(const std::vector<std::string>& hypotheses, const std::vector<std::vector<std::string>>& references,
                  const TerOptions& options) {
  TerCounts sum;
  for (const TerCounts& counts : ter_segment_counts(hypotheses, references, options)) sum += counts;
  return ter_from_counts(sum);
}

std::string ter_signature(const TerOptions& options, std::size_t num_references) {
  const auto yes_or_no = [](bool value) { return value ? "yes" : "no"; };
  return "nrefs:" + std::to_string(num_references) + "|case:" + (options.case_sensitive ? "mixed" : "lc") +
         "|tok:tercom|norm:" + yes_or_no(options.normalized) + "|punct:" + yes_or_no(!options.no_punctuation) +
         "|asian:" + yes_or_no(options.asian_support) + "|version:transmute-1";
}

}  // namespace v0
}  // namespace transmute
