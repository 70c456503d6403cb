// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/distributed/process_group.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/training/distributed/connection.h>

#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

constexpr int64_t kMostBroadcastBytes = 1 << 30;

}  // namespace

ProcessGroup::ProcessGroup(const RankOptions& options, torch::Device device) : options_(options) {
  if (options.size > 1) connection_ = distributed::connect_ranks(options, device);
}

ProcessGroup::~ProcessGroup() = default;

void ProcessGroup::start_sum(torch::Tensor& values) {
  if (!connection_) return;
  if (connection_->takes(values.device())) return connection_->start_sum(values);
  copies_.emplace_back(values.cpu(), values);
  connection_->start_sum(copies_.back().first);
}

void ProcessGroup::finish_sums() {
  if (!connection_) return;
  connection_->finish_sums();
  for (auto& [copy, values] : copies_) values.copy_(copy);
  copies_.clear();
}

void ProcessGroup::sum(std::vector<double>& values) {
  if (!connection_) return;
  connection_->sum(
      torch::from_blob(values.data(), {static_cast<int64_t>(values.size())}, torch::TensorOptions(torch::kDouble)));
}

void ProcessGroup::broadcast(torch::Tensor& values) {
  if (!connection_) return;
  if (connection_->takes(values.device())) return connection_->broadcast(values);
  torch::Tensor here = values.cpu();
  connection_->broadcast(here);
  values.copy_(here);
}

std::string ProcessGroup::broadcast(const std::string& bytes) {
  if (!connection_) return bytes;
  torch::Tensor size = torch::full({1}, static_cast<int64_t>(bytes.size()), torch::kLong);
  connection_->broadcast(size);
  const int64_t count = size.item<int64_t>();
  if (count < 0 || count > kMostBroadcastBytes)
    throw std::runtime_error(fmt::format("rank 0 announces {} bytes; is it the same version of transmute?", count));
  std::string all = is_first() ? bytes : std::string(static_cast<size_t>(count), '\0');
  if (all.empty()) return all;
  torch::Tensor content =
      torch::from_blob(all.data(), {static_cast<int64_t>(all.size())}, torch::TensorOptions(torch::kByte));
  connection_->broadcast(content);
  return all;
}

std::vector<int64_t> ProcessGroup::gather(int64_t value) {
  if (!connection_) return {value};
  const torch::Tensor all = torch::zeros({size()}, torch::kLong);
  all.data_ptr<int64_t>()[rank()] = value;
  connection_->sum(all);
  return {all.data_ptr<int64_t>(), all.data_ptr<int64_t>() + size()};
}

void ProcessGroup::check_equal(uint64_t fingerprint, const std::string& what) {
  const std::vector<int64_t> all = gather(static_cast<int64_t>(fingerprint));
  std::vector<int> others;
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank] != all.front()) others.push_back(static_cast<int>(rank));
  if (!others.empty())
    throw std::runtime_error(fmt::format("rank {} differs from rank 0 in {}", fmt::join(others, ", "), what));
}

void ProcessGroup::wait_for_all() {
  gather(0);
}

void ProcessGroup::fail(const std::string& why) {
  if (connection_) connection_->fail(fmt::format("rank {}{}{}", rank(), distributed::kEnded, why));
}

}  // namespace v0
}  // namespace transmute
