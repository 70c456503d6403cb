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
  /// Begins with the parameters as they are.
  WeightAverage(NamedTensors parameters, double decay);

  /// The share of the weights after step t, counted from 1; the second is for a count on the device, a scalar of
  /// float64.
  double share(int64_t step) const;
  torch::Tensor share(const torch::Tensor& step) const;

  /// Takes `share`, a scalar on the weights' device, of the weights as they are now.
  void update(const torch::Tensor& share);

  /// The averages by the parameters' names, for checkpoints.
  const NamedTensors& values() const { return values_; }
  /// @throws std::runtime_error naming `path` where the values do not fit the parameters.
  void restore(const NamedTensors& values, const std::string& path);

  /// The parameters have the averaged values for as long as the object lives, bit for bit the old ones afterwards.
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
