// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/reporting/trace.h>

#include <ATen/record_function.h>
#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/common/json.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

std::shared_ptr<Trace::Recording>
    recording_of_operations;  // accessed atomically, because threads that outlive the trace use it, too

struct OperationStart : at::ObserverContext {
  explicit OperationStart(std::shared_ptr<Trace::Recording> to) : recording(std::move(to)), time(recording->now()) {}
  const std::shared_ptr<Trace::Recording> recording;
  const int64_t time;
};

std::unique_ptr<at::ObserverContext> begin_operation(const at::RecordFunction&) {
  auto recording = std::atomic_load(&recording_of_operations);
  if (!recording) return nullptr;
  return std::make_unique<OperationStart>(std::move(recording));
}

void end_operation(const at::RecordFunction& function, at::ObserverContext* context) {
  if (context == nullptr) return;
  const auto* start = static_cast<OperationStart*>(context);
  start->recording->add(function.name(), start->time, start->recording->now());
}

}  // namespace

Trace::Trace(Operations operations) {
  if (operations == Operations::no) return;
  std::atomic_store(&recording_of_operations, recording_);
  callback_ = at::addGlobalCallback(
      at::RecordFunctionCallback(begin_operation, end_operation)
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION, at::RecordScope::USER_SCOPE}));
}

Trace::~Trace() {
  if (callback_ == 0) return;
  at::removeCallback(callback_);
  std::atomic_store(&recording_of_operations, std::shared_ptr<Recording>());
}

Trace::Span::Span(Trace* trace, const char* name)
    : recording_(trace == nullptr ? nullptr : trace->recording_),
      name_(name),
      begin_(recording_ ? recording_->now() : 0) {}

Trace::Span::~Span() {
  if (recording_) recording_->add(name_, begin_, recording_->now());
}

double Trace::seconds(const std::string& name) const {
  return recording_->seconds(name);
}

void Trace::write(const std::string& path) const {
  write_file_atomically(path, recording_->text());
}

int64_t Trace::Recording::now() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start_).count();
}

void Trace::Recording::add(const std::string& name, int64_t begin_nanoseconds, int64_t end_nanoseconds) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto index = names_.emplace(name, static_cast<uint32_t>(names_.size())).first->second;
  const auto thread = threads_.emplace(std::this_thread::get_id(), static_cast<int>(threads_.size())).first->second;
  events_.push_back({index, thread, begin_nanoseconds, end_nanoseconds});
}

double Trace::Recording::seconds(const std::string& name) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = names_.find(name);
  if (found == names_.end()) return 0;
  int64_t nanoseconds = 0;
  for (const auto& event : events_)
    if (event.name == found->second) nanoseconds += event.end - event.begin;
  return 1e-9 * static_cast<double>(nanoseconds);
}

std::string Trace::Recording::text() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> names(names_.size());
  for (const auto& [name, index] : names_) names[index] = json_text(name);
  // The Trace Event Format: complete events ("X"), times in microseconds.
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  for (const auto& [id, thread] : threads_)
    text +=
        fmt::format(R"({{"ph":"M","pid":1,"tid":{0},"name":"thread_name","args":{{"name":"worker {0}"}}}},)", thread) +
        '\n';
  for (const auto& event : events_)
    text += fmt::format(R"({{"ph":"X","pid":1,"tid":{},"name":{},"ts":{:.6f},"dur":{:.6f}}},)", event.thread,
                        names[event.name], static_cast<double>(event.begin) * 1e-3,
                        static_cast<double>(event.end - event.begin) * 1e-3) +
            '\n';
  text += R"({"ph":"M","pid":1,"name":"process_name","args":{"name":"train"}}]})";
  return text + '\n';
}

StepProfile::StepProfile(std::string path) : path_(std::move(path)) {
  Trace().write(path_);
}

bool StepProfile::begin_step() {
  if (path_.empty()) return false;
  ++steps_;
  if (steps_ == kFirst) trace_ = std::make_unique<Trace>(Trace::Operations::yes);
  return steps_ == kLast + 1 && write();
}

bool StepProfile::write() {
  if (!trace_) return false;
  trace_->write(path_);
  trace_.reset();
  return true;
}

}  // namespace v0
}  // namespace transmute
