// SPDX-License-Identifier: Apache-2.0
#include <transmute/search/step_model.h>

#include <spdlog/fmt/fmt.h>

#include <stdexcept>

namespace transmute {
inline namespace v0 {

void check(const AttentionChoice& choice, const TransformerOptions& options) {
  if (choice.wanted && options.architecture == Architecture::decoder_only)
    throw std::invalid_argument("a decoder_only model has no source to attend to: neither alignments nor coverage");
  const auto exists = [](int64_t number, int64_t count, const char* what) {
    if (number < 0 || number > count)
      throw std::invalid_argument(fmt::format("there is no {} {}: the model has {}", what, number, count));
  };
  exists(choice.layer, options.num_decoder_layers, "decoder layer");
  exists(choice.head, options.num_heads, "attention head");
}

void check_shortlist(const Ids& shortlist, int64_t vocabulary) {
  for (const int64_t token : shortlist)
    if (token < 0 || token >= vocabulary)
      throw std::invalid_argument(
          fmt::format("the shortlist's token {} is not in the model's vocabulary of {}", token, vocabulary));
}

}  // namespace v0
}  // namespace transmute
