// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/search/search.h>
#include <transmute/text/types.h>

#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The beginning of the translation of a part of a text that can no longer change.
struct PartSoFar {
  size_t number = 0;  ///< of the part, among those of its text
  std::string gap{};  ///< what is between the part before it and this one, see space_between
  std::string text{};
  bool is_whole = false;
};

/// Calls the hooks of one call one at a time, and counts the texts that are done. May be used by many threads: what a
/// hook asked for in one batch, or threw, holds for the others.
class CallHooks {
 public:
  /// `parts`: how many each text has; texts without any are done. `hooks` outlives it.
  CallHooks(const TranslationHooks& hooks, std::vector<size_t> parts);

  /// A function by which a batch asks whether the call should end; empty if no hook can end it. It throws Cancelled, or
  /// what a hook threw, once the call has ended by that.
  std::function<bool()> should_stop();
  /// Ends the call, if it is to end.
  /// @throws Cancelled, or what a hook threw.
  void check();
  /// True once the text is unwanted. Throws as should_stop() does.
  bool is_unwanted(size_t text);

  /// Returns the certain text of a part: `certain` are its first tokens, or all of them if `is_whole`. Nothing is
  /// returned where no text can be shown yet.
  using SoFar = std::function<std::optional<PartSoFar>(size_t sentence, const Ids& certain, bool is_whole)>;
  /// The hooks of one batch's search. `text_of` gives the text of a sentence, which is one of its parts. Without
  /// `so_far` nothing is streamed. They throw Cancelled, or what a hook threw, once the call has ended by that.
  SearchHooks search_hooks(std::function<size_t(size_t sentence)> text_of, SoFar so_far);

  /// Reports that a part of the text is done. Returns whether it was the last one: then this thread sees all of them.
  bool part_done(size_t text);
  /// Reports that the text is done. `whole` is its translation.
  void text_done(size_t text, const std::string& whole);

 private:
  template <class Hook>
  auto call(const Hook& hook) -> decltype(hook());
  bool asks_to_stop() const { return hooks_.should_stop && hooks_.should_stop(); }
  // Stores a part's certain text. Returns the text's new beginning, or nothing while an earlier part is unfinished.
  std::optional<std::string> add(size_t text, PartSoFar&& part);

  // The beginning of a text's translation.
  struct TextSoFar {
    std::string whole;                  // of the first parts
    size_t parts = 0;                   // their number
    std::map<size_t, PartSoFar> later;  // by number
  };

  const TranslationHooks& hooks_;
  std::mutex mutex_;
  std::vector<size_t> parts_left_;
  size_t done_ = 0;
  bool stopped_ = false;           // by should_stop
  std::exception_ptr error_;       // the first that a hook threw
  std::vector<bool> is_unwanted_;  // each text, once a hook has said so
  std::vector<TextSoFar> so_far_;  // of each text
};

}  // namespace v0
}  // namespace transmute
