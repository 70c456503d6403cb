// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/document_texts.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/documents/document.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

// Unpacked bytes of the parts that are translated together; a larger part is translated alone. Their texts fill the
// translator's batches, however small the parts are.
constexpr size_t kBytesTogether = size_t{8} << 20;

class PartsInOrder {
 public:
  PartsInOrder(const Translator& translator, const DocumentParts& document, TranslationOptions options,
               const DocumentCall& call)
      : translator_(translator), document_(document), options_(std::move(options)), call_(call) {
    options_.inline_tags = document.text_format() != TextFormat::text;
    hooks_ = call.hooks;
    hooks_.on_text = nullptr;
    if (call.hooks.on_progress)
      hooks_.on_progress = [this](size_t done, size_t) { call_.hooks.on_progress(done_ + done, call_.segments); };
  }

  // The translated content of the part after the one before; none if it has no texts.
  std::optional<std::string> next() {
    if (open_.empty()) translate_parts();
    const OpenPart part = std::move(open_.front());
    open_.pop_front();
    if (!part.file) return std::nullopt;
    return part.file->with(part.translations);
  }

 private:
  struct OpenPart {
    std::shared_ptr<const DocumentFile> file;
    std::vector<std::string> translations;
  };
  struct PendingText {
    size_t part;  // in open_
    Document segments;
  };

  void translate_parts() {
    size_t bytes = 0;
    do {
      bytes += document_.bytes(next_);
      open_.push_back({document_.open(next_++), {}});
      if (const DocumentFile* const file = open_.back().file.get())
        for (const std::string& text : file->texts()) add(text, file->text_format());
    } while (next_ < document_.size() && bytes + document_.bytes(next_) <= kBytesTogether);
    translate_pending();
  }

  void add(const std::string& text, TextFormat format) {
    pending_.push_back({open_.size() - 1, Document(text, format, false, Glossary(), splitter_)});
    pending_segments_ += pending_.back().segments.segments().size();
    if (pending_segments_ >= call_.block_texts) translate_pending();
  }

  void translate_pending() {
    std::vector<std::string> segments;
    for (const PendingText& text : pending_)
      segments.insert(segments.end(), text.segments.segments().begin(), text.segments.segments().end());
    const std::vector<std::string> translations = translated(segments);
    auto next = translations.begin();
    for (const PendingText& text : pending_) {
      const auto end = next + static_cast<int64_t>(text.segments.segments().size());
      open_[text.part].translations.push_back(text.segments.with({next, end}));
      next = end;
    }
    pending_.clear();
    pending_segments_ = 0;
  }

  std::vector<std::string> translated(const std::vector<std::string>& segments) {
    std::vector<std::string> translations;
    while (translations.size() < segments.size()) {
      const auto begin = segments.begin() + static_cast<int64_t>(translations.size());
      const auto end = begin + std::min(static_cast<int64_t>(call_.block_texts), segments.end() - begin);
      try {
        for (Translation& translation : translator_.translate_batch({begin, end}, options_, hooks_)) {
          if (call_.on_translation) call_.on_translation(segments[translations.size()], translation);
          translations.push_back(std::move(translation.hypotheses.front().text));
        }
      } catch (const BadText& error) {
        throw std::runtime_error(fmt::format("{}: \"{}\": {}", call_.name,
                                             shortened_name(*(begin + static_cast<int64_t>(error.text())), 80),
                                             error.reason()));
      }
      done_ += static_cast<size_t>(end - begin);
    }
    return translations;
  }

  const Translator& translator_;
  const DocumentParts& document_;
  TranslationOptions options_;
  const DocumentCall& call_;
  TranslationHooks hooks_;
  const SentenceSplitter splitter_;
  std::deque<OpenPart> open_;  // translated, or being so
  size_t next_ = 0;            // part to open
  std::vector<PendingText> pending_;
  size_t pending_segments_ = 0;
  size_t done_ = 0;  // segments
};

}  // namespace

void write_translated(const Translator& translator, const DocumentParts& document, TranslationOptions options,
                      const DocumentCall& call, const ByteSink& sink) {
  LanguagePair languages = translator.languages();
  if (!options.source_language.empty()) languages.source = options.source_language;
  if (!options.target_language.empty()) languages.target = options.target_language;
  PartsInOrder parts(translator, document, std::move(options), call);
  document.write([&](size_t /*part*/) { return parts.next(); }, sink, languages);
}

}  // namespace v0
}  // namespace transmute
