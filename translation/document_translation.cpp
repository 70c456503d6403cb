// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/document_translation.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <transmute/common/files.h>
#include <transmute/documents/document.h>
#include <transmute/documents/document_formats.h>
#include <transmute/translation/document_texts.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

const DocumentFormat& format_of(const std::string& path, const std::string& name) {
  const DocumentFormat* const format = name.empty() ? document_format_of(path) : find_document_format(name);
  if (format != nullptr) return *format;
  std::vector<std::string> names;
  for (const DocumentFormat& known : document_formats()) names.emplace_back(known.name);
  throw std::invalid_argument(
      name.empty() ? fmt::format("{}: the ending tells no format; give one of {}", path, fmt::join(names, ", "))
                   : fmt::format("\"{}\" is no format of documents; there are {}", name, fmt::join(names, ", ")));
}

}  // namespace

std::string translate_texts(const Translator& translator, const DocumentFile& file, TranslationOptions options,
                            const DocumentCall& call) {
  options.inline_tags = file.text_format() != TextFormat::text;
  const SentenceSplitter splitter;
  std::vector<Document> documents;
  std::vector<std::string> segments;
  for (const std::string& text : file.texts()) {  // the translator splits sentences
    documents.emplace_back(text, file.text_format(), false, Glossary(), splitter);
    segments.insert(segments.end(), documents.back().segments().begin(), documents.back().segments().end());
  }
  std::vector<std::string> translations;
  TranslationHooks hooks = call.hooks;
  hooks.on_text = nullptr;
  if (call.hooks.on_progress)
    hooks.on_progress = [&](size_t done, size_t) {
      call.hooks.on_progress(translations.size() + done, segments.size());
    };
  while (translations.size() < segments.size()) {
    const auto begin = segments.begin() + static_cast<int64_t>(translations.size());
    const auto end = begin + std::min(static_cast<int64_t>(call.block_texts), segments.end() - begin);
    try {
      for (Translation& translation : translator.translate_batch({begin, end}, options, hooks)) {
        if (call.on_translation) call.on_translation(translation);
        translations.push_back(std::move(translation.hypotheses.front().text));
      }
    } catch (const BadText& error) {
      throw std::runtime_error(fmt::format("{}: \"{}\": {}", call.name,
                                           shortened_name(*(begin + static_cast<int64_t>(error.text())), 80),
                                           error.reason()));
    }
  }
  std::vector<std::string> texts;
  auto next = translations.begin();
  for (const Document& document : documents) {
    const auto end = next + static_cast<int64_t>(document.segments().size());
    texts.push_back(document.with({next, end}));
    next = end;
  }
  return file.with(texts);
}

void translate_document(const Translator& translator, const std::string& input, const std::string& output,
                        const TranslationOptions& options, const DocumentOptions& document,
                        const TranslationHooks& hooks) {
  const DocumentFormat& format = format_of(input, document.format);
  std::error_code none;
  if (std::filesystem::equivalent(input, output, none))
    throw std::invalid_argument(fmt::format("{} is the input; write the translation to another file", output));
  if (!options.target_prefixes.empty()) throw std::invalid_argument("target prefixes are not for documents");
  translator.check(options);
  const auto file = open_document_file(format, input, read_file(input), {document.retranslate});
  DocumentCall call;
  call.name = input;
  call.hooks = hooks;
  write_file_atomically(output, translate_texts(translator, *file, options, call));
}

}  // namespace v0
}  // namespace transmute
