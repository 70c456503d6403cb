// SPDX-License-Identifier: Apache-2.0
// Compiled if LibTorch has no c10d, or came without Gloo's headers. Training then has one process.
#include <spdlog/fmt/fmt.h>
#include <torch/version.h>
#include <transmute/training/distributed/connection.h>
#include <transmute/training/distributed/process_group.h>

#include <stdexcept>

namespace transmute {
inline namespace v0 {

std::unique_ptr<distributed::Connection> distributed::connect_ranks(const RankOptions& options, torch::Device) {
  throw std::invalid_argument(
      fmt::format("{} ranks ({}): this build of transmute trains in one process, because its LibTorch {} came without "
                  "c10d and Gloo's headers; build with one that has them (Debian: libtorch-dev and libgloo-dev)",
                  options.size, options.origin, TORCH_VERSION));
}

void report_lost_rank(const RankOptions&, const std::string&) {}

}  // namespace v0
}  // namespace transmute
