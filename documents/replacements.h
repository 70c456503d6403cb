// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace transmute {
inline namespace v0 {

/// A text and replacements for parts of it. Insertions at one place keep their order.
class Replacements {
 public:
  explicit Replacements(std::string text) : text_(std::move(text)) {}

  /// The text without the replacements.
  const std::string& text() const { return text_; }
  /// @param part bytes of text()
  void replace(std::string_view part, std::string_view by) {
    replace(static_cast<size_t>(part.data() - text_.data()), part.size(), by);
  }
  void replace(size_t at, size_t size, std::string_view by) {
    auto& [replaced, bytes] = by_[at];
    replaced = std::max(replaced, size);
    bytes += by;
  }
  void insert(size_t at, std::string_view bytes) { replace(at, 0, bytes); }
  std::string result() const {
    std::string result;
    size_t kept = 0;
    for (const auto& [at, part] : by_) {
      result.append(text_, kept, at - kept).append(part.second);
      kept = at + part.first;
    }
    return result.append(text_, kept);
  }

 private:
  std::string text_;
  std::map<size_t, std::pair<size_t, std::string>> by_;  // size of the part, and the new bytes
};

}  // namespace v0
}  // namespace transmute
