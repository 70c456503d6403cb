// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/shared/document_run.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <transmute/common/files.h>
#include <transmute/common/progress.h>
#include <transmute/common/text_file.h>
#include <transmute/documents/wrapped_text.h>
#include <transmute/programs/shared/flag_values.h>
#include <transmute/programs/shared/line_progress.h>
#include <transmute/programs/shared/line_stream.h>
#include <transmute/programs/shared/output.h>
#include <transmute/programs/shared/program.h>
#include <transmute/translation/document_texts.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace transmute {

namespace {

constexpr const char* kByName = "auto";
constexpr const char* kLines = "lines";

// The first bytes of a file; of a pipe none, because they would be lost.
std::string beginning_of(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return "";
  constexpr size_t kBytes = 1 << 16;
  std::string beginning(kBytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(beginning.data(), kBytes);
  beginning.resize(static_cast<size_t>(file.gcount()));
  return beginning;
}

// Notes that lines end within sentences, as in mails, but in no text with a sentence in each line.
void note_wrapping(const std::string& input, const std::string& beginning) {
  constexpr int64_t kFewest = 3, kShare = 10;  // of the lines, one in ten
  const std::string text = beginning.substr(0, beginning.rfind('\n') + 1);
  if (find_invalid_utf8(text) != std::string::npos) return;
  const std::string paragraphs = without_wrapping(text, WrappedText::plain);
  const int64_t lines = std::count(text.begin(), text.end(), '\n');
  const int64_t joined = lines - std::count(paragraphs.begin(), paragraphs.end(), '\n');
  if (joined < kFewest || joined * kShare < lines) return;
  note(input_name(input) +
       ": many lines end within a sentence, and each is translated by itself; --document-format txt translates "
       "paragraphs as a whole");
}

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

// RTF, PDF and XML are valid UTF-8, so only their beginnings tell.
void DocumentFlags::check_is_text(const std::string& input, std::string_view beginning) const {
  if (format != kByName) return;
  const auto begins = [&](std::string_view mark) { return beginning.substr(0, mark.size()) == mark; };
  if (begins("%PDF-"))
    throw std::runtime_error(input_name(input) +
                             ": PDF is not read; translate the document that it was made from, or its text: 'pdftotext "
                             "FILE', then --document-format txt");
  if (begins("{\\rtf") || begins("\xD0\xCF\x11\xE0"))
    throw std::runtime_error(
        fmt::format("{}: is in {}; convert it with LibreOffice: 'soffice --convert-to docx FILE', or to xlsx or pptx",
                    input_name(input), begins("{") ? "RTF" : "the format of Office 97"));
  if (begins("<?xml") || begins("\xEF\xBB\xBF<?xml"))
    throw std::runtime_error(
        input_name(input) +
        (beginning.find("<tmx") != std::string_view::npos
             ? ": is a translation memory, with both languages; prepare --pairs makes parallel text of it"
             : ": is XML; if translate knows the format, name it with --document-format, otherwise convert it, for "
               "example to XLIFF; --document-format lines reads it line by line"));
  std::error_code ignored;
  const bool is_file = !is_standard_stream(input) && std::filesystem::is_regular_file(input, ignored);
  if (!is_file && begins("PK\3\4"))  // a named archive of one text is unpacked
    throw std::runtime_error(input_name(input) +
                             ": is a zip archive, as docx, odt and others are; name the file with --input, or say what "
                             "it is with --document-format");
}

DocumentRun::DocumentRun(const DocumentFlags& flags, const StreamFlags& streams)
    : input_(is_standard_stream(streams.input) ? "-" : streams.input), output_(streams.output) {
  const DocumentFormat* const format = find_format(flags);
  if (format == nullptr) {
    if (flags.retranslate) throw std::invalid_argument("--retranslate is for catalogs, such as de.po");
    const std::string beginning = beginning_of(input_ == "-" ? "/dev/stdin" : input_);
    flags.check_is_text(input_, beginning);
    if (flags.format == kByName) note_wrapping(input_, beginning);
    return;
  }
  if (!flags.flag_of_lines.empty())
    throw std::invalid_argument(fmt::format(
        "{} is for lines, but {} is translated as a document; --document-format lines reads it line by line",
        flags.flag_of_lines, input_name(input_)));
  if (!is_standard_stream(output_)) check_output_format(*format, input_, output_);
  check_output_is_no_input(output_, {{"--input", input_}});
  DocumentFileOptions options;
  options.retranslate = flags.retranslate;
  options.on_warning = [this](const std::string& message) { warnings_.push_back(message); };
  document_ = open_document(*format, input_name(input_), read_file(input_ == "-" ? "/dev/stdin" : input_), options);
  segments_ = count_segments(*document_);
}

// Null for lines.
const DocumentFormat* DocumentRun::find_format(const DocumentFlags& flags) const {
  if (flags.format != kByName) return find_document_format(flags.format);
  const DocumentFormat* const format = document_format_of(input_);
  return format == find_document_format("txt") ? nullptr : format;
}

void DocumentRun::translate(const Translator& translator, TranslationOptions options, int64_t block_segments,
                            TranslationTotals& totals) {
  DocumentCall call;
  call.name = input_name(input_);
  call.segments = segments_;
  call.block_texts = static_cast<size_t>(block_segments);
  ProgressLine line;
  if (may_show(line, output_))
    call.hooks.on_progress = [&](size_t done, size_t all) {
      line.show(static_cast<double>(done) / static_cast<double>(all),
                fmt::format("{} of {}", format_count(static_cast<int64_t>(done)),
                            counted(static_cast<int64_t>(all), "text")));
    };
  call.on_translation = [&](const std::string& segment, const Translation& translation) {
    totals.add(segment, translation);
  };
  Output output(output_);
  write_translated(translator, *document_, std::move(options), call,
                   [&](std::string_view bytes) { output.write(bytes); });
  output.finish();
  for (const std::string& warning : warnings_) note(warning);
}

}  // namespace transmute
