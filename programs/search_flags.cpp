// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/search_flags.h>

namespace transmute {

std::vector<CLI::Option*> add_sampling_flags(CLI::App& app, SamplingOptions& sampling) {
  const std::vector<CLI::Option*> flags{
      app.add_option("--temperature", sampling.temperature, "below 1: closer to the best tokens; above: further off"),
      app.add_option("--top-k", sampling.top_k, "only among the K best tokens; 0: all"),
      app.add_option("--top-p", sampling.top_p, "only among the fewest tokens with probability P together"),
      app.add_option("--seed", sampling.seed, "another seed draws other texts")};
  for (CLI::Option* flag : flags) flag->capture_default_str()->group("Sampling");
  return flags;
}

}  // namespace transmute
