// SPDX-License-Identifier: Apache-2.0
// Compiled if LibTorch has c10d and Gloo's headers.
#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>
#include <torch/version.h>
#include <transmute/common/process_lock.h>
#include <transmute/training/distributed/connection.h>
#include <transmute/training/distributed/network_address.h>
#include <transmute/training/distributed/process_group.h>
#include <transmute/training/distributed/rank_monitor.h>
#include <transmute/training/distributed/rendezvous_store.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <future>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#ifndef USE_C10D_GLOO
#define USE_C10D_GLOO
#endif
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#if defined(TRANSMUTE_HAS_NCCL)
#ifndef USE_C10D_NCCL
#define USE_C10D_NCCL
#endif
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

namespace transmute {
inline namespace v0 {
namespace distributed {

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr int64_t kBucketElements = 1 << 20;  // elements of one all-reduce; several are in flight at a time

// A group's view of the store. It can be closed before the group is destroyed.
class ClosableStore : public c10d::PrefixStore {
 public:
  using PrefixStore::PrefixStore;
  void close() { store_.reset(); }
};

class GlooConnection : public Connection {
 public:
  GlooConnection(const RankOptions& options, torch::Device device) : options_(options) {
    meet();
    monitor_ = std::make_shared<RankMonitor>(options_);
    try {
      const SignalsLater signals_later;
      std::thread([monitor = monitor_] { RankMonitor::serve(monitor); }).detach();
      join_gloo();
      join_nccl(device);
    } catch (const std::exception& error) {
      fail(fmt::format("rank {}{}{}", options_.rank, kEnded, error.what()));
      abandon();
      throw;
    }
  }

  ~GlooConnection() override {
    if (!failed_ && monitor_->end_reason().empty()) {
      if (monitor_->stop()) {
        leave();
        return;
      }
    }
    abandon();
  }

  void start_sum(const torch::Tensor& values) override {
    auto& backend = backend_of(values.device());
    const torch::Tensor flat = values.view({-1});
    // A bucket is one all-reduce: they overlap, which keeps both directions of the wire busy.
    std::vector<std::vector<at::Tensor>> buckets;
    for (int64_t begin = 0; begin < flat.numel(); begin += kBucketElements)
      buckets.push_back({flat.narrow(0, begin, std::min(kBucketElements, flat.numel() - begin))});
    explained([&] {
      for (auto& bucket : buckets) started_.push_back(backend.allreduce(bucket));
    });
  }

  void finish_sums() override {
    explained([&] {
      for (const auto& work : started_) wait(work);
    });
    started_.clear();
  }

  void broadcast(torch::Tensor& values) override {
    std::vector<at::Tensor> tensors{values};
    explained([&] { wait(backend_of(values.device()).broadcast(tensors)); });
  }

  bool takes(torch::Device device) const override { return device.is_cpu() || nccl_ != nullptr; }

  void fail(const std::string& why) override {
    failed_ = true;
    monitor_->tell(why);
  }

 private:
#if TORCH_VERSION_MAJOR >= 2
  using Backend = c10d::Backend;
#else
  using Backend = c10d::ProcessGroup;
#endif
  using WorkPointer = c10::intrusive_ptr<c10d::Work>;

  template <class Action>
  auto explained(const Action& action) -> decltype(action()) {
    try {
      return action();
    } catch (const std::exception& error) {
      explain(error);
    }
  }

  // Returns when all ranks are present, or throws an error that names the missing ones.
  void meet() {
    if (options_.rank == 0 && options_.local_size != options_.size && options_.secret.empty())
      spdlog::warn(
          "anybody who reaches {}:{} can end this training: set {} for all ranks, for example to "
          "what \"openssl rand -hex 16\" prints",
          options_.address, options_.port, kSecretVariable);
    try {
      store_ = connect(options_, options_.rank == 0, options_.timeout_seconds);
      route_ = route_to(options_.address);
      write(*store_, key_of(kFirst, options_.rank), route_.to);
      const std::string self = fmt::format("process {} on {}", ::getpid(), host_name());
      write(*store_, key_of(kHere, options_.rank), self);
    } catch (const OtherSecret&) {
      throw;
    } catch (const std::exception& error) {
      throw std::runtime_error(fmt::format(
          "{} ({}:{}, {}): {}",
          options_.rank == 0 ? "cannot listen at the meeting point; is the port taken? MASTER_PORT says another"
                             : "cannot reach rank 0; is it running, and is MASTER_ADDR its machine?",
          options_.address, options_.port, options_.origin, first_line(error.what())));
    }
    const auto deadline = Clock::now() + Seconds(options_.timeout_seconds);
    while (true) {
      const std::vector<std::string> missing = missing_ranks();
      if (missing.empty()) return;
      if (Clock::now() > deadline)
        throw std::runtime_error(
            fmt::format("waited {} seconds for {} of {} ranks ({}) at {}:{} ({}): start every rank, with rank 0's "
                        "TRANSMUTE_RANK_SECRET if it has one, or unset these variables to train alone",
                        options_.timeout_seconds, missing.size(), options_.size, fmt::join(missing, ", "),
                        options_.address, options_.port, options_.origin));
      std::this_thread::sleep_for(kPoll);
    }
  }

  std::vector<std::string> missing_ranks() {
    std::vector<std::string> missing;
    std::string reason;
    try {
      for (int rank = 0; rank < options_.size; ++rank)
        if (!store_->check({key_of(kHere, rank)})) missing.push_back(std::to_string(rank));
      if (store_->check({kEndReason})) reason = read(*store_, kEndReason);
    } catch (const std::exception&) {
      reason = fmt::format("rank 0 is lost: it does not answer at {}:{} any more", options_.address, options_.port);
    }
    if (!reason.empty()) throw_end_reason(reason);
    return missing;
  }

  void join_gloo() {
    auto gloo = c10d::ProcessGroupGloo::Options::create();
    gloo->timeout = kNoLimit;
    const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
    if (interface != nullptr && *interface != '\0') {
      gloo->devices.push_back(device_of(interface));
    } else if (options_.local_size == options_.size) {
      gloo->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
    } else {
      gloo->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(own_address()));
    }
    // Uses a connection of its own, in which ranks wait for each other's addresses.
    const auto store =
        c10::make_intrusive<ClosableStore>("transmute/gloo", connect(options_, false, options_.timeout_seconds));
    // The constructor waits for other ranks without a time limit. It therefore runs on a thread, which is abandoned if
    // a rank is lost.
    std::packaged_task<c10::intrusive_ptr<Backend>()> make([=, rank = options_.rank, size = options_.size] {
      return c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, size, gloo);
    });
    auto made = make.get_future();
    std::thread(std::move(make)).detach();
    while (made.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) monitor_->check();
    gloo_ = explained([&] { return made.get(); });
    gloo_store_ = store;
  }

  static std::shared_ptr<::gloo::transport::Device> device_of(const std::string& interface) {
    try {
      return c10d::ProcessGroupGloo::createDeviceForInterface(interface);
    } catch (const std::exception&) {
      throw std::runtime_error(
          fmt::format("GLOO_SOCKET_IFNAME={}: this machine has no such network interface with an address; \"ip "
                      "address\" lists them",
                      interface));
    }
  }

  // The address at which the other ranks find this machine: the one from which it reaches rank 0. On rank 0's own
  // machine that is a loopback address, often also under the machine's name; there, the address counts at which the
  // others found rank 0.
  std::string own_address() {
    if (!is_loopback(route_.from)) return route_.from;
    for (int rank = 0; rank < options_.size; ++rank) {
      const std::string first = read(*store_, key_of(kFirst, rank));
      if (!is_loopback(first)) return first;
    }
    return "127.0.0.1";
  }

#if defined(TRANSMUTE_HAS_NCCL)
  void join_nccl(torch::Device device) {
    if (!device.is_cuda()) return;
    // LibTorch's own watchdog would end the process before the store says which rank is lost.
    for (const char* watch : {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING",
                              "TORCH_NCCL_ENABLE_MONITORING", "TORCH_NCCL_DUMP_ON_TIMEOUT"})
      ::setenv(watch, "0", /*overwrite=*/0);
    auto nccl = c10d::ProcessGroupNCCL::Options::create();
    nccl->timeout = kNoLimit;
    const auto store = connect(options_, false, options_.timeout_seconds);
    nccl_ = c10::make_intrusive<c10d::ProcessGroupNCCL>(c10::make_intrusive<c10d::PrefixStore>("transmute/nccl", store),
                                                        options_.rank, options_.size, nccl);
  }
#else
  void join_nccl(torch::Device) {}
#endif

  Backend& backend_of(torch::Device device) {
    return device.is_cpu() ? *gloo_ : *nccl_;
  }

  // Waits without a time limit unless a rank is lost: rank 0 may validate for as long as it takes while the others wait
  // here.
  void wait(const WorkPointer& work) {
    if (nccl_) {
      while (!work->isCompleted()) {
        monitor_->check();
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
    while (!work->isCompleted()) {
      try {
        work->wait(std::chrono::milliseconds(500));
      } catch (const std::exception&) {
        if (!work->isCompleted()) monitor_->check();
      }
    }
    // NCCL's wait() may ignore an error, after which its stream never ends.
    if (nccl_ && work->exception()) std::rethrow_exception(work->exception());
    work->wait();  // The outcome of the work itself counts: it may have ended just after a limit had passed.
  }

  // NCCL gives the reason on separate lines.
  static std::string reason_of(const std::string& what) {
    constexpr std::string_view kMark = "Last error:\n";
    const size_t mark = what.find(kMark);
    return first_line(mark == std::string::npos ? what : what.substr(mark + kMark.size()));
  }

  // A broken connection shows that a rank is lost, but not which one. The store names it as soon as the reason is
  // written.
  [[noreturn]] void explain(const std::exception& error) {
    const auto deadline = Clock::now() + Seconds(options_.timeout_seconds + kGraceSeconds);
    while (Clock::now() < deadline) {
      monitor_->check();
      std::this_thread::sleep_for(kPoll);
    }
    throw std::runtime_error(with_remedy("lost the connection to another rank: " + reason_of(error.what())));
  }

  // Rank 0 leaves last, because it owns the store.
  void leave() {
    try {
      const int64_t left = store_->add(kLeft, 1);
      const auto deadline = Clock::now() + Seconds(kGraceSeconds);
      while (options_.rank == 0 && left < options_.size && store_->add(kLeft, 0) < options_.size &&
             Clock::now() < deadline)
        std::this_thread::sleep_for(kPoll);
    } catch (const std::exception&) {  // all ranks are done; nobody waits for an answer
    }
  }

  // The destructors of LibTorch's groups would wait for ranks that no longer answer. The monitor ends first, because a
  // thread that uses LibTorch while the program ends can abort it.
  void abandon() {
    failed_ = true;
    monitor_->stop();
    // LibTorch 1.13's client of a store that has ended keeps a core busy.
    if (gloo_store_) gloo_store_->close();
    static std::mutex mutex;
    static auto* const abandoned = new std::vector<c10::intrusive_ptr<Backend>>;  // outlives the program
    const std::lock_guard<std::mutex> lock(mutex);
    abandoned->insert(abandoned->end(), {gloo_, nccl_});
  }

  static constexpr std::chrono::milliseconds kNoLimit = std::chrono::hours(24 * 365);

  RankOptions options_;
  Route route_;
  c10::intrusive_ptr<c10d::Store> store_;
  std::shared_ptr<RankMonitor> monitor_;
  std::vector<WorkPointer> started_;  // sums in flight
  c10::intrusive_ptr<Backend> gloo_, nccl_;
  c10::intrusive_ptr<ClosableStore> gloo_store_;
  bool failed_ = false;
};

}  // namespace

std::unique_ptr<Connection> connect_ranks(const RankOptions& options, torch::Device device) {
  return std::make_unique<GlooConnection>(options, device);
}

}  // namespace distributed

void report_lost_rank(const RankOptions& options, const std::string& what) {
  try {
    distributed::set_end_reason(*distributed::connect(options, false, distributed::kGraceSeconds), what);
  } catch (const std::exception&) {  // rank 0 is gone too; the others notice that themselves
  }
}

}  // namespace v0
}  // namespace transmute
