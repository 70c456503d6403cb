#pragma once

#include <cstdint>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

/// How the best translation is looked for. Defaults: section 6.1 of the paper.
struct SearchOptions {
  int64_t beam_size = 4;          ///< hypotheses kept per sentence; 1 is greedy search
  int64_t num_hypotheses = 1;     ///< best ones returned, at most beam_size
  double length_alpha = 0.6;      ///< log P / ((5 + length) / 6)^alpha ranks the hypotheses; 0 ranks by log P
  int64_t max_extra_length = 50;  ///< a translation has at most so many tokens more than its source
  bool alignments = false;        ///< also return where the cross-attention looked
};

/// Thrown where a caller's hook asked for the work to stop.
class Cancelled : public std::runtime_error {
 public:
  Cancelled() : std::runtime_error("cancelled") {}
};

}  // namespace v0
}  // namespace transmute
