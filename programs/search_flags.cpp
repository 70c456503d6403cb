// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/flag_values.h>
#include <transmute/programs/search_flags.h>

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <stdexcept>

namespace transmute {

namespace {

constexpr const char* kGroup = "Search";

// The exponent where --length-penalty is a number, as other programs take it.
std::optional<double> exponent_of(const std::string& penalty) {
  double value = 0;
  const auto [end, error] = std::from_chars(penalty.data(), penalty.data() + penalty.size(), value);
  if (error != std::errc() || end != penalty.data() + penalty.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::string check_length_penalty(std::string& penalty) {
  if (penalty == "paper" || penalty == "power") return "";
  const std::optional<double> exponent = exponent_of(penalty);
  if (exponent && *exponent >= 0) return "";
  return fmt::format("must be paper, power, or a number of at least 0, not '{}'", penalty);
}

}  // namespace

void SearchFlags::add_to(CLI::App& app) {
  const auto add = [&app](const char* name, auto& value, const char* text) {
    return app.add_option(name, value, text)->capture_default_str()->group(kGroup);
  };
  beam_size_ = add("-b,--beam-size", search_.beam_size,
                   "hypotheses kept; 1 is greedy search; where it is not given, --n-best raises it")
                   ->check(at_least(1));
  length_alpha_ = add("--length-alpha", search_.length_alpha, "exponent of the length penalty of the ranking")
                      ->check(not_negative());
  add("--length-penalty", length_penalty_,
      "paper: ((5 + length) / 6)^alpha; power: length^alpha, with alpha 1 the mean over the tokens; a number, as "
      "CTranslate2 and Hugging Face take it: power with that alpha")
      ->check(CLI::Validator(check_length_penalty, ""))
      ->type_name("paper|power|NUMBER");
  add("--coverage-beta", search_.coverage_beta,
      "weight of the coverage penalty, which prefers translations that attended to all of the source")
      ->check(not_negative());
  add("--min-length", search_.min_length, "tokens that a translation has at least")->check(at_least(0));
  add("--max-extra-length", search_.max_extra_length, "a translation has at most so many tokens more than its source")
      ->check(at_least(0));
  add("--no-repeat-ngram", search_.no_repeat_ngram, "no N tokens in a row come twice in a translation; 0: they may")
      ->check(at_least(0));
}

SearchOptions SearchFlags::options(int64_t num_best) const {
  SearchOptions options = search_;
  if (num_best > 0) options.num_hypotheses = num_best;
  if (options.num_hypotheses > options.beam_size && beam_size_->count() > 0)
    throw std::invalid_argument(
        fmt::format("--n-best {} needs a --beam-size of at least {}, not {}", num_best, num_best, options.beam_size));
  options.beam_size = std::max(options.beam_size, options.num_hypotheses);
  if (const std::optional<double> exponent = exponent_of(length_penalty_)) {
    if (length_alpha_->count() > 0)
      throw std::invalid_argument(
          fmt::format("--length-penalty {0} is the exponent itself; leave --length-alpha out, or say --length-penalty "
                      "power --length-alpha {0}",
                      length_penalty_));
    options.length_alpha = *exponent;
  }
  if (length_penalty_ != "paper") options.length_penalty = LengthPenalty::power;
  return options;
}

std::vector<CLI::Option*> add_sampling_flags(CLI::App& app, SamplingOptions& sampling) {
  const std::vector<CLI::Option*> flags{
      app.add_option("--temperature", sampling.temperature, "below 1: closer to the best tokens; above: further off")
          ->check(not_negative()),
      app.add_option("--top-k", sampling.top_k, "only among the K best tokens; 0: all")->check(at_least(0)),
      app.add_option("--top-p", sampling.top_p, "only among the fewest tokens with probability P together, up to 1")
          ->check(positive())
          ->check(between(0, 1)),
      app.add_option("--seed", sampling.seed, "another seed draws other texts")};
  for (CLI::Option* flag : flags) flag->capture_default_str()->group("Sampling");
  return flags;
}

}  // namespace transmute
