// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace transmute {
inline namespace v0 {

/// The plural forms of a language, as the header of a catalog describes them.
class PluralForms {
 public:
  static constexpr size_t kMost = 10;  ///< maximum number of forms; languages have at most 6

  /// Makes a description in which no forms are known.
  PluralForms() = default;
  /// @param header with a line such as "Plural-Forms: nplurals=2; plural=n != 1;"
  explicit PluralForms(const std::string& header);

  /// Number of forms; 0 if the header does not say.
  size_t count() const { return count_; }
  /// The form for one of something.
  size_t singular() const { return singular_; }

 private:
  size_t count_ = 0, singular_ = 0;
};

}  // namespace v0
}  // namespace transmute
