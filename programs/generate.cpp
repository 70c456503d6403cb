// SPDX-License-Identifier: Apache-2.0
// generate: continues text with a language model. See --help.

#include <spdlog/fmt/fmt.h>
#include <transmute/model/threading.h>
#include <transmute/programs/line_stream.h>
#include <transmute/programs/output.h>
#include <transmute/programs/program.h>
#include <transmute/programs/search_flags.h>
#include <transmute/programs/translator_flags.h>
#include <transmute/translation/language_model.h>
#include <transmute/translation/text/format.h>

#include <iostream>
#include <utility>

namespace {

struct Arguments {
  std::vector<std::string> prompts;
  std::string input;
  std::string output;
  std::string format = "text";
  int64_t num_best = 0;
  int64_t beam_size = 0;  // 0: draws
  int64_t buffer_lines = 4096;
  size_t max_line_bytes = transmute::kMaxLineBytes;
  transmute::SamplingOptions sampling;
  transmute::GenerationOptions generation;
  transmute::TranslatorFlags model;
};

transmute::GenerationOptions options_from(const Arguments& arguments) {
  transmute::GenerationOptions options = arguments.generation;
  options.search.sampling = arguments.sampling;
  if (arguments.beam_size > 0) {
    options.search.sampling.reset();
    options.search.beam_size = arguments.beam_size;
  }
  if (arguments.num_best > 0) options.search.num_hypotheses = arguments.num_best;
  return options;
}

// The lines of the command line, at once, or of the input.
transmute::BlockSource prompts_of(const Arguments& arguments) {
  if (arguments.prompts.empty()) return transmute::open_input(arguments.input, arguments.max_line_bytes);
  return [left = arguments.prompts](size_t) mutable { return std::exchange(left, {}); };
}

std::string format(const transmute::Translation& texts, int64_t line, const Arguments& arguments) {
  if (arguments.format == "json") return transmute::format_json(texts, line);
  if (arguments.num_best > 0) return transmute::format_n_best(texts, line);
  return texts.hypotheses.front().text + "\n";
}

int generate(const Arguments& arguments) {
  const transmute::GenerationOptions options = options_from(arguments);
  const transmute::BlockSource next_block = prompts_of(arguments);
  const transmute::LanguageModel model = arguments.model.open_language_model();
  transmute::warn_if_slow("generate", model.slow_reason());
  transmute::Output output(arguments.output);
  int64_t lines = 0, looping_lines = 0;
  while (true) {
    const std::vector<std::string> block = next_block(static_cast<size_t>(arguments.buffer_lines));
    if (block.empty()) break;
    std::string text;
    for (const auto& texts : model.generate_batch(block, options)) {
      text += format(texts, lines++, arguments);
      if (transmute::has_loop(texts.hypotheses.front().tokens) && !transmute::has_loop(texts.source_tokens))
        ++looping_lines;
    }
    output.write(text);
  }
  output.finish();
  if (looping_lines > 0)
    std::cerr << fmt::format(
        "generate: {} of {} texts repeat the same words over and over; --no-repeat-ngram 4 prevents that\n",
        looping_lines, lines);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  transmute::configure_process_for_workers();
  CLI::App app(
      "Continues text with a language model, one line out for each line in, in order: the line and what follows it. "
      "Without an input line's words a text begins from nothing. Tokens are drawn from the model's distribution; "
      "--beam-size looks for the most probable text instead.",
      "generate");
  Arguments arguments;
  auto& search = arguments.generation.search;
  arguments.model.add_to(app);
  const auto prompt = app.add_option("--prompt", arguments.prompts,
                                     "a text to continue, instead of an input; may be given several times")
                          ->type_name("TEXT")
                          ->take_all()
                          ->allow_extra_args(false);
  app.add_option("--input", arguments.input, "UTF-8 text, plain or gzipped; default: standard input")->excludes(prompt);
  app.add_option("--output", arguments.output, "default: standard output");
  app.add_option("--format", arguments.format, "text: a line each; json: an object each, with tokens and scores")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.add_option("--n-best", arguments.num_best,
                 "N texts for each line, the most probable first (in Moses' format, unless json)")
      ->check(CLI::PositiveNumber);
  app.add_option("--max-new-tokens", search.max_extra_length, "tokens that follow a line at most")
      ->capture_default_str();
  app.add_option("--min-length", search.min_length, "tokens that a text has at least, those of its line included")
      ->capture_default_str();
  app.add_option("--no-repeat-ngram", search.no_repeat_ngram, "no N tokens in a row come twice in a text; 0: they may")
      ->capture_default_str();
  const auto beam = app.add_option("--beam-size", arguments.beam_size,
                                   "look for the most probable text with so many hypotheses instead of drawing one; 1 "
                                   "is greedy search")
                        ->check(CLI::PositiveNumber)
                        ->group("Search");
  app.add_option("--length-alpha", search.length_alpha,
                 "exponent of the length penalty ((5 + length) / 6)^alpha of the ranking")
      ->capture_default_str()
      ->group("Search");
  for (CLI::Option* flag : transmute::add_sampling_flags(app, arguments.sampling)) flag->excludes(beam);
  app.add_option("--batch-size", arguments.generation.batch_size, "lines that a worker continues together")
      ->capture_default_str();
  app.add_option("--batch-tokens", arguments.generation.batch_tokens, "and their padded tokens at most")
      ->capture_default_str();
  app.add_option("--buffer-lines", arguments.buffer_lines, "lines that are read ahead to fill batches")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  transmute::add_line_limit(app, arguments.max_line_bytes);
  return transmute::run_program(app, argc, argv, [&] { return generate(arguments); });
}
