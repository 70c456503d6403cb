// SPDX-License-Identifier: Apache-2.0
// visualize: a page that shows what a model attends to. See --help.

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/model/threading.h>
#include <transmute/programs/line_stream.h>
#include <transmute/programs/program.h>
#include <transmute/translation/explorer/page.h>
#include <transmute/translation/files/load_model.h>

#include <iostream>
#include <stdexcept>

namespace {

struct Arguments {
  std::string model;
  std::string input;
  std::string target;
  std::string output;
  transmute::ExplorerOptions explorer;
};

// At most `limit` + 1 lines: one too many is enough to know that there are too many.
std::vector<std::string> first_lines(const std::string& path, int64_t limit) {
  const auto most = static_cast<size_t>(limit) + 1;
  const transmute::BlockSource next_block = transmute::open_input(path);
  std::vector<std::string> lines;
  while (lines.size() < most) {
    const auto block = next_block(most - lines.size());
    if (block.empty()) break;
    lines.insert(lines.end(), block.begin(), block.end());
  }
  return lines;
}

std::vector<transmute::ExplorerSentence> read_sentences(const Arguments& arguments) {
  const int64_t limit = arguments.explorer.max_sentences;
  if (limit < 1) throw std::invalid_argument("--max-sentences must be at least 1");
  std::vector<transmute::ExplorerSentence> sentences;
  for (auto& line : first_lines(arguments.input, limit)) sentences.push_back({std::move(line)});
  if (arguments.target.empty()) return sentences;
  const std::vector<std::string> targets = first_lines(arguments.target, limit);
  if (targets.size() != sentences.size())
    throw std::invalid_argument(
        fmt::format("{} has {} lines, but {} sentences were given: line n of one must be the "
                    "translation of line n of the other",
                    arguments.target, targets.size(), sentences.size()));
  for (size_t i = 0; i < targets.size(); ++i) sentences[i].target = targets[i];
  return sentences;
}

}  // namespace

int main(int argc, char** argv) {
  transmute::configure_process_for_workers();
  CLI::App app(
      "Writes one HTML page that shows what every attention head of a model looks at, sentence by sentence, with the "
      "positional encodings and the embeddings. The page needs no network.",
      "visualize");
  Arguments arguments;
  auto& explorer = arguments.explorer;
  app.add_option("--model", arguments.model, "a model folder, as train makes it, or an exported file")->required();
  app.add_option("--input", arguments.input, "sentences, one a line, plain or gzipped; default: standard input");
  app.add_option("--target", arguments.target, "their translations, to be followed instead of the model's own");
  app.add_option("--output", arguments.output, "the page to write")->required();
  app.add_option("--beam-size", explorer.search.beam_size, "of the search for translations")->capture_default_str();
  app.add_option("--length-alpha", explorer.search.length_alpha, "its length penalty")->capture_default_str();
  app.add_option("--max-sentences", explorer.max_sentences, "more are an error")->capture_default_str();
  app.add_option("--max-tokens", explorer.max_tokens,
                 "longer sentences are an error: the page grows with the square of the length")
      ->capture_default_str();
  app.add_option("--map-tokens", explorer.map_tokens, "tokens on the map of the embeddings")->capture_default_str();
  return transmute::run_program(app, argc, argv, [&] {
    const auto sentences = read_sentences(arguments);
    explorer.title = arguments.model;
    const transmute::LoadedModel model =
        transmute::load_model(arguments.model, torch::kCPU, transmute::Architecture::encoder_decoder);
    const std::string page = transmute::explorer_page(model, sentences, explorer);
    transmute::write_file_atomically(arguments.output, page);
    std::cerr << fmt::format("visualize: wrote {} ({} sentences, {} KiB)\n", arguments.output, sentences.size(),
                             page.size() / 1024);
    return 0;
  });
}
