// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/demo_corpus/demo_corpus.h>

#include <transmute/common/random.h>
#include <transmute/programs/demo_corpus/expression_writer.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <stdexcept>
#include <unordered_set>

namespace transmute {
namespace {

// A stream of random integers that is the same with every standard library.
class RandomStream {
 public:
  explicit RandomStream(uint64_t key) : key_(key) {}

  // Uniform from `low` to `high`, both included. The modulus's bias is below 2^-30 for ranges below 2^34.
  int64_t between(int64_t low, int64_t high) {
    const auto size = static_cast<uint64_t>(high - low) + 1;
    return low + static_cast<int64_t>(mix_bits(key_ ^ mix_bits(counter_++)) % size);
  }

 private:
  uint64_t key_;
  uint64_t counter_ = 0;
};

// First a number of digits, then a number that long: roughly log-uniform, so that short numbers and each of
// the tens and units words are frequent, and in integers, so that no rounding differs between machines.
int64_t draw_number(RandomStream& random, int64_t max_number) {
  int max_digits = 1;
  for (int64_t rest = max_number; rest >= 10; rest /= 10) ++max_digits;
  int64_t smallest = 1;
  for (int64_t digits = random.between(1, max_digits); digits > 1; --digits) smallest *= 10;
  return random.between(smallest, std::min(10 * smallest - 1, max_number));
}

int64_t draw_value(RandomStream& random, Quantity quantity, int64_t max_number) {
  constexpr int64_t kSecondsPerDay = 86'400;
  switch (quantity) {
    case Quantity::number:
      return draw_number(random, max_number);
    case Quantity::year:  // those with a special form ("nineteen eighty-six") and both neighboring centuries
      return random.between(1100, 2099);
    case Quantity::tenths: {
      const int64_t whole = draw_number(random, max_number);
      return 10 * whole + random.between(0, 9);
    }
    case Quantity::minutes: {  // both parts are at least 1: "0 minutes" is not said in some languages
      const int64_t hours = random.between(1, 99);
      return 60 * hours + random.between(1, 59);
    }
    case Quantity::moment: {  // any second from 1900-01-01 to 2099-12-31
      const int64_t day = random.between(-25'567, 47'481);
      return kSecondsPerDay * day + random.between(0, kSecondsPerDay - 1);
    }
  }
  throw std::logic_error("a Quantity without a way to draw it");
}

// Draws one of `kinds` by weight, then a value.
Expression draw_expression(RandomStream& random, const std::vector<size_t>& kinds, int64_t max_number) {
  int64_t total_weight = 0;
  for (const size_t kind : kinds) total_weight += kExpressionKinds[kind].weight;
  int64_t ticket = random.between(0, total_weight - 1);
  auto kind = kinds.begin();
  for (; ticket >= kExpressionKinds[*kind].weight; ++kind) ticket -= kExpressionKinds[*kind].weight;
  return {*kind, draw_value(random, kExpressionKinds[*kind].quantity, max_number)};
}

// Seeds from one user's number, so that the draws and the shuffle do not repeat each other.
enum class Stream : uint64_t { draw = 1, shuffle = 2 };

uint64_t stream_key(uint64_t seed, Stream stream) {
  return combine_keys(seed, static_cast<uint64_t>(stream));
}

std::vector<size_t> kinds_of_both(const ExpressionWriter& source, const ExpressionWriter& target) {
  std::vector<size_t> kinds;
  for (size_t kind = 0; kind < std::size(kExpressionKinds); ++kind)
    if (source.can_write(kind) && target.can_write(kind)) kinds.push_back(kind);
  return kinds;
}

// True if an earlier kind says the same value in the same source words. In other target words it may:
// Spanish `mil novecientos` is a number and a year, English tells `one thousand nine hundred` from `nineteen
// hundred`.
bool belongs_to_earlier_kind(const Expression& expression, const std::string& source_text,
                             const std::vector<size_t>& kinds, const ExpressionWriter& source) {
  const auto is_moment = [](size_t kind) { return kExpressionKinds[kind].quantity == Quantity::moment; };
  return std::any_of(kinds.begin(), std::find(kinds.begin(), kinds.end(), expression.kind), [&](size_t earlier) {
    return is_moment(earlier) == is_moment(expression.kind) && source.write({earlier, expression.value}) == source_text;
  });
}

std::string too_few_message(std::size_t found, std::size_t wanted) {
  return "too few distinct expressions: " + std::to_string(found) + " of the " + std::to_string(wanted) +
         " asked for were found before most draws repeated earlier ones; ask for fewer pairs or for a larger "
         "maximum number";
}

std::vector<DemoPair> draw_distinct_pairs(const DemoCorpusOptions& options, std::size_t wanted) {
  // If about half of the draws repeat earlier ones, short kinds have run out, and the rest would be little but dates
  // and times: another task than the one asked for.
  const std::size_t max_draws = 10'000 + 2 * wanted;
  const ExpressionWriter source(options.source_locale);
  const ExpressionWriter target(options.target_locale);
  const std::vector<size_t> kinds = kinds_of_both(source, target);
  RandomStream random(stream_key(options.seed, Stream::draw));
  std::vector<DemoPair> pairs;
  std::unordered_set<std::string> known_sources;
  for (std::size_t draw = 0; pairs.size() < wanted; ++draw) {
    if (draw == max_draws) throw std::invalid_argument(too_few_message(pairs.size(), wanted));
    const Expression expression = draw_expression(random, kinds, options.max_number);
    std::string source_text = source.write(expression);
    if (belongs_to_earlier_kind(expression, source_text, kinds, source)) continue;
    if (!known_sources.insert(source_text).second) continue;
    pairs.push_back({expression, std::move(source_text), target.write(expression)});
  }
  return pairs;
}

void check_range(const char* name, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return;
  throw std::invalid_argument(std::string("the ") + name + " is " + std::to_string(value) + "; it must be from " +
                              std::to_string(low) + " to " + std::to_string(high));
}

void check_options(const DemoCorpusOptions& options) {
  constexpr int64_t kMaxPairs = 100'000'000;
  check_range("number of training pairs", options.train_pairs, 1, kMaxPairs);
  check_range("number of validation pairs", options.valid_pairs, 0, kMaxPairs);
  check_range("number of test pairs", options.test_pairs, 0, kMaxPairs);
  check_range("maximum number", options.max_number, 9, 999'999'999);
  demo_corpus_suffixes(options);  // checks the locales
}

std::vector<DemoPair> take_last(std::vector<DemoPair>& pairs, int64_t count) {
  std::vector<DemoPair> taken(std::make_move_iterator(pairs.end() - count), std::make_move_iterator(pairs.end()));
  pairs.resize(pairs.size() - static_cast<std::size_t>(count));
  return taken;
}

}  // namespace

DemoCorpus make_demo_corpus(const DemoCorpusOptions& options) {
  check_options(options);
  const int64_t wanted = options.train_pairs + options.valid_pairs + options.test_pairs;
  std::vector<DemoPair> pairs = draw_distinct_pairs(options, static_cast<std::size_t>(wanted));
  // Late draws are rarer, as short expressions have run out by then; only a shuffle makes the parts
  // alike.
  shuffle(pairs, stream_key(options.seed, Stream::shuffle));
  DemoCorpus corpus;
  corpus.test = take_last(pairs, options.test_pairs);
  corpus.valid = take_last(pairs, options.valid_pairs);
  corpus.train = std::move(pairs);
  return corpus;
}

std::pair<std::string, std::string> demo_corpus_suffixes(const DemoCorpusOptions& options) {
  const icu::Locale source = known_locale(options.source_locale);
  const icu::Locale target = known_locale(options.target_locale);
  if (source == target) {
    throw std::invalid_argument("source and target locale are both \"" + std::string(source.getBaseName()) +
                                "\"; give two different ones");
  }
  const std::string source_language = source.getLanguage();
  const std::string target_language = target.getLanguage();
  if (source_language != target_language) return {source_language, target_language};
  return {source.getBaseName(), target.getBaseName()};
}

}  // namespace transmute
