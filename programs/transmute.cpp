// SPDX-License-Identifier: Apache-2.0
// transmute: lists the other programs and runs them. See --help.

#include <spdlog/fmt/fmt.h>
#include <transmute/common/config_schema.h>
#include <transmute/programs/shared/output.h>
#include <transmute/programs/shared/program.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace {

struct Command {
  std::string name;
  std::string summary;
  bool needs_libtorch = false;  // and is in the package transmute-torch
};

// In the order in which they are met.
const std::vector<Command>& commands() {
  static const std::vector<Command> all{{"prepare", "clean parallel text for training"},
                                        {"train", "train a model on text", true},
                                        {"backtranslate", "make training pairs from text in the target language", true},
#ifdef TRANSMUTE_HAS_GET
                                        {"get", "download a model"},
#endif
                                        {"models", "list the downloaded models"},
                                        {"translate", "translate text"},
#ifdef TRANSMUTE_HAS_SERVE
                                        {"serve", "serve translations over HTTP"},
#endif
                                        {"evaluate", "score translations with BLEU, chrF and TER"},
                                        {"score", "print log-probabilities of translations or texts"},
                                        {"generate", "continue text with a language model"},
                                        {"embed", "write sentence embeddings"},
                                        {"visualize", "draw a model's attention as an HTML page", true},
                                        {"average_checkpoints", "average checkpoints into one model", true},
                                        {"convert", "convert a model to another format or precision"},
                                        {"export_torchscript", "export a model for LibTorch, PyTorch and Triton", true},
                                        {"make_shortlist", "build a vocabulary shortlist from parallel text"},
                                        {"sentences", "write the sentences of a text, one per line"},
                                        {"trees", "turn parse trees into parallel text and back"},
                                        {"make_demo_corpus", "generate a small parallel text for experiments"}};
  return all;
}

std::string help() {
  std::string text =
      "Usage: transmute COMMAND [OPTION]...\n\n"
      "Trains and runs Transformer models for translation and language modeling.\n\nCommands:\n";
  for (const Command& command : commands()) text += fmt::format("  {:<22}{}\n", command.name, command.summary);
  return text +
         "\nOptions:\n"
         "  -h, --help            print this help; after a command, its own\n"
         "  --version             print the version, with the revision and the instruction set\n"
         "\nExamples:\n"
         "  transmute train --source train.en --target train.de --run-folder runs/mine\n"
         "  transmute translate --model runs/mine/model --input test.en\n";
}

std::string records() {
  std::string text = "about\tTrains and runs Transformer models for translation and language modeling.\n";
  for (const Command& command : commands()) text += "command\t" + command.name + '\t' + command.summary + '\n';
  return text;
}

// The names that other programs give a command.
std::string other_name(const std::string& word) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> names{
      {"--version", {"version", "-v", "-V"}},
      {"prepare", {"clean", "filter", "preprocess", "clean-corpus"}},
      {"backtranslate", {"back-translate", "back_translate", "bt"}},
      {"translate", {"decode", "infer", "inference", "predict", "interactive", "decoder"}},
      {"get", {"download", "pull", "fetch"}},
      {"models", {"list", "ls"}},
      {"train", {"fit", "finetune", "fine-tune", "learn"}},
      {"serve", {"server", "web", "api"}},
      {"evaluate", {"bleu", "sacrebleu", "chrf", "ter", "eval"}},
      {"export_torchscript", {"export", "torchscript"}},
      {"convert", {"quantize", "conv"}},
      {"average_checkpoints", {"average"}}};
  for (const auto& [name, words] : names)
    if (std::find(words.begin(), words.end(), word) != words.end()) return name;
  return "";
}

int refuse(const std::string& message) {
  std::cerr << "transmute: error: " << message << '\n';
  return 2;
}

// Becomes the program of this name, which is beside this one; its messages call it "transmute <name>".
int run(const Command& command, std::vector<char*> words) {
  const std::string& name = command.name;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::string path = (folder / ("transmute-" + name)).string();
  std::string called = "transmute " + name;
  words.insert(words.begin(), called.data());
  words.push_back(nullptr);
  execv(path.c_str(), words.data());
  const char* const remedy = errno == ENOENT && command.needs_libtorch ? "; install the package transmute-torch" : "";
  std::cerr << "transmute: error: " << path << " cannot be run: " << std::strerror(errno) << remedy << '\n';
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<char*> words(argv + std::min(argc, 1), argv + argc);
  std::string help_flag = "--help";
  if (words.size() > 1 && std::string(words[0]) == "help") words = {words[1], help_flag.data()};
  const std::string first = words.empty() ? help_flag : words[0];
  if (first == "-h" || first == "--help" || first == "help") {
    std::cout << help();
  } else if (first == "--version") {
    std::cout << transmute::version_text("transmute") << '\n';
  } else if (first == "--help-records") {
    std::cout << records();
  } else {
    std::string name = first;
    std::replace(name.begin(), name.end(), '-', '_');
    std::vector<std::string> names;
    for (const Command& command : commands()) {
      if (command.name == name) return run(command, {words.begin() + 1, words.end()});
      names.push_back(command.name);
    }
    std::string nearest = other_name(first);
    if (nearest.empty()) nearest = transmute::nearest_name(name, names);
    return refuse(fmt::format("there is no command '{}'{}\nRun 'transmute --help' for the list.", first,
                              nearest.empty() ? "" : "; did you mean " + nearest + "?"));
  }
  if (std::cout.flush()) return 0;
  std::cerr << "transmute: error: " << transmute::kUnwritableStandardOutput << '\n';
  return 1;
}
