/// evaluate: corpus BLEU of a translated file against one or more reference files, equal to sacreBLEU's.

#include <CLI/CLI.hpp>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <transmute/common/text_file.h>
#include <transmute/scripts/program.h>
#include <transmute/translation/bleu.h>

namespace {

struct EvaluateOptions {
  std::string hypothesis_path;
  std::vector<std::string> reference_paths;
  std::string tokenizer = transmute::bleu_tokenizer_name(transmute::BleuOptions{}.tokenizer);
  bool lowercase = false;
  bool score_only = false;
};

void declare_options(CLI::App& app, EvaluateOptions& options) {
  app.add_option("--hypothesis", options.hypothesis_path, "Translations, one segment per line (plain or gzipped)")
      ->required();
  app.add_option("--reference", options.reference_paths,
                 "Reference translations, parallel to the hypothesis file; repeat for several references")
      ->required();
  app.add_flag("--lowercase", options.lowercase, "Ignore the difference between upper and lower case");
  app.add_option("--tokenize", options.tokenizer,
                 "How to cut segments into tokens: 13a, or none for text that is tokenised already")
      ->capture_default_str();
  app.add_flag("--score-only", options.score_only, "Print only the number");
}

transmute::BleuOptions bleu_options(const EvaluateOptions& options) {
  transmute::BleuOptions bleu;
  bleu.tokenizer = transmute::bleu_tokenizer_from_name(options.tokenizer);
  bleu.letter_case = options.lowercase ? transmute::BleuCase::lower : transmute::BleuCase::mixed;
  return bleu;
}

std::vector<std::string> read_hypotheses(const std::string& path) {
  std::vector<std::string> lines = transmute::read_lines(path);
  if (lines.empty()) throw std::runtime_error(path + ": the file is empty; there is nothing to evaluate");
  return lines;
}

// The library would reject unequal counts too, but only here are the names of the files known.
std::vector<std::string> read_parallel(const std::string& path, const std::string& hypothesis_path,
                                       std::size_t num_hypotheses) {
  std::vector<std::string> lines = transmute::read_lines(path);
  if (lines.size() != num_hypotheses) {
    throw std::runtime_error(path + " has " + std::to_string(lines.size()) + " lines but " + hypothesis_path + " has " +
                             std::to_string(num_hypotheses) +
                             "; line n of the one must translate the same segment as line n of the other");
  }
  return lines;
}

int evaluate(const EvaluateOptions& options) {
  const transmute::BleuOptions bleu = bleu_options(options);
  const std::vector<std::string> hypotheses = read_hypotheses(options.hypothesis_path);
  std::vector<std::vector<std::string>> references;
  for (const std::string& path : options.reference_paths) {
    references.push_back(read_parallel(path, options.hypothesis_path, hypotheses.size()));
  }
  const transmute::BleuScore score = transmute::corpus_bleu(hypotheses, references, bleu);
  if (options.score_only) {
    std::cout << transmute::format_bleu_score_only(score) << '\n';
  } else {
    std::cout << transmute::format_bleu(score, transmute::bleu_signature(bleu, references.size())) << '\n';
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Scores a translated file against references with corpus BLEU, equal to sacreBLEU's.", "evaluate");
  EvaluateOptions options;
  declare_options(app, options);
  return transmute::run_program(app, argc, argv, [&] { return evaluate(options); });
}
