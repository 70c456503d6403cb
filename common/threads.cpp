// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/threads.h>

#include <sched.h>
#include <spdlog/fmt/fmt.h>
#include <transmute/common/cpu_limit.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <system_error>

namespace transmute {
inline namespace v0 {

int permitted_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0) return std::max(1, CPU_COUNT(&cores));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int available_cores() {
  const int permitted = permitted_cores();
  const std::optional<double> limit = cpu_limit();
  return limit ? static_cast<int>(std::clamp(std::ceil(*limit), 1.0, static_cast<double>(permitted))) : permitted;
}

namespace {

thread_local bool is_started_here = false;  // by start_threads

// Adds threads that run serve(first) … serve(end - 1).
void start_threads_from(std::vector<std::thread>& threads, int first, int end, const std::function<void(int)>& serve) {
  threads.reserve(threads.size() + static_cast<size_t>(end - first));
  for (int i = first; i < end; ++i) try {
      threads.emplace_back([serve, i] {
        is_started_here = true;
        serve(i);
      });
    } catch (const std::system_error& error) {
      throw std::runtime_error(
          fmt::format("thread {} of {} cannot be started ({}); use fewer threads, or allow more memory "
                      "and processes (ulimit -v, ulimit -u)",
                      i + 1, end, error.code().message()));
    }
}

}  // namespace

void start_threads(std::vector<std::thread>& threads, int count, const std::function<void(int)>& serve) {
  start_threads_from(threads, 0, count, serve);
}

WorkerCrew::WorkerCrew(int size, std::function<void()> start_worker) {
  if (size < 1) throw std::invalid_argument("a worker crew needs at least one worker");
  errors_.resize(static_cast<size_t>(size));
  try {
    start_threads_from(threads_, 1, size, [this](int worker) { serve(worker); });
    if (start_worker)
      run([&](int worker) {
        if (worker > 0) start_worker();
      });
  } catch (...) {
    stop();  // those that were started wait for what is about to go
    throw;
  }
}

WorkerCrew::~WorkerCrew() {
  stop();
}

void WorkerCrew::stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void WorkerCrew::serve(int worker) {
  size_t seen = 0;
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stop_ || round_ != seen; });
    if (stop_) return;
    seen = round_;
    lock.unlock();
    try {
      (*task_)(worker);
    } catch (...) {
      errors_[static_cast<size_t>(worker)] = std::current_exception();
    }
    lock.lock();
    if (--running_ == 0) done_.notify_one();
  }
}

void one_by_one(size_t count, const std::function<void(size_t)>& task) {
  for (size_t i = 0; i < count; ++i) task(i);
}

void WorkerCrew::run(const std::function<void(int)>& task) {
  std::fill(errors_.begin(), errors_.end(), nullptr);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    task_ = &task;
    running_ = static_cast<int>(threads_.size());
    ++round_;
  }
  wake_.notify_all();
  try {
    task(0);
  } catch (...) {
    errors_[0] = std::current_exception();
  }
  std::unique_lock<std::mutex> lock(mutex_);
  done_.wait(lock, [&] { return running_ == 0; });
  for (const auto& error : errors_)
    if (error) std::rethrow_exception(error);
}

void WorkerCrew::for_each_chunk(size_t count, size_t grain, const std::function<void(size_t, size_t, int)>& task) {
  std::atomic<size_t> next{0};
  run([&](int worker) {
    for (size_t begin = next.fetch_add(grain); begin < count; begin = next.fetch_add(grain))
      task(begin, std::min(count, begin + grain), worker);
  });
}

ThreadPool::ThreadPool(int size) : state_(std::make_unique<State>()), process_(::getpid()) {
  if (size < 1) throw std::invalid_argument("a thread pool needs at least one thread");
  try {
    start_threads(state_->threads, size, [this](int) { serve(); });
  } catch (...) {
    stop();
    throw;
  }
}

ThreadPool::~ThreadPool() {
  if (process_ == ::getpid()) {
    stop();
    return;
  }
  static_cast<void>(state_.release());
}

void ThreadPool::stop() {
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->stop = true;
  }
  state_->wake.notify_all();
  for (auto& thread : state_->threads) thread.join();
}

void ThreadPool::serve() {
  auto& waiting = state_->waiting;
  std::unique_lock<std::mutex> lock(state_->mutex);
  while (true) {
    state_->wake.wait(lock, [&] { return state_->stop || !waiting.empty(); });
    if (state_->stop) return;
    Call& call = *waiting.front();
    const size_t number = call.next++;
    ++call.running;
    // Moves to the end of the list, or leaves it.
    auto& place = call.next < call.count ? waiting : call.place;
    place.splice(place.end(), waiting, waiting.begin());
    lock.unlock();
    std::exception_ptr error;
    try {
      call.task(number);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error && (!call.error || number < call.failed_task)) {
      call.error = error;
      call.failed_task = number;
    }
    if (error && call.next < call.count) {
      call.next = call.count;
      call.place.splice(call.place.end(), waiting, std::find(waiting.begin(), waiting.end(), &call));
    }
    if (--call.running == 0 && call.next == call.count) call.ended.notify_one();
  }
}

void ThreadPool::for_each(size_t count, const std::function<void(size_t)>& task) {
  if (count == 0) return;
  if (is_started_here) return one_by_one(count, task);
  if (process_ != ::getpid())
    throw std::runtime_error(
        "the process was forked after the threads were started; open the model in the new process");
  Call call{task, count};
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->waiting.splice(state_->waiting.end(), call.place);
  if (count == 1) {
    state_->wake.notify_one();
  } else {
    state_->wake.notify_all();
  }
  call.ended.wait(lock, [&] { return call.next == call.count && call.running == 0; });
  if (call.error) std::rethrow_exception(call.error);
}

}  // namespace v0
}  // namespace transmute
