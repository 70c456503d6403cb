// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/model/module_weights.h>

#include <cstdint>
#include <string>

namespace transmute {
inline namespace v0 {

/// The exponential moving average of weights while they are trained (Polyak and Juditsky, 1992, with a decay), in
/// float32. After step t it is decay · itself + (1 - decay) · the weights, where the decay is min(`decay`, (1 + t) /
/// (10 + t)): the untrained weights of the beginning are soon forgotten. Adam::keep_average has it follow the weights.
class WeightAverage {
 public:
  /// Starts from the present values of the parameters.
  WeightAverage(NamedTensors parameters, double decay);

  /// The share of the weights after step t, counted from 1. The second overload takes t as a scalar of float64 on the
  /// device.
  double share(int64_t step) const;
  torch::Tensor share(const torch::Tensor& step) const;

  /// Moves the average towards the present weights by `share`, a scalar on their device.
  void update(const torch::Tensor& share);

  /// The averages by the parameters' names, for checkpoints.
  const NamedTensors& values() const { return values_; }
  /// @throws std::runtime_error naming `path` if the values do not fit the parameters.
  void restore(const NamedTensors& values, const std::string& path);

  /// While an InPlace lives, the parameters have the averaged values. Its destructor restores the old ones bit for bit.
  class InPlace {
   public:
    /// Null: nothing happens.
    explicit InPlace(WeightAverage* average);
    ~InPlace();
    InPlace(const InPlace&) = delete;
    InPlace& operator=(const InPlace&) = delete;

   private:
    WeightAverage* average_;
  };

 private:
  void exchange();

  NamedTensors parameters_;
  NamedTensors values_;
  double decay_;
};

}  // namespace v0
}  // namespace transmute
