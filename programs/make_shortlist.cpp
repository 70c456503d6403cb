// SPDX-License-Identifier: Apache-2.0
// make_shortlist: which target tokens translate which source tokens, from parallel text. See --help.

#include <spdlog/fmt/fmt.h>
#include <transmute/programs/output.h>
#include <transmute/programs/program.h>
#include <transmute/training/data/lexical_model.h>
#include <transmute/translation/files/model_folder.h>
#include <CLI/CLI.hpp>

#include <iostream>
#include <string>

namespace {

struct Arguments {
  std::string model;
  std::vector<std::string> source, target;
  std::string output;
  int64_t best = 100;
  double least = 1e-4;
  int64_t iterations = 5;
  transmute::LengthLimits limits;
};

int make_shortlist(const Arguments& arguments) {
  if (arguments.best < 1) throw std::invalid_argument("--best must be at least 1");
  const transmute::Tokenizer tokenizer = transmute::Tokenizer::load(arguments.model);
  transmute::Output output(arguments.output);  // now rather than later, if it cannot be
  transmute::WorkerCrew workers(transmute::available_cores());
  const transmute::LoadedText loaded =
      transmute::load_parallel_text({arguments.source, arguments.target}, tokenizer, arguments.limits, workers);
  const transmute::LexicalModel model(loaded.text, arguments.iterations);
  int64_t lines = 0;
  for (int64_t source = 0; source < model.source_tokens(); ++source) {
    std::string text;
    for (const auto& [target, probability] : model.best(source, static_cast<size_t>(arguments.best), arguments.least)) {
      text += fmt::format("{} {} {:.6g}\n", tokenizer.target().piece(target), tokenizer.source().piece(source),
                          probability);
      ++lines;
    }
    output.write(text);
  }
  output.finish();
  std::cerr << fmt::format("make_shortlist: {} lines from {} sentence pairs ({} left out: empty or too long)\n", lines,
                           loaded.text.size(), loaded.left_out.total());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Learns from parallel text which target tokens translate which source tokens (IBM Model 1), and writes a table "
      "of "
      "lines \"target source probability\" for translate --shortlist.",
      "make_shortlist");
  Arguments arguments;
  app.add_option("--model", arguments.model, "a model folder, or any folder with its tokenizer")->required();
  app.add_option("--source", arguments.source, "UTF-8 text, plain or gzipped; several files in a row")->required();
  app.add_option("--target", arguments.target, "its translation, line for line")->required();
  app.add_option("--output", arguments.output, "default: standard output");
  app.add_option("--best", arguments.best, "translations of each source token at most")->capture_default_str();
  app.add_option("--least", arguments.least, "least probability of a translation")
      ->check(transmute::between(0, 1))
      ->capture_default_str();
  app.add_option("--iterations", arguments.iterations, "of expectation maximisation")->capture_default_str();
  app.add_option("--max-source-tokens", arguments.limits.source_tokens, "longer pairs are left out")
      ->capture_default_str();
  app.add_option("--max-target-tokens", arguments.limits.target_tokens, "longer pairs are left out")
      ->capture_default_str();
  return transmute::run_program(app, argc, argv, [&] { return make_shortlist(arguments); });
}
