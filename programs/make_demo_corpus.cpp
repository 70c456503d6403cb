// SPDX-License-Identifier: Apache-2.0
// make_demo_corpus: writes parallel text of numbers, dates and times in two languages. See --help.

#include <transmute/common/files.h>
#include <transmute/common/progress.h>
#include <transmute/programs/demo_corpus/demo_corpus.h>
#include <transmute/programs/shared/flag_values.h>
#include <transmute/programs/shared/program.h>

#include <cstdint>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

struct Arguments {
  std::string output;
  bool force = false;
  transmute::DemoCorpusOptions corpus;
};

void declare_options(CLI::App& app, Arguments& arguments) {
  transmute::DemoCorpusOptions& options = arguments.corpus;
  app.add_option("-o,--output", arguments.output, "output folder; created if missing")
      ->type_name("FOLDER")
      ->check(transmute::not_standard_output())
      ->required();
  app.add_flag("--force", arguments.force, "overwrite a different text in the folder");
  app.add_option("--source-locale", options.source_locale, "language to translate from, as an ICU locale")
      ->type_name("LOCALE")
      ->capture_default_str();
  app.add_option("--target-locale", options.target_locale, "language to translate to, as an ICU locale")
      ->type_name("LOCALE")
      ->capture_default_str();
  app.add_option("--train", options.train_pairs, "training pairs")
      ->check(transmute::at_least(1))
      ->capture_default_str();
  app.add_option("--valid", options.valid_pairs, "validation pairs")
      ->check(transmute::at_least(0))
      ->capture_default_str();
  app.add_option("--test", options.test_pairs, "test pairs")->check(transmute::at_least(0))->capture_default_str();
  app.add_option("--max-number", options.max_number, "largest number in the text")
      ->check(transmute::at_least(0))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "seed of the random expressions")
      ->check(transmute::at_least(0))
      ->capture_default_str();
}

std::string lines_of(const std::vector<transmute::DemoPair>& pairs, std::string transmute::DemoPair::*side) {
  std::string text;
  for (const transmute::DemoPair& pair : pairs) text += pair.*side + '\n';
  return text;
}

struct NamedText {
  std::string path;
  std::string content;
};

// A text of the same name that is another one stays, unless it may go.
void check_may_write(const std::vector<NamedText>& texts) {
  for (const NamedText& text : texts)
    if (std::filesystem::exists(text.path) && transmute::read_file(text.path) != text.content)
      throw std::runtime_error(text.path + ": is another text; name another --output, or replace it with --force");
}

int make_demo_corpus(const Arguments& arguments) {
  using transmute::DemoPair;
  const auto [source_suffix, target_suffix] = transmute::demo_corpus_suffixes(arguments.corpus);
  const transmute::DemoCorpus corpus = transmute::make_demo_corpus(arguments.corpus);
  const std::pair<const char*, const std::vector<DemoPair>&> parts[] = {
      {"train", corpus.train}, {"valid", corpus.valid}, {"test", corpus.test}};
  std::vector<NamedText> texts;
  for (const auto& [part, pairs] : parts) {
    const std::string stem = transmute::path_in(arguments.output, part) + ".";
    texts.push_back({stem + source_suffix, lines_of(pairs, &DemoPair::source)});
    texts.push_back({stem + target_suffix, lines_of(pairs, &DemoPair::target)});
  }
  if (!arguments.force) check_may_write(texts);
  transmute::ensure_writable_folder(arguments.output);
  for (const NamedText& text : texts) transmute::write_file_atomically(text.path, text.content);
  for (size_t i = 0; i < texts.size(); i += 2)
    std::cout << texts[i].path << ' ' << texts[i + 1].path << ": "
              << transmute::counted(static_cast<int64_t>(parts[i / 2].second.size()), "pair") << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Generates parallel text of numbers, dates and times in two languages from ICU's locale data.",
               "make_demo_corpus");
  app.footer("{} -o data/demo --max-number 999");
  Arguments arguments;
  declare_options(app, arguments);
  return transmute::run_program(app, argc, argv, [&] { return make_demo_corpus(arguments); });
}
