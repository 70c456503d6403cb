// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/common/threads.h>
#include <transmute/translation/files/model_folder.h>

#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// What the encoder makes of a text.
struct TextVectors {
  std::vector<std::string> tokens;  ///< L pieces, without the end
  torch::Tensor vectors;            ///< the encoder's output at each of them, float32 [L,D] on the CPU
  torch::Tensor mean;               ///< their mean, [D]: a vector of the whole text; zeros where there is no token
  int parts = 1;                    ///< into how many an over-long text was cut, each encoded by itself
};

/// How texts are encoded.
struct TextEncoderOptions {
  int64_t batch_size = 64;          ///< texts, or parts of texts, that a worker encodes together
  int64_t batch_tokens = 4096;      ///< and their padded tokens at most
  int64_t max_source_tokens = 256;  ///< longer texts are cut as in translation: at sentence, clause or word ends
};

/// Text to vectors with the encoder alone (section 3.1, Encoder): the memory that the decoder would attend to.
class TRANSMUTE_API TextEncoder {
 public:
  /// The transformer must be in eval mode and on `device`.
  TextEncoder(LoadedModel model, torch::Device device, ParallelFor parallel_for);

  /// One result per text, in order.
  /// @throws std::invalid_argument where an option is out of range or a text is not UTF-8.
  std::vector<TextVectors> encode(const std::vector<std::string>& texts, const TextEncoderOptions& options = {}) const;

  /// Width of the vectors.
  int64_t d_model() const { return d_model_; }

 private:
  LoadedModel model_;
  torch::Device device_;
  ParallelFor parallel_for_;
  int64_t d_model_;
};

}  // namespace v0
}  // namespace transmute
