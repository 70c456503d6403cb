// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/shared/document_run.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <transmute/common/files.h>
#include <transmute/common/progress.h>
#include <transmute/documents/document.h>
#include <transmute/programs/shared/flag_values.h>
#include <transmute/programs/shared/line_stream.h>
#include <transmute/programs/shared/output.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

namespace transmute {

namespace {

constexpr const char* kByName = "auto";
constexpr const char* kLines = "lines";

// Says how far the translation of a document is.
class DocumentProgress {
 public:
  DocumentProgress(size_t texts, const std::string& output)
      : texts_(texts), shown_(line_.visible() && (!is_standard_stream(output) || isatty(STDOUT_FILENO) == 0)) {}

  void show(size_t done) {
    if (!shown_ || texts_ == 0) return;
    line_.show(static_cast<double>(done) / static_cast<double>(texts_),
               fmt::format("{} of {}", format_count(static_cast<int64_t>(done)),
                           counted(static_cast<int64_t>(texts_), "text")));
  }

 private:
  ProgressLine line_;
  size_t texts_;
  bool shown_;
};

}  // namespace

CLI::Option* DocumentFlags::add_to(CLI::App& app) {
  std::vector<std::string> names{kByName, kLines}, formats;
  for (const DocumentFormat& known : document_formats()) formats.emplace_back(known.name);
  names.insert(names.end(), formats.begin(), formats.end());
  CLI::Option* const flag =
      app.add_option("--document-format", format,
                     fmt::format("format of the input, of which all but the text stays as it is: {}; auto: by the "
                                 "ending of --input; .txt and unknown ones are read line by line, as lines is",
                                 fmt::join(formats, ", ")));
  flag->check(one_of(names).description(""))->type_name("FORMAT")->capture_default_str();
  app.add_flag("--retranslate", retranslate,
               "also translate the entries of a catalog (po, xliff) that have a translation");
  return flag;
}

void DocumentFlags::check(const CLI::App& app) {
  for (const char* flag : {"--format", "--n-best", "--alternatives", "--alignment", "--target-prefix", "--trees",
                           "--continue", "--invalid-utf8"})
    if (app.get_option(flag)->count() > 0) flag_of_lines = flag;
}

DocumentRun::DocumentRun(const DocumentFlags& flags, const StreamFlags& streams)
    : input_(is_standard_stream(streams.input) ? "-" : streams.input), output_(streams.output) {
  const DocumentFormat* const format = find_format(flags);
  if (format == nullptr) {
    if (flags.retranslate) throw std::invalid_argument("--retranslate is for catalogs, such as de.po");
    return;
  }
  if (!flags.flag_of_lines.empty())
    throw std::invalid_argument(fmt::format(
        "{} is for lines, but {} is translated as a document; --document-format lines reads it line by line",
        flags.flag_of_lines, input_name(input_)));
  const DocumentFormat* const other = is_standard_stream(output_) ? nullptr : document_format_of(output_);
  if (other != nullptr && other != format)
    throw std::invalid_argument(
        fmt::format("{} would be a file of the format {}, as the input is; rename it", output_, format->name));
  check_output_is_no_input(output_, {{"--input", input_}});
  const std::string content = read_file(input_ == "-" ? "/dev/stdin" : input_);
  file_ = open_document_file(*format, input_name(input_), content, {flags.retranslate});
}

// Null for lines.
const DocumentFormat* DocumentRun::find_format(const DocumentFlags& flags) const {
  if (flags.format != kByName) return find_document_format(flags.format);
  const DocumentFormat* const format = document_format_of(input_);
  return format == find_document_format("txt") ? nullptr : format;
}

void DocumentRun::translate(const Translator& translator, TranslationOptions options, int64_t block_segments,
                            TranslationTotals& totals) {
  options.inline_tags = file_->text_format() != TextFormat::text;
  const SentenceSplitter splitter;
  std::vector<Document> documents;
  std::vector<std::string> segments;
  for (const std::string& text : file_->texts()) {  // the translator splits sentences
    documents.emplace_back(text, file_->text_format(), false, Glossary(), splitter);
    segments.insert(segments.end(), documents.back().segments().begin(), documents.back().segments().end());
  }
  DocumentProgress progress(segments.size(), output_);
  TranslationHooks hooks;
  std::vector<std::string> translations;
  hooks.on_progress = [&](size_t done, size_t) { progress.show(translations.size() + done); };
  Output output(output_);
  while (translations.size() < segments.size()) {
    const auto begin = segments.begin() + static_cast<int64_t>(translations.size());
    const auto end = begin + std::min<int64_t>(block_segments, segments.end() - begin);
    try {
      for (Translation& translation : translator.translate_batch({begin, end}, options, hooks)) {
        totals.add(translation);
        translations.push_back(std::move(translation.hypotheses.front().text));
      }
    } catch (const BadText& error) {
      throw std::runtime_error(fmt::format("{}: \"{}\": {}", input_name(input_),
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
  output.write(file_->with(texts));
  output.finish();
}

}  // namespace transmute
