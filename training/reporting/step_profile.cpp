// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/reporting/step_profile.h>

#include <utility>

namespace transmute {
inline namespace v0 {

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
