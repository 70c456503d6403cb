// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/training/distributed/ranks.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>

// The rendezvous store: rank 0 keeps it, and all ranks write to it.
namespace transmute {
inline namespace v0 {
namespace distributed {

constexpr auto kPoll = std::chrono::milliseconds(20);
/// Time for the other ranks to read why a rank ended.
constexpr double kGraceSeconds = 3;

/// Keys of the store. Counters are made by adding to them, so that reading one never waits.
constexpr const char* kHere = "transmute/here/";            // a rank has come
constexpr const char* kBeats = "transmute/beats/";          // grows while a rank lives
constexpr const char* kFirst = "transmute/first/";          // where a rank finds rank 0's machine
constexpr const char* kEndReason = "transmute/end_reason";  // why all must end; the first one stays
constexpr const char* kHeard = "transmute/heard";           // ranks that have read it
constexpr const char* kLeft = "transmute/left";             // ranks that left in peace

/// The key of one rank.
std::string key_of(const char* prefix, int rank);

/// The value of a key that is there, at most 4 KiB of it.
std::string read(c10d::Store& store, const std::string& key);
void write(c10d::Store& store, const std::string& key, const std::string& text);

/// Blocks SIGINT and SIGTERM during its life, because c10d's sockets take an interruption for an error. Threads that
/// are started during that time keep them blocked.
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

/// Thrown where rank 0 answers, but has another RankOptions::secret.
class OtherSecret : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A connection to the store at the address of `options`; `serve`: this is rank 0, whose store it is;
/// where all ranks are on one machine, no other machine reaches it.
///
/// The secret is part of every key, so that nobody without it can read or write the entries.
/// @throws OtherSecret; c10d's errors where nobody answers in time.
c10::intrusive_ptr<c10d::Store> connect(const RankOptions& options, bool serve, double seconds);

/// Writes the reason why all ranks must end, unless there is one.
void set_end_reason(c10d::Store& store, const std::string& what);

/// The message of an error that ends all ranks.
std::string with_remedy(const std::string& what);

/// @throws OtherRankEnded with the reason where a rank ended and has said why; std::runtime_error, with the remedy,
/// where one is lost.
[[noreturn]] void throw_end_reason(const std::string& what);

std::string first_line(const std::string& text);

}  // namespace distributed
}  // namespace v0
}  // namespace transmute
