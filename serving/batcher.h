// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/translation/translator.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Options for translating one segment, which is a sentence or a line. Segments with the same key and model share a
/// batch.
struct SegmentOptions {
  TranslationOptions translation;  ///< options without target_prefixes
  std::string key;                 ///< equal for equal options
};

/// One segment that waits for its translation. The functions are called on the batcher's threads; `done` or `failed` is
/// called once. They must not throw.
struct Segment {
  std::shared_ptr<const Translator> model;
  std::shared_ptr<const SegmentOptions> options;
  std::string text;
  std::string prefix{};                                      ///< beginning of the translation
  std::function<void(const std::string& so_far)> on_text{};  ///< see TranslationHooks
  /// True once nobody waits any more; `failed` then gets Cancelled. Called while the queue is locked: must be quick,
  /// and must not call the batcher.
  std::function<bool()> is_unwanted{};
  std::function<void(Translation)> done;
  std::function<void(std::exception_ptr)> failed;
  size_t request_bytes = 0;  ///< size of the texts of its request: small requests overtake large ones
};

/// Limits of the queue and of the batches.
struct BatcherOptions {
  int workers = 1;                     ///< threads, each of which translates one batch at a time
  int64_t batch_size = 64;             ///< segments in each
  size_t max_segments = 4096;          ///< segments that wait at once
  size_t max_bytes = 4 * 1024 * 1024;  ///< bytes of the texts that wait
  size_t max_jobs = 256;               ///< jobs that wait at once
  size_t max_job_bytes = 64 << 20;     ///< bytes of the requests of these jobs
};

/// Figures for monitoring.
struct BatcherState {
  size_t waiting_segments = 0, waiting_bytes = 0, running_segments = 0, waiting_jobs = 0;
};

/// Merges the segments of all requests into batches: a free worker takes the first waiting segment and others with the
/// same model and options that are not much longer, up to about one search. Batches therefore grow with the load. A
/// lone request starts at once, and a short segment that is the first does not wait for long ones. Small requests
/// overtake large ones; those of about the same size are translated in the order of their arrival. The batch after
/// three that have overtaken the oldest segment takes that one, so that large requests end.
class Batcher {
 public:
  /// `on_batch` gets the size of every batch, on any thread.
  explicit Batcher(const BatcherOptions& options, std::function<void(size_t segments)> on_batch = {});
  /// Ends all segments with Cancelled: the waiting ones at once, the running ones within a step of the decoder.
  ~Batcher();
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  /// Takes the segments of a request. Returns false if there is no room. Takes all segments or none, also when it
  /// throws std::bad_alloc.
  bool submit(std::vector<Segment> segments);
  /// Takes the segment even if there is no room: it is a further step of a request that was accepted before.
  void continue_with(Segment segment);
  /// Runs the job, which reads a request and prepares its segments, on a thread that is for jobs alone, one job at a
  /// time: the smallest one that waits, or the oldest one after three have overtaken it. Returns false if there is no
  /// room; a request of any size has room where no job waits. The job must not throw. Jobs that have not begun when the
  /// batcher ends are dropped.
  /// @param bytes size of the request that the job holds
  bool run(std::function<void()> job, size_t bytes);

  BatcherState state() const;
  const BatcherOptions& options() const { return options_; }

 private:
  void stop();
  void work();
  void run_jobs();
  std::vector<Segment> take_batch();
  void translate(std::vector<Segment> batch);
  std::vector<Translation> translate_together(const std::vector<Segment>& batch);
  void hand_out(const std::vector<Segment>& batch, std::vector<Translation> translations);
  void push(Segment segment);
  std::vector<Segment*> in_order();
  std::vector<Segment*> first_of(const std::vector<Segment*>& order) const;

  const BatcherOptions options_;
  const std::function<void(size_t)> on_batch_;
  mutable std::mutex mutex_;
  std::condition_variable wake_, wake_for_job_;
  std::deque<std::pair<std::function<void()>, size_t>> jobs_;  // jobs with the bytes of their requests
  size_t job_bytes_ = 0;
  int overtaking_jobs_ = 0;  // jobs that have overtaken the oldest one
  std::deque<Segment> waiting_;
  int overtaking_batches_ = 0;  // batches since one included the oldest segment
  BatcherState state_;
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

}  // namespace v0
}  // namespace transmute
