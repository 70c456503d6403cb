// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Spans of time from any number of threads, which show where the time goes, written as a trace file for
/// chrome://tracing or Perfetto (ui.perfetto.dev). Spans on one thread may lie inside each other.
class Trace {
 public:
  /// A recording of operations. An operation that another thread began may end after the trace's life.
  class Recording {
   public:
    void add(const std::string& name, int64_t begin_nanoseconds, int64_t end_nanoseconds);
    int64_t now() const;  ///< nanoseconds since the trace began
    double seconds(const std::string& name) const;
    std::string text() const;  ///< content of the trace file

   private:
    struct Event {
      uint32_t name;  // index into names_
      int thread;
      int64_t begin, end;
    };

    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    mutable std::mutex mutex_;
    std::vector<Event> events_;
    std::map<std::string, uint32_t> names_;
    std::map<std::thread::id, int> threads_;
  };

  enum class Operations { no, yes };

  /// If `operations`, LibTorch's operations on all threads become spans as well, while the object lives; one trace at a
  /// time can have them.
  explicit Trace(Operations operations = Operations::no);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// A span of the calling thread, from here to the end of the object's life. A null trace records nothing.
  class Span {
   public:
    Span(Trace* trace, const char* name);
    ~Span();
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    std::shared_ptr<Recording> recording_;
    const char* name_;
    int64_t begin_;
  };

  /// Seconds inside the spans of a name, all threads together.
  double seconds(const std::string& name) const;

  /// Writes the spans recorded so far.
  /// @throws std::runtime_error naming the file if it cannot be written.
  void write(const std::string& path) const;

 private:
  const std::shared_ptr<Recording> recording_ = std::make_shared<Recording>();
  uint64_t callback_ = 0;  // of LibTorch's operations; 0: they are not recorded
};

/// Traces a few early steps: from the first step with warm caches and memory on, and few enough for a file that can be
/// opened.
class StepProfile {
 public:
  static constexpr int64_t kFirst = 5, kLast = 24;  ///< the steps that are traced

  /// Traces nothing.
  StepProfile() = default;
  /// @throws std::runtime_error if `path` cannot be written, now rather than after the traced steps.
  explicit StepProfile(std::string path);

  /// Call it before each step.
  /// @returns whether the file was written, as after the last traced step.
  bool begin_step();
  /// Writes the steps traced since the last call.
  /// @returns whether there were any.
  bool write();

  /// True if the training had too few steps for a trace.
  bool is_empty() const { return !path_.empty() && steps_ < kFirst; }

  /// The trace of the current step; null if it is not traced.
  Trace* trace() const { return trace_.get(); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;  // empty: traces nothing
  int64_t steps_ = 0;
  std::unique_ptr<Trace> trace_;
};

}  // namespace v0
}  // namespace transmute
