// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/attached_marks.h>
#include <transmute/text/tag_placement.h>
#include <transmute/text/written_forms.h>
#include <transmute/text/written_marks.h>
#include <transmute/text/written_numbers.h>

#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The words and marks of a text that a model reads in another form, and its translation gets back.
class WrittenText {
 public:
  explicit WrittenText(const TagSource& source)
      : forms_(source.plain),
        numbers_(source.plain),
        marks_(source.plain, source.marks),
        attached_(source.plain),
        joining_(source.plain),
        ellipsis_(source) {}

  bool exist() const {
    return forms_.exist() || numbers_.exist() || marks_.exist() || attached_.exist() || joining_.exist() ||
           ellipsis_.exists();
  }
  /// @param kept what the caller demands of the translation, which stays as it is
  RecasedText restore(const std::string& translation, const std::vector<std::string>& kept) const {
    Rewriting rewriting(translation, kept);
    forms_.restore(rewriting);
    numbers_.restore(rewriting);
    marks_.restore(rewriting);
    attached_.restore(rewriting);
    joining_.restore(rewriting);
    ellipsis_.restore(rewriting);
    return rewriting.rewritten();
  }

 private:
  WrittenForms forms_;
  WrittenNumbers numbers_;
  WrittenMarks marks_;
  AttachedMarks attached_;
  JoiningMarks joining_;
  EndingEllipsis ellipsis_;
};

}  // namespace v0
}  // namespace transmute
