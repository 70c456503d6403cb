// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/accelerators.h>
#include <transmute/documents/span_file.h>

#include <utility>

namespace transmute {
inline namespace v0 {

void SpanFile::add(FileSpan span) {
  std::vector<size_t> numbers;
  for (const std::string& text : span.texts) {
    const auto [found, is_new] = numbers_.emplace(text, texts_.size());
    if (is_new) texts_.push_back(text);
    numbers.push_back(found->second);
  }
  span.texts.clear();
  places_.push_back({std::move(span), std::move(numbers)});
}

void SpanFile::add_message(size_t begin, size_t end, Message message,
                           std::function<std::string(const std::string&)> encode) {
  std::vector<std::string> texts = message.texts();
  if (texts.empty()) return;
  add({begin, end, std::move(texts),
       [message = std::move(message), encode = std::move(encode)](const std::vector<std::string>& translations) {
         return encode(message.with(translations));
       }});
}

void SpanFile::add_messages(std::vector<ProgramMessage> messages, MessageSyntax syntax,
                            const std::function<std::string(const std::string&)>& encode) {
  std::vector<std::string> texts;
  for (const ProgramMessage& message : messages) texts.push_back(message.text);
  const char sign = accelerator_sign(texts);
  for (ProgramMessage& message : messages) {
    Message read(without_accelerator(message.text, sign), syntax);
    add_message(message.begin, message.end, std::move(read),
                [=, text = std::move(message.text)](const std::string& translated) {
                  return encode(with_accelerator(text, translated, sign));
                });
  }
}

std::string SpanFile::with(const std::vector<std::string>& translations) const {
  std::string result;
  size_t at = 0;
  for (const Place& place : places_) {
    std::vector<std::string> own;
    bool is_changed = !place.span.keeps_bytes;
    for (const size_t text : place.texts) {
      own.push_back(translations[text]);
      is_changed = is_changed || translations[text] != texts_[text];
    }
    if (!is_changed) continue;
    result += content_.substr(at, place.span.begin - at) + place.span.write(own);
    at = place.span.end;
  }
  return result + content_.substr(at);
}

}  // namespace v0
}  // namespace transmute
