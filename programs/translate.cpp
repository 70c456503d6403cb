// SPDX-License-Identifier: Apache-2.0
// translate: one line in, one line out. See --help.

#include <spdlog/fmt/fmt.h>
#include <transmute/common/progress.h>
#include <transmute/common/text_file.h>
#include <transmute/model/threading.h>
#include <transmute/programs/line_stream.h>
#include <transmute/programs/output.h>
#include <transmute/programs/program.h>
#include <transmute/programs/search_flags.h>
#include <transmute/programs/translator_flags.h>
#include <transmute/translation/text/format.h>
#include <transmute/translation/text/glossary.h>
#include <transmute/translation/translator.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>

namespace {

enum class Format { text, n_best, json };

struct Arguments {
  std::string input;
  std::string output;
  std::string prefixes;
  std::string glossary;
  transmute::TranslatorFlags translator;
  transmute::TranslationOptions translation;
  std::string length_penalty = "paper";
  std::string long_lines = "split";
  std::string format = "text";
  bool sample = false;
  transmute::SamplingOptions sampling;
  int64_t buffer_lines = 4096;
  size_t max_line_bytes = transmute::kMaxLineBytes;
  int64_t num_best = 0;
  int64_t alternatives = 0;
};

// A line on standard error that says how far it is; where results go to the terminal too, nothing.
class Progress {
 public:
  explicit Progress(const Arguments& arguments) : shown_(!arguments.output.empty() || isatty(STDOUT_FILENO) == 0) {
    shown_ = shown_ && line_.visible();
    if (!shown_ || !std::filesystem::is_regular_file(arguments.input)) return;  // a pipe can be read once only
    transmute::LineReader reader(arguments.input, arguments.max_line_bytes);
    for (std::string line; reader.next(line);) ++lines_;
  }
  void show(int64_t done) {
    const auto now = std::chrono::steady_clock::now();
    if (!shown_ || now - drawn_ < std::chrono::milliseconds(100)) return;
    drawn_ = now;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const double rate = static_cast<double>(done) / seconds;
    std::string text = fmt::format("{} lines | {:.0f} lines/s | {}", transmute::format_count(done), rate,
                                   transmute::format_duration(seconds));
    if (lines_ > 0 && done > 0)
      text += " | " + transmute::format_duration(static_cast<double>(lines_ - done) / rate) + " left";
    line_.show(lines_ > 0 ? static_cast<double>(done) / static_cast<double>(lines_) : -1, text);
  }
  void clear() { line_.clear(); }

 private:
  transmute::ProgressLine line_;
  bool shown_;
  int64_t lines_ = 0;  // of the input, where that is known
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point drawn_{};
};

// Line n of the file with prefixes belongs to line n of the input.
class Prefixes {
 public:
  Prefixes(const std::string& path, size_t max_line_bytes) : path_(path) {
    if (!path.empty()) reader_ = std::make_unique<transmute::LineReader>(path, max_line_bytes);
  }
  std::vector<std::string> next(size_t lines) {
    std::vector<std::string> prefixes(reader_ ? lines : 0);
    for (std::string& prefix : prefixes)
      if (!reader_->next(prefix))
        throw std::runtime_error(
            fmt::format("{} has {} lines, the input more; line n is the beginning of translation n", path_,
                        reader_->line_number()));
    return prefixes;
  }
  void finish(int64_t lines) {
    if (std::string more; reader_ && reader_->next(more))
      throw std::runtime_error(fmt::format("{} has more than the input's {} lines", path_, lines));
  }

 private:
  std::string path_;
  std::unique_ptr<transmute::LineReader> reader_;
};

transmute::TranslationOptions options_from(const Arguments& arguments) {
  transmute::TranslationOptions options = arguments.translation;
  if (arguments.num_best > 0) options.search.num_hypotheses = arguments.num_best;
  if (arguments.alternatives > 0) {
    options.search.alternatives = true;
    options.search.num_hypotheses = arguments.alternatives;
  }
  if (arguments.length_penalty == "power") options.search.length_penalty = transmute::LengthPenalty::power;
  if (arguments.long_lines == "fail") options.long_texts = transmute::LongTexts::refused;
  if (arguments.sample) options.search.sampling = arguments.sampling;
  if (!arguments.glossary.empty()) options.glossary = transmute::read_glossary(arguments.glossary);
  if (arguments.buffer_lines < 1) throw std::invalid_argument("--buffer-lines must be at least 1");
  return options;
}

Format format_of(const Arguments& arguments) {
  if (arguments.format == "json") return Format::json;
  return arguments.num_best > 0 || arguments.alternatives > 0 ? Format::n_best : Format::text;
}

std::string format(const transmute::Translation& translation, int64_t line, Format format, bool alignment) {
  if (format == Format::json) return transmute::format_json(translation, line);
  if (format == Format::n_best) return transmute::format_n_best(translation, line);
  const auto& best = translation.hypotheses.front();
  return best.text + (alignment ? " ||| " + transmute::format_alignment(best) : "") + "\n";
}

int translate(const Arguments& arguments) {
  transmute::TranslationOptions options = options_from(arguments);
  const Format as = format_of(arguments);
  const transmute::BlockSource next_block = transmute::open_input(arguments.input, arguments.max_line_bytes);
  Prefixes prefixes(arguments.prefixes, arguments.max_line_bytes);
  const transmute::Translator translator = arguments.translator.open();
  transmute::warn_if_slow("translate", translator.slow_reason());
  transmute::Output output(arguments.output);
  Progress progress(arguments);
  int64_t lines = 0, split_lines = 0, looping_lines = 0;
  transmute::TranslationHooks hooks;
  hooks.on_progress = [&](size_t done, size_t) { progress.show(lines + static_cast<int64_t>(done)); };
  while (true) {
    const std::vector<std::string> block = next_block(static_cast<size_t>(arguments.buffer_lines));
    if (block.empty()) break;
    options.target_prefixes = prefixes.next(block.size());
    std::string text;
    for (const auto& translation : translator.translate_batch(block, options, hooks)) {
      text += format(translation, lines++, as, options.search.alignments);
      if (translation.parts > 1) ++split_lines;
      if (transmute::has_loop(translation.hypotheses.front().tokens) && !transmute::has_loop(translation.source_tokens))
        ++looping_lines;
    }
    progress.clear();
    output.write(text);
  }
  prefixes.finish(lines);
  output.finish();
  if (split_lines > 0)
    std::cerr << fmt::format("translate: {} of {} lines {} and were translated in parts\n", split_lines, lines,
                             options.split_sentences ? "had several sentences"
                                                     : fmt::format("had over {} tokens", options.max_source_tokens));
  if (looping_lines > 0)
    std::cerr << fmt::format(
        "translate: {} of {} translations repeat the same words over and over; --no-repeat-ngram 4 prevents that\n",
        looping_lines, lines);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  transmute::configure_process_for_workers();
  CLI::App app("Translates text, one line in, one line out, in order; an empty line stays empty.", "translate");
  Arguments arguments;
  auto& translation = arguments.translation;
  arguments.translator.add_to(app);
  app.add_option("--input", arguments.input, "UTF-8 text, plain or gzipped; default: standard input");
  app.add_option("--output", arguments.output, "default: standard output");
  app.add_option(
         "--format", arguments.format,
         "text: a line each; json: an object each, with tokens, scores and what --n-best and --alignment ask for")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.add_option("--n-best", arguments.num_best, "the N best (in Moses' format, unless json) instead of the best one")
      ->check(CLI::PositiveNumber);
  app.add_option("--alternatives", arguments.alternatives,
                 "instead of searching, the N best next tokens after the --target-prefix, each completed greedily")
      ->check(CLI::PositiveNumber);
  app.add_flag(
      "--alignment", translation.search.alignments,
      "add \" ||| 0-0 1-2\": for each target token the source token that it belongs to; in json the attention itself");

  app.add_option("--alignment-layer", translation.search.alignment_layer, "of the decoder, from 1; 0: the last")
      ->capture_default_str();
  app.add_option("--alignment-head", translation.search.alignment_head, "from 1; 0: the mean of the layer's heads")
      ->capture_default_str();

  app.add_option("--beam-size", translation.search.beam_size, "hypotheses kept; 1 is greedy search")
      ->capture_default_str()
      ->group("Search");
  app.add_option("--length-alpha", translation.search.length_alpha, "exponent of the length penalty of the ranking")
      ->capture_default_str()
      ->group("Search");
  app.add_option("--length-penalty", arguments.length_penalty,
                 "paper: ((5 + length) / 6)^alpha; power: length^alpha, with alpha 1 the mean over the tokens")
      ->check(CLI::IsMember({"paper", "power"}))
      ->capture_default_str()
      ->group("Search");
  app.add_option("--coverage-beta", translation.search.coverage_beta,
                 "weight of the coverage penalty, which prefers translations that attended to all of the source")
      ->capture_default_str()
      ->group("Search");
  app.add_option("--min-length", translation.search.min_length, "tokens that a translation has at least")
      ->capture_default_str()
      ->group("Search");
  app.add_option("--max-extra-length", translation.search.max_extra_length,
                 "a translation has at most so many tokens more than its source")
      ->capture_default_str()
      ->group("Search");
  app.add_option("--no-repeat-ngram", translation.search.no_repeat_ngram,
                 "no N tokens in a row come twice in a translation; 0: they may")
      ->capture_default_str()
      ->group("Search");
  app.add_option("--target-prefix", arguments.prefixes, "a file whose line n begins the translation of line n")
      ->group("Search");
  app.add_option(
         "--glossary", arguments.glossary,
         "a file of lines \"source term<tab>target term\": a translation contains the target terms of those source "
         "terms that its line contains")
      ->group("Search");

  arguments.translator.add_shortlist_to(app);

  app.add_flag(
      "--inline-tags", translation.inline_tags,
      "carry tags such as <b>, </b>, <br/> and placeholders such as {name} over to the words that they belong to");

  const auto sample =
      app.add_flag("--sample", arguments.sample,
                   "draw the tokens from the model's distribution instead of searching; with --n-best N "
                   "several times")
          ->group("Sampling");
  for (CLI::Option* flag : transmute::add_sampling_flags(app, arguments.sampling)) flag->needs(sample);
  app.add_flag("--split-sentences", translation.split_sentences,
               "translate each sentence of a line by itself, by Unicode's rules for where they end")
      ->group("Long lines");
  app.add_option("--max-source-tokens", translation.max_source_tokens, "more make a line over-long")
      ->capture_default_str()
      ->group("Long lines");
  app.add_option("--long-lines", arguments.long_lines,
                 "split: translate over-long lines in parts, cut at sentence, clause or word ends; fail: refuse them")
      ->check(CLI::IsMember({"split", "fail"}))
      ->capture_default_str()
      ->group("Long lines");

  app.add_option("--batch-size", translation.batch_size, "sentences that a worker decodes together")
      ->capture_default_str();
  app.add_option("--batch-tokens", translation.batch_tokens, "and their padded source tokens at most")
      ->capture_default_str();
  app.add_option("--buffer-lines", arguments.buffer_lines, "lines that are read ahead to fill batches")
      ->capture_default_str();
  transmute::add_line_limit(app, arguments.max_line_bytes);
  return transmute::run_program(app, argc, argv, [&] { return translate(arguments); });
}
