// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/distributed/gradient_sum.h>

#include <transmute/libtorch/libtorch.h>

#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

// A bucket of 4 MB is large enough to be worth a message.
constexpr int64_t kGradientBucketElements = 1 << 20;

}  // namespace

GradientSum::GradientSum(const std::vector<torch::Tensor>& parameters, int workers, ProcessGroup& group,
                         AddShares add_shares)
    : group_(group), add_shares_(std::move(add_shares)), workers_(workers), bucket_of_(parameters.size()) {
  std::vector<int64_t> sizes;
  for (size_t p = parameters.size(); p-- > 0;) {
    if (buckets_.empty() || sizes.back() >= kGradientBucketElements) {
      buckets_.emplace_back();
      sizes.push_back(0);
    }
    buckets_.back().parameters.push_back(p);
    bucket_of_[p] = buckets_.size() - 1;
    sizes.back() += parameters[p].numel();
  }
  sums_.resize(parameters.size());
  for (size_t b = 0; b < buckets_.size(); ++b) {
    buckets_[b].flat = torch::empty({sizes[b]}, torch::TensorOptions(torch::kFloat).device(parameters[0].device()));
    int64_t begin = 0;
    for (const size_t p : buckets_[b].parameters) {
      sums_[p] = buckets_[b].flat.narrow(0, begin, parameters[p].numel()).view(parameters[p].sizes());
      begin += parameters[p].numel();
    }
  }
}

void GradientSum::start() {
  next_ = 0;
  for (Bucket& bucket : buckets_) {
    bucket.missing = workers_ * static_cast<int64_t>(bucket.parameters.size());
    bucket.is_complete = false;
  }
}

void GradientSum::complete(size_t parameter) {
  Bucket& bucket = buckets_[bucket_of_[parameter]];
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--bucket.missing > 0) return;
  }
  const torch::NoGradGuard no_grad;
  for (const size_t p : bucket.parameters) add_shares_(p, sums_[p]);
  const std::lock_guard<std::mutex> lock(mutex_);
  bucket.is_complete = true;
  for (; next_ < buckets_.size() && buckets_[next_].is_complete; ++next_) group_.start_sum(buckets_[next_].flat);
}

std::vector<torch::Tensor> GradientSum::finish() {
  if (next_ < buckets_.size()) throw std::logic_error("the gradients of a step are not complete");
  group_.finish_sums();
  return sums_;
}

}  // namespace v0
}  // namespace transmute
