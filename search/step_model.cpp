// SPDX-License-Identifier: Apache-2.0
#include <transmute/search/step_model.h>

#include <spdlog/fmt/fmt.h>

#include <algorithm>
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

NextToken DecodingBatch::extend(const Ids& ids, int64_t positions) {
  const auto wide = static_cast<size_t>(positions);
  const size_t batch = ids.size() / wide;
  NextToken all;
  for (size_t position = 0; position < wide; ++position) {
    Ids column;
    for (size_t b = 0; b < batch; ++b) column.push_back(ids[b * wide + position]);
    const NextToken next = step(column);
    if (next.on_device) throw std::logic_error("a batch on a device has to extend hypotheses itself");
    const auto columns = static_cast<size_t>(next.columns), sources = static_cast<size_t>(next.source_width);
    if (position == 0) {
      extended_.resize(batch * wide * columns);
      all.columns = next.columns;
      all.source_width = next.source_width;
      all.attention.resize(next.attention.empty() ? 0 : batch * wide * sources);
    }
    for (size_t b = 0; b < batch; ++b) {
      const size_t row = b * wide + position;
      std::copy_n(next.logits + b * columns, columns, &extended_[row * columns]);
      if (!all.attention.empty()) std::copy_n(&next.attention[b * sources], sources, &all.attention[row * sources]);
    }
  }
  all.logits = extended_.data();
  return all;
}

void check_shortlist(const Ids& shortlist, int64_t vocabulary) {
  for (const int64_t token : shortlist)
    if (token < 0 || token >= vocabulary)
      throw std::invalid_argument(
          fmt::format("the shortlist's token {} is not in the model's vocabulary of {}", token, vocabulary));
}

}  // namespace v0
}  // namespace transmute
