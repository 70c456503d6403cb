// SPDX-License-Identifier: Apache-2.0
// trees: parse trees as parallel text, and back. See --help.

#include <spdlog/fmt/fmt.h>
#include <transmute/common/progress.h>
#include <transmute/examples/parsing/tree.h>
#include <transmute/examples/parsing/tree_text.h>
#include <transmute/programs/shared/line_stream.h>
#include <transmute/programs/shared/output.h>
#include <transmute/programs/shared/program.h>
#include <transmute/programs/shared/stream_flags.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using transmute::Tree;

struct Arguments {
  std::vector<std::string> brackets;
  std::string words, labels, simplified;
  bool restore = false;
  std::string output;
};

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}\n", fmt::join(words, " "));
}

std::string text_of(const std::string& path) {
  return fmt::format("{}", fmt::join(transmute::read_input_lines(path), "\n"));
}

// Trees to lines. Each output is made where it was asked for.
int write_text(const Arguments& arguments) {
  const auto open = [](const std::string& path) {
    return path.empty() ? nullptr : std::make_unique<transmute::Output>(path);
  };
  const auto words = open(arguments.words), labels = open(arguments.labels), simplified = open(arguments.simplified);
  int64_t trees = 0, empty = 0, inexact = 0;
  for (const std::string& path : arguments.brackets) {
    for (const Tree& read : transmute::read_trees(text_of(path), transmute::input_name(path))) {
      const Tree tree = transmute::simplified(read);
      const std::vector<std::string> own = transmute::words_of(tree);
      if (own.empty()) {
        ++empty;
        continue;
      }
      ++trees;
      const std::string text = transmute::tree_text(tree);
      transmute::TreeRepairs repairs;
      if (!(transmute::tree_from_text(own, text, repairs) == tree) || repairs.repaired > 0) ++inexact;
      if (words) words->write(joined(own));
      if (labels) labels->write(text + '\n');
      if (simplified) simplified->write(transmute::to_brackets(tree) + '\n');
    }
  }
  for (const auto* output : {&words, &labels, &simplified})
    if (*output) (*output)->finish();
  transmute::note(fmt::format("{}{}", transmute::counted(trees, "tree"),
                              empty > 0 ? fmt::format("; {} more had no words and were left out", empty) : ""));
  if (inexact > 0) transmute::note(fmt::format("{} cannot be restored from their lines exactly", inexact));
  return 0;
}

int restore(const Arguments& arguments) {
  const std::vector<std::string> words = transmute::read_input_lines(arguments.words);
  const std::vector<std::string> labels = transmute::read_input_lines(arguments.labels);
  transmute::check_equal_lines(arguments.words, words.size(), arguments.labels, labels.size(), "be the words of");
  transmute::Output output(arguments.output);
  transmute::TreeRepairs repairs;
  int64_t empty = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::vector<std::string> of_line = transmute::split_words(words[i]);
    if (of_line.empty()) {
      ++empty;
      output.write("\n");
      continue;
    }
    output.write(transmute::to_brackets(transmute::tree_from_text(of_line, labels[i], repairs)) + '\n');
  }
  output.finish();
  transmute::note(fmt::format("{}; {} repaired ({} unbalanced, {} with other numbers of words); {} without words",
                              transmute::counted(repairs.trees, "tree"), repairs.repaired, repairs.unbalanced,
                              repairs.word_count, transmute::counted(empty, "line")));
  return 0;
}

// Files that would be lost: one for two outputs, or an input's.
void check_outputs(const Arguments& arguments) {
  if (!arguments.output.empty())
    throw std::invalid_argument("--output is for --restore; name --words, --labels or --simplified");
  std::vector<std::pair<std::string, std::string>> taken;
  for (const std::string& path : arguments.brackets) taken.emplace_back("--input", transmute::place_of(path));
  for (const auto& [flag, path] : {std::pair{"--words", arguments.words}, std::pair{"--labels", arguments.labels},
                                   std::pair{"--simplified", arguments.simplified}}) {
    if (path.empty()) continue;
    for (const auto& [other, place] : taken)
      if (place == transmute::place_of(path) && (place != "-" || other != "--input"))
        throw std::invalid_argument(fmt::format("{} and {} are one file: {}", other, flag, path));
    taken.emplace_back(flag, transmute::place_of(path));
  }
}

int trees(const Arguments& arguments) {
  if (arguments.restore) {
    if (arguments.words.empty() || arguments.labels.empty() || !arguments.brackets.empty())
      throw std::invalid_argument("--restore needs --words and --labels, and no --input");
    if (!arguments.simplified.empty())
      throw std::invalid_argument("--simplified is for --input; --restore writes its trees to --output");
    const std::vector<transmute::NamedInput> inputs{{"--words", arguments.words}, {"--labels", arguments.labels}};
    transmute::check_standard_input_once(inputs);
    transmute::check_output_is_no_input(arguments.output, inputs);
    return restore(arguments);
  }
  if (arguments.brackets.empty()) throw std::invalid_argument("--input names no trees; or is --restore meant?");
  if (arguments.words.empty() && arguments.labels.empty() && arguments.simplified.empty())
    throw std::invalid_argument("nothing to write: name --words, --labels or --simplified");
  check_outputs(arguments);
  return write_text(arguments);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Turns parse trees in the brackets of the Penn Treebank into parallel text for training a parser (words, and "
      "labels such as \"(S (NP NNP )NP (VP VBZ )VP )S\"), and turns words and labels back into trees.",
      "trees");
  app.footer(
      "{} -i wsj/*.mrg --words train.words --labels train.labels\n"
      "{} --restore --words test.words --labels parsed.labels -o parsed.trees");
  Arguments arguments;
  app.add_option("-i,--input", arguments.brackets, "files of trees; traces and functions are removed")
      ->type_name("FILE");
  app.add_option("--words", arguments.words, "one sentence per line: written, or read by --restore")->type_name("FILE");
  app.add_option("--labels", arguments.labels, "the labels of one tree per line: written, or read by --restore")
      ->type_name("FILE");
  app.add_option("--simplified", arguments.simplified,
                 "also write the trees, one per line in brackets, as evaluate --trees wants the reference")
      ->type_name("FILE");
  app.add_flag(
      "--restore", arguments.restore,
      "make trees from --words and --labels; labels that do not form a tree over the words are repaired and counted");
  transmute::add_output_flag(app, arguments.output);
  return transmute::run_program(app, argc, argv, [&] { return trees(arguments); });
}
