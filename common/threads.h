// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The number of cores that the calling thread's CPU affinity lets it run on; at least 1.
TRANSMUTE_API int permitted_cores();

/// The number of cores that this process can keep busy: permitted_cores(), or the CPU limit of its control groups (a
/// container's), rounded up, where that is less; at least 1.
TRANSMUTE_API int available_cores();

/// Adds `count` threads to `threads`, which run serve(0), serve(1), … They run the tasks that they give to a ThreadPool
/// themselves.
/// @throws std::runtime_error if the system cannot start one; those before it run, and are the caller's to end.
TRANSMUTE_API void start_threads(std::vector<std::thread>& threads, int count, const std::function<void(int)>& serve);

/// Runs task(0) … task(count-1), each once, on one or several threads, and returns when all have ended.
using ParallelFor = std::function<void(size_t count, const std::function<void(size_t)>& task)>;

/// A ParallelFor on the calling thread.
TRANSMUTE_API void one_by_one(size_t count, const std::function<void(size_t)>& task);

/// A fixed crew of threads that run one task together.
///
/// `run(task)` calls task(0) … task(size-1) at the same time, task(0) on the calling thread, and returns when
/// all have ended. Which worker does what is up to the task, so results need not depend on scheduling.
class TRANSMUTE_API WorkerCrew {
 public:
  /// @param start_worker called once on each of the crew's own threads before its first task (thread
  /// settings).
  /// @throws std::runtime_error if the system cannot start that many threads; what start_worker throws.
  explicit WorkerCrew(int size, std::function<void()> start_worker = {});
  ~WorkerCrew();
  WorkerCrew(const WorkerCrew&) = delete;
  WorkerCrew& operator=(const WorkerCrew&) = delete;

  int size() const { return static_cast<int>(threads_.size()) + 1; }

  /// Rethrows the exception of the lowest-numbered worker that threw, after all have ended.
  void run(const std::function<void(int worker)>& task);

  /// Splits [0, count) into chunks of `grain` that the workers take in turn.
  void for_each_chunk(size_t count, size_t grain,
                      const std::function<void(size_t begin, size_t end, int worker)>& task);

 private:
  void serve(int worker);
  void stop();

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  const std::function<void(int)>* task_ = nullptr;
  std::vector<std::exception_ptr> errors_;
  size_t round_ = 0;
  int running_ = 0;
  bool stop_ = false;
};

/// Threads that serve many callers at once. Each call brings a number of tasks; the threads take tasks from
/// the waiting calls in turn, so that a short call does not wait for a long one to end.
class TRANSMUTE_API ThreadPool {
 public:
  /// @throws std::runtime_error if the system cannot start that many threads.
  explicit ThreadPool(int size);
  /// No call may be in progress.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(state_->threads.size()); }

  /// Runs task(0) … task(count-1), started in this order, on the pool's threads, and returns when all have ended. After
  /// a task has thrown, no further one is started; the exception of the lowest-numbered task is rethrown. A thread of
  /// this or another pool runs the tasks itself: pools that waited for each other could wait forever.
  /// @throws std::runtime_error in a forked process, which has none of the threads.
  void for_each(size_t count, const std::function<void(size_t)>& task);
  ParallelFor parallel_for() {
    return [this](size_t count, const std::function<void(size_t)>& task) { for_each(count, task); };
  }

 private:
  struct Call {
    const std::function<void(size_t)>& task;
    size_t count;
    size_t next = 0;     // the first task not started
    size_t running = 0;  // tasks started and not ended
    size_t failed_task = 0;
    std::exception_ptr error{};
    std::condition_variable ended{};
    std::list<Call*> place{this};  // moved among the waiting: no thread of the pool takes memory, which could fail
  };
  // On the heap, where a forked process leaves it. Nobody waits there any more, and the threads are those of the other
  // process: new ones may have their ids, and would be joined or detached in their place.
  struct State {
    std::vector<std::thread> threads;
    std::mutex mutex;
    std::condition_variable wake;
    std::list<Call*> waiting;  // calls with tasks not started; the front is served next
    bool stop = false;
  };
  void serve();
  void stop();

  std::unique_ptr<State> state_;
  int process_;  // the process that has the threads
};

}  // namespace v0
}  // namespace transmute
