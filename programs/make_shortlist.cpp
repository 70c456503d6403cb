// SPDX-License-Identifier: Apache-2.0
// make_shortlist: which target tokens translate which source tokens, from parallel text. See --help.

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/common/progress.h>
#include <transmute/formats/model_store.h>
#include <transmute/network/device.h>
#include <transmute/programs/shared/flag_values.h>
#include <transmute/programs/shared/program.h>
#include <transmute/programs/shared/stream_flags.h>
#include <transmute/programs/shared/translator_flags.h>
#include <transmute/text/types.h>
#include <transmute/tokenizer/tokenizer_files.h>
#include <transmute/training/data/lexical_model.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Arguments {
  std::string model;
  std::vector<std::string> source, target;
  std::string output;
  int64_t best = transmute::ShortlistOptions().best;
  double least = transmute::kLeastShortlistProbability;
  int64_t iterations = transmute::kShortlistIterations;
  int threads = 0;
  transmute::LengthLimits limits;
};

transmute::Tokenizer load_tokenizer(const std::string& folder) {
  const auto has = [&](const char* name) { return std::filesystem::exists(transmute::path_in(folder, name)); };
  if (folder.empty()) throw std::runtime_error("the path of the model is empty");
  if (std::filesystem::exists(folder) && !has(transmute::kSharedTokenizerFile) && !has(transmute::kSourceTokenizerFile))
    throw std::runtime_error(
        fmt::format("{}: has no tokenizer ({}); make a model folder of another program's model first, with convert "
                    "--to folder",
                    folder, transmute::kSharedTokenizerFile));
  return transmute::Tokenizer::load(folder);
}

int make_shortlist(const Arguments& arguments) {
  const std::string folder = transmute::model_path(arguments.model);
  std::vector<transmute::NamedInput> inputs = {{"--model", folder}};
  for (const std::string& path : arguments.source) inputs.push_back({"--source", path});
  for (const std::string& path : arguments.target) inputs.push_back({"--target", path});
  transmute::check_output_is_no_input(arguments.output, inputs);
  const transmute::Tokenizer tokenizer = load_tokenizer(folder);
  transmute::Output output(arguments.output);  // fails now rather than later if it cannot be opened
  transmute::WorkerCrew workers(transmute::worker_count(arguments.threads, {}));
  const transmute::LoadedText loaded = transmute::load_parallel_text(
      {{arguments.source.begin(), arguments.source.end()}, {arguments.target.begin(), arguments.target.end()}},
      tokenizer, arguments.limits, workers);
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
  transmute::note(fmt::format("{} from {} ({} left out: empty or too long)", transmute::counted(lines, "line"),
                              transmute::counted(static_cast<int64_t>(loaded.text.size()), "sentence pair"),
                              transmute::format_count(loaded.left_out.total())));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Estimates from parallel text which target tokens translate which source tokens (IBM Model 1), and writes a "
      "table of lines \"target source probability\" for translate --shortlist.",
      "make_shortlist");
  app.footer("{} -m runs/demo/model --source train.en --target train.de -o shortlist.txt");
  Arguments arguments;
  app.add_option("-m,--model", arguments.model, "a model folder written by train or convert")
      ->type_name("FOLDER")
      ->required();
  app.add_option("--source", arguments.source, "UTF-8 text, plain or gzipped; one or more files")
      ->type_name("FILE")
      ->required();
  app.add_option("--target", arguments.target, "its translation, line for line")->type_name("FILE")->required();
  transmute::add_output_flag(app, arguments.output);
  app.add_option("--shortlist-best", arguments.best, "maximum number of translations per source token")
      ->check(transmute::at_least(1))
      ->capture_default_str();
  app.add_option("--least", arguments.least, "minimum probability of a translation")
      ->check(transmute::between(0, 1))
      ->capture_default_str();
  app.add_option("--iterations", arguments.iterations, "iterations of expectation maximization")
      ->check(transmute::at_least(1))
      ->capture_default_str();
  app.add_option("--max-source-tokens", arguments.limits.source_tokens, "longer pairs are left out")
      ->check(transmute::at_least(1))
      ->capture_default_str();
  app.add_option("--max-target-tokens", arguments.limits.target_tokens, "longer pairs are left out")
      ->check(transmute::at_least(1))
      ->capture_default_str();
  transmute::add_threads_flag(app, arguments.threads);
  return transmute::run_program(app, argc, argv, [&] { return make_shortlist(arguments); });
}
