// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/distributed/rank_monitor.h>

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <thread>

namespace transmute {
inline namespace v0 {
namespace distributed {

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr auto kBeat = std::chrono::milliseconds(250);

}  // namespace

void RankMonitor::serve(const std::shared_ptr<RankMonitor>& self) {
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

std::string RankMonitor::end_reason() {
  const std::lock_guard<std::mutex> lock(mutex_);
  // A process that was suspended has not asked in the meantime, and its thread needs a moment to send its next
  // heartbeat.
  const auto now = Clock::now();
  if (now - last_asked_ > Seconds(kGraceSeconds)) patient_since_ = now;
  last_asked_ = now;
  const bool is_patient = now - patient_since_ < Seconds(kGraceSeconds);
  // The thread itself may hang if the store is reachable but does not answer.
  if (end_reason_.empty() && !stop_ && !is_patient && now - last_beat_ > Seconds(options_.timeout_seconds))
    end_reason_ = fmt::format("rank 0 is lost: no answer from {}:{} for {} seconds", options_.address, options_.port,
                              options_.timeout_seconds);
  return end_reason_;
}

void RankMonitor::check() {
  if (const std::string what = end_reason(); !what.empty()) throw_end_reason(what);
}

void RankMonitor::tell(const std::string& why) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (last_words_.empty()) last_words_ = why;
  changed_.notify_all();
  changed_.wait_for(lock, Seconds(kGraceSeconds), [&] { return told_ || ended_; });
}

bool RankMonitor::stop() {
  std::unique_lock<std::mutex> lock(mutex_);
  stop_ = true;
  changed_.notify_all();
  return changed_.wait_for(lock, Seconds(kGraceSeconds), [&] { return ended_; });
}

bool RankMonitor::beat(c10d::Store& store) {
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
  if (!last_words.empty()) set_end_reason(store, last_words);
  if (store.check({kEndReason})) {
    decide(read(store, kEndReason));
    store.add(kHeard, 1);
    hear_out(store);
    return false;
  }
  std::unique_lock<std::mutex> lock(mutex_);
  last_beat_ = Clock::now();
  changed_.wait_for(lock, kBeat, [&] { return stop_ || !last_words_.empty(); });
  return !stop_;
}

void RankMonitor::look_at(c10d::Store& store, int rank) {
  Beat& beat = beats_[static_cast<size_t>(rank)];
  const int64_t count = store.add(key_of(kBeats, rank), 0);
  const auto now = Clock::now();
  if (count != beat.count) beat = {count, {}, now};
  // A suspension of this process counts as one second: if all processes are suspended for a while, none of them is
  // lost.
  beat.silent += std::min<Clock::duration>(now - beat.looked, std::chrono::seconds(1));
  beat.looked = now;
  if (beat.silent <= Seconds(options_.timeout_seconds)) return;
  set_end_reason(store, fmt::format("rank {} ({}) is lost: no sign of life for {} seconds", rank,
                                    read(store, key_of(kHere, rank)), options_.timeout_seconds));
}

void RankMonitor::hear_out(c10d::Store& store) {
  const auto deadline = Clock::now() + Seconds(kGraceSeconds);
  while (options_.rank == 0 && store.add(kHeard, 0) < options_.size && Clock::now() < deadline)
    std::this_thread::sleep_for(kPoll);
  const std::lock_guard<std::mutex> lock(mutex_);
  told_ = true;
  changed_.notify_all();
}

void RankMonitor::decide(const std::string& what) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (end_reason_.empty()) end_reason_ = what;
}

}  // namespace distributed
}  // namespace v0
}  // namespace transmute
