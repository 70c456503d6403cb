// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/call_hooks.h>

#include <transmute/text/sentences.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// The bytes of a character that is not complete yet decode as U+FFFD.
std::string without_incomplete_end(std::string text) {
  constexpr std::string_view kReplacement = "\uFFFD";
  while (text.size() >= kReplacement.size() &&
         text.compare(text.size() - kReplacement.size(), kReplacement.size(), kReplacement) == 0)
    text.resize(text.size() - kReplacement.size());
  return text;
}

}  // namespace

CallHooks::CallHooks(const TranslationHooks& hooks, std::vector<size_t> parts)
    : hooks_(hooks),
      parts_left_(std::move(parts)),
      done_(static_cast<size_t>(std::count(parts_left_.begin(), parts_left_.end(), size_t{0}))),
      is_unwanted_(parts_left_.size()),
      so_far_(parts_left_.size()) {}

template <class Hook>
auto CallHooks::call(const Hook& hook) -> decltype(hook()) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (error_) std::rethrow_exception(error_);
  if (stopped_) throw Cancelled();
  try {
    return hook();
  } catch (...) {
    error_ = std::current_exception();
    throw;
  }
}

std::function<bool()> CallHooks::should_stop() {
  // Other hooks alone are reason enough: they may have thrown in another batch.
  if (!hooks_.should_stop && !hooks_.is_unwanted && !hooks_.on_text && !hooks_.on_progress) return {};
  return [this] { return call([this] { return stopped_ = asks_to_stop(); }); };
}

void CallHooks::check() {
  if (const auto stop = should_stop(); stop && stop()) throw Cancelled();
}

bool CallHooks::is_unwanted(size_t text) {
  if (!hooks_.is_unwanted) return false;
  return call([&]() -> bool {
    if (!is_unwanted_[text] && hooks_.is_unwanted(text)) is_unwanted_[text] = true;
    return is_unwanted_[text];
  });
}

SearchHooks CallHooks::search_hooks(std::function<size_t(size_t sentence)> text_of, SoFar so_far) {
  SearchHooks search;
  search.should_stop = should_stop();
  if (hooks_.is_unwanted)
    search.is_unwanted = [this, text_of](size_t sentence) { return is_unwanted(text_of(sentence)); };
  if (hooks_.on_text && so_far)
    search.on_tokens = [this, text_of = std::move(text_of), so_far = std::move(so_far)](
                           size_t sentence, const Ids& certain, bool is_whole) {
      std::optional<PartSoFar> part = so_far(sentence, certain, is_whole);
      if (!part) return;
      if (!part->is_whole) part->text = without_incomplete_end(std::move(part->text));
      call([&] {
        const size_t text = text_of(sentence);
        if (const auto words = add(text, std::move(*part))) hooks_.on_text(text, *words);
      });
    };
  return search;
}

std::optional<std::string> CallHooks::add(size_t text, PartSoFar&& part) {
  auto& [whole, parts, later] = so_far_[text];
  const bool is_next = part.number == parts;
  later[part.number] = std::move(part);
  if (!is_next) return {};
  for (auto next = later.begin(); next != later.end() && next->first == parts; next = later.erase(next)) {
    const PartSoFar& following = next->second;
    std::string longer = whole + space_between(whole, following.text, following.gap) + following.text;
    if (!following.is_whole) return longer;
    whole = std::move(longer);
    ++parts;
  }
  return whole;
}

bool CallHooks::part_done(size_t text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return --parts_left_[text] == 0;
}

void CallHooks::text_done(size_t text, const std::string& whole) {
  call([&] {
    if (hooks_.on_text) hooks_.on_text(text, whole);
    if (hooks_.on_progress) hooks_.on_progress(++done_, parts_left_.size());
  });
}

}  // namespace v0
}  // namespace transmute
