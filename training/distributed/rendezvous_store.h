// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/training/distributed/ranks.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>

// The rendezvous store. Rank 0 owns it, and all ranks write to it.
namespace transmute {
inline namespace v0 {
namespace distributed {

constexpr auto kPoll = std::chrono::milliseconds(20);
/// Time that the other ranks have to read why a rank ended.
constexpr double kGraceSeconds = 3;

/// Keys of the store. Counters are incremented from 0 on, so that reading one never waits.
constexpr const char* kHere = "transmute/here/";            // number of ranks that have arrived
constexpr const char* kBeats = "transmute/beats/";          // heartbeats; increases while a rank lives
constexpr const char* kFirst = "transmute/first/";          // address at which a rank finds rank 0's machine
constexpr const char* kEndReason = "transmute/end_reason";  // why all ranks must end; the first reason stays
constexpr const char* kHeard = "transmute/heard";           // number of ranks that have read the reason
constexpr const char* kLeft = "transmute/left";             // number of ranks that ended normally

/// The key of one rank.
std::string key_of(const char* prefix, int rank);

/// The value of an existing key; at most 4 KiB of it.
std::string read(c10d::Store& store, const std::string& key);
void write(c10d::Store& store, const std::string& key, const std::string& text);

/// Blocks SIGINT and SIGTERM during its life, because c10d's sockets treat an interruption as an error. Threads started
/// during that time keep them blocked.
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

/// Thrown if rank 0 answers, but has another RankOptions::secret.
class OtherSecret : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A connection to the store at the address of `options`; `serve`: this is rank 0, whose store it is;
/// where all ranks are on one machine, no other machine reaches it.
///
/// The secret is part of every key, so that nobody without it can read or write the entries.
/// @throws OtherSecret; c10d's errors if nobody answers in time.
c10::intrusive_ptr<c10d::Store> connect(const RankOptions& options, bool serve, double seconds);

/// Writes the reason why all ranks must end, unless there is one.
void set_end_reason(c10d::Store& store, const std::string& what);

/// The message of an error that ends all ranks.
std::string with_remedy(const std::string& what);

/// @throws OtherRankEnded if a rank ended and has given its reason; std::runtime_error, with the remedy, if a rank is
/// lost.
[[noreturn]] void throw_end_reason(const std::string& what);

std::string first_line(const std::string& text);

}  // namespace distributed
}  // namespace v0
}  // namespace transmute
