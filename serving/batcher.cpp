// SPDX-License-Identifier: Apache-2.0
#include <transmute/serving/batcher.h>

#include <transmute/common/threads.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

constexpr int kMostOvertaking = 3;  // jobs, or batches, that may overtake the oldest job or segment

// Requests of the same magnitude do not overtake each other.
int magnitude_of_request(const Segment& segment) {
  constexpr size_t kAlwaysSmall = 512;
  return std::ilogb(static_cast<double>(std::max(kAlwaysSmall, segment.request_bytes)));
}

bool is_unwanted(const Segment& segment) {
  return segment.is_unwanted && segment.is_unwanted();
}

// Never throws: without memory for the message, the segment fails as std::bad_alloc.
void cancel(const Segment& segment) {
  try {
    throw Cancelled();
  } catch (...) {
    segment.failed(std::current_exception());
  }
}

// Chooses the segments that share a batch with the first one, so that the batch is about one search: the translator
// divides a larger one into several searches, and returns only after the last.
class BatchSize {
 public:
  explicit BatchSize(const Segment& first)
      : most_bytes_(kBytesPerToken * static_cast<size_t>(first.options->translation.batch_tokens)),
        most_of_one_(std::max(kAlwaysShort, 2 * length(first))) {}
  /// Counts the segment if it is not much longer than the first, and the batch stays small enough.
  bool take(const Segment& segment) {
    const size_t longest = std::max(longest_, length(segment));
    const bool fits = longest <= most_of_one_ && (segments_ + 1) * longest <= most_bytes_;
    if (segments_ > 0 && !fits) return false;
    longest_ = longest;
    ++segments_;
    return true;
  }

 private:
  static constexpr size_t kBytesPerToken = 4, kAlwaysShort = 512;
  static size_t length(const Segment& segment) { return std::max(segment.text.size(), segment.prefix.size()); }

  const size_t most_bytes_, most_of_one_;
  size_t segments_ = 0, longest_ = 0;
};

}  // namespace

Batcher::Batcher(const BatcherOptions& options, std::function<void(size_t)> on_batch)
    : options_(options), on_batch_(std::move(on_batch)) {
  try {
    start_threads(threads_, 1 + options.workers, [this](int thread) { thread == 0 ? run_jobs() : work(); });
  } catch (...) {
    stop();
    throw;
  }
}

Batcher::~Batcher() {
  stop();
}

void Batcher::stop() {
  std::deque<Segment> left;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    left.swap(waiting_);
  }
  wake_.notify_all();
  wake_for_job_.notify_all();
  for (const Segment& segment : left) cancel(segment);
  for (auto& thread : threads_) thread.join();
}

bool Batcher::submit(std::vector<Segment> segments) {
  size_t bytes = 0;
  for (const Segment& segment : segments) bytes += segment.text.size();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (stop_ || state_.waiting_segments + segments.size() > options_.max_segments ||
        state_.waiting_bytes + bytes > options_.max_bytes)
      return false;
    const BatcherState before = state_;
    try {
      for (Segment& segment : segments) push(std::move(segment));
    } catch (...) {  // all or nothing
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(before.waiting_segments), waiting_.end());
      state_ = before;
      throw;
    }
  }
  wake_.notify_all();
  return true;
}

void Batcher::continue_with(Segment segment) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!stop_) {
      push(std::move(segment));
      wake_.notify_one();
      return;
    }
  }
  cancel(segment);
}

bool Batcher::run(std::function<void()> job, size_t bytes) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const bool has_room =
        jobs_.empty() || (jobs_.size() < options_.max_jobs && job_bytes_ + bytes <= options_.max_job_bytes);
    if (!has_room) return false;
    jobs_.emplace_back(std::move(job), bytes);
    job_bytes_ += bytes;
  }
  wake_for_job_.notify_one();
  return true;
}

void Batcher::run_jobs() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    wake_for_job_.wait(lock, [&] { return stop_ || !jobs_.empty(); });
    if (stop_) return;
    {
      const auto is_smaller = [](const auto& a, const auto& b) { return a.second < b.second; };
      const auto next =
          overtaking_jobs_ < kMostOvertaking ? std::min_element(jobs_.begin(), jobs_.end(), is_smaller) : jobs_.begin();
      overtaking_jobs_ = next == jobs_.begin() ? 0 : overtaking_jobs_ + 1;
      const auto [job, bytes] = std::move(*next);
      jobs_.erase(next);
      job_bytes_ -= bytes;
      lock.unlock();
      job();
    }
    lock.lock();
  }
}

void Batcher::push(Segment segment) {
  const size_t bytes = segment.text.size();
  waiting_.push_back(std::move(segment));  // may throw; only what is in the queue is counted
  ++state_.waiting_segments;
  state_.waiting_bytes += bytes;
}

BatcherState Batcher::state() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  BatcherState state = state_;
  state.waiting_jobs = jobs_.size();
  return state;
}

void Batcher::work() {
  while (true) {
    std::vector<Segment> batch;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || !waiting_.empty(); });
      if (stop_) return;
      try {
        batch = take_batch();
      } catch (const std::bad_alloc&) {  // other work may free some
        wake_.wait_for(lock, std::chrono::milliseconds(10));
        continue;
      }
      state_.running_segments += batch.size();
    }
    const size_t size = batch.size();
    translate(std::move(batch));
    const std::lock_guard<std::mutex> lock(mutex_);
    state_.running_segments -= size;
  }
}

// The waiting segments in the order in which the next batch takes them.
std::vector<Segment*> Batcher::in_order() {
  std::vector<Segment*> order;
  order.reserve(waiting_.size());
  for (Segment& segment : waiting_) order.push_back(&segment);
  if (overtaking_batches_ < kMostOvertaking)
    std::stable_sort(order.begin(), order.end(), [](const Segment* a, const Segment* b) {
      return magnitude_of_request(*a) < magnitude_of_request(*b);
    });
  return order;
}

// The first segment and those that go with it; as many as leave the other workers their share.
std::vector<Segment*> Batcher::first_of(const std::vector<Segment*>& order) const {
  const auto goes_along = [first = order.front()](const Segment* segment) {
    return segment->model == first->model &&
           (segment->options == first->options || segment->options->key == first->options->key);
  };
  const auto alike = static_cast<size_t>(std::count_if(order.begin(), order.end(), goes_along));
  const auto workers = static_cast<size_t>(options_.workers);
  const size_t wanted = std::min(static_cast<size_t>(options_.batch_size), (alike + workers - 1) / workers);
  std::vector<Segment*> chosen;
  BatchSize size(*order.front());
  for (Segment* const segment : order) {
    if (chosen.size() == wanted) break;
    if (goes_along(segment) && size.take(*segment)) chosen.push_back(segment);
  }
  return chosen;
}

// Segments that nobody waits for leave the queue at once, as a batch of their own, because they only take up room.
std::vector<Segment> Batcher::take_batch() {
  const std::vector<Segment*> order = in_order();
  std::vector<Segment> batch;
  batch.reserve(order.size());  // allocates before any segment leaves the queue, because it may fail
  const auto take = [&](Segment* segment) {
    --state_.waiting_segments;
    state_.waiting_bytes -= segment->text.size();
    batch.push_back(std::move(*segment));
    segment->model = nullptr;  // marks it as taken
  };
  for (Segment* const segment : order)
    if (is_unwanted(*segment)) take(segment);
  if (batch.empty()) {
    for (Segment* const segment : first_of(order)) take(segment);
    overtaking_batches_ = waiting_.front().model ? overtaking_batches_ + 1 : 0;
  }
  waiting_.erase(std::remove_if(waiting_.begin(), waiting_.end(), [](const Segment& one) { return !one.model; }),
                 waiting_.end());
  return batch;
}

void Batcher::translate(std::vector<Segment> batch) {
  const auto unwanted =
      std::stable_partition(batch.begin(), batch.end(), [](const Segment& segment) { return !is_unwanted(segment); });
  std::for_each(unwanted, batch.end(), cancel);
  batch.erase(unwanted, batch.end());
  if (batch.empty()) return;
  if (on_batch_) on_batch_(batch.size());
  std::vector<Translation> translations;
  try {
    translations = translate_together(batch);
  } catch (...) {
    if (batch.size() == 1) return batch.front().failed(std::current_exception());
  }
  if (!translations.empty()) return hand_out(batch, std::move(translations));
  // One segment caused the failure: each is translated alone, so that the others succeed.
  for (Segment& segment : batch) {
    std::vector<Segment> alone;
    try {
      alone.reserve(1);
    } catch (const std::bad_alloc&) {
      segment.failed(std::current_exception());
      continue;
    }
    alone.push_back(std::move(segment));
    translate(std::move(alone));
  }
}

std::vector<Translation> Batcher::translate_together(const std::vector<Segment>& batch) {
  TranslationOptions options = batch.front().options->translation;
  options.batch_size = options_.batch_size;
  std::vector<std::string> texts;
  TranslationHooks hooks;
  bool has_prefix = false, is_watched = false;
  for (const Segment& segment : batch) {
    texts.push_back(segment.text);
    options.target_prefixes.push_back(segment.prefix);
    has_prefix = has_prefix || !segment.prefix.empty();
    is_watched = is_watched || segment.on_text;
  }
  if (!has_prefix) options.target_prefixes.clear();
  hooks.is_unwanted = [&](size_t text) { return stop_ || is_unwanted(batch[text]); };
  if (is_watched && !options.inline_tags)
    hooks.on_text = [&](size_t text, const std::string& so_far) {
      if (batch[text].on_text) batch[text].on_text(so_far);
    };
  return batch.front().model->translate_batch(texts, options, hooks);
}

// If one answer fails, for example for lack of memory, the others are still delivered.
void Batcher::hand_out(const std::vector<Segment>& batch, std::vector<Translation> translations) {
  for (size_t i = 0; i < batch.size(); ++i) try {
      if (stop_ || is_unwanted(batch[i])) {
        cancel(batch[i]);
      } else {
        batch[i].done(std::move(translations[i]));
      }
    } catch (...) {
      batch[i].failed(std::current_exception());
    }
}

}  // namespace v0
}  // namespace transmute
