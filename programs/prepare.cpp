// SPDX-License-Identifier: Apache-2.0
// prepare: leaves out of parallel text what does not help a training. See --help.

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <transmute/common/progress.h>
#include <transmute/common/stopwatch.h>
#include <transmute/formats/model_store.h>
#include <transmute/network/device.h>
#include <transmute/preparation/preparation.h>
#include <transmute/preparation/report.h>
#include <transmute/programs/shared/flag_values.h>
#include <transmute/programs/shared/line_stream.h>
#include <transmute/programs/shared/output.h>
#include <transmute/programs/shared/program.h>
#include <transmute/programs/shared/translator_flags.h>
#include <transmute/text/format.h>
#include <transmute/text/sentence_language.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using transmute::Rule;

struct Arguments {
  std::vector<std::string> source, target, pairs, exclude;
  std::vector<int64_t> columns{1, 2};
  std::string output, output_source, output_target, alignments, dropped, report, counts;
  std::vector<std::string> keep;
  std::string model, reverse_model, device = "cpu", precision;
  int threads = 0;
  transmute::PreparationOptions options;
};

std::vector<std::string> rule_names() {
  std::vector<std::string> names;
  for (const transmute::RuleText& rule : transmute::rule_texts()) names.emplace_back(rule.name);
  return names;
}

// The command line as a whole.
transmute::PreparationOptions options_of(const Arguments& arguments) {
  transmute::PreparationOptions options = arguments.options;
  if (arguments.source.size() != arguments.target.size())
    throw std::invalid_argument(fmt::format("--source has {} and --target {}; each source needs its translation",
                                            transmute::counted(static_cast<int64_t>(arguments.source.size()), "file"),
                                            arguments.target.size()));
  for (size_t i = 0; i < arguments.source.size(); ++i)
    options.inputs.push_back({arguments.source[i], arguments.target[i]});
  for (const std::string& path : arguments.pairs) options.inputs.push_back({path, ""});
  if (options.inputs.empty()) throw std::invalid_argument("there is no text: give --source and --target, or --pairs");
  if (arguments.output_source.empty() != arguments.output_target.empty())
    throw std::invalid_argument("--output-source and --output-target need each other");
  if (!arguments.output.empty() && !arguments.output_source.empty())
    throw std::invalid_argument("--output excludes --output-source and --output-target");
  transmute::check_language("--source-language", options.reading.source_language);
  transmute::check_language("--target-language", options.reading.target_language);
  options.exclude.assign(arguments.exclude.begin(), arguments.exclude.end());
  options.reading.source_column = static_cast<size_t>(arguments.columns[0] - 1);
  options.reading.target_column = static_cast<size_t>(arguments.columns[1] - 1);
  const std::vector<std::string> names = rule_names();
  for (const std::string& name : arguments.keep) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      throw std::invalid_argument(
          fmt::format("--keep: there is no rule \"{}\"; the rules are {}", name, fmt::join(names, ", ")));
    options.rules.off[static_cast<size_t>(found - names.begin())] = true;
  }
  return options;
}

// The costs by the models of both directions; none if no models are given.
transmute::PairCosts open_models(const Arguments& arguments) {
  if (arguments.model.empty()) return {};
  transmute::TranslatorOptions options;
  options.device = arguments.device;
  options.precision = transmute::precision_of_flag(arguments.precision);
  options.threads = arguments.threads;
  const auto open = [&](const std::string& path) {
    auto model = std::make_shared<const transmute::Translator>(path, options);
    if (model->tokenizer().source().languages() == transmute::LanguagePieces::both_sides)
      throw std::invalid_argument(path + " has many languages; --model and --reverse-model take models of one pair");
    model->score_batch({}, {});  // fails before a line is read if it cannot be done
    return model;
  };
  return [model = open(arguments.model),
          reverse = open(arguments.reverse_model)](const std::vector<transmute::TextPair>& pairs) {
    return transmute::dual_cross_entropies(*model, *reverse, pairs);
  };
}

// No output may be an input, or another output.
void check_outputs(const Arguments& arguments) {
  std::vector<transmute::NamedInput> others;
  const auto add_all = [&](const char* flag, const std::vector<std::string>& paths) {
    for (const std::string& path : paths) others.push_back({flag, path});
  };
  add_all("--source", arguments.source);
  add_all("--target", arguments.target);
  add_all("--pairs", arguments.pairs);
  add_all("--exclude", arguments.exclude);
  if (!arguments.model.empty())
    others.insert(others.end(), {{"--model", transmute::model_path(arguments.model)},
                                 {"--reverse-model", transmute::model_path(arguments.reverse_model)}});
  const std::vector<transmute::NamedInput> outputs{{"--output", arguments.output},
                                                   {"--output-source", arguments.output_source},
                                                   {"--output-target", arguments.output_target},
                                                   {"--alignments", arguments.alignments},
                                                   {"--dropped", arguments.dropped},
                                                   {"--report", arguments.report},
                                                   {"--counts", arguments.counts}};
  for (const transmute::NamedInput& output : outputs) {
    if (output.path.empty()) continue;
    transmute::check_output_is_no_input(output.path, others, output.flag);
    for (const transmute::NamedInput& other : others)
      if (transmute::place_of(other.path) == transmute::place_of(output.path))
        throw std::invalid_argument(fmt::format("{} and {} are both {}", output.flag, other.flag, output.path));
    others.push_back(output);
  }
}

// Opens an output before the work begins, because it may fail. Null without a path.
std::unique_ptr<transmute::Output> open_output(const std::string& path) {
  return path.empty() ? nullptr : std::make_unique<transmute::Output>(path);
}

// The destination of the pairs: one file of two columns, two files, or none.
class PairOutput {
 public:
  explicit PairOutput(const Arguments& arguments)
      : source_(open_output(arguments.output_source.empty() ? arguments.output : arguments.output_source)),
        target_(open_output(arguments.output_target)) {}
  void write(const transmute::TextPair& pair) {
    constexpr size_t kBlockBytes = 1 << 16;
    sources_ += pair.source + (target_ ? "\n" : "\t");
    (target_ ? targets_ : sources_) += pair.target + "\n";
    if (sources_.size() > kBlockBytes) flush();
  }
  void finish() {
    flush();
    for (const auto* output : {&source_, &target_})
      if (*output) (*output)->finish();
  }

 private:
  void flush() {
    if (source_) source_->write(sources_);
    if (target_) target_->write(targets_);
    sources_.clear();
    targets_.clear();
  }

  std::unique_ptr<transmute::Output> source_, target_;
  std::string sources_, targets_;
};

// Draws the state of the preparation now and then.
transmute::Preparation::Progress shown_on(transmute::ProgressLine& line) {
  return [&line](int64_t done, int64_t all) {
    if (!line.is_due()) return;
    const std::string pairs = transmute::counted(done, "pair");
    if (all > 0)
      line.show(static_cast<double>(done) / static_cast<double>(all), pairs);
    else
      line.show(-1, "drawing a sample: " + pairs);
  };
}

void note_unknown_language(const transmute::ExpectedSide& side, const char* name, const std::string& given) {
  if (side.language.is_known()) return;
  transmute::note(given.empty() ? fmt::format("the language of the {0} is not known, so that no pair is left out for "
                                              "it; --{0}-language names it",
                                              name)
                                : fmt::format("the {}'s language, {}, is none that prepare recognizes, so that no pair "
                                              "is left out for it",
                                              name, given));
}

int prepare(const Arguments& arguments) {
  check_outputs(arguments);
  transmute::PreparationOptions options = options_of(arguments);
  const transmute::Stopwatch clock;
  transmute::WorkerCrew workers(transmute::worker_count(arguments.threads, {}));
  transmute::ProgressLine line;
  PairOutput output(arguments);
  const auto dropped = open_output(arguments.dropped), alignments = open_output(arguments.alignments);
  const auto report = open_output(arguments.report), counts = open_output(arguments.counts);
  options.aligns = alignments != nullptr;
  options.cross_entropy = open_models(arguments);
  transmute::Preparation preparation(std::move(options), workers, shown_on(line));
  line.clear();
  for (const std::string& text : preparation.notes()) transmute::note(text);
  const transmute::PreparationOutcome outcome = preparation.run(
      [&](const transmute::TextPair& pair, const transmute::WordLinks& links) {
        output.write(pair);
        if (alignments) alignments->write(transmute::pharaoh_line(links) + "\n");
      },
      [&](Rule rule, const transmute::DroppedPair& pair) {
        if (dropped)
          dropped->write(fmt::format("{}\t{}\t{}\t{}\n", transmute::text_of(rule).name, pair.detail, pair.pair.source,
                                     pair.pair.target));
      });
  line.clear();
  if (outcome.rules[static_cast<size_t>(Rule::language)].count > outcome.read / 2)
    transmute::note(
        "most of the pairs are in other languages than the expected ones; if the sides are exchanged, "
        "exchange the files or columns");
  const double seconds = clock.seconds();
  if (outcome.kept == 0) {
    std::cerr << preparation_summary(preparation, outcome, seconds);
    throw std::runtime_error(
        fmt::format("{}, and nothing was written",
                    outcome.read == 0 ? "the text has no pairs"
                                      : fmt::format("none of {} is left", transmute::counted(outcome.read, "pair"))));
  }
  output.finish();
  if (report) report->write(preparation_page(preparation, outcome, seconds));
  if (counts) counts->write(preparation_json(preparation, outcome, seconds));
  for (const auto* file : {&dropped, &alignments, &report, &counts})
    if (*file) (*file)->finish();
  if (preparation.options().rules.applies(Rule::language)) {
    const transmute::PairReaderOptions& given = arguments.options.reading;
    note_unknown_language(preparation.expected().source, "source", given.source_language);
    note_unknown_language(preparation.expected().target, "target", given.target_language);
  }
  std::cerr << preparation_summary(preparation, outcome, seconds);
  return 0;
}

void declare_files(CLI::App& app, Arguments& arguments) {
  app.add_option("--source", arguments.source, "UTF-8 text, one sentence per line; one or more files")
      ->type_name("FILE");
  app.add_option("--target", arguments.target, "its translation, line for line")->type_name("FILE");
  app.add_option("--pairs", arguments.pairs,
                 fmt::format("files of pairs: {}; like all inputs, plain, packed by gzip, xz, zstd or bzip2, or in a "
                             "zip archive (corpus.zip/a.en)",
                             transmute::kPairFileEndings))
      ->type_name("FILE");
  app.add_option("--columns", arguments.columns, "columns of source and target in .tsv files")
      ->delimiter(',')
      ->expected(2)
      ->check(transmute::at_least(1))
      ->capture_default_str();
  app.add_option("--source-language", arguments.options.reading.source_language,
                 "code of the source's language, such as en; by default, that of most of the text")
      ->type_name("CODE");
  app.add_option("--target-language", arguments.options.reading.target_language, "the same for the target")
      ->type_name("CODE");
  app.add_option("--exclude", arguments.exclude,
                 "test sets: pairs with one of these lines on either side are left out; one or more files")
      ->type_name("FILE");
  const auto add_output = [&](const char* flag, std::string& path, const char* about) {
    app.add_option(flag, path, about)->type_name("FILE");
  };
  add_output("-o,--output", arguments.output,
             "write the pairs that are kept here, with a tab between; -: standard output");
  add_output("--output-source", arguments.output_source, "write their sources here");
  add_output("--output-target", arguments.output_target, "write their targets here");
  add_output("--alignments", arguments.alignments,
             "write the word alignments of the pairs that are kept here, as lines of 0-0 1-2, for "
             "training.guided_alignment");
  add_output("--dropped", arguments.dropped, "write the other pairs here, as lines of rule, reason, source and target");
  add_output("--report", arguments.report, "write a page of HTML here that shows what was left out and why");
  add_output("--counts", arguments.counts, "write the numbers of the report here, as JSON");
}

void declare_rules(CLI::App& app, Arguments& arguments) {
  transmute::RuleOptions& rules = arguments.options.rules;
  app.add_option("--keep", arguments.keep,
                 fmt::format("rules that are not applied, separated by commas: {}", fmt::join(rule_names(), ", ")))
      ->delimiter(',')
      ->type_name("RULE")
      ->group("Rules");
  app.add_option("--max-length", rules.max_length, "maximum number of characters of a side")
      ->check(transmute::at_least(1))
      ->capture_default_str()
      ->group("Rules");
  app.add_option("--max-deviation", rules.max_deviation,
                 "how many standard deviations the logarithm of a pair's length ratio may be from the text's median")
      ->check(transmute::positive())
      ->capture_default_str()
      ->group("Rules");
  app.add_option("--min-letters", rules.min_letters,
                 "minimum share of letters among a side's characters; digits count too if the sides differ")
      ->check(transmute::between(0, 1))
      ->capture_default_str()
      ->group("Rules");
  app.add_option("--min-script", rules.min_script, "minimum share of a side's letters that are of the expected scripts")
      ->check(transmute::between(0, 1))
      ->capture_default_str()
      ->group("Rules");
  app.add_option(
         "--min-alignment", arguments.options.min_alignment,
         "minimum score by IBM Model 1, a logarithm of probabilities per word; by default, the score at which half of "
         "the pairs do not belong together")
      ->check(transmute::between(-10, 20))
      ->group("Rules");
  CLI::Option* const model =
      app.add_option("--model", arguments.model,
                     "a model from the source to the target; it and --reverse-model leave out pairs that they find "
                     "improbable (rule cross_entropy)")
          ->type_name("MODEL")
          ->group("Models");
  CLI::Option* const reverse_model =
      app.add_option("--reverse-model", arguments.reverse_model, "a model from the target to the source")
          ->type_name("MODEL")
          ->needs(model)
          ->group("Models");
  model->needs(reverse_model);
  app.add_option("--max-cross-entropy", arguments.options.max_cross_entropy,
                 "maximum mean of both models' cross-entropies plus their difference, in nats per token; by default, "
                 "the value at which half of the pairs do not belong together")
      ->check(transmute::positive())
      ->needs(model)
      ->group("Models");
  transmute::add_device_flag(app, arguments.device);
  transmute::add_precision_flag(app, arguments.precision);
  for (const char* flag : {"--device", "--precision"}) app.get_option(flag)->needs(model)->group("Models");
  app.add_option("--sample", arguments.options.sample, "maximum number of pairs from which limits are learned")
      ->check(transmute::at_least(1))
      ->capture_default_str()
      ->group("Rules");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Cleans parallel text for training: leaves out duplicates, pairs of a test set, wrong languages, copies, broken "
      "characters, texts that do not translate each other, and more, and repairs text that was read in the wrong "
      "encoding. The inputs stay as they are.",
      "prepare");
  app.footer(
      "{} --source raw.en --target raw.de --output-source train.en --output-target train.de --report report.html\n"
      "{} --pairs memory.tmx app.po --source-language en --target-language de --exclude test.en test.de -o train.tsv");
  Arguments arguments;
  declare_files(app, arguments);
  declare_rules(app, arguments);
  transmute::add_threads_flag(app, arguments.threads);
  return transmute::run_program(app, argc, argv, [&] { return prepare(arguments); });
}
