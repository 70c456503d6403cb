// SPDX-License-Identifier: Apache-2.0
// generate: continues text with a language model. See --help.

#include <spdlog/fmt/fmt.h>
#include <transmute/common/memory.h>
#include <transmute/common/progress.h>
#include <transmute/common/text_file.h>
#include <transmute/programs/shared/bad_text.h>
#include <transmute/programs/shared/cut_lines.h>
#include <transmute/programs/shared/flag_values.h>
#include <transmute/programs/shared/line_output.h>
#include <transmute/programs/shared/program.h>
#include <transmute/programs/shared/search_flags.h>
#include <transmute/programs/shared/stream_flags.h>
#include <transmute/programs/shared/translator_flags.h>
#include <transmute/text/format.h>
#include <transmute/translation/language_model.h>

#include <stdexcept>
#include <utility>

namespace {

struct Arguments {
  std::vector<std::string> prompts;
  transmute::StreamFlags streams;
  std::string format = "text";
  int64_t num_best = 0;
  int64_t beam_size = 0;  // 0: draws
  transmute::BufferFlag buffer;
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
  if (arguments.beam_size > 0 && arguments.num_best > arguments.beam_size)
    throw std::invalid_argument(fmt::format("--n-best {0} needs a --beam-size of at least {0}, not {1}",
                                            arguments.num_best, arguments.beam_size));
  return options;
}

std::string check_prompt(std::string& prompt) {
  if (prompt.find_first_of("\n\r") != std::string::npos)
    return "must be one line; give each line a --prompt of its own";
  return "";
}

// The lines of the command line, at once, or of the input.
transmute::BlockSource prompts_of(const Arguments& arguments) {
  if (arguments.prompts.empty()) return arguments.streams.open();
  return [left = arguments.prompts](size_t) mutable { return std::exchange(left, {}); };
}

[[noreturn]] void refuse_prompt(const Arguments& arguments, int64_t number, const std::string& reason) {
  const std::string place =
      arguments.prompts.empty() ? transmute::input_name(arguments.streams.input) + ":" : "prompt ";
  throw transmute::BadLine(fmt::format("{}{}: {}", place, number, reason));
}

std::string format(const transmute::Translation& texts, int64_t line, const Arguments& arguments) {
  if (arguments.format == "json") return transmute::format_json(texts, line);
  if (arguments.num_best > 0) return transmute::format_n_best(texts, line);
  return texts.hypotheses.front().text + "\n";
}

int generate(const Arguments& arguments, const std::vector<std::string>& facts) {
  transmute::check_output_is_no_input(arguments.streams.output, arguments.model.inputs());
  const transmute::GenerationOptions options = options_from(arguments);
  const transmute::BlockSource next_block = prompts_of(arguments);
  const transmute::LanguageModel model = arguments.model.open_language_model();
  model.generate_batch({}, options);  // fails before the first line arrives if it cannot be done
  transmute::warn_if_slow(model.slow_reason());
  transmute::LineOutput output(arguments.streams.output, facts, arguments.streams.resumes);
  int64_t lines = output.finished_lines();
  transmute::LoopingLines looping_lines;
  output.finish_after([&] {
    output.skip_finished(next_block);
    while (true) {
      std::vector<std::string> block = next_block(output.next_block_lines(arguments.buffer.lines));
      if (block.empty()) break;
      const auto [results, refusal] =
          transmute::results_before_bad_text(block, [&] { return model.generate_batch(block, options); });
      std::string text;
      for (const auto& texts : results) {
        text += format(texts, lines++, arguments);
        looping_lines.add(texts);
      }
      output.write(text, block, block.size());
      if (!refusal.empty()) refuse_prompt(arguments, lines + 1, refusal);
    }
  });
  looping_lines.report(transmute::counted(lines - output.finished_lines(), "line"), "text");
  return 0;
}

void add_search_flags(CLI::App& app, Arguments& arguments) {
  auto& search = arguments.generation.search;
  const auto beam =
      app.add_option(
             "-b,--beam-size", arguments.beam_size,
             "search for the most probable text with this many hypotheses instead of sampling; 1: greedy search")
          ->check(transmute::whole_between(1, transmute::kMaxHypotheses))
          ->group("Search");
  app.add_option("--length-alpha", search.length_alpha, "exponent of the length penalty ((5 + length) / 6)^alpha")
      ->check(transmute::between(0, transmute::kMostLengthAlpha))
      ->capture_default_str()
      ->needs(beam)
      ->group("Search");
  for (CLI::Option* flag : transmute::add_sampling_flags(app, arguments.sampling)) flag->excludes(beam);
}

void add_text_flags(CLI::App& app, Arguments& arguments) {
  auto& search = arguments.generation.search;
  app.add_option("--format", arguments.format,
                 "text: one text per line; json: one object per line, with tokens and scores")
      ->check(transmute::one_of({"text", "json"}))
      ->capture_default_str();
  app.add_option("--n-best", arguments.num_best,
                 "print N texts per line, the most probable first (in Moses' format, unless json)")
      ->check(transmute::whole_between(1, transmute::kMaxHypotheses));
  app.add_option("--max-new-tokens", search.max_extra_length, "maximum number of tokens to add to a line")
      ->check(transmute::at_least(0))
      ->capture_default_str();
  app.add_option("--min-length", search.min_length, "minimum length of a text in tokens, its line included")
      ->check(transmute::at_least(0))
      ->capture_default_str();
  app.add_option("--no-repeat-ngram", search.no_repeat_ngram,
                 "never repeat a sequence of N tokens within a text; 0: allow it")
      ->check(transmute::at_least(0))
      ->capture_default_str();
  app.add_option("--repetition-penalty", search.repetition_penalty,
                 "above 1: makes tokens that a text already has less probable")
      ->check(transmute::positive())
      ->capture_default_str();
  transmute::add_batch_flags(app, arguments.generation.batch_size, arguments.generation.batch_tokens);
  arguments.buffer.add_to(app);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Continues text with a language model: for each input line, prints the line and its continuation. An empty line "
      "yields a text from scratch. Tokens are sampled from the model's distribution; --beam-size searches for the most "
      "probable text instead.",
      "generate");
  app.footer("{} -m runs/language_model/model 'Two men' --n-best 3");
  Arguments arguments;
  arguments.model.add_language_model_to(app);
  const auto prompt =
      transmute::repeatable(
          app.add_option("--prompt", arguments.prompts, "a text to continue, instead of input lines; may be repeated"))
          ->type_name("TEXT")
          ->check(CLI::Validator(check_prompt, ""));
  CLI::Option* const input = arguments.streams.add_to(app)->excludes(prompt);
  arguments.model.add_texts_to(app, "a text to continue, as --prompt")->excludes(input);
  add_text_flags(app, arguments);
  add_search_flags(app, arguments);
  return transmute::run_program(app, argc, argv, [&] {
    transmute::keep_freed_memory();
    const transmute::LineRules rules = arguments.streams.lines.rules();
    for (std::string& prompt : arguments.prompts) prompt = transmute::checked_line(prompt, "--prompt:", rules);
    for (const std::string& text : arguments.model.texts(rules)) arguments.prompts.push_back(text);
    return generate(arguments, transmute::run_facts(app));
  });
}
