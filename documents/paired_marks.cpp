// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/paired_marks.h>

namespace transmute {
inline namespace v0 {

void PairedMarks::leave() {
  if (levels_.size() > 1) levels_.pop_back();
}

void PairedMarks::begin(const std::string& key, size_t number) {
  levels_.back().open.push_back({key, number});
  ++levels_.back().counts[key];
}

std::optional<size_t> PairedMarks::end(const std::string& key) {
  auto& [open, counts] = levels_.back();
  const auto found = counts.find(key);
  if (found == counts.end() || found->second == 0) return std::nullopt;
  while (true) {
    const Mark last = open.back();
    open.pop_back();
    --counts[last.key];
    if (last.key == key) return last.number;
  }
}

}  // namespace v0
}  // namespace transmute
