// SPDX-License-Identifier: Apache-2.0
#include <transmute/preparation/preparation.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/random.h>
#include <transmute/preparation/encoding.h>
#include <transmute/preparation/kept_parts.h>
#include <transmute/preparation/side.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

constexpr size_t kBlockPairs = 8192, kChunkPairs = 128;

// Puts an item into a list of at most `most` that is an even sample of all items put so far, of which this is number
// `number` from 1 on. `make` is called if the item is taken.
template <class Item, class Make>
void put_into_sample(std::vector<Item>& sample, size_t most, int64_t number, const Make& make) {
  if (sample.size() < most) return sample.push_back(make());
  const uint64_t place = mix_bits(static_cast<uint64_t>(number)) % static_cast<uint64_t>(number);
  if (place < most) sample[place] = make();
}

void check_can_be_read_twice(const PairInput& input) {
  namespace fs = std::filesystem;
  for (const std::string& path : {input.source, input.target}) {
    const bool is_stream = path == "-" || (fs::exists(path) && !fs::is_regular_file(path) && !fs::is_directory(path));
    if (is_stream)
      throw std::invalid_argument(
          fmt::format("{}: is no file, and the text is read twice; save it in a file first", path));
  }
}

}  // namespace

// A pair, and what is found of it on any worker.
struct Preparation::CheckedPair {
  TextPair pair;
  bool is_mended = false;
  std::optional<Violation> violation;
  uint64_t hash = 0, key = 0;  // hash of the pair, and key of what near duplicates have in common
  WordLinks links;
};

Preparation::Preparation(PreparationOptions options, WorkerCrew& workers, Progress progress)
    : options_(std::move(options)), workers_(workers), progress_(std::move(progress)) {
  for (const PairInput& input : options_.inputs) check_can_be_read_twice(input);
  read_excluded();
  learn(draw_sample());
}

std::vector<TextPair> Preparation::draw_sample() {
  constexpr int64_t kShownEvery = 65536;
  std::vector<TextPair> sample;
  for (const PairInput& input : options_.inputs) {
    const auto reader = open_pairs(input, options_.reading);
    for (TextPair pair; reader->next(pair);) {
      put_into_sample(sample, options_.sample, ++pairs_, [&] { return pair; });
      if (pairs_ % kShownEvery == 0) progress_(pairs_, 0);
    }
    notes_.insert(notes_.end(), reader->notes().begin(), reader->notes().end());
  }
  return sample;
}

void Preparation::learn(std::vector<TextPair> sample) {
  HashSet seen;
  const auto is_useless = [&](TextPair& pair) {
    mend_encoding(pair.source);
    mend_encoding(pair.target);
    return is_blank(pair.source) || is_blank(pair.target) || has_lost_characters(pair.source, pair.target) ||
           has_lost_characters(pair.target, pair.source) || !seen.insert(hash_of(pair.target, hash_of(pair.source)));
  };
  sample.erase(std::remove_if(sample.begin(), sample.end(), is_useless), sample.end());
  expected_ = learn_expected_text(sample, options_.reading);
  const bool scores = options_.rules.applies(Rule::alignment);
  if (!scores && !options_.aligns && !asks_models()) return;
  std::vector<char> is_bad(sample.size());
  workers_.for_each_chunk(sample.size(), kChunkPairs, [&](size_t begin, size_t end, int) {
    for (size_t i = begin; i < end; ++i)
      is_bad[i] = find_violation(sample[i], expected_, options_.rules).has_value() ? 1 : 0;
  });
  size_t good = 0;
  for (size_t i = 0; i < sample.size(); ++i)
    if (is_bad[i] == 0) std::swap(sample[good++], sample[i]);
  sample.resize(good);
  if (scores) scorer_ = std::make_unique<const AlignmentScorer>(sample, workers_);
  if (options_.aligns) aligner_ = std::make_unique<const WordAligner>(sample, workers_);
  if (!asks_models() || options_.max_cross_entropy) return;
  constexpr size_t kMostCosts = 10'000;  // which take a model as long as the rules take for millions
  const auto is_misaligned = [&](const TextPair& pair) { return find_misalignment(pair).has_value(); };
  sample.resize(std::min(sample.size(), kMostCosts));
  sample.erase(std::remove_if(sample.begin(), sample.end(), is_misaligned), sample.end());
  cost_limits_ = find_cost_limits(options_.cross_entropy, sample);
}

void Preparation::read_excluded() {
  for (const TextFile& file : options_.exclude) {
    TextFileReader reader(file);
    for (std::string line; reader.next(line);) {
      mend_encoding(line);
      const std::string key = near_duplicate_key(line);
      if (!key.empty()) excluded_.insert(hash_of(key));
    }
  }
}

const AlignmentThresholds* Preparation::alignment_thresholds() const {
  return scorer_ && !options_.min_alignment ? &scorer_->thresholds() : nullptr;
}

const CostLimits* Preparation::cost_limits() const {
  return asks_models() && !options_.max_cross_entropy ? &cost_limits_ : nullptr;
}

std::optional<Violation> Preparation::find_misalignment(const TextPair& pair) const {
  if (!scorer_) return {};
  const AlignmentScore score = scorer_->score(pair);
  if (score.words == 0) return {};  // nothing is known of its words
  std::optional<double> least = options_.min_alignment;
  if (!least && score.words >= kFewestAlignedWords) least = scorer_->thresholds().least[alignment_class(score)];
  if (!least || score.value >= *least) return {};
  return Violation{Rule::alignment, fmt::format("a score of {:.2f}; at least {:.2f} is needed", score.value, *least)};
}

void Preparation::check(CheckedPair& checked) const {
  TextPair& pair = checked.pair;
  const bool is_source_mended = mend_encoding(pair.source), is_target_mended = mend_encoding(pair.target);
  const bool is_decoded = mend_references(pair);
  checked.is_mended = is_source_mended || is_target_mended || is_decoded;
  checked.violation = find_violation(pair, expected_, options_.rules);
  if (!checked.violation) checked.violation = find_misalignment(pair);
  if (checked.violation) return;
  const std::string source = near_duplicate_key(pair.source), target = near_duplicate_key(pair.target);
  checked.hash = hash_of(pair.target, hash_of(pair.source));
  checked.key = source.empty() || target.empty() ? checked.hash : hash_of(target, hash_of(source));
  if (options_.aligns) checked.links = aligner_->align(pair);
  if (excluded_.size() == 0 || !options_.rules.applies(Rule::exclude)) return;
  for (const auto& [key, name] : {std::pair(&source, "source"), std::pair(&target, "target")})
    if (!key->empty() && excluded_.contains(hash_of(*key)))
      checked.violation = Violation{Rule::exclude, fmt::format("the {} is in a test or validation text", name)};
}

std::optional<Violation> Preparation::find_repetition(const CheckedPair& checked) {
  if (options_.rules.applies(Rule::duplicate) && !pairs_seen_.insert(checked.hash))
    return Violation{Rule::duplicate, "the same pair came before"};
  if (options_.rules.applies(Rule::near_duplicate) && !keys_seen_.insert(checked.key))
    return Violation{Rule::near_duplicate, "a pair with the same letters and digits came before"};
  return {};
}

// Applies the models' rule to the pairs of a block that break no other.
void Preparation::ask_models(std::vector<CheckedPair>& block) const {
  if (!asks_models()) return;
  std::vector<TextPair> pairs;
  std::vector<CheckedPair*> asked;
  for (CheckedPair& checked : block) {
    if (checked.violation) continue;
    asked.push_back(&checked);
    pairs.push_back(checked.pair);
  }
  const std::vector<double> costs = options_.cross_entropy(pairs);
  for (size_t i = 0; i < asked.size(); ++i) {
    const std::optional<double> most =
        options_.max_cross_entropy ? options_.max_cross_entropy : cost_limits_.most_of(pairs[i]);
    if (most && costs[i] > *most)  // no number is not more
      asked[i]->violation = Violation{
          Rule::cross_entropy, fmt::format("{:.2f} nats per token; at most {:.2f} are allowed", costs[i], *most)};
  }
}

void Preparation::finish(std::vector<CheckedPair>& block, PreparationOutcome& outcome, const Keep& keep,
                         const Drop& drop) {
  constexpr size_t kExamples = 8;
  for (CheckedPair& checked : block) {
    ++outcome.read;
    if (!checked.violation) {
      ++outcome.kept;
      keep(checked.pair, checked.links);
      if (checked.is_mended)
        put_into_sample(outcome.mended_examples, kExamples, ++outcome.mended, [&] {
          return DroppedPair{checked.pair, "mended"};
        });
      continue;
    }
    const DroppedPair dropped{std::move(checked.pair), std::move(checked.violation->detail)};
    drop(checked.violation->rule, dropped);
    RuleOutcome& rule = outcome.rules[static_cast<size_t>(checked.violation->rule)];
    put_into_sample(rule.examples, kExamples, ++rule.count, [&] { return dropped; });
  }
}

PreparationOutcome Preparation::run(const Keep& keep, const Drop& drop) {
  PreparationOutcome outcome;
  pairs_seen_ = keys_seen_ = {};
  std::vector<CheckedPair> block;
  for (const PairInput& input : options_.inputs) {
    const auto reader = open_pairs(input, options_.reading);
    for (bool is_more = true; is_more;) {
      block.clear();
      while (block.size() < kBlockPairs && is_more) {
        block.emplace_back();
        is_more = reader->next(block.back().pair);
      }
      if (!is_more) block.pop_back();
      workers_.for_each_chunk(block.size(), kChunkPairs, [&](size_t begin, size_t end, int) {
        for (size_t i = begin; i < end; ++i) check(block[i]);
      });
      for (CheckedPair& checked : block)
        if (!checked.violation) checked.violation = find_repetition(checked);
      ask_models(block);
      finish(block, outcome, keep, drop);
      progress_(outcome.read, pairs_);
    }
    outcome.untranslated += reader->untranslated();
    outcome.other_languages += reader->other_languages();
  }
  return outcome;
}

}  // namespace v0
}  // namespace transmute
