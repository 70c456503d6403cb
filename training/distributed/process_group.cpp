#include <transmute/training/distributed/process_group.h>

#include <netdb.h>
#include <spdlog/fmt/fmt.h>
#include <sys/socket.h>
#include <torch/types.h>
#include <torch/version.h>
#include <transmute/common/hash.h>
#include <transmute/common/random.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#if defined(TRANSMUTE_HAS_GLOO)
#ifndef USE_C10D_GLOO
#define USE_C10D_GLOO
#endif
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#if defined(TRANSMUTE_HAS_NCCL)
#ifndef USE_C10D_NCCL
#define USE_C10D_NCCL
#endif
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif
#endif

namespace transmute {
inline namespace v0 {

#if defined(TRANSMUTE_HAS_GLOO)

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;
using Bytes = std::vector<uint8_t>;

constexpr auto kBeat = std::chrono::milliseconds(250);
constexpr auto kPoll = std::chrono::milliseconds(20);
constexpr double kGraceSeconds = 3;           // for others to hear the last words of one that ends
constexpr int64_t kBucketElements = 1 << 20;  // of one all-reduce: several are on their way at a time

// Keys of the store. Counters are made by adding to them, so that reading one never waits.
constexpr const char* kHere = "transmute/here/";       // a rank has come
constexpr const char* kBeats = "transmute/beats/";     // grows while a rank lives
constexpr const char* kFirst = "transmute/first/";     // where a rank finds rank 0's machine
constexpr const char* kVerdict = "transmute/verdict";  // why all must end; the first one stays
constexpr const char* kHeard = "transmute/heard";      // ranks that have read it
constexpr const char* kLeft = "transmute/left";        // ranks that left in peace

std::string key_of(const char* prefix, int rank) {
  return prefix + std::to_string(rank);
}

Bytes bytes_of(const std::string& text) {
  return {text.begin(), text.end()};
}

std::string text_of(const Bytes& bytes) {
  return {bytes.begin(), bytes.end()};
}

// Signals wait for as long as the object lives: c10d's sockets take an interruption for an error. Threads that are
// begun meanwhile leave signals to others for good.
class SignalsLater {
 public:
  SignalsLater() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, &outer_);
  }
  ~SignalsLater() { pthread_sigmask(SIG_SETMASK, &outer_, nullptr); }
  SignalsLater(const SignalsLater&) = delete;
  SignalsLater& operator=(const SignalsLater&) = delete;

 private:
  sigset_t outer_;
};

// Gloo writes to its sockets as to files: by default, one that a lost rank no longer reads would end this process by a
// signal, before it could say who is lost.
void take_broken_pipes_for_errors() {
  struct sigaction action {};
  const bool known = ::sigaction(SIGPIPE, nullptr, &action) == 0;
  if (known && (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL) std::signal(SIGPIPE, SIG_IGN);
}

c10::intrusive_ptr<c10d::TCPStore> connect(const RankOptions& options, bool serve, double seconds) {
  take_broken_pipes_for_errors();
  const SignalsLater signals_later;
  c10d::TCPStoreOptions store;
  store.port = static_cast<uint16_t>(options.port);
  store.isServer = serve;
  store.waitWorkers = false;
  store.timeout = std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
  return c10::make_intrusive<c10d::TCPStore>(options.address, store);
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::string host_name() {
  char name[256] = "";
  ::gethostname(name, sizeof(name) - 1);
  return name;
}

struct Route {
  std::string from, to;  // addresses in numbers; empty where there is no way
};

// By which of its addresses this machine reaches another one, and what the other one's is. Nothing is sent.
Route route_to(const std::string& host) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  if (::getaddrinfo(host.c_str(), "9", &hints, &found) != 0) return {};
  Route route;
  const int probe = ::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_storage own{};
  socklen_t length = sizeof(own);
  char from[NI_MAXHOST] = "", to[NI_MAXHOST] = "";
  if (probe >= 0 && ::connect(probe, found->ai_addr, found->ai_addrlen) == 0 &&
      ::getsockname(probe, reinterpret_cast<sockaddr*>(&own), &length) == 0 &&
      ::getnameinfo(reinterpret_cast<sockaddr*>(&own), length, from, sizeof(from), nullptr, 0, NI_NUMERICHOST) == 0 &&
      ::getnameinfo(found->ai_addr, found->ai_addrlen, to, sizeof(to), nullptr, 0, NI_NUMERICHOST) == 0)
    route = {from, to};
  if (probe >= 0) ::close(probe);
  ::freeaddrinfo(found);
  return route;
}

bool is_loopback(const std::string& address) {
  return address.empty() || address == "::1" || address.rfind("127.", 0) == 0;
}

// Writes the verdict, unless there is one.
void pass_verdict(c10d::TCPStore& store, const std::string& what) {
  store.compareSet(kVerdict, {}, bytes_of(what));
}

std::string with_remedy(const std::string& what) {
  return what + ". The same command, with as many ranks or others, goes on from the newest checkpoint";
}

// Signs of life, to and fro, on a thread and a connection of its own. The thread keeps the object alive: where a store
// does not answer any more, nobody waits for it.
class Watch {
 public:
  Watch(const RankOptions& options) : options_(options), beats_(static_cast<size_t>(options.size)) {}

  static void serve(const std::shared_ptr<Watch>& self) {
    try {
      const auto store = connect(self->options_, false, self->options_.timeout_seconds);
      while (self->beat(*store)) {
      }
    } catch (const std::exception& error) {
      self->decide(fmt::format("rank 0 is lost: it does not answer at {}:{} any more", self->options_.address,
                               self->options_.port));
    }
    const std::lock_guard<std::mutex> lock(self->mutex_);
    self->ended_ = true;
    self->changed_.notify_all();
  }

  /// Why all must end; empty while nothing is wrong.
  std::string verdict() {
    const std::lock_guard<std::mutex> lock(mutex_);
    // The thread itself may hang in a store that is there but does not answer.
    if (verdict_.empty() && !stop_ && Clock::now() - last_beat_ > Seconds(options_.timeout_seconds))
      verdict_ = fmt::format("rank 0 is lost: no answer from {}:{} for {} seconds", options_.address, options_.port,
                             options_.timeout_seconds);
    return verdict_;
  }

  void check() {
    if (const std::string what = verdict(); !what.empty()) throw std::runtime_error(with_remedy(what));
  }

  /// Has the others told why this rank ends, and waits until they can have heard it.
  void tell(const std::string& why) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (last_words_.empty()) last_words_ = why;
    changed_.notify_all();
    changed_.wait_for(lock, Seconds(kGraceSeconds), [&] { return told_ || ended_; });
  }

  /// False where the thread hangs.
  bool stop() {
    std::unique_lock<std::mutex> lock(mutex_);
    stop_ = true;
    changed_.notify_all();
    return changed_.wait_for(lock, Seconds(kGraceSeconds), [&] { return ended_; });
  }

 private:
  struct Beat {
    int64_t count = -1;
    Clock::time_point changed = Clock::now();
  };

  bool beat(c10d::TCPStore& store) {
    store.add(key_of(kBeats, options_.rank), 1);
    if (options_.rank == 0) {
      for (int rank = 1; rank < options_.size; ++rank) look_at(store, rank);
    } else {
      look_at(store, 0);
    }
    std::string last_words;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      last_words = last_words_;
    }
    if (!last_words.empty()) pass_verdict(store, last_words);
    if (store.check({kVerdict})) {
      decide(text_of(store.get(kVerdict)));
      store.add(kHeard, 1);
      hear_out(store);
      return false;
    }
    std::unique_lock<std::mutex> lock(mutex_);
    last_beat_ = Clock::now();
    changed_.wait_for(lock, kBeat, [&] { return stop_ || !last_words_.empty(); });
    return !stop_;
  }

  void look_at(c10d::TCPStore& store, int rank) {
    Beat& beat = beats_[static_cast<size_t>(rank)];
    const int64_t count = store.add(key_of(kBeats, rank), 0);
    if (count != beat.count) beat = {count, Clock::now()};
    if (Clock::now() - beat.changed <= Seconds(options_.timeout_seconds)) return;
    pass_verdict(store, fmt::format("rank {} ({}) is lost: no sign of life for {} seconds", rank,
                                    text_of(store.get(key_of(kHere, rank))), options_.timeout_seconds));
  }

  // Rank 0 takes the store along when it ends: it stays until the others have read the verdict.
  void hear_out(c10d::TCPStore& store) {
    const auto deadline = Clock::now() + Seconds(kGraceSeconds);
    while (options_.rank == 0 && store.add(kHeard, 0) < options_.size && Clock::now() < deadline)
      std::this_thread::sleep_for(kPoll);
    const std::lock_guard<std::mutex> lock(mutex_);
    told_ = true;
    changed_.notify_all();
  }

  void decide(const std::string& what) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (verdict_.empty()) verdict_ = what;
  }

  const RankOptions options_;
  std::vector<Beat> beats_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string verdict_, last_words_;
  Clock::time_point last_beat_ = Clock::now();
  bool stop_ = false, told_ = false, ended_ = false;
};

}  // namespace

class ProcessGroup::Connection {
 public:
  Connection(const RankOptions& options, torch::Device device) : options_(options) {
    meet();
    watch_ = std::make_shared<Watch>(options_);
    try {
      const SignalsLater signals_later;
      std::thread([watch = watch_] { Watch::serve(watch); }).detach();
      join_gloo();
      join_nccl(device);
    } catch (...) {
      abandon();
      throw;
    }
  }

  ~Connection() {
    if (!failed_ && watch_->verdict().empty()) {
      if (watch_->stop()) {
        leave();
        return;
      }
    }
    abandon();
  }

  template <class Start>
  void run(const Start& start) {
    try {
      wait(start());
    } catch (const std::exception& error) {
      explain(error);
    }
  }

  void sum(const torch::Tensor& values) {
    start_sum(values);
    finish_sums();
  }

  void start_sum(const torch::Tensor& values) {
    auto& backend = backend_of(values.device());
    const torch::Tensor flat = values.view({-1});
    // A bucket is one all-reduce: they overlap, which keeps both directions of the wire busy.
    std::vector<std::vector<at::Tensor>> buckets;
    for (int64_t begin = 0; begin < flat.numel(); begin += kBucketElements)
      buckets.push_back({flat.narrow(0, begin, std::min(kBucketElements, flat.numel() - begin))});
    try {
      for (auto& bucket : buckets) started_.push_back(backend.allreduce(bucket));
    } catch (const std::exception& error) {
      explain(error);
    }
  }

  void finish_sums() {
    try {
      for (const auto& work : started_) wait(work);
    } catch (const std::exception& error) {
      explain(error);
    }
    started_.clear();
  }

  void broadcast(torch::Tensor& values) {
    std::vector<at::Tensor> tensors{values};
    run([&] { return backend_of(values.device()).broadcast(tensors); });
  }

  bool takes(torch::Device device) const { return device.is_cpu() || nccl_ != nullptr; }

  void fail(const std::string& why) {
    failed_ = true;
    watch_->tell(why);
  }

 private:
#if TORCH_VERSION_MAJOR >= 2
  using Backend = c10d::Backend;
#else
  using Backend = c10d::ProcessGroup;
#endif
  using WorkPointer = c10::intrusive_ptr<c10d::Work>;

  // All ranks are here, or those that are not are named.
  void meet() {
    try {
      store_ = connect(options_, options_.rank == 0, options_.timeout_seconds);
      route_ = route_to(options_.address);
      store_->set(key_of(kFirst, options_.rank), bytes_of(route_.to));
      const std::string self = fmt::format("process {} on {}", ::getpid(), host_name());
      store_->set(key_of(kHere, options_.rank), bytes_of(self));
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
        throw std::runtime_error(fmt::format(
            "waited {} seconds for {} of {} ranks ({}) at {}:{} ({}): start every rank, or unset these variables to "
            "train alone",
            options_.timeout_seconds, missing.size(), options_.size, fmt::join(missing, ", "), options_.address,
            options_.port, options_.origin));
      std::this_thread::sleep_for(kPoll);
    }
  }

  std::vector<std::string> missing_ranks() {
    std::vector<std::string> missing;
    std::string verdict;
    try {
      for (int rank = 0; rank < options_.size; ++rank)
        if (!store_->check({key_of(kHere, rank)})) missing.push_back(std::to_string(rank));
      if (store_->check({kVerdict})) verdict = text_of(store_->get(kVerdict));
    } catch (const std::exception&) {
      verdict = fmt::format("rank 0 is lost: it does not answer at {}:{} any more", options_.address, options_.port);
    }
    if (!verdict.empty()) throw std::runtime_error(with_remedy(verdict));
    return missing;
  }

  // Constructors wait for other ranks and know no end to it: they run aside, and are left behind where one is lost.
  template <class Make>
  auto made_aside(const Make& make) -> decltype(make()) {
    struct State {
      std::mutex mutex;
      decltype(make()) result;
      std::exception_ptr error;
      bool done = false;
    };
    auto state = std::make_shared<State>();
    std::thread([state, make] {
      decltype(make()) result;
      std::exception_ptr error;
      try {
        result = make();
      } catch (...) {
        error = std::current_exception();
      }
      const std::lock_guard<std::mutex> lock(state->mutex);
      state->result = std::move(result);
      state->error = error;
      state->done = true;
    }).detach();
    while (true) {
      {
        const std::lock_guard<std::mutex> lock(state->mutex);
        if (state->error) {
          try {
            std::rethrow_exception(state->error);
          } catch (const std::exception& error) {
            explain(error);
          }
        }
        if (state->done) return std::move(state->result);
      }
      watch_->check();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  void join_gloo() {
    auto gloo = c10d::ProcessGroupGloo::Options::create();
    gloo->timeout = kNoLimit;
    const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
    if (interface != nullptr && *interface != '\0') {
      gloo->devices.push_back(c10d::ProcessGroupGloo::createDeviceForInterface(interface));
    } else if (options_.local_size == options_.size) {
      gloo->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
    } else {
      gloo->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(own_address()));
    }
    // A connection of its own: ranks wait in it for each other's addresses.
    const auto store = connect(options_, false, options_.timeout_seconds);
    gloo_ = made_aside([=, rank = options_.rank, size = options_.size] {
      return c10::make_intrusive<c10d::ProcessGroupGloo>(
          c10::make_intrusive<c10d::PrefixStore>("transmute/gloo", store), rank, size, gloo);
    });
  }

  // Where the others find this machine: the address by which it reaches rank 0's. On rank 0's own machine that is a
  // loopback address, often also under its name, and what counts is where the others found it.
  std::string own_address() {
    if (!is_loopback(route_.from)) return route_.from;
    for (int rank = 0; rank < options_.size; ++rank) {
      const std::string first = text_of(store_->get(key_of(kFirst, rank)));
      if (!is_loopback(first)) return first;
    }
    return "127.0.0.1";
  }

#if defined(TRANSMUTE_HAS_NCCL)
  void join_nccl(torch::Device device) {
    if (!device.is_cuda()) return;
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

  // Without end, but for a lost rank: rank 0 may validate for as long as it takes while the others wait here.
  void wait(const WorkPointer& work) {
    if (nccl_) {
      while (!work->isCompleted()) {
        watch_->check();
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
    while (true) {
      try {
        work->wait(std::chrono::milliseconds(500));
        return;
      } catch (const std::exception&) {
        if (work->isCompleted()) throw;
      }
      watch_->check();
    }
  }

  // A broken connection says that a rank is gone, but not which: the verdict does, as soon as it is there.
  [[noreturn]] void explain(const std::exception& error) {
    const auto deadline = Clock::now() + Seconds(options_.timeout_seconds + kGraceSeconds);
    while (Clock::now() < deadline) {
      watch_->check();
      std::this_thread::sleep_for(kPoll);
    }
    throw std::runtime_error(with_remedy("lost touch with another rank: " + first_line(error.what())));
  }

  // Rank 0 goes last: the store is its.
  void leave() {
    try {
      const int64_t left = store_->add(kLeft, 1);
      const auto deadline = Clock::now() + Seconds(kGraceSeconds);
      while (options_.rank == 0 && left < options_.size && store_->add(kLeft, 0) < options_.size &&
             Clock::now() < deadline)
        std::this_thread::sleep_for(kPoll);
    } catch (const std::exception&) {  // all is done; nobody misses an answer
    }
  }

  // Its destructor would wait for ranks that do not answer any more.
  void abandon() {
    failed_ = true;
    static std::mutex mutex;
    static auto* const abandoned = new std::vector<c10::intrusive_ptr<Backend>>;  // outlives the program
    const std::lock_guard<std::mutex> lock(mutex);
    abandoned->insert(abandoned->end(), {gloo_, nccl_});
  }

  static constexpr std::chrono::milliseconds kNoLimit = std::chrono::hours(24 * 365);

  RankOptions options_;
  Route route_;
  c10::intrusive_ptr<c10d::TCPStore> store_;
  std::shared_ptr<Watch> watch_;
  std::vector<WorkPointer> started_;  // sums on their way
  c10::intrusive_ptr<Backend> gloo_, nccl_;
  bool failed_ = false;
};

bool has_process_groups() {
  return true;
}

void report_lost_rank(const RankOptions& options, const std::string& what) {
  try {
    pass_verdict(*connect(options, false, kGraceSeconds), what);
  } catch (const std::exception&) {  // rank 0 is gone too: the others notice
  }
}

#else

// A LibTorch without c10d: one process.
class ProcessGroup::Connection {
 public:
  Connection(const RankOptions& options, torch::Device) {
    throw std::invalid_argument(fmt::format(
        "{} ranks ({}): this build of transmute trains in one process, because its LibTorch {} came without "
        "c10d and Gloo's headers; build with one that has them (Debian: libtorch-dev and libgloo-dev)",
        options.size, options.origin, TORCH_VERSION));
  }
  void sum(const torch::Tensor&) {}
  void start_sum(const torch::Tensor&) {}
  void finish_sums() {}
  void broadcast(torch::Tensor&) {}
  bool takes(torch::Device) const { return true; }
  void fail(const std::string&) {}
};

bool has_process_groups() {
  return false;
}

void report_lost_rank(const RankOptions&, const std::string&) {}

#endif

ProcessGroup::ProcessGroup(const RankOptions& options, torch::Device device) : options_(options), device_(device) {
  if (options.size > 1) connection_ = std::make_unique<Connection>(options, device);
}

ProcessGroup::~ProcessGroup() = default;

void ProcessGroup::sum(torch::Tensor& values) {
  start_sum(values);
  finish_sums();
}

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
  std::string all = is_first() ? bytes : std::string(static_cast<size_t>(size.item<int64_t>()), '\0');
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
  if (connection_) connection_->fail(fmt::format("rank {} ended: {}", rank(), why));
}

uint64_t fingerprint_of(const std::string& bytes) {
  return hash_bytes(bytes.data(), bytes.size());
}

uint64_t fingerprint_of(const std::vector<torch::Tensor>& tensors) {
  uint64_t key = 0;
  for (const auto& tensor : tensors) {
    const torch::Tensor here = tensor.detach().cpu().contiguous();
    key = hash_bytes(here.data_ptr(), here.nbytes(), key);
  }
  return key;
}

}  // namespace v0
}  // namespace transmute
