// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/shared/unknown_text.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <transmute/common/progress.h>
#include <transmute/programs/shared/program.h>

namespace transmute {

void UnknownText::add(const Translation& translation) {
  constexpr size_t kMostExamples = 20;
  if (translation.unknown.empty()) return;
  ++count_;
  for (const std::string& text : translation.unknown) {
    if (known_examples_.count(text) > 0) continue;
    has_more_ = examples_.size() == kMostExamples;
    if (has_more_) return;
    known_examples_.insert(text);
    examples_.push_back(text);
  }
}

void UnknownText::report(const std::string& lines) const {
  if (count_ == 0) return;
  note(
      fmt::format("{} of {} had text that the model's vocabulary lacks and the model could not read: {}{}; a model "
                  "trained with tokenizer.byte_fallback: true reads every character",
                  format_count(count_), lines, fmt::join(examples_, " "), has_more_ ? " …" : ""));
}

}  // namespace transmute
