// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/distributed/meeting_point.h>

#include <cstdint>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace distributed {

namespace {

using Bytes = std::vector<uint8_t>;

Bytes bytes_of(const std::string& text) {
  return {text.begin(), text.end()};
}

// Gloo writes to its sockets as to files: by default, one that a lost rank no longer reads would end this process by a
// signal, before it could say who is lost.
void take_broken_pipes_for_errors() {
  struct sigaction action {};
  const bool known = ::sigaction(SIGPIPE, nullptr, &action) == 0;
  if (known && (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL) std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace

std::string key_of(const char* prefix, int rank) {
  return prefix + std::to_string(rank);
}

std::string read(c10d::TCPStore& store, const std::string& key) {
  const Bytes bytes = store.get(key);
  return {bytes.begin(), bytes.end()};
}

void write(c10d::TCPStore& store, const std::string& key, const std::string& text) {
  store.set(key, bytes_of(text));
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

void pass_verdict(c10d::TCPStore& store, const std::string& what) {
  store.compareSet(kVerdict, {}, bytes_of(what));
}

std::string with_remedy(const std::string& what) {
  return what + ". The same command, with as many ranks or others, goes on from the newest checkpoint";
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace distributed
}  // namespace v0
}  // namespace transmute
