// SPDX-License-Identifier: Apache-2.0
// score: how probable each line of a translation is, given its source, or each line of plain text. See --help.

#include <spdlog/fmt/fmt.h>
#include <transmute/common/text_file.h>
#include <transmute/model/threading.h>
#include <transmute/programs/line_stream.h>
#include <transmute/programs/output.h>
#include <transmute/programs/program.h>
#include <transmute/programs/translator_flags.h>
#include <transmute/translation/language_model.h>
#include <transmute/translation/translator.h>

#include <cmath>
#include <iostream>

namespace {

constexpr size_t kBlockLines = 4096;

struct Arguments {
  std::string source;
  std::string target;
  std::string text;
  bool per_token = false;
  size_t max_line_bytes = transmute::kMaxLineBytes;
  transmute::TranslatorFlags translator;
  transmute::TranslationOptions translation;
};

std::vector<std::string> next_block(transmute::LineReader& reader) {
  std::vector<std::string> lines;
  for (std::string line; lines.size() < kBlockLines && reader.next(line);) lines.push_back(line);
  return lines;
}

std::string format(const transmute::Hypothesis& hypothesis, bool per_token) {
  std::string text = fmt::format("{:.6f}", hypothesis.log_probability);
  if (per_token) {
    double end = hypothesis.log_probability;
    for (size_t i = 0; i < hypothesis.tokens.size(); ++i) {
      text += fmt::format("\t{} {:.6f}", hypothesis.tokens[i], hypothesis.token_scores[i]);
      end -= hypothesis.token_scores[i];
    }
    text += fmt::format("\t</s> {:.6f}", end);
  }
  return text + '\n';
}

// The sums of what was scored.
struct Totals {
  int64_t lines = 0, tokens = 0;
  double log_probability = 0;

  // A line of the output for each. Plain text's empty lines have no tokens, not even an end.
  std::string add(const std::vector<transmute::Hypothesis>& hypotheses, const Arguments& arguments) {
    std::string text;
    for (const auto& hypothesis : hypotheses) {
      text += format(hypothesis, arguments.per_token);
      ++lines;
      if (!arguments.text.empty() && hypothesis.tokens.empty()) continue;
      log_probability += hypothesis.log_probability;
      tokens += static_cast<int64_t>(hypothesis.tokens.size()) + 1;
    }
    return text;
  }
};

Totals score_translations(const Arguments& arguments, transmute::Output& output) {
  const transmute::Translator translator = arguments.translator.open();
  transmute::LineReader source(arguments.source, arguments.max_line_bytes);
  transmute::LineReader target(arguments.target, arguments.max_line_bytes);
  Totals totals;
  while (true) {
    const std::vector<std::string> sources = next_block(source), targets = next_block(target);
    if (sources.size() != targets.size()) {
      for (std::string line; source.next(line);) continue;  // to their ends, for the count
      for (std::string line; target.next(line);) continue;
      throw std::runtime_error(
          fmt::format("{} has {} lines but {} has {}; line n of the one must translate line n of the other",
                      arguments.source, source.line_number(), arguments.target, target.line_number()));
    }
    if (sources.empty()) return totals;
    output.write(totals.add(translator.score_batch(sources, targets, arguments.translation), arguments));
  }
}

Totals score_text(const Arguments& arguments, transmute::Output& output) {
  const transmute::LanguageModel model = arguments.translator.open_language_model();
  transmute::GenerationOptions options;
  options.batch_size = arguments.translation.batch_size;
  options.batch_tokens = arguments.translation.batch_tokens;
  transmute::LineReader reader(arguments.text, arguments.max_line_bytes);
  Totals totals;
  while (true) {
    const std::vector<std::string> texts = next_block(reader);
    if (texts.empty()) return totals;
    output.write(totals.add(model.score_batch(texts, options), arguments));
  }
}

int score(const Arguments& arguments) {
  if (arguments.text.empty() && arguments.source.empty())
    throw std::invalid_argument(
        "--source and --target are needed for a translation model, --text for a language model");
  transmute::Output output;
  const Totals totals = arguments.text.empty() ? score_translations(arguments, output) : score_text(arguments, output);
  if (totals.tokens > 0)
    std::cerr << fmt::format("score: {} lines, {} tokens with the ends, log-probability {:.4f}, perplexity {:.4f}\n",
                             totals.lines, totals.tokens, totals.log_probability,
                             std::exp(-totals.log_probability / static_cast<double>(totals.tokens)));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  transmute::configure_process_for_workers();
  CLI::App app(
      "Prints for each line of a translation its natural log-probability given the source, or for each line of plain "
      "text that by a language model, the end included; at the end, on standard error, the perplexity of the whole.",
      "score");
  Arguments arguments;
  arguments.translator.add_to(app);
  const auto source = app.add_option("--source", arguments.source, "UTF-8 text, plain or gzipped");
  const auto target = app.add_option("--target", arguments.target, "its translation, line for line")->needs(source);
  source->needs(target);
  app.add_option("--text", arguments.text, "with a language model: the text, plain or gzipped, instead of these two")
      ->excludes(source)
      ->excludes(target);
  app.add_flag("--per-token", arguments.per_token, "add each token with its log-probability, tabs between");
  app.add_option("--batch-size", arguments.translation.batch_size, "sentences that a worker scores together")
      ->capture_default_str();
  app.add_option("--batch-tokens", arguments.translation.batch_tokens,
                 "and their padded tokens at most, of translations the source's")
      ->capture_default_str();
  transmute::add_line_limit(app, arguments.max_line_bytes);
  return transmute::run_program(app, argc, argv, [&] { return score(arguments); });
}
