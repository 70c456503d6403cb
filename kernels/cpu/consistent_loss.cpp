// SPDX-License-Identifier: Apache-2.0
// Two cross-entropies and the divergences between them, compiled once for each instruction set.

#include <transmute/kernels/cpu/consistent_loss.h>
#include <transmute/kernels/simd/lanes.h>

#include <cmath>

namespace transmute {
inline namespace v0 {
namespace kernels {
namespace {

// Vectors of columns that are processed together.
constexpr int kVectors = 2;

// Rows that are summed before their sums join the total: long float32 sums lose digits.
constexpr int64_t kRows = 256;

// The state of a softmax over a column, online: sums of exponentials against the largest logit so far.
template <int V>
struct Sums {
  Floats largest[V];
  Floats exponentials[V] = {};
  Floats weighted[V] = {};  // exponential · (this logit - the other's)
  Floats logits[V] = {};
};

template <int V>
struct Lanes {
  float largest[V * kLanes], exponentials[V * kLanes], weighted[V * kLanes], logits[V * kLanes];

  explicit Lanes(const Sums<V>& sums) {
    for (int v = 0; v < V; ++v) {
      store(largest + v * kLanes, sums.largest[v]);
      store(exponentials + v * kLanes, sums.exponentials[v]);
      store(weighted + v * kLanes, sums.weighted[v]);
      store(logits + v * kLanes, sums.logits[v]);
    }
  }

  double log_sum(int64_t n) const { return largest[n] + std::log(static_cast<double>(exponentials[n])); }
  // The mean, by this distribution, of its logits less the other's.
  double mean_difference(int64_t n) const {
    return static_cast<double>(weighted[n]) / static_cast<double>(exponentials[n]);
  }
};

// Takes the rows [begin, end) into the sums of `own`, whose differences are from `other`.
template <int V, class T, class P>
TRANSMUTE_INLINE void add_rows(const T* own, const T* other, int64_t begin, int64_t end, int64_t stride, Sums<V>& sums,
                               P part) {
  Floats before[V];
  Sums<V> of_rows;
  for (int v = 0; v < V; ++v) before[v] = sums.largest[v];
  for (int64_t row = begin; row < end; ++row)
    for (int v = 0; v < V; ++v) sums.largest[v] = larger(load(own + row * stride + v * kLanes, part), sums.largest[v]);
  for (int64_t row = begin; row < end; ++row)
    for (int v = 0; v < V; ++v) {
      const Floats value = load(own + row * stride + v * kLanes, part);
      const Floats exponential = exp_of_negative(value - sums.largest[v]);
      of_rows.exponentials[v] += exponential;
      of_rows.weighted[v] += exponential * (value - load(other + row * stride + v * kLanes, part));
      of_rows.logits[v] += value;
    }
  for (int v = 0; v < V; ++v) {
    const Floats rescale = exp_of_negative(before[v] - sums.largest[v]);
    sums.exponentials[v] = sums.exponentials[v] * rescale + of_rows.exponentials[v];
    sums.weighted[v] = sums.weighted[v] * rescale + of_rows.weighted[v];
    sums.logits[v] += of_rows.logits[v];
  }
}

// Sets the scales of each column; all are 0 if the target is ignored.
template <int V>
struct Columns {
  float scales[V * kLanes] = {};
  float first_log_sums[V * kLanes] = {}, second_log_sums[V * kLanes] = {};
  float forward[V * kLanes] = {}, backward[V * kLanes] = {};  // KL(p||q) and KL(q||p)
};

// The gradients by the logits, scaled:
//   first:  p - target + forward_weight · p (log p - log q - KL(p||q)) + backward_weight · (p - q)
//   second: the same with p and q, forward and backward exchanged; `target` for both only where second_too.
template <int V, class T, class P>
TRANSMUTE_INLINE void differentiate_group(T* first, T* second, int64_t vocabulary, int64_t stride,
                                          const ConsistentLoss& loss, const Columns<V>& columns, P part) {
  const auto floor = static_cast<float>(loss.loss.smoothing / static_cast<double>(vocabulary));
  const float second_share = loss.second_too ? 1 : 0;
  Floats scale[V], first_log_sum[V], second_log_sum[V], forward[V], backward[V];
  for (int v = 0; v < V; ++v) {
    scale[v] = load(columns.scales + v * kLanes);
    first_log_sum[v] = load(columns.first_log_sums + v * kLanes);
    second_log_sum[v] = load(columns.second_log_sums + v * kLanes);
    forward[v] = load(columns.forward + v * kLanes);
    backward[v] = load(columns.backward + v * kLanes);
  }
  for (int64_t row = 0; row < vocabulary; ++row)
    for (int v = 0; v < V; ++v) {
      T* at_first = first + row * stride + v * kLanes;
      T* at_second = second + row * stride + v * kLanes;
      const Floats log_p = load(at_first, part) - first_log_sum[v];
      const Floats log_q = load(at_second, part) - second_log_sum[v];
      const Floats p = exp_of_negative(log_p);
      const Floats q = exp_of_negative(log_q);
      const Floats ratio = log_p - log_q;
      const Floats by_first =
          p - floor + loss.forward_weight * p * (ratio - forward[v]) + loss.backward_weight * (p - q);
      const Floats by_second =
          second_share * (q - floor) - loss.backward_weight * q * (ratio + backward[v]) + loss.forward_weight * (q - p);
      store(at_first, by_first * scale[v], part);
      store(at_second, by_second * scale[v], part);
    }
}

// V vectors of columns; the last of them may be a Part.
template <int V, class T, class P>
TRANSMUTE_INLINE ConsistentSums loss_of_group(T* first, T* second, int64_t vocabulary, int64_t stride, int64_t count,
                                              const int64_t* targets, const ConsistentLoss& loss, P part) {
  Sums<V> p, q;
  for (int v = 0; v < V; ++v) {
    p.largest[v] = load(first + v * kLanes, part);
    q.largest[v] = load(second + v * kLanes, part);
  }
  for (int64_t begin = 0; begin < vocabulary; begin += kRows) {
    const int64_t end = begin + kRows < vocabulary ? begin + kRows : vocabulary;
    add_rows(first, second, begin, end, stride, p, part);
    add_rows(second, first, begin, end, stride, q, part);
  }
  const Lanes<V> p_lanes(p), q_lanes(q);

  const double pieces = static_cast<double>(vocabulary);
  const double smoothing = loss.loss.smoothing;
  const double floor = smoothing / pieces;
  const double forward_weight = loss.forward_weight, backward_weight = loss.backward_weight;
  Columns<V> columns;
  double target_gradients[2][V * kLanes] = {};
  ConsistentSums total{0, 0};
  for (int64_t n = 0; n < count; ++n) {
    // The comparisons above pass over a NaN or an infinity among the logits; this sum does not.
    const double poison = (static_cast<double>(p_lanes.logits[n]) + static_cast<double>(q_lanes.logits[n])) * 0.0;
    const double p_log_sum = p_lanes.log_sum(n) + poison;
    const double q_log_sum = q_lanes.log_sum(n) + poison;
    // Ignored columns need their sums too: without them the probabilities would overflow, and infinity times a scale of
    // 0 is NaN.
    columns.first_log_sums[n] = static_cast<float>(p_log_sum);
    columns.second_log_sums[n] = static_cast<float>(q_log_sum);
    if (targets[n] == loss.loss.ignored) continue;
    const double log_p = static_cast<double>(kernels::load(first[targets[n] * stride + n])) - p_log_sum;
    const double log_q = static_cast<double>(kernels::load(second[targets[n] * stride + n])) - q_log_sum;
    const double forward = p_lanes.mean_difference(n) - (p_log_sum - q_log_sum);
    const double backward = q_lanes.mean_difference(n) - (q_log_sum - p_log_sum);
    total.cross_entropy += (smoothing - 1) * log_p + smoothing * (p_log_sum - p_lanes.logits[n] / pieces);
    if (loss.second_too)
      total.cross_entropy += (smoothing - 1) * log_q + smoothing * (q_log_sum - q_lanes.logits[n] / pieces);
    total.divergence += forward_weight * forward + backward_weight * backward;

    columns.scales[n] = loss.loss.scale;
    columns.forward[n] = static_cast<float>(forward);
    columns.backward[n] = static_cast<float>(backward);
    // The target's entry is computed in double precision: most of a rounded float32 probability would cancel.
    const double p_target = std::exp(log_p), q_target = std::exp(log_q), ratio = log_p - log_q;
    target_gradients[0][n] = p_target - floor - (1 - smoothing) + forward_weight * p_target * (ratio - forward) +
                             backward_weight * (p_target - q_target);
    target_gradients[1][n] = (loss.second_too ? q_target - floor - (1 - smoothing) : 0) -
                             backward_weight * q_target * (ratio + backward) + forward_weight * (q_target - p_target);
  }
  if (!loss.loss.differentiate) return total;

  differentiate_group<V>(first, second, vocabulary, stride, loss, columns, part);
  for (int64_t n = 0; n < count; ++n) {
    if (targets[n] == loss.loss.ignored) continue;
    const int64_t at = targets[n] * stride + n;
    kernels::store(first + at, static_cast<float>(target_gradients[0][n]) * loss.loss.scale);
    kernels::store(second + at, static_cast<float>(target_gradients[1][n]) * loss.loss.scale);
  }
  return total;
}

template <class T>
ConsistentSums loss_columns(T* logits, int64_t vocabulary, int64_t columns, const int64_t* targets,
                            const ConsistentLoss& loss) {
  constexpr int64_t kGroup = kVectors * kLanes;
  const int64_t stride = 2 * columns;
  T* second = logits + columns;
  ConsistentSums total{0, 0};
  const auto add = [&](const ConsistentSums& sums) {
    total.cross_entropy += sums.cross_entropy;
    total.divergence += sums.divergence;
  };
  int64_t n = 0;
  for (; n + kGroup <= columns; n += kGroup)
    add(loss_of_group<kVectors>(logits + n, second + n, vocabulary, stride, kGroup, targets + n, loss, Whole{}));
  for (; n + kLanes <= columns; n += kLanes)
    add(loss_of_group<1>(logits + n, second + n, vocabulary, stride, kLanes, targets + n, loss, Whole{}));
  if (n < columns)
    add(loss_of_group<1>(logits + n, second + n, vocabulary, stride, columns - n, targets + n, loss,
                         Part{columns - n}));
  return total;
}

template <class T>
constexpr ConsistentLossKernels<T> kTable = {loss_columns<T>};

}  // namespace

template <class T>
const ConsistentLossKernels<T> ConsistentLossKernels<T>::TRANSMUTE_SIMD = kTable<T>;
template const ConsistentLossKernels<float> ConsistentLossKernels<float>::TRANSMUTE_SIMD;
template const ConsistentLossKernels<uint16_t> ConsistentLossKernels<uint16_t>::TRANSMUTE_SIMD;

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
