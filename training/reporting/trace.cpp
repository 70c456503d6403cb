// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/reporting/trace.h>

#include <ATen/record_function.h>
#include <transmute/common/files.h>
#include <transmute/common/json.h>

#include <nlohmann/json.hpp>

namespace transmute {
inline namespace v0 {

namespace {

Trace* recording_operations = nullptr;

struct OperationStart : at::ObserverContext {
  explicit OperationStart(int64_t time) : time(time) {}
  int64_t time;
};

std::unique_ptr<at::ObserverContext> begin_operation(const at::RecordFunction&) {
  return std::make_unique<OperationStart>(recording_operations->now());
}

void end_operation(const at::RecordFunction& function, at::ObserverContext* context) {
  recording_operations->add(function.name(), static_cast<OperationStart*>(context)->time, recording_operations->now());
}

}  // namespace

Trace::Trace(Operations operations) {
  if (operations == Operations::no) return;
  recording_operations = this;
  callback_ = at::addGlobalCallback(
      at::RecordFunctionCallback(begin_operation, end_operation)
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION, at::RecordScope::USER_SCOPE}));
}

Trace::~Trace() {
  if (recording_operations != this) return;
  at::removeCallback(callback_);
  recording_operations = nullptr;
}

Trace::Span::Span(Trace* trace, const char* name)
    : trace_(trace), name_(name), begin_(trace == nullptr ? 0 : trace->now()) {}

Trace::Span::~Span() {
  if (trace_ != nullptr) trace_->add(name_, begin_, trace_->now());
}

int64_t Trace::now() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start_).count();
}

void Trace::add(const std::string& name, int64_t begin_nanoseconds, int64_t end_nanoseconds) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto index = names_.emplace(name, static_cast<uint32_t>(names_.size())).first->second;
  const auto thread = threads_.emplace(std::this_thread::get_id(), static_cast<int>(threads_.size())).first->second;
  events_.push_back({index, thread, begin_nanoseconds, end_nanoseconds});
}

double Trace::seconds(const std::string& name) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = names_.find(name);
  if (found == names_.end()) return 0;
  int64_t nanoseconds = 0;
  for (const auto& event : events_)
    if (event.name == found->second) nanoseconds += event.end - event.begin;
  return 1e-9 * static_cast<double>(nanoseconds);
}

void Trace::write(const std::string& path) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> names(names_.size());
  for (const auto& [name, index] : names_) names[index] = json_text(name);
  // The Trace Event Format: complete events ("X"), times in microseconds.
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  for (const auto& [id, thread] : threads_)
    text += R"({"ph":"M","pid":1,"tid":)" + std::to_string(thread) +
            R"(,"name":"thread_name","args":{"name":"worker )" + std::to_string(thread) + "\"}},\n";
  for (const auto& event : events_)
    text += "{\"ph\":\"X\",\"pid\":1,\"tid\":" + std::to_string(event.thread) + ",\"name\":" + names[event.name] +
            ",\"ts\":" + std::to_string(static_cast<double>(event.begin) * 1e-3) +
            ",\"dur\":" + std::to_string(static_cast<double>(event.end - event.begin) * 1e-3) + "},\n";
  text += R"({"ph":"M","pid":1,"name":"process_name","args":{"name":"train"}}]})";
  text += '\n';
  write_file_atomically(path, text);
}

}  // namespace v0
}  // namespace transmute
