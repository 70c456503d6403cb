// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// The fused passes over rows, attention and Adam on NVIDIA GPUs, on plain arrays in the device's memory: what
// kernels/lanes has for CPUs. Each call only queues its work. Without CUDA at compile time there are none.
namespace transmute {
inline namespace v0 {
namespace kernels::cuda {

/// The element type of rows; sums, statistics and one-dimensional parameters are float.
enum class Element { float32, bfloat16, half };

/// A cudaStream_t.
using Stream = void*;

/// A dropout mask as kernels::DropoutDraw has it, with the same elements dropped as on CPUs. Nothing is dropped where
/// the threshold is 0.
struct Mask {
  uint64_t mixed_key = 0;  ///< mix_bits(key)
  uint32_t threshold = 0;
  float scale = 1;  ///< factor on what is kept
};

/// The number of columns that one vector load takes: rows must have a multiple of it, and begin at one.
constexpr int64_t kVector = 8;
/// The most columns of norms: what one block holds.
constexpr int64_t kMostNormColumns = 2048;

/// LayerNorm(residual_scale · residual + Dropout(x + bias)), see residual.h.
struct Norm {
  Element element;
  const void* residual;  ///< [N,D] or null
  const void* x;         ///< [N,D]
  const float* bias;     ///< [D] or null
  const float* weight;   ///< [D]
  const float* shift;    ///< [D]
  float residual_scale;
  float epsilon;
  Mask mask;
  int64_t rows, columns;
};
/// result: [N,D]; means, inverse_deviations: [N], the latter 1 / sqrt(variance + epsilon).
void norm_forward(const Norm& norm, void* result, float* means, float* inverse_deviations, Stream stream);
/// residual_gradient may be null. sums: [3,D], gets the gradients of weight, shift and bias; partial_sums: as many
/// floats as norm_scratch says.
void norm_backward(const Norm& norm, const void* gradient, const float* means, const float* inverse_deviations,
                   void* residual_gradient, void* x_gradient, float* partial_sums, float* sums, Stream stream);
int64_t norm_scratch(int64_t rows, int64_t columns);

/// result = residual + Dropout(activation(x + bias)), the activation being ReLU or nothing.
struct Sum {
  Element element;
  const void* residual;  ///< [N,D] or null
  const void* x;         ///< [N,D]
  const float* bias;     ///< [D] or null
  bool relu;
  Mask mask;
  int64_t rows, columns;
};
/// result: [N,D], x itself perhaps.
void sum_forward(const Sum& sum, void* result, Stream stream);

/// The gradient of x from that of Dropout(x + bias), or, given `relu_result`, of relu_result = Dropout(max(0, x +
/// bias)).
struct SumGradient {
  Element element;
  const void* gradient;     ///< [N,D]
  const void* relu_result;  ///< [N,D] or null
  Mask mask;
  int64_t rows, columns;
};
/// bias_gradient: [D]; partial_sums: as many floats as sum_scratch says. Both may be null.
void sum_backward(const SumGradient& sum, void* x_gradient, float* partial_sums, float* bias_gradient, Stream stream);
int64_t sum_scratch(int64_t rows, int64_t columns);

/// result[n] = Dropout(scale · table[ids[n]] + positions[n mod length]). An id that is no row of the table ends the
/// process's work on the device with an error.
struct Embed {
  Element element;
  const void* table;       ///< [V,D]
  const int64_t* ids;      ///< [N]
  const float* positions;  ///< [length,D]
  float scale;
  int64_t length;
  Mask mask;
  int64_t rows, pieces, columns;
};
void embed_forward(const Embed& embed, void* result, Stream stream);

/// Smoothed cross-entropy of logits [N,V], one row a token.
struct Loss {
  Element element;
  const int64_t* targets;  ///< [N]
  float smoothing;
  int64_t ignored;
  float scale;  ///< factor on the gradient
  bool differentiate;
  int64_t rows, vocabulary;
};
/// losses: [N], 0 if the target is `ignored`, NaN if it is no column. Where `differentiate`, the logits become
/// their scaled gradient.
void loss_rows(const Loss& loss, void* logits, float* losses, Stream stream);

/// The losses of two distributions of each token and the divergences between them, see cross_entropy.h. Logits [2N,V]:
/// the first of each token, then the second of each.
struct ConsistentLoss {
  Loss loss;  ///< its rows are the tokens
  bool second_too;
  float forward_weight;
  float backward_weight;
};
/// losses, divergences: [N], the latter weighted and not part of the former; otherwise as loss_rows.
void consistent_loss_rows(const ConsistentLoss& loss, void* logits, float* losses, float* divergences, Stream stream);

/// Heads side by side in rows of bfloat16, each `width` wide.
struct Heads {
  int64_t batch, num_heads, queries, keys;
  int64_t width;                        ///< 32 or 64
  int64_t query_stride, memory_stride;  ///< distance from row to row
  const bool* allowed;                  ///< or null: [B,1,T,S] with the strides below, which may be 0
  int64_t allowed_batch_stride, allowed_query_stride;
  float scale;  ///< factor on the scores
  Mask mask;    ///< over [B,H,T,S]
};
/// True if the kernels take heads of this shape on the current device. They hold a whole sentence's keys.
bool can_attend(int64_t queries, int64_t keys, int64_t width);
/// output: [B,T,H·width]; log_sums: [B,H,T], for the backward pass.
void attention_forward(const Heads& heads, const void* query, const void* key, const void* value, void* output,
                       float* log_sums, Stream stream);
/// gradient: [B,T,H·width]; the gradients of query, key and value lie as these do.
void attention_backward(const Heads& heads, const void* query, const void* key, const void* value, const void* gradient,
                        const float* log_sums, void* query_gradient, void* key_gradient, void* value_gradient,
                        Stream stream);

/// A parameter of Adam's; its moments lie at `offset`.
struct Trained {
  const void* gradient;
  bool gradient_is_bfloat16;
  bool decays;
  float* parameter;
  void* rounded;   ///< its bfloat16 copy, or null
  float* average;  ///< its exponential moving average, or null
  int64_t offset;
  int64_t elements;
};
/// norms: of each gradient, [count]; partial_sums: as many floats as adam_scratch says.
void gradient_norms(const Trained* parameters, int64_t count, float* partial_sums, float* norms, Stream stream);
int64_t adam_scratch(const Trained* parameters, int64_t count);

struct AdamUpdate {
  float beta1, beta2, epsilon;
  float decay;  ///< learning rate times weight decay
  /// On the device: [0] factor on the gradient; [1] learning rate over the means' correction; [2] one over the root of
  /// the variances' correction; [3] the average's share of the new weights. All are 0 if the update does not happen.
  const float* numbers;
  float* means;
  float* variances;
};
/// Nothing is changed where numbers[0] is 0.
void adam_update(const Trained* parameters, int64_t count, const AdamUpdate& update, Stream stream);

}  // namespace kernels::cuda
}  // namespace v0
}  // namespace transmute
