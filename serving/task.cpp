// SPDX-License-Identifier: Apache-2.0
#include <transmute/serving/task.h>

#include <transmute/serving/api_request.h>
#include <transmute/text/inline_tags.h>
#include <transmute/text/source_parts.h>

#include <atomic>
#include <map>
#include <mutex>
#include <new>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

Translation unchanged(const std::string& text) {
  Translation translation;
  translation.hypotheses.emplace_back();
  translation.hypotheses.front().text = text;
  return translation;
}

// The batcher's texts are segments of several requests: an error has the number of the request's own text. Where memory
// is too short for that error, it is std::bad_alloc, which must not end the batcher's thread.
std::exception_ptr of_text(size_t document, const std::exception_ptr& error) {
  try {
    try {
      std::rethrow_exception(error);
    } catch (const BadText& bad) {
      throw BadText(document, bad.reason());
    }
  } catch (...) {
    return std::current_exception();
  }
}

// A request's segments on their way through the batcher.
class Task : public std::enable_shared_from_this<Task> {
 public:
  Task(TaskRequest request, Batcher& batcher) : request_(std::move(request)), batcher_(batcher) {
    for (const Document& document : request_.documents) {
      translations_.emplace_back(document.segments().size());
      warnings_.emplace_back(document.segments().size());
      so_far_.emplace_back(document.segments().size());
      is_done_.emplace_back(document.segments().size());
      left_ += document.segments().size();
      for (const std::string& text : document.segments()) bytes_ += text.size();
    }
    unfinished_.resize(request_.documents.size());
    told_.resize(request_.documents.size());
  }

  bool start() {
    std::vector<Segment> segments;
    for (size_t document = 0; document < translations_.size(); ++document) {
      std::string tag;  // for all segments that follow it
      for (size_t i = 0; i < translations_[document].size(); ++i) {
        const std::string& text = request_.documents[document].segments()[i];
        if (route_of(document).models.empty()) {
          translations_[document][i] = unchanged(text);
          --left_;
          continue;
        }
        if (const std::string own = tag_of(text, route_of(document)); !own.empty()) tag = own;
        segments.push_back(segment({document, i}, 0, text));
        if (!tag.empty()) segments.back().options = options_with(tag, segments.back().options);
      }
    }
    if (segments.empty()) {
      request_.on_done(std::move(translations_));
      return true;
    }
    return batcher_.submit(std::move(segments));
  }

 private:
  struct Place {
    size_t document, segment;
  };

  const TaskRoute& route_of(size_t document) const { return *request_.routes[document]; }

  // The language tag at the start of a segment, if the route's first model has tags.
  static std::string tag_of(const std::string& segment, const TaskRoute& route) {
    const SubwordModel& tokenizer = route.models.front().model->tokenizer().source();
    if (tokenizer.languages() != LanguagePieces::tags) return "";
    return leading_tag(tokenizer, route.options->translation.inline_tags ? TaggedText(segment).plain() : segment);
  }

  std::shared_ptr<const SegmentOptions> options_with(const std::string& tag,
                                                     const std::shared_ptr<const SegmentOptions>& options) {
    std::shared_ptr<const SegmentOptions>& tagged = tagged_options_[{options, tag}];
    if (!tagged) {
      TranslationOptions translation = options->translation;
      translation.target_language = tag;
      const std::string key = key_of(translation);
      tagged = std::make_shared<const SegmentOptions>(SegmentOptions{std::move(translation), key});
    }
    return tagged;
  }

  Segment segment(Place place, size_t hop, const std::string& text) {
    const TaskRoute& route = route_of(place.document);
    const bool is_last = hop + 1 == route.models.size();
    Segment segment;
    segment.model = route.models[hop].model;
    segment.options = is_last ? route.options : route.earlier_options;
    segment.text = text;
    segment.request_bytes = bytes_;
    if (is_last && !request_.prefixes.empty()) segment.prefix = request_.prefixes[place.document];
    segment.is_unwanted = [self = shared_from_this()] { return self->is_unwanted(); };
    if (is_last && request_.on_text)
      segment.on_text = [self = shared_from_this(), place](const std::string& so_far) { self->tell(place, so_far); };
    segment.done = [self = shared_from_this(), place, hop](Translation translation) {
      self->take(place, hop, std::move(translation));
    };
    segment.failed = [self = shared_from_this(), place](const std::exception_ptr& error) {
      self->fail(of_text(place.document, error));
    };
    return segment;
  }

  bool is_unwanted() {
    if (failed_) return true;
    return request_.is_unwanted && request_.is_unwanted();
  }

  void tell(Place place, const std::string& so_far) {
    const std::lock_guard<std::mutex> lock(mutex_);
    // One that is abandoned ends empty, and one that is translated again begins anew.
    std::string& before = so_far_[place.document][place.segment];
    if (failed_ || so_far.compare(0, before.size(), before) != 0) return;
    before = so_far;
    tell_if_longer(place.document);
  }

  // Segments end in any order, but a text only grows: what comes after an unfinished one waits.
  void tell_if_longer(size_t document) {
    size_t& unfinished = unfinished_[document];
    while (unfinished < is_done_[document].size() && is_done_[document][unfinished]) ++unfinished;
    if (!request_.on_text || (request_.wants_text && !request_.wants_text())) return;
    std::string text = request_.documents[document].beginning(so_far_[document], unfinished);
    if (text == told_[document]) return;
    request_.on_text(document, text);
    told_[document] = std::move(text);
  }

  void take(Place place, size_t hop, Translation translation) {
    std::vector<TranslationWarning>& warnings = warnings_[place.document][place.segment];  // no other thread has it
    take_warnings(translation, place.document, hop, warnings);
    if (hop + 1 < route_of(place.document).models.size())
      return batcher_.continue_with(segment(place, hop + 1, translation.hypotheses.front().text));
    translation.warnings = std::move(warnings);
    const std::lock_guard<std::mutex> lock(mutex_);
    so_far_[place.document][place.segment] = translation.hypotheses.front().text;
    is_done_[place.document][place.segment] = true;
    translations_[place.document][place.segment] = std::move(translation);
    if (failed_) return;
    --left_ == 0 ? request_.on_done(std::move(translations_)) : tell_if_longer(place.document);
  }

  // Warnings of a pivot's translation name places of a text that the answer does not have.
  void take_warnings(const Translation& translation, size_t document, size_t hop,
                     std::vector<TranslationWarning>& warnings) const {
    for (TranslationWarning warning : translation.warnings) {
      if (hop > 0) warning.source = {};
      if (hop + 1 < route_of(document).models.size()) warning.target = {};
      warnings.push_back(std::move(warning));
    }
  }

  void fail(const std::exception_ptr& error) {
    const std::lock_guard<std::mutex> lock(mutex_);
    try {
      if (!failed_.exchange(true)) request_.on_failed(error);
    } catch (const std::bad_alloc&) {
      // If the call is destroyed unanswered, the server answers with status 500.
    }
  }

  const TaskRequest request_;
  Batcher& batcher_;
  std::mutex mutex_;
  std::vector<std::vector<Translation>> translations_;
  std::vector<std::vector<std::vector<TranslationWarning>>> warnings_;  // warnings of each segment so far
  std::vector<std::vector<std::string>> so_far_;
  std::vector<std::vector<bool>> is_done_;
  // For first models, by their own options and the tag.
  std::map<std::pair<std::shared_ptr<const SegmentOptions>, std::string>, std::shared_ptr<const SegmentOptions>>
      tagged_options_;
  std::vector<size_t> unfinished_;  // for each document, its first segment that is not done
  std::vector<std::string> told_;   // what on_text was told of each document
  size_t left_ = 0;                 // segments without a translation
  size_t bytes_ = 0;                // size of all segments of the request
  std::atomic<bool> failed_{false};
};

}  // namespace

bool start_task(TaskRequest request, Batcher& batcher) {
  return std::make_shared<Task>(std::move(request), batcher)->start();
}

std::string text_of(const Document& document, const std::vector<Translation>& translations) {
  std::vector<std::string> best;
  for (const Translation& translation : translations) best.push_back(translation.hypotheses.front().text);
  return document.with(best);
}

}  // namespace v0
}  // namespace transmute
