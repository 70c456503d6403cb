#include <transmute/training/ema.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/model/libtorch.h>

#include <algorithm>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

WeightAverage::WeightAverage(NamedTensors parameters, double decay)
    : parameters_(std::move(parameters)), decay_(decay) {
  for (const auto& [name, parameter] : parameters_) values_.emplace_back(name, parameter.detach().clone());
}

void WeightAverage::update(int64_t step, WorkerCrew& workers, const torch::Tensor& happens) {
  const auto t = static_cast<double>(step);
  const double share = 1 - std::min(decay_, (1 + t) / (10 + t));
  workers.for_each_piece(values_.size(), 1, [&](size_t p, size_t, int) {
    const torch::NoGradGuard no_grad;
    torch::Tensor& value = values_[p].second;
    const torch::Tensor weights = parameters_[p].second.detach();
    if (happens.defined()) {
      value.lerp_(weights, happens.to(value.scalar_type()) * share);
    } else {
      value.lerp_(weights, share);
    }
  });
}

void WeightAverage::restore(const NamedTensors& values, const std::string& path) {
  const torch::NoGradGuard no_grad;
  for (auto& [name, own] : values_) {
    const auto found =
        std::find_if(values.begin(), values.end(), [&, &key = name](const auto& value) { return value.first == key; });
    if (found == values.end() || found->second.sizes() != own.sizes())
      throw std::runtime_error(
          fmt::format("{}: no \"{}\" of the model's shape; the file is of another model", path, name));
    own.copy_(found->second);
  }
}

void WeightAverage::exchange() {
  const torch::NoGradGuard no_grad;
  for (size_t p = 0; p < values_.size(); ++p) {
    const torch::Tensor weights = parameters_[p].second.detach();
    const torch::Tensor kept = weights.clone();
    weights.copy_(values_[p].second);
    values_[p].second.copy_(kept);
  }
}

WeightAverage::InPlace::InPlace(WeightAverage* average) : average_(average) {
  if (average_ != nullptr) average_->exchange();
}

WeightAverage::InPlace::~InPlace() {
  if (average_ != nullptr) average_->exchange();
}

}  // namespace v0
}  // namespace transmute
