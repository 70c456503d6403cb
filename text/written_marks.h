// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/rewriting.h>

#include <cstdint>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The text that a vocabulary reads in the place of a mark that it lacks: ' for ’, " for “, - for –, x for ×, 1/2 for
/// ½. Empty if there is nothing like it in ASCII.
std::string ascii_of(int32_t character);

/// A mark of a text that is read in ASCII.
struct AsciiMark {
  size_t place;         ///< byte of the text as it is read
  std::string written;  ///< the mark
  std::string read;
  bool follows_number = false;  ///< a fraction, before which a space is read that the text does not have
};

/// Marks that were read in ASCII, for translations that have them so.
class WrittenMarks {
 public:
  /// @param source as it is read
  WrittenMarks(const std::string& source, const std::vector<AsciiMark>& marks);

  bool exist() const { return !marks_.empty(); }

  /// Writes marks as the source does. Quotation marks and apostrophes get the form that the source has at the
  /// beginning, at the end or within words; a dash between words that form which a dash of the source between the same
  /// words has; others that of the source's in their order, if there are as many.
  void restore(Rewriting& translation) const;

 private:
  std::string source_;
  std::vector<AsciiMark> marks_;  // in order
};

}  // namespace v0
}  // namespace transmute
