// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/network/search_options.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace transmute {

/// The flags of a search, in the group "Search": --beam-size, --length-alpha, --length-penalty and more.
/// Lives as long as the CLI::App that it added them to.
class SearchFlags {
 public:
  void add_to(CLI::App& app);
  /// The options that they give, with `num_best` hypotheses (0: one); the rest is the model's. A beam that was not
  /// asked for grows with the hypotheses.
  /// @throws std::invalid_argument naming the flags that contradict each other.
  SearchOptions options(int64_t num_best, const SearchOptions& of_model) const;
  /// @throws std::invalid_argument if the user asked for a beam of fewer hypotheses than `flag` needs.
  void check_beam_holds(const char* flag, int64_t hypotheses) const;

 private:
  SearchOptions search_;
  std::string length_penalty_;  // empty: the model's
  CLI::Option* beam_size_ = nullptr;
  CLI::Option* length_alpha_ = nullptr;
  CLI::Option* no_repeat_ngram_ = nullptr;
  CLI::Option* repetition_penalty_ = nullptr;
};

/// The flags of drawing from a model's distribution: --temperature, --top-k, --top-p, --seed, in the group "Sampling".
/// @returns them, so that a program can say with which others they go.
std::vector<CLI::Option*> add_sampling_flags(CLI::App& app, SamplingOptions& sampling);

}  // namespace transmute
