// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/data/batch_stream.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/threads.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/libtorch/threading.h>

#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

BatchStream::BatchStream(const TrainingText& text, const BatchStreamOptions& options, const BatchCursor& start)
    : text_(text), options_(options) {
  place_ = find_window(start, nullptr);
  if (start.batch > 0) {
    const auto batches = static_cast<int64_t>(place_.window->batches.size());
    if (place_.cursor.epoch != start.epoch || place_.cursor.window != start.window || start.batch >= batches)
      throw std::runtime_error(
          fmt::format("batch {} in window {} of epoch {} is beyond the end of the training text, which has changed; "
                      "use another run folder, or restore the old text",
                      start.batch, start.window, start.epoch + 1));
    place_.cursor.batch = start.batch;
  }
  try {
    start_threads(threads_, static_cast<int>(options_.prefetch_threads), [this](int) { serve(); });
  } catch (...) {
    stop();
    throw;
  }
}

BatchStream::~BatchStream() {
  stop();
}

void BatchStream::stop() {
  {
    const std::lock_guard<std::mutex> lock(results_mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (auto& thread : threads_) thread.join();
}

// The first window from a place on that has a batch.
BatchStream::Place BatchStream::find_window(BatchCursor from, std::shared_ptr<const Epoch> epoch) const {
  constexpr int kEpochsWithoutPairs = 100;
  for (int tried = 0; tried < kEpochsWithoutPairs; ++tried) {
    if (!epoch || epoch->number() != from.epoch)
      epoch = std::make_shared<Epoch>(text_, options_.batch_tokens, options_.seed, from.epoch);
    for (; from.window < epoch->windows(); ++from.window) {
      auto window = std::make_shared<const Epoch::Window>(epoch->window(from.window));
      if (!window->batches.empty()) return {std::move(epoch), std::move(window), {from.epoch, from.window, 0}};
    }
    from = {from.epoch + 1, 0, 0};
  }
  throw std::runtime_error(
      fmt::format("no sentence pair was drawn in {} epochs, the last of them {}; raise the corpora's weights",
                  kEpochsWithoutPairs, from.epoch));
}

BatchStream::Job BatchStream::next_job(size_t number) {
  const auto after_window = [this] {
    const bool last = place_.cursor.window + 1 == place_.epoch->windows();
    return last ? BatchCursor{place_.cursor.epoch + 1, 0, 0}
                : BatchCursor{place_.cursor.epoch, place_.cursor.window + 1, 0};
  };
  if (place_.cursor.batch == static_cast<int64_t>(place_.window->batches.size()))
    place_ = next_window_.valid() ? next_window_.get() : find_window(after_window(), place_.epoch);
  if (options_.prefetch_threads > 0 && !next_window_.valid())
    next_window_ = std::async(std::launch::async,
                              [this, from = after_window(), epoch = place_.epoch] { return find_window(from, epoch); });

  Job job;
  job.window = place_.window;
  job.batch = static_cast<size_t>(place_.cursor.batch++);
  job.own = static_cast<int64_t>(number) % options_.ranks == options_.rank;
  const auto batches = static_cast<int64_t>(place_.window->batches.size());
  job.next = place_.cursor.batch == batches ? after_window() : place_.cursor;
  if (job.next.epoch == place_.cursor.epoch)
    job.epoch_done = (static_cast<double>(place_.cursor.window) +
                      static_cast<double>(place_.cursor.batch) / static_cast<double>(batches)) /
                     static_cast<double>(place_.epoch->windows());
  return job;
}

PreparedBatch BatchStream::prepare(const Job& job) const {
  const ParallelText& text = job.window->text;
  const std::vector<size_t>& pairs = job.window->batches[job.batch];
  PreparedBatch batch;
  batch.next = job.next;
  batch.epoch_done = job.epoch_done;
  batch.target_tokens = count_target_tokens(text, pairs);
  batch.source_tokens = count_source_tokens(text, pairs);
  if (!job.own) return batch;
  for (const auto& micro_batch : cut_into_micro_batches(text, pairs, options_.micro_batch_tokens, options_.workers))
    batch.micro_batches.push_back(make_batch(text, micro_batch));
  return batch;
}

void BatchStream::serve() try {
  run_operations_on_this_thread_only();
  const size_t ahead = 2 * static_cast<size_t>(options_.prefetch_threads) + 2;
  while (true) {
    std::unique_lock<std::mutex> jobs_lock(jobs_mutex_);
    {
      std::unique_lock<std::mutex> lock(results_mutex_);
      changed_.wait(lock, [&] { return stop_ || jobs_ < taken_ + ahead; });
      if (stop_) return;
    }
    const size_t number = jobs_++;
    Result result;
    try {
      const Job job = next_job(number);
      jobs_lock.unlock();
      result.batch = prepare(job);
    } catch (...) {
      result.error = std::current_exception();
    }
    if (jobs_lock.owns_lock()) jobs_lock.unlock();
    {
      const std::lock_guard<std::mutex> lock(results_mutex_);
      results_.emplace(number, std::move(result));
    }
    changed_.notify_all();
  }
} catch (...) {  // such as memory for the result
  {
    const std::lock_guard<std::mutex> lock(results_mutex_);
    serve_error_ = std::current_exception();
  }
  changed_.notify_all();
}

PreparedBatch BatchStream::next() {
  if (options_.prefetch_threads == 0) return prepare(next_job(jobs_++));
  std::unique_lock<std::mutex> lock(results_mutex_);
  changed_.wait(lock, [&] { return results_.count(taken_) > 0 || serve_error_; });
  if (results_.count(taken_) == 0) std::rethrow_exception(serve_error_);
  Result result = std::move(results_.extract(taken_).mapped());
  ++taken_;
  lock.unlock();
  changed_.notify_all();
  if (result.error) std::rethrow_exception(result.error);
  return std::move(result.batch);
}

}  // namespace v0
}  // namespace transmute
