// SPDX-License-Identifier: Apache-2.0
// score: how probable each line of a translation is, given its source, or each line of plain text. See --help.

#include <spdlog/fmt/fmt.h>
#include <transmute/common/memory.h>
#include <transmute/common/progress.h>
#include <transmute/programs/shared/bad_text.h>
#include <transmute/programs/shared/program.h>
#include <transmute/programs/shared/stream_flags.h>
#include <transmute/programs/shared/translator_flags.h>
#include <transmute/translation/language_model.h>
#include <transmute/translation/translator.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <stdexcept>
#include <utility>

namespace {

constexpr size_t kBlockLines = 4096;

struct Arguments {
  std::string source;
  std::string target;
  std::string text;
  std::string output;
  transmute::LineFlags lines;
  bool per_token = false;
  transmute::TranslatorFlags translator;
  transmute::TranslationOptions translation;
};

std::string format(const transmute::Hypothesis& hypothesis, bool per_token) {
  std::string text = fmt::format("{:.6f}", hypothesis.log_probability);
  if (per_token) {
    double end = hypothesis.log_probability;
    for (size_t i = 0; i < hypothesis.tokens.size(); ++i) {
      text += fmt::format("\t{} {:.6f}", hypothesis.tokens[i], hypothesis.token_scores[i]);
      end -= hypothesis.token_scores[i];
    }
    text += fmt::format("\t</s> {:.6f}", std::min(end, 0.0));
  }
  return text + '\n';
}

// Sums over the scored lines.
struct Totals {
  int64_t lines = 0, tokens = 0;
  double log_probability = 0;

  // Writes a line of the output for each line. Empty lines of plain text have no tokens, not even an end.
  std::string add(const std::vector<transmute::Hypothesis>& hypotheses, const Arguments& arguments) {
    std::string text;
    for (const auto& hypothesis : hypotheses) {
      const bool has_tokens = arguments.text.empty() || !hypothesis.tokens.empty();
      text += format(hypothesis, arguments.per_token && has_tokens);
      ++lines;
      if (!has_tokens) continue;
      log_probability += hypothesis.log_probability;
      tokens += static_cast<int64_t>(hypothesis.tokens.size()) + 1;
    }
    return text;
  }
};

// Counts the lines of a text.
class CountedLines {
 public:
  CountedLines(const std::string& path, const Arguments& arguments)
      : name_(transmute::input_name(path)), source_(transmute::open_input(path, arguments.lines.rules())) {}

  /// Ends after the lines before a bad one.
  std::vector<std::string> next_block() {
    if (failure_) return {};
    std::vector<std::string> lines = transmute::next_full_block(source_, kBlockLines, failure_);
    lines_ += static_cast<int64_t>(lines.size());
    return lines;
  }
  const std::string& name() const { return name_; }
  bool has_failed() const { return failure_ != nullptr; }
  /// Call it once the lines so far are scored.
  /// @throws BadLine if a bad one ended them.
  void check() const {
    if (failure_) std::rethrow_exception(failure_);
  }
  /// Reads to the end.
  std::string described() {
    while (!next_block().empty()) continue;
    return fmt::format("{} has {}{}", name_, failure_ ? "at least " : "", transmute::counted(lines_, "line"));
  }

 private:
  std::string name_;
  transmute::BlockSource source_;
  int64_t lines_ = 0;
  std::exception_ptr failure_;
};

void score_translations(const Arguments& arguments, transmute::Output& output, Totals& totals) {
  const transmute::Translator translator = arguments.translator.open();
  translator.score_batch({}, {}, arguments.translation);  // fails before a line is read if it cannot be done
  CountedLines source(arguments.source, arguments), target(arguments.target, arguments);
  std::vector<transmute::Hypothesis> scored;
  while (true) {
    std::vector<std::string> sources = source.next_block(), targets = target.next_block();
    const size_t both = std::min(sources.size(), targets.size());
    const bool source_stops = sources.size() == both, target_stops = targets.size() == both;
    if (source_stops != target_stops && !(source_stops ? source : target).has_failed())
      throw std::runtime_error(fmt::format("{} but {}; line n of the one must translate line n of the other",
                                           source.described(), target.described()));
    const std::string refusal = transmute::do_before_bad_text(both, [&](size_t count) {
      sources.resize(count);
      targets.resize(count);
      scored = translator.score_batch(sources, targets, arguments.translation);
    });
    output.write(totals.add(std::exchange(scored, {}), arguments));
    if (!refusal.empty())
      throw transmute::BadLine(
          fmt::format("line {} of {} and {}: {}", totals.lines + 1, source.name(), target.name(), refusal));
    if (source_stops) source.check();
    if (target_stops) target.check();
    if (both == 0) return;
  }
}

void score_text(const Arguments& arguments, transmute::Output& output, Totals& totals) {
  const transmute::LanguageModel model = arguments.translator.open_language_model();
  transmute::GenerationOptions options;
  options.batch_size = arguments.translation.batch_size;
  options.batch_tokens = arguments.translation.batch_tokens;
  CountedLines lines(arguments.text, arguments);
  while (true) {
    std::vector<std::string> texts = lines.next_block();
    if (texts.empty()) return lines.check();
    const auto [scored, refusal] =
        transmute::results_before_bad_text(texts, [&] { return model.score_batch(texts, options); });
    output.write(totals.add(scored, arguments));
    if (!refusal.empty()) throw transmute::BadLine(fmt::format("{}:{}: {}", lines.name(), totals.lines + 1, refusal));
  }
}

int score(const Arguments& arguments) {
  if (arguments.text.empty() && arguments.source.empty())
    throw std::invalid_argument(
        "--source and --target are needed for a translation model, --text for a language model");
  const transmute::TranslationOptions& languages = arguments.translation;
  if (!arguments.text.empty() && !(languages.source_language + languages.target_language).empty())
    throw std::invalid_argument(
        "--source-language and --target-language belong to --source and --target, not to --text");
  transmute::check_standard_input_once({{"--source", arguments.source}, {"--target", arguments.target}});
  std::vector<transmute::NamedInput> inputs = arguments.translator.inputs();
  inputs.insert(inputs.end(),
                {{"--source", arguments.source}, {"--target", arguments.target}, {"--text", arguments.text}});
  transmute::check_output_is_no_input(arguments.output, inputs);
  transmute::Output output(arguments.output);
  Totals totals;
  transmute::keep_output_before_bad_line(output, [&] {
    arguments.text.empty() ? score_translations(arguments, output, totals) : score_text(arguments, output, totals);
  });
  output.finish();
  if (totals.tokens > 0)
    transmute::note(fmt::format("{}, {} with the ends, log-probability {:.4f}, perplexity {:.4f}",
                                transmute::counted(totals.lines, "line"), transmute::counted(totals.tokens, "token"),
                                totals.log_probability,
                                std::exp(-totals.log_probability / static_cast<double>(totals.tokens))));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Prints the natural log-probability of each line: of a translation given its source, or of plain text under a "
      "language model. The end of the sentence is included. The perplexity of the whole text goes to standard error.",
      "score");
  app.footer("{} -m runs/demo/model --source test.en --target test.de");
  Arguments arguments;
  arguments.translator.add_to(app);
  const auto source = app.add_option("--source", arguments.source, "UTF-8 text, plain or gzipped; -: standard input")
                          ->type_name("FILE");
  const auto target = app.add_option("--target", arguments.target, "its translation, line for line; -: standard input")
                          ->type_name("FILE")
                          ->needs(source);
  source->needs(target);
  app.add_option("--text", arguments.text,
                 "for language models: the text, plain or gzipped, instead of --source and --target")
      ->type_name("FILE")
      ->excludes(source)
      ->excludes(target);
  transmute::add_output_flag(app, arguments.output);
  arguments.lines.add_to(app);
  app.add_flag("--per-token", arguments.per_token, "also print each token with its log-probability, separated by tabs");
  transmute::add_language_flags(app, arguments.translation.source_language, arguments.translation.target_language);
  transmute::add_batch_flags(app, arguments.translation.batch_size, arguments.translation.batch_tokens,
                             {"sentences", "tokens (of translations: source tokens)"});
  return transmute::run_program(app, argc, argv, [&] {
    transmute::keep_freed_memory();
    return score(arguments);
  });
}
