// SPDX-License-Identifier: Apache-2.0
// Texts with tags, protected spans and characters that no vocabulary has, restored into any translation by any
// alignment: each tag comes once, and the words stay.
#include <transmute/fuzz/fuzz.h>
#include <transmute/text/alignment.h>
#include <transmute/text/inline_tags.h>
#include <transmute/text/written_text.h>

#include <algorithm>

using namespace transmute;

namespace {

// Tokens of one to four bytes, each after the one before it.
std::vector<ByteSpan> tokens_of(const std::string& text, fuzz::Input& input) {
  std::vector<ByteSpan> tokens;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.size(), at + 1 + input.byte() % 4);
    tokens.emplace_back(at, end);
    at = end;
  }
  return tokens;
}

std::string restored(const TaggedText& tagged, const std::string& translation, fuzz::Input& input) {
  const auto source_tokens = tokens_of(tagged.plain(), input);
  const auto target_tokens = tokens_of(translation, input);
  std::vector<std::vector<float>> alignment(target_tokens.size());
  for (auto& row : alignment)
    for (size_t s = 0; s < source_tokens.size(); ++s) row.push_back(static_cast<float>(input.byte()) / 255.0F);
  return tagged.restore(translation, source_tokens, target_tokens, balanced_alignment(alignment));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const std::string source = input.text();
  std::string translation = input.text();
  translation.erase(std::remove_if(translation.begin(), translation.end(), [](char c) { return c == '<' || c == '{'; }),
                    translation.end());
  const TaggedText tagged(source);
  const std::string text = restored(tagged, translation, input);
  const auto count = [](const std::string& in, char c) { return std::count(in.begin(), in.end(), c); };
  for (const char open : {'<', '{'})
    fuzz::require(count(text, open) == count(source, open) - count(tagged.plain(), open));
  const IsUnknown in_ascii = [](int32_t character) { return character >= 0x80; };
  for (const IsUnknown& is_unknown : {IsUnknown(), in_ascii}) {
    const auto tags = tags_and_spans(
        source, true, [](const ProtectedSpan&) { return true; }, is_unknown);
    const TaggedText without_spans(source, tags);
    const std::string with_spans = restored(without_spans, translation, input);
    for (const InlineTag& tag : tags)
      if (tag.kind != InlineTag::Kind::dropped && tag.kind != InlineTag::Kind::ascii &&
          tag.kind != InlineTag::Kind::mnemonic)
        fuzz::require(with_spans.find(source.substr(tag.begin, tag.length)) != std::string::npos);
    const WrittenText written(without_spans.source());
    for (const std::string& text : {translation, without_spans.plain()}) {
      const RecasedText result = written.restore(text, {});
      fuzz::require(result.places.size() == text.size() + 1 && result.places.back() == result.text.size());
    }
  }
  return 0;
}
