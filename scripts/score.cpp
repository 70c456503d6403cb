// score: how probable each line of a translation is, given its source. See --help.

#include <spdlog/fmt/fmt.h>
#include <transmute/common/text_file.h>
#include <transmute/model/threading.h>
#include <transmute/scripts/output.h>
#include <transmute/scripts/program.h>
#include <transmute/scripts/translator_flags.h>
#include <transmute/translation/translator.h>

#include <cmath>
#include <iostream>

namespace {

constexpr size_t kBlockLines = 4096;

struct Arguments {
  std::string source;
  std::string target;
  bool per_token = false;
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

int score(const Arguments& arguments) {
  const transmute::Translator translator = arguments.translator.open();
  transmute::LineReader source(arguments.source), target(arguments.target);
  transmute::Output output;
  double log_probability = 0;
  int64_t tokens = 0;
  while (true) {
    const std::vector<std::string> sources = next_block(source), targets = next_block(target);
    if (sources.size() != targets.size()) {
      for (std::string line; source.next(line);) continue;  // to their ends, for the count
      for (std::string line; target.next(line);) continue;
      throw std::runtime_error(
          fmt::format("{} has {} lines but {} has {}; line n of the one must translate line n of the other",
                      arguments.source, source.line_number(), arguments.target, target.line_number()));
    }
    if (sources.empty()) break;
    std::string text;
    for (const auto& hypothesis : translator.score_batch(sources, targets, arguments.translation)) {
      text += format(hypothesis, arguments.per_token);
      log_probability += hypothesis.log_probability;
      tokens += static_cast<int64_t>(hypothesis.tokens.size()) + 1;
    }
    output.write(text);
  }
  if (tokens > 0)
    std::cerr << fmt::format("score: {} lines, {} tokens with the ends, log-probability {:.4f}, perplexity {:.4f}\n",
                             source.line_number(), tokens, log_probability,
                             std::exp(-log_probability / static_cast<double>(tokens)));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  transmute::configure_process_for_workers();
  CLI::App app(
      "Prints for each line of a translation its natural log-probability given the source, the end included; at the "
      "end, "
      "on standard error, the perplexity of the whole.",
      "score");
  Arguments arguments;
  arguments.translator.add_to(app);
  app.add_option("--source", arguments.source, "UTF-8 text, plain or gzipped")->required();
  app.add_option("--target", arguments.target, "its translation, line for line")->required();
  app.add_flag("--per-token", arguments.per_token, "add each token with its log-probability, tabs between");
  app.add_option("--batch-size", arguments.translation.batch_size, "sentences that a worker scores together")
      ->capture_default_str();
  app.add_option("--batch-tokens", arguments.translation.batch_tokens, "and their padded source tokens at most")
      ->capture_default_str();
  return transmute::run_program(app, argc, argv, [&] { return score(arguments); });
}
