#include <transmute/model/kernels/cross_entropy.h>

#include <torch/torch.h>
#include <transmute/model/kernels/vector_math.h>

#include <cmath>
#include <vector>

namespace transmute::kernels {

namespace {

// What a row's forward pass keeps for the backward one.
struct RowSums {
  float log_sum_exp;
  float sum;  // of the logits
};

// Sums run in so many independent lanes, which the compiler turns into vectors.
constexpr int64_t kLanes = 32;

template <class T>
TRANSMUTE_INLINE RowSums sum_row(const T* row, int64_t count) {
  float largest[kLanes];
  for (int64_t lane = 0; lane < kLanes; ++lane) largest[lane] = -INFINITY;
  const int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const float value = load(row[i + lane]);
      largest[lane] = value > largest[lane] ? value : largest[lane];
    }
  for (int64_t i = whole; i < count; ++i) largest[0] = std::max(largest[0], load(row[i]));
  float top = largest[0];
  for (const float lane : largest) top = std::max(top, lane);

  float exponentials[kLanes] = {};
  float values[kLanes] = {};
  for (int64_t i = 0; i < whole; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const float value = load(row[i + lane]);
      exponentials[lane] += exp_of_negative(value - top);
      values[lane] += value;
    }
  double exponential_sum = 0;
  double value_sum = 0;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    exponential_sum += exponentials[lane];
    value_sum += values[lane];
  }
  for (int64_t i = whole; i < count; ++i) {
    exponential_sum += exp_of_negative(load(row[i]) - top);
    value_sum += load(row[i]);
  }
  // A NaN or an infinity among the logits does not pass the comparisons above; it does pass this sum.
  const float poison = static_cast<float>(value_sum * 0.0);
  return {static_cast<float>(top + std::log(exponential_sum)) + poison, static_cast<float>(value_sum)};
}

// d loss / d logit = (probability - smoothed target) · scale.
template <class T>
TRANSMUTE_INLINE void differentiate_row(const T* row, T* gradient, int64_t count, float log_sum_exp, float floor,
                                        float scale) {
  for (int64_t i = 0; i < count; ++i)
    store(gradient + i, (exp_of_negative(load(row[i]) - log_sum_exp) - floor) * scale);
}

template <class T>
RowSums sum_row_baseline(const T* row, int64_t count) {
  return sum_row(row, count);
}
template <class T>
TRANSMUTE_TARGET_AVX2 RowSums sum_row_avx2(const T* row, int64_t count) {
  return sum_row(row, count);
}
template <class T>
TRANSMUTE_TARGET_AVX512 RowSums sum_row_avx512(const T* row, int64_t count) {
  return sum_row(row, count);
}
template <class T>
void differentiate_baseline(const T* row, T* gradient, int64_t count, float log_sum_exp, float floor, float scale) {
  differentiate_row(row, gradient, count, log_sum_exp, floor, scale);
}
template <class T>
TRANSMUTE_TARGET_AVX2 void differentiate_avx2(const T* row, T* gradient, int64_t count, float log_sum_exp, float floor,
                                              float scale) {
  differentiate_row(row, gradient, count, log_sum_exp, floor, scale);
}
template <class T>
TRANSMUTE_TARGET_AVX512 void differentiate_avx512(const T* row, T* gradient, int64_t count, float log_sum_exp,
                                                  float floor, float scale) {
  differentiate_row(row, gradient, count, log_sum_exp, floor, scale);
}

template <class T>
struct RowFunctions {
  RowSums (*sum)(const T*, int64_t) = sum_row_baseline<T>;
  void (*differentiate)(const T*, T*, int64_t, float, float, float) = differentiate_baseline<T>;

  static const RowFunctions& best() {
    static const RowFunctions functions = [] {
      switch (best_simd()) {
        case Simd::avx512:
          return RowFunctions{sum_row_avx512<T>, differentiate_avx512<T>};
        case Simd::avx2:
          return RowFunctions{sum_row_avx2<T>, differentiate_avx2<T>};
        case Simd::baseline:
          break;
      }
      return RowFunctions{};
    }();
    return functions;
  }
};

// Puts each row's log-sum-exp into `log_sums` and returns the loss.
template <class T>
double forward_rows(const T* logits, const int64_t* targets, int64_t rows, int64_t vocabulary, double smoothing,
                    int64_t ignored, float* log_sums) {
  double loss = 0;
  for (int64_t n = 0; n < rows; ++n) {
    log_sums[n] = 0;
    if (targets[n] == ignored) continue;
    TORCH_CHECK_INDEX(targets[n] >= 0 && targets[n] < vocabulary, "smoothed_cross_entropy: target ", targets[n],
                      " is not among the ", vocabulary, " pieces");
    const T* row = logits + n * vocabulary;
    const RowSums sums = RowFunctions<T>::best().sum(row, vocabulary);
    log_sums[n] = sums.log_sum_exp;
    const double right = static_cast<double>(sums.log_sum_exp) - load(row[targets[n]]);
    const double mean = static_cast<double>(sums.log_sum_exp) - sums.sum / static_cast<double>(vocabulary);
    loss += (1 - smoothing) * right + smoothing * mean;
  }
  return loss;
}

template <class T>
void backward_rows(const T* logits, const int64_t* targets, int64_t rows, int64_t vocabulary, double smoothing,
                   int64_t ignored, const float* log_sums, float scale, T* gradient) {
  const auto floor = static_cast<float>(smoothing / static_cast<double>(vocabulary));
  for (int64_t n = 0; n < rows; ++n) {
    const T* row = logits + n * vocabulary;
    T* out = gradient + n * vocabulary;
    if (targets[n] == ignored) {
      std::fill(out, out + vocabulary, T(0));
      continue;
    }
    RowFunctions<T>::best().differentiate(row, out, vocabulary, log_sums[n], floor, scale);
    const float probability = std::exp(load(row[targets[n]]) - log_sums[n]);
    store(out + targets[n], (probability - floor - static_cast<float>(1 - smoothing)) * scale);
  }
}

struct FusedCrossEntropy : torch::autograd::Function<FusedCrossEntropy> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& given_logits,
                               const torch::Tensor& given_targets, double smoothing, int64_t ignored) {
    const torch::Tensor logits = given_logits.contiguous();
    const torch::Tensor targets = given_targets.contiguous();
    const int64_t rows = logits.size(0);
    torch::Tensor log_sums = torch::empty({rows}, torch::kFloat);
    const auto run = [&](const auto* data) {
      return forward_rows(data, targets.data_ptr<int64_t>(), rows, logits.size(1), smoothing, ignored,
                          log_sums.data_ptr<float>());
    };
    const double loss = logits.scalar_type() == torch::kFloat ? run(logits.data_ptr<float>())
                                                              : run(static_cast<const uint16_t*>(logits.data_ptr()));
    context->save_for_backward({logits, targets, log_sums});
    context->saved_data["smoothing"] = smoothing;
    context->saved_data["ignored"] = ignored;
    return torch::scalar_tensor(loss, torch::kFloat);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor& logits = saved[0];
    torch::Tensor gradient = torch::empty_like(logits);
    const auto run = [&](const auto* data, auto* out) {
      backward_rows(data, saved[1].data_ptr<int64_t>(), logits.size(0), logits.size(1),
                    context->saved_data["smoothing"].toDouble(), context->saved_data["ignored"].toInt(),
                    saved[2].data_ptr<float>(), gradients[0].item<float>(), out);
    };
    if (logits.scalar_type() == torch::kFloat) {
      run(static_cast<const float*>(logits.data_ptr<float>()), gradient.data_ptr<float>());
    } else {
      run(static_cast<const uint16_t*>(logits.data_ptr()), static_cast<uint16_t*>(gradient.data_ptr()));
    }
    return {gradient, {}, {}, {}};
  }
};

}  // namespace

torch::Tensor smoothed_cross_entropy_plain(const torch::Tensor& logits, const torch::Tensor& targets, double smoothing,
                                           int64_t ignored) {
  const auto accumulator = logits.scalar_type() == torch::kDouble ? torch::kDouble : torch::kFloat;
  const torch::Tensor log_probs = torch::log_softmax(logits, -1, accumulator);  // [N,V]
  const torch::Tensor right = log_probs.gather(1, targets.unsqueeze(1)).squeeze(1);
  const torch::Tensor losses = right * (smoothing - 1.0) - log_probs.mean(1) * smoothing;
  return losses.mul(targets.ne(ignored)).sum();
}

torch::Tensor smoothed_cross_entropy(const torch::Tensor& logits, const torch::Tensor& targets, double smoothing,
                                     int64_t ignored) {
  TORCH_CHECK_VALUE(logits.dim() == 2 && targets.dim() == 1 && logits.size(0) == targets.size(0) &&
                        targets.scalar_type() == torch::kLong,
                    "smoothed_cross_entropy needs logits [N,V] and int64 targets [N], not ", logits.sizes(), " and ",
                    targets.sizes());
  const bool fused =
      logits.device().is_cpu() && (logits.scalar_type() == torch::kFloat || logits.scalar_type() == torch::kBFloat16);
  if (!fused) return smoothed_cross_entropy_plain(logits, targets, smoothing, ignored);
  return FusedCrossEntropy::apply(logits, targets, smoothing, ignored);
}

}  // namespace transmute::kernels
