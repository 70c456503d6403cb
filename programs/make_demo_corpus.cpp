// SPDX-License-Identifier: Apache-2.0
/// make_demo_corpus: writes parallel text of numbers, dates and times in two languages, from ICU's locale
/// data.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include <transmute/common/files.h>
#include <transmute/programs/demo_corpus.h>
#include <transmute/programs/program.h>

namespace {

void declare_options(CLI::App& app, std::string& output, transmute::DemoCorpusOptions& options) {
  app.add_option("--output", output, "Folder to write to; made where it is missing")->required();
  app.add_option("--source-locale", options.source_locale, "Language to translate from, as an ICU locale")
      ->capture_default_str();
  app.add_option("--target-locale", options.target_locale, "Language to translate to, as an ICU locale")
      ->capture_default_str();
  app.add_option("--train", options.train_pairs, "Pairs to train on")->capture_default_str();
  app.add_option("--valid", options.valid_pairs, "Pairs to watch the training with")->capture_default_str();
  app.add_option("--test", options.test_pairs, "Held-out pairs")->capture_default_str();
  app.add_option("--max-number", options.max_number, "Largest number to occur")->capture_default_str();
  app.add_option("--seed", options.seed, "Another seed draws other expressions")
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()))
      ->capture_default_str();
}

std::string lines_of(const std::vector<transmute::DemoPair>& pairs, std::string transmute::DemoPair::*side) {
  std::string text;
  for (const transmute::DemoPair& pair : pairs) text += pair.*side + '\n';
  return text;
}

int make_demo_corpus(const std::string& output, const transmute::DemoCorpusOptions& options) {
  using transmute::DemoPair;
  const auto [source_suffix, target_suffix] = transmute::demo_corpus_suffixes(options);
  const transmute::DemoCorpus corpus = transmute::make_demo_corpus(options);
  transmute::ensure_writable_folder(output);
  const auto write_part = [&, source = source_suffix, target = target_suffix](const std::string& part,
                                                                              const std::vector<DemoPair>& pairs) {
    const std::string stem = (std::filesystem::path(output) / part).string() + ".";
    transmute::write_file_atomically(stem + source, lines_of(pairs, &DemoPair::source));
    transmute::write_file_atomically(stem + target, lines_of(pairs, &DemoPair::target));
    std::cout << stem << source << ' ' << stem << target << ": " << pairs.size() << " pairs\n";
  };
  write_part("train", corpus.train);
  write_part("valid", corpus.valid);
  write_part("test", corpus.test);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Writes parallel text of numbers, dates and times in two languages, made from ICU's locale data.",
               "make_demo_corpus");
  std::string output;
  transmute::DemoCorpusOptions options;
  declare_options(app, output, options);
  return transmute::run_program(app, argc, argv, [&] { return make_demo_corpus(output, options); });
}
