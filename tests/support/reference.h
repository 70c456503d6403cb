// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/network/options.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

/// The paper in double-precision loops over plain vectors, one sentence at a time: what the modules are
/// compared with. It takes the option structs from the package and no code.
namespace transmute::reference {

struct Matrix {
  Matrix() = default;
  Matrix(int64_t rows, int64_t columns) : rows(rows), columns(columns), values(rows * columns) {}

  double& operator()(int64_t row, int64_t column) { return values[row * columns + column]; }
  double operator()(int64_t row, int64_t column) const { return values[row * columns + column]; }

  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<double> values;
};

/// Parameters by name. A vector has one row; of a stack of matrices [H,A,K] all H·A rows follow each other.
using Weights = std::map<std::string, Matrix>;

/// Rows first … first+count-1.
Matrix rows_of(const Matrix& matrix, int64_t first, int64_t count);

/// x Wᵀ + b, the weight as [out,in]; `bias` may be empty.
Matrix linear(const Matrix& x, const Matrix& weight, const Matrix& bias = {});

using MayAttend = std::function<bool(int64_t query, int64_t key)>;
bool up_to_itself(int64_t query, int64_t key);

/// Scores [T,S] of one head; the parameters of the scoring function are in `weights` under `prefix`.
Matrix scores(ScoreFunction function, const Matrix& query, const Matrix& key, const Weights& weights = {},
              const std::string& prefix = "", int64_t head = 0);

/// Softmax over the keys that may be attended to, 0 elsewhere.
Matrix softmax(const Matrix& scores, const MayAttend& may_attend);

Matrix weighted_sum(const Matrix& weights, const Matrix& values);

/// The places where something is dropped, and what drops: changes the values in place. The attention weights of
/// all heads come as one matrix [H·T,S].
enum class DropoutSite { embedding, attention, activation, sublayer };
using Dropout = std::function<void(DropoutSite site, Matrix& values)>;

struct Attention {
  Matrix output;
  Matrix weights;  ///< [H·T,S], head after head, before any dropout
};
Attention multi_head_attention(const TransformerOptions& options, const Weights& weights, const std::string& prefix,
                               const Matrix& query, const Matrix& memory, const MayAttend& may_attend,
                               const Dropout& drop = {});

Matrix feed_forward(Activation activation, const Weights& weights, const std::string& prefix, const Matrix& x,
                    const Dropout& drop = {});

Matrix layer_norm(const Matrix& x, const Weights& weights, const std::string& prefix, double epsilon);

using Sublayer = std::function<Matrix(const Matrix&)>;
Matrix residual_norm(const TransformerOptions& options, const Weights& weights, const std::string& prefix, Stack stack,
                     const Matrix& x, const Sublayer& layer, const Dropout& drop = {});

/// One element of the sinusoidal encoding, section 3.5.
double sinusoid(int64_t position, int64_t dimension, int64_t d_model);

Matrix encoder_layer(const TransformerOptions& options, const Weights& weights, const std::string& prefix,
                     const Matrix& x, const MayAttend& may_attend, const Dropout& drop = {});

Matrix decoder_layer(const TransformerOptions& options, const Weights& weights, const std::string& prefix,
                     const Matrix& x, const Matrix& memory, const MayAttend& may_attend_memory,
                     const Dropout& drop = {});

/// Logits [T,V] of one sentence, which may be filled up with padding.
Matrix transformer(const TransformerOptions& options, const Weights& weights, const std::vector<int64_t>& source,
                   const std::vector<int64_t>& target_in, const Dropout& drop = {});

/// Logits [T,V] of a decoder-only network. Its layers are the encoder's, each position seeing those up to itself.
Matrix language_model(const TransformerOptions& options, const Weights& weights, const std::vector<int64_t>& ids,
                      const Dropout& drop = {});

/// Sum of the smoothed cross-entropies of the rows whose target is not padding, section 5.4.
double smoothed_cross_entropy(const Matrix& logits, const std::vector<int64_t>& targets, double smoothing,
                              int64_t padding_id);

}  // namespace transmute::reference
