// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/paired_marks.h>

namespace transmute {
inline namespace v0 {

void PairedMarks::enter() {
  open_.emplace_back("", 0);
}

void PairedMarks::leave() {
  while (!open_.empty() && !open_.back().first.empty()) open_.pop_back();
  if (!open_.empty()) open_.pop_back();
}

void PairedMarks::begin(std::string key, size_t number) {
  open_.emplace_back(std::move(key), number);
}

std::optional<size_t> PairedMarks::end(const std::string& key) {
  for (size_t i = open_.size(); i-- > 0 && !open_[i].first.empty();) {
    if (open_[i].first != key) continue;
    const size_t number = open_[i].second;
    open_.resize(i);
    return number;
  }
  return std::nullopt;
}

}  // namespace v0
}  // namespace transmute
