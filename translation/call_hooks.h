// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/search/search.h>
#include <transmute/text/types.h>

#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Calls the hooks of one call one at a time, and counts the texts that are done. May be used by many threads: what a
/// hook asked for in one batch, or threw, holds for the others.
class CallHooks {
 public:
  /// `parts`: how many each text has; texts without any are done. `hooks` outlives it.
  CallHooks(const TranslationHooks& hooks, std::vector<size_t> parts);

  /// The question of a batch whether the call is to end; empty if no hook can end it. Throws Cancelled, or what a hook
  /// threw, once the call has ended by that.
  std::function<bool()> should_stop();
  /// Ends the call, if it is to end.
  /// @throws Cancelled, or what a hook threw.
  void check();

  /// The hooks of one batch's search. `text_of` gives the text of a sentence, and `so_far` what can be said of a text
  /// whose translation begins with `certain`, if anything; empty: nothing. They throw Cancelled, or what a hook threw,
  /// once the call has ended by that.
  SearchHooks search_hooks(std::function<size_t(size_t sentence)> text_of,
                           std::function<std::optional<std::string>(size_t text, const Ids& certain)> so_far);

  /// A part of the text is done. Returns whether it was the last one: then this thread sees all of them.
  bool part_done(size_t text);
  /// The text is done, and `whole` is its translation.
  void text_done(size_t text, const std::string& whole);

 private:
  template <class Hook>
  auto call(const Hook& hook) -> decltype(hook());
  bool asks_to_stop() const { return hooks_.should_stop && hooks_.should_stop(); }

  const TranslationHooks& hooks_;
  std::mutex mutex_;
  std::vector<size_t> parts_left_;
  size_t done_ = 0;
  bool stopped_ = false;           // by should_stop
  std::exception_ptr error_;       // the first that a hook threw
  std::vector<bool> is_unwanted_;  // each text, once a hook has said so
};

}  // namespace v0
}  // namespace transmute
