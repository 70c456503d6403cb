// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/cut_lines.h>

#include <transmute/common/progress.h>

namespace transmute {

void CutLines::add(int parts, size_t tokens) {
  if (parts < 2) return;
  ++count_;
  positions_are_fewer_ = positions_are_fewer_ || static_cast<int64_t>(tokens) <= most_tokens_;
}

std::string CutLines::reason() const {
  return positions_are_fewer_ ? "had more tokens than the model has learned positions for"
                              : "had over " + counted(most_tokens_, "token");
}

}  // namespace transmute
