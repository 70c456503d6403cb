// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/distributed/rendezvous_store.h>

#include <transmute/libtorch/torch_compat.h>

#include <netinet/in.h>
#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <transmute/training/distributed/connection.h>
#include <transmute/training/distributed/process_group.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace distributed {

namespace {

using Bytes = std::vector<uint8_t>;

constexpr const char* kGate = "gate";  // rank 0 has opened the store: for all, and for those with its secret

Bytes bytes_of(const std::string& text) {
  return {text.begin(), text.end()};
}

// Gloo writes to its sockets as to files: by default, a write to a lost rank would end this process by a signal before
// it could say which rank is lost.
void take_broken_pipes_for_errors() {
  struct sigaction action {};
  const bool known = ::sigaction(SIGPIPE, nullptr, &action) == 0;
  if (known && (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL) std::signal(SIGPIPE, SIG_IGN);
}

int number_of(int socket, int option) {
  int value = 0;
  socklen_t size = sizeof(value);
  return ::getsockopt(socket, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

int port_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return -1;
  if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return -1;
}

// LibTorch's store listens on every address of the machine and trusts every client; it has no option to change that.
// Its socket has one: after this, only connections through the loopback interface reach it.
void keep_to_loopback(int port) {
  bool is_kept = false;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int socket = std::stoi(entry.path().filename().string());
    if (number_of(socket, SO_ACCEPTCONN) != 1 || port_of(socket) != port) continue;
    constexpr char kLoopback[] = "lo";
    is_kept = ::setsockopt(socket, SOL_SOCKET, SO_BINDTODEVICE, kLoopback, sizeof(kLoopback)) == 0;
  }
  if (!is_kept)
    spdlog::warn(
        "port {}, where the ranks meet, is open to other machines: this system cannot keep it to "
        "the loopback interface",
        port);
}

}  // namespace

std::string key_of(const char* prefix, int rank) {
  return prefix + std::to_string(rank);
}

std::string read(c10d::Store& store, const std::string& key) {
  constexpr size_t kMostBytes = 4096;
  const Bytes bytes = store.get(key);
  return {bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(std::min(bytes.size(), kMostBytes))};
}

void write(c10d::Store& store, const std::string& key, const std::string& text) {
  store.set(key, bytes_of(text));
}

c10::intrusive_ptr<c10d::Store> connect(const RankOptions& options, bool serve, double seconds) {
  take_broken_pipes_for_errors();
  const SignalsLater signals_later;
  c10d::TCPStoreOptions store;
  store.port = static_cast<uint16_t>(options.port);
  store.isServer = serve;
  store.waitWorkers = false;
  leave_out_libuv(store);
  store.timeout = std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
  const auto open_to_all = c10::make_intrusive<c10d::TCPStore>(options.address, store);
  if (serve && options.local_size == options.size) keep_to_loopback(options.port);
  auto connection = c10::make_intrusive<c10d::PrefixStore>("transmute/" + options.secret, open_to_all);
  if (serve) {
    write(*connection, kGate, "");
    write(*open_to_all, kGate, "");
  } else {
    open_to_all->wait({kGate}, store.timeout);
    if (!connection->check({kGate}))
      throw OtherSecret(
          fmt::format("rank {} has another TRANSMUTE_RANK_SECRET than rank 0 at {}:{}; give all ranks the same",
                      options.rank, options.address, options.port));
  }
  return connection;
}

void set_end_reason(c10d::Store& store, const std::string& what) {
  store.compareSet(kEndReason, {}, bytes_of(what));
}

std::string with_remedy(const std::string& what) {
  return what + ". The same command, with as many ranks or others, continues from the newest checkpoint";
}

void throw_end_reason(const std::string& what) {
  if (what.find(kEnded) != std::string::npos) throw OtherRankEnded(what);
  throw std::runtime_error(with_remedy(what));
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace distributed
}  // namespace v0
}  // namespace transmute
