// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/shared/flag_values.h>
#include <transmute/programs/shared/search_flags.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/parsed_number.h>

#include <algorithm>
#include <stdexcept>

namespace transmute {

namespace {

constexpr const char* kGroup = "Search";

// A number is the exponent, as in other programs.
std::string check_length_penalty(std::string& penalty) {
  if (penalty == "paper" || penalty == "power") return "";
  const auto exponent = parsed_number<double>(penalty);
  if (exponent && *exponent >= 0 && *exponent <= kMostLengthAlpha) return "";
  return fmt::format("must be paper, power, or a number from 0 to {}, not '{}'", kMostLengthAlpha, penalty);
}

}  // namespace

void SearchFlags::add_to(CLI::App& app) {
  const auto add = [&app](const char* name, auto& value, const char* text) {
    return app.add_option(name, value, text)->group(kGroup);
  };
  beam_size_ = add("-b,--beam-size", search_.beam_size,
                   "number of hypotheses kept; 1: greedy search; default: the model's, else 4")
                   ->check(whole_between(1, kMaxHypotheses));
  length_alpha_ =
      add("--length-alpha", search_.length_alpha, "exponent of the length penalty; default: the model's, else 0.6")
          ->check(between(0, kMostLengthAlpha));
  add("--length-penalty", length_penalty_,
      "paper: ((5 + length) / 6)^alpha; power: length^alpha, the mean over tokens for alpha 1; a "
      "number: power with that alpha, as in CTranslate2 and Hugging Face; default: the model's, "
      "else paper")
      ->check(CLI::Validator(check_length_penalty, ""))
      ->type_name("paper|power|NUMBER");
  add("--coverage-beta", search_.coverage_beta,
      "weight of the coverage penalty, which favors translations that attend to the whole source")
      ->check(between(0, kMostCoverageBeta))
      ->capture_default_str();
  add("--min-length", search_.min_length,
      "minimum length of a translation in tokens, unless --max-extra-length allows fewer")
      ->check(at_least(0))
      ->capture_default_str();
  add("--max-extra-length", search_.max_extra_length,
      "maximum number of tokens by which a translation may exceed its source")
      ->check(at_least(0))
      ->capture_default_str();
  no_repeat_ngram_ = add("--no-repeat-ngram", search_.no_repeat_ngram,
                         "never repeat a sequence of N tokens within a translation; 0: allow it; default: the model's, "
                         "else 0")
                         ->check(at_least(0));
  repetition_penalty_ = add("--repetition-penalty", search_.repetition_penalty,
                            "above 1: makes tokens that a translation already has less probable; default: the model's, "
                            "else 1")
                            ->check(positive());
}

void SearchFlags::check_beam_holds(const char* flag, int64_t hypotheses) const {
  if (beam_size_->count() > 0 && search_.beam_size < hypotheses)
    throw std::invalid_argument(fmt::format("{} {} needs a --beam-size of at least {}, not {}", flag, hypotheses,
                                            hypotheses, search_.beam_size));
}

SearchOptions SearchFlags::options(int64_t num_best, const SearchOptions& of_model) const {
  SearchOptions options = search_;
  if (beam_size_->count() == 0) options.beam_size = of_model.beam_size;
  if (no_repeat_ngram_->count() == 0) options.no_repeat_ngram = of_model.no_repeat_ngram;
  if (repetition_penalty_->count() == 0) options.repetition_penalty = of_model.repetition_penalty;
  if (length_alpha_->count() == 0) options.length_alpha = of_model.length_alpha;
  check_beam_holds("--n-best", num_best);
  if (num_best > 0) options.num_hypotheses = num_best;
  options.beam_size = std::max(options.beam_size, options.num_hypotheses);
  if (const auto exponent = parsed_number<double>(length_penalty_)) {
    if (length_alpha_->count() > 0)
      throw std::invalid_argument(
          fmt::format("--length-penalty {0} is the exponent itself; leave --length-alpha out, or say --length-penalty "
                      "power --length-alpha {0}",
                      length_penalty_));
    options.length_alpha = *exponent;
  }
  options.length_penalty = length_penalty_.empty()      ? of_model.length_penalty
                           : length_penalty_ == "paper" ? LengthPenalty::paper
                                                        : LengthPenalty::power;
  return options;
}

std::vector<CLI::Option*> add_sampling_flags(CLI::App& app, SamplingOptions& sampling) {
  const std::vector<CLI::Option*> flags{
      app.add_option("--temperature", sampling.temperature,
                     "below 1: sharper, closer to the most probable tokens; above 1: flatter")
          ->check(not_negative()),
      app.add_option("--top-k", sampling.top_k, "sample only from the K most probable tokens; 0: from all")
          ->check(at_least(0)),
      app.add_option("--top-p", sampling.top_p,
                     "sample only from the smallest set of tokens with a total probability of at least P")
          ->check(positive_share()),
      app.add_option("--seed", sampling.seed, "seed of the random samples")->check(at_least(0))};
  for (CLI::Option* flag : flags) flag->capture_default_str()->group("Sampling");
  return flags;
}

}  // namespace transmute
