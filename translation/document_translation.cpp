// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/document_translation.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <transmute/common/files.h>
#include <transmute/documents/document_formats.h>
#include <transmute/translation/document_texts.h>

#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <system_error>
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

void translate_document(const Translator& translator, const std::string& input, const std::string& output,
                        const TranslationOptions& options, const DocumentOptions& document,
                        const TranslationHooks& hooks) {
  const DocumentFormat& format = format_of(input, document.format);
  std::error_code none;
  if (std::filesystem::equivalent(input, output, none))
    throw std::invalid_argument(fmt::format("{} is the input; write the translation to another file", output));
  check_output_format(format, input, output);
  if (!options.target_prefixes.empty()) throw std::invalid_argument("target prefixes are not for documents");
  translator.check(options);
  DocumentFileOptions file_options;
  file_options.retranslate = document.retranslate;
  file_options.on_warning = document.on_warning;
  const auto opened = open_document(format, input, read_file(input), file_options);
  DocumentCall call;
  call.name = input;
  call.segments = count_segments(*opened);
  call.hooks = hooks;
  AtomicFile file(output);
  write_translated(translator, *opened, options, call,
                   [&](std::string_view bytes) { file.write(bytes.data(), bytes.size()); });
  file.commit();
}

void translate_document(const Translator& translator, const std::string& input, const std::string& output) {
  TranslationOptions options;
  options.search = translator.default_search();
  translate_document(translator, input, output, options);
}

}  // namespace v0
}  // namespace transmute
