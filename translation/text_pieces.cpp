// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/text_pieces.h>

#include <transmute/text/inline_tags.h>
#include <transmute/translation/join_parts.h>

#include <tuple>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// Pieces of as many sentences as kMaxWholeTokens bytes have room for, or of the fewest that no element surrounds.
std::vector<ByteSpan> pieces_of(const std::string& text, const SentenceSplitter& splitter, const Glossary& glossary,
                                bool has_tags) {
  std::vector<size_t> ends = sentence_ends(text, has_tags, splitter, glossary);
  ends.push_back(text.size());
  std::vector<ByteSpan> pieces{{0, ends.front()}};
  for (size_t i = 1; i < ends.size(); ++i) {
    auto& [begin, end] = pieces.back();
    if (ends[i] - begin <= static_cast<size_t>(kMaxWholeTokens)) {
      end = ends[i];
    } else {
      pieces.emplace_back(space_end(text, end, text.size()), ends[i]);
    }
  }
  return pieces;
}

}  // namespace

TextPieces::TextPieces(const std::vector<std::string>& texts, const std::vector<bool>& cuts,
                       const SentenceSplitter& splitter, const Glossary& glossary, bool has_tags)
    : count_(texts.size()) {
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::vector<ByteSpan> spans =
        cuts[i] ? pieces_of(texts[i], splitter, glossary, has_tags) : std::vector<ByteSpan>{};
    if (spans.size() < 2) {
      pieces_.push_back(texts[i]);
      origins_.push_back({i, 0, "", true});
      continue;
    }
    size_t before = spans.front().first;
    for (const auto& [begin, end] : spans) {
      pieces_.push_back(texts[i].substr(begin, end - begin));
      origins_.push_back({i, begin, texts[i].substr(before, begin - before), false});
      before = end;
    }
  }
}

TranslationHooks TextPieces::hooks(const TranslationHooks& of_texts) const {
  TranslationHooks hooks = of_texts;
  if (of_texts.on_text)
    hooks.on_text = [this, &of_texts](size_t piece, const std::string& so_far) {
      if (origins_[piece].is_whole) of_texts.on_text(origins_[piece].text, so_far);
    };
  if (of_texts.on_progress)
    hooks.on_progress = [this, &of_texts](size_t done, size_t total) {
      of_texts.on_progress(done * count_ / total, count_);
    };
  if (of_texts.is_unwanted)
    hooks.is_unwanted = [this, &of_texts](size_t piece) { return of_texts.is_unwanted(origins_[piece].text); };
  return hooks;
}

std::vector<Translation> TextPieces::joined(std::vector<Translation>&& of_pieces, const SearchOptions& search,
                                            const TranslationHooks& hooks) const {
  std::vector<Translation> translations(count_);
  for (size_t i = 0; i < of_pieces.size(); ++i) {
    const Origin& origin = origins_[i];
    Translation& whole = translations[origin.text];
    Translation piece = std::move(of_pieces[i]);
    for (TranslationWarning& warning : piece.warnings) {
      warning.source.first += origin.begin;
      warning.source.second += origin.begin;
    }
    const int parts = whole.parts + piece.parts, sentences = whole.sentences + piece.sentences;
    const bool is_first = whole.hypotheses.empty();
    append_translation(whole, std::move(piece), origin.gap, joined_results(search));
    if (!is_first) std::tie(whole.parts, whole.sentences) = std::pair{parts, sentences};
    const bool is_last = i + 1 == of_pieces.size() || origins_[i + 1].text != origin.text;
    if (hooks.on_text && is_last && !origin.is_whole) hooks.on_text(origin.text, whole.hypotheses.front().text);
  }
  return translations;
}

}  // namespace v0
}  // namespace transmute
