// SPDX-License-Identifier: Apache-2.0
// backtranslate: makes training pairs of text in the target language, by a model of the opposite direction. See --help.

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <transmute/common/files.h>
#include <transmute/common/memory.h>
#include <transmute/common/process_lock.h>
#include <transmute/common/progress.h>
#include <transmute/common/shell_word.h>
#include <transmute/common/stopwatch.h>
#include <transmute/preparation/preparation.h>
#include <transmute/preparation/report.h>
#include <transmute/programs/shared/bad_text.h>
#include <transmute/programs/shared/flag_values.h>
#include <transmute/programs/shared/line_output.h>
#include <transmute/programs/shared/program.h>
#include <transmute/programs/shared/search_flags.h>
#include <transmute/programs/shared/stream_flags.h>
#include <transmute/programs/shared/translator_flags.h>
#include <transmute/training/config.h>
#include <transmute/training/initial_model.h>
#include <transmute/training/run_text.h>
#include <transmute/translation/translator.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::vector<std::string> texts;
  std::string config, output, languages;
  std::string tag = "<BT>";
  double weight = 0;          // 0: as much as the other text
  double min_confidence = 0;  // 0: any
  bool samples = false;
  transmute::TranslatorFlags translator;
  transmute::SearchFlags search;
  transmute::SamplingOptions sampling;
  transmute::TranslationOptions translation;
  transmute::LineFlags lines;
  transmute::BufferFlag buffer;

  std::string file(const char* name) const { return transmute::path_in(output, name); }
};

// The files of the output folder.
constexpr const char* kSettingsFile = "settings.txt";        // settings that the translations depend on
constexpr const char* kTranslationsFile = "translated.tsv";  // all pairs, before the rules
constexpr const char* kPairsFile = "pairs.tsv";
constexpr const char* kReportFile = "report.html";
constexpr const char* kConfigFile = "config.yaml";

// The configuration with the new pairs in it.
class ExtendedConfig {
 public:
  /// @throws std::invalid_argument for a configuration that cannot take the pairs.
  explicit ExtendedConfig(const Arguments& arguments) {
    config_.declare(schema_);
    schema_.read_file(arguments.config);
    if (config_.is_language_model())
      throw std::invalid_argument("--config " + arguments.config + ": is of a language model, which has no source");
    transmute::take_network_of_initial_model(config_, schema_);
    config_.check();
    // The files of the text as it was: the rest adds to it.
    files_ = transmute::train_files(config_);
    valid_ = transmute::valid_files(config_);
    transmute::DataOptions& data = config_.data;
    if (data.train_weights.empty()) data.train_weights.assign(files_.target.size(), 1.0);
    before_ = data.train_weights;
    data.train_weights.push_back(1);
    data.train_pairs.push_back(fs::absolute(arguments.file(kPairsFile)).lexically_normal().string());
    if (!data.train_alignments.empty()) data.train_alignments.emplace_back();
    add_languages(arguments);
    add_tag(arguments.tag);
    config_.check();
  }

  /// The files of the validation text, which no pair may repeat.
  std::vector<transmute::TextFile> validation_files() const {
    std::vector<transmute::TextFile> files = valid_.source;
    files.insert(files.end(), valid_.target.begin(), valid_.target.end());
    return files;
  }

  /// Sets how often an epoch reads each of the new pairs. `weight` 0: so that they are at most as many as the others.
  double weigh(double weight, int64_t pairs) {
    if (weight == 0) weight = std::min(1.0, other_pairs() / static_cast<double>(pairs));
    return config_.data.train_weights.back() = weight;
  }

  std::string yaml() const { return schema_.to_yaml(); }

 private:
  void add_languages(const Arguments& arguments) {
    std::vector<std::string>& languages = config_.data.train_languages;
    if (languages.empty() != arguments.languages.empty())
      throw std::invalid_argument(languages.empty()
                                      ? "--languages is for a configuration with data.train_languages"
                                      : "the configuration has data.train_languages; name the pair of languages that "
                                        "the new pairs are in, such as --languages en-de");
    if (!arguments.languages.empty()) languages.push_back(arguments.languages);
  }

  // The vocabulary of an initial model takes no more pieces: a tag that it lacks is several of them.
  void add_tag(const std::string& tag) {
    std::vector<std::string>& symbols = config_.model.tokenizer.user_defined_symbols;
    if (tag.empty() || !config_.training.initialize_from.empty()) return;
    if (std::find(symbols.begin(), symbols.end(), tag) == symbols.end()) symbols.push_back(tag);
  }

  // The number of pairs that an epoch reads of the other text.
  double other_pairs() const {
    double sum = 0;
    for (size_t i = 0; i < files_.target.size(); ++i) {
      int64_t lines = 0;
      transmute::LineReader reader(files_.target[i].path);
      for (std::string line; reader.next(line);) ++lines;
      sum += before_[i] * static_cast<double>(lines);
    }
    return sum;
  }

  transmute::TrainingConfig config_;
  transmute::ConfigSchema schema_;
  transmute::TextFiles files_, valid_;
  std::vector<double> before_;
};

// The settings that translations depend on: what is done with these afterwards may change between two runs.
std::vector<std::string> translation_facts(std::vector<std::string> facts) {
  const std::vector<std::string> later{"--config", "--languages", "--tag", "--weight"};
  const auto is_later = [&](const std::string& fact) {
    return std::find(later.begin(), later.end(), fact.substr(0, fact.find(' '))) != later.end();
  };
  facts.erase(std::remove_if(facts.begin(), facts.end(), is_later), facts.end());
  return facts;
}

// Keeps what the translations in the folder were made with.
void settle(const Arguments& arguments, const std::vector<std::string>& facts) {
  constexpr uint64_t kMostBytes = 16 << 20;
  const std::string path = arguments.file(kSettingsFile);
  const std::string now = fmt::format("{}\n", fmt::join(facts, "\n"));
  transmute::ensure_writable_folder(arguments.output);
  if (!fs::exists(path)) {
    for (const char* name : {kTranslationsFile, kPairsFile, kConfigFile, kReportFile})
      if (fs::exists(arguments.file(name)))
        throw std::invalid_argument(
            fmt::format("{} is there already, and would be replaced; use another --output", arguments.file(name)));
    return transmute::write_file_atomically(path, now);
  }
  if (transmute::read_regular_file(path, kMostBytes) != now)
    throw std::invalid_argument(
        fmt::format("{}: its translations were made from another text, or with another model or other flags; use "
                    "another --output, or remove the folder",
                    arguments.output));
}

// A line as a column of a file with tabs between columns.
std::string column(std::string text) {
  std::replace(text.begin(), text.end(), '\t', ' ');
  return text;
}

// Lines of one file after the other. A bad one ends the work as any failure does: LineOutput would take the lines
// before a BadLine for the whole text.
transmute::BlockSource lines_of(const Arguments& arguments, size_t& file) {
  return [&, source = transmute::BlockSource()](size_t most) mutable {
    while (true) {
      if (!source) source = transmute::open_input(arguments.texts[file], arguments.lines.rules());
      std::vector<std::string> block;
      try {
        block = source(most);
      } catch (const transmute::BadLine& error) {
        throw std::runtime_error(error.what());
      }
      if (!block.empty() || file + 1 == arguments.texts.size()) return block;
      ++file;
      source = nullptr;
    }
  };
}

transmute::TranslationOptions options_of(const Arguments& arguments, const transmute::Translator& translator) {
  transmute::TranslationOptions options = arguments.translation;
  options.search = arguments.search.options(0, translator.default_search());
  if (arguments.samples) options.search.sampling = arguments.sampling;
  translator.check(options);
  return options;
}

bool is_confident(const transmute::Translation& translation, double least) {
  if (least == 0) return true;
  const std::optional<double> confidence = translation.hypotheses.front().confidence;
  if (!confidence)
    throw std::invalid_argument(
        "--min-confidence needs a model that is calibrated, as train makes them if there is validation text");
  return *confidence >= least;
}

// Writes a line "translation<tab>text" for each line of the texts.
void translate(const Arguments& arguments, const std::vector<std::string>& facts) {
  const std::string path = arguments.file(kTranslationsFile);
  if (fs::exists(path)) return transmute::note(fmt::format("{} has the translations of an earlier run", path));
  const transmute::Translator translator = arguments.translator.open();
  const transmute::TranslationOptions options = options_of(arguments, translator);
  transmute::warn_if_slow(translator.slow_reason());
  transmute::LineOutput output(path, facts, fs::exists(path + ".partial"), "the same command");
  transmute::ProgressLine progress;
  size_t file = 0;
  int64_t lines = output.finished_lines();
  const transmute::BlockSource next_block = lines_of(arguments, file);
  output.finish_after([&] {
    output.skip_finished(next_block);
    while (true) {
      std::vector<std::string> block = next_block(output.next_block_lines(arguments.buffer.lines));
      if (block.empty()) break;
      const auto [translations, refusal] =
          transmute::results_before_bad_text(block, [&] { return translator.translate_batch(block, options); });
      std::string text;
      for (size_t i = 0; i < translations.size(); ++i)
        if (is_confident(translations[i], arguments.min_confidence))
          text += column(translations[i].hypotheses.front().text) + "\t" + column(block[i]) + "\n";
      output.write(text, block, block.size());
      lines += static_cast<int64_t>(block.size());
      progress.show(-1, transmute::counted(lines, "line"));
      if (!refusal.empty())
        throw std::runtime_error(fmt::format("{}: line {} of all: {}", arguments.texts[file], lines + 1, refusal));
    }
  });
}

// Writes the pairs that keep the rules of prepare, with the tag before their sources.
int64_t filter(const Arguments& arguments, const std::vector<transmute::TextFile>& excluded) {
  const transmute::Stopwatch clock;
  transmute::PreparationOptions options;
  options.inputs = {{arguments.file(kTranslationsFile), ""}};
  options.exclude = excluded;
  transmute::WorkerCrew workers(transmute::available_cores());
  transmute::Preparation preparation(std::move(options), workers, [](int64_t, int64_t) {});
  transmute::Output pairs(arguments.file(kPairsFile));
  const std::string tag = arguments.tag.empty() ? "" : arguments.tag + " ";
  const transmute::PreparationOutcome outcome =
      preparation.run([&](const transmute::TextPair& pair,
                          const transmute::WordLinks&) { pairs.write(tag + pair.source + "\t" + pair.target + "\n"); },
                      [](transmute::Rule, const transmute::DroppedPair&) {});
  const double seconds = clock.seconds();
  std::cerr << preparation_summary(preparation, outcome, seconds);
  if (outcome.kept == 0)
    throw std::runtime_error(
        fmt::format("none of the {} is left to train on", transmute::counted(outcome.read, "back-translation")));
  pairs.finish();
  transmute::write_file_atomically(arguments.file(kReportFile), preparation_page(preparation, outcome, seconds));
  return outcome.kept;
}

int backtranslate(const Arguments& arguments, const std::vector<std::string>& all_facts) {
  std::vector<transmute::NamedInput> inputs = arguments.translator.inputs();
  inputs.push_back({"--config", arguments.config});
  for (const std::string& text : arguments.texts) inputs.push_back({"--text", text});
  for (const char* name : {kSettingsFile, kTranslationsFile, kPairsFile, kReportFile, kConfigFile})
    transmute::check_output_is_no_input(arguments.file(name), inputs);
  transmute::check_folder_is_in_no_input(arguments.output, arguments.translator.inputs());
  const std::vector<std::string> facts = translation_facts(all_facts);
  ExtendedConfig config(arguments);
  settle(arguments, facts);
  const transmute::ProcessLock lock(arguments.file("lock"), "backtranslate in " + arguments.output);
  translate(arguments, facts);
  const int64_t pairs = filter(arguments, config.validation_files());
  const double weight = config.weigh(arguments.weight, pairs);
  const std::string path = arguments.file(kConfigFile);
  transmute::write_file_atomically(path, config.yaml());
  transmute::note(
      fmt::format("{} adds {} with weight {:.3g}; train on it in a new run folder: train --config {} "
                  "--run-folder FOLDER",
                  path, transmute::counted(pairs, "pair"), weight, transmute::shell_word(path)));
  return 0;
}

void declare_text(CLI::App& app, Arguments& arguments) {
  app.add_option("--text", arguments.texts,
                 "text in the target language, one sentence per line, plain or gzipped; one or more files")
      ->type_name("FILE")
      ->check(CLI::ExistingFile)
      ->required();
  app.add_option("--config", arguments.config,
                 "configuration of the training that the pairs are for, such as that of a run folder")
      ->type_name("FILE")
      ->check(CLI::ExistingFile)
      ->required();
  app.add_option("-o,--output", arguments.output,
                 "folder for pairs.tsv, config.yaml, which adds them to the text of --config, and report.html; run "
                 "again, an interrupted run continues")
      ->type_name("FOLDER")
      ->check(transmute::not_standard_output())
      ->required();
  app.add_option("--tag", arguments.tag,
                 "word before each source, which becomes a piece of the vocabulary; empty: none")
      ->type_name("TEXT")
      ->capture_default_str();
  app.add_option("--weight", arguments.weight,
                 "how often an epoch reads each new pair; 0: once, or less often if there are more new pairs than "
                 "others")
      ->check(transmute::between(0, 1000))
      ->capture_default_str();
  app.add_option("--languages", arguments.languages,
                 "languages of the new pairs, such as en-de, if the configuration has data.train_languages")
      ->type_name("PAIR");
  app.add_option("--min-confidence", arguments.min_confidence,
                 "leave out translations whose confidence, from 0 to 1, is lower")
      ->check(transmute::between(0, 1))
      ->capture_default_str();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Makes training pairs from text in the target language: translates it with a model of the opposite direction, "
      "leaves out bad pairs by the rules of prepare, tags the sources, and writes a configuration that trains on these "
      "pairs and on the text of --config.",
      "backtranslate");
  app.footer("{} -m runs/de-en/model --text news.de.gz --config runs/en-de/config.yaml -o runs/news");
  Arguments arguments;
  arguments.translator.add_to(app);
  declare_text(app, arguments);
  transmute::add_language_flags(app, arguments.translation.source_language, arguments.translation.target_language);
  arguments.search.add_to(app);
  CLI::Option* const sample =
      app.add_flag("--sample", arguments.samples, "sample translations instead of searching for the most probable ones")
          ->group("Sampling");
  for (CLI::Option* flag : transmute::add_sampling_flags(app, arguments.sampling)) flag->needs(sample);
  transmute::add_batch_flags(app, arguments.translation.batch_size, arguments.translation.batch_tokens);
  arguments.buffer.add_to(app);
  arguments.lines.add_to(app);
  return transmute::run_program(app, argc, argv, [&] {
    transmute::keep_freed_memory();
    return backtranslate(arguments, transmute::run_facts(app));
  });
}
