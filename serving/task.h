// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/documents/document.h>
#include <transmute/serving/batcher.h>
#include <transmute/serving/models.h>

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The models and options that translate a text.
struct TaskRoute {
  std::string source{};                                     ///< the text's language
  ModelSet::Route models{};                                 ///< none: the text stays as it is
  std::shared_ptr<const SegmentOptions> options{};          ///< options of the last model
  std::shared_ptr<const SegmentOptions> earlier_options{};  ///< options of the models before it
};

/// The texts that a request asks to be translated, and how. The functions are called from the batcher's threads, one at
/// a time.
struct TaskRequest {
  std::vector<Document> documents;
  std::vector<std::string> prefixes{};                   ///< one for each document of one segment, or none
  std::vector<std::shared_ptr<const TaskRoute>> routes;  ///< one for each document
  std::function<bool()> is_unwanted{};                   ///< see Segment; may be called by many threads at once
  /// True if on_text is wanted right now; it is not called while this is false.
  std::function<bool()> wants_text{};
  /// The beginning of the document's translation, longer each time; only where it is set.
  std::function<void(size_t document, const std::string& so_far)> on_text{};
  /// The translations of each document's segments. Called once, unless on_failed is.
  std::function<void(std::vector<std::vector<Translation>> translations)> on_done;
  std::function<void(std::exception_ptr error)> on_failed;
};

/// Begins to translate. False if the batcher has no room; nothing will be called then.
bool start_task(TaskRequest request, Batcher& batcher);

/// The best translations of a document's segments, put together.
std::string text_of(const Document& document, const std::vector<Translation>& translations);

}  // namespace v0
}  // namespace transmute
