// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/training/data/batch_options.h>
#include <transmute/training/data/batcher.h>
#include <transmute/training/data/training_text.h>

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A position between two batches, as checkpoints store it.
struct BatchCursor {
  int64_t epoch = 0;
  int64_t window = 0;  ///< of that epoch, see Epoch
  int64_t batch = 0;   ///< the next one of that window
};

/// A batch, ready to be trained on.
struct PreparedBatch {
  std::vector<Batch> micro_batches;  ///< empty if the batch belongs to another rank
  int64_t source_tokens = 0;         ///< of the batch, even if it belongs to another rank
  int64_t target_tokens = 0;
  BatchCursor next;       ///< position of the batch after it
  double epoch_done = 0;  ///< share of the epoch `next.epoch` that is done at that position
};

/// The endless sequence of batches, one epoch after the other. It is the same for any number of threads, and the same
/// from a cursor on as it would have been without an interruption.
///
/// Every rank goes through the whole sequence, but reads only its own batches. All ranks therefore know how many tokens
/// a step of several batches has.
class BatchStream {
 public:
  /// @param text must live as long
  /// @throws std::runtime_error if the cursor is after the last window or batch.
  BatchStream(const TrainingText& text, const BatchStreamOptions& options, const BatchCursor& start);
  ~BatchStream();
  BatchStream(const BatchStream&) = delete;
  BatchStream& operator=(const BatchStream&) = delete;

  /// @throws what kept the batch from being prepared, for example DamagedShards.
  PreparedBatch next();

 private:
  // The window from which batches are taken, and the position in it.
  struct Place {
    std::shared_ptr<const Epoch> epoch;
    std::shared_ptr<const Epoch::Window> window;  // has at least one batch
    BatchCursor cursor;
  };
  // A batch to be prepared.
  struct Job {
    std::shared_ptr<const Epoch::Window> window;
    size_t batch = 0;
    bool own = true;
    BatchCursor next;
    double epoch_done = 0;
  };
  struct Result {
    PreparedBatch batch;
    std::exception_ptr error;
  };

  Place find_window(BatchCursor from, std::shared_ptr<const Epoch> epoch) const;
  Job next_job(size_t number);
  PreparedBatch prepare(const Job& job) const;
  void stop();
  void serve();

  const TrainingText& text_;
  const BatchStreamOptions options_;

  // Guards place_, next_window_ and jobs_: one thread at a time takes the next job.
  std::mutex jobs_mutex_;
  Place place_;
  std::future<Place> next_window_;  // read while the present one is used
  size_t jobs_ = 0;

  std::mutex results_mutex_;
  std::condition_variable changed_;
  std::map<size_t, Result> results_;  // by job number
  size_t taken_ = 0;
  std::exception_ptr serve_error_;  // the error that ended a thread
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace v0
}  // namespace transmute
