// SPDX-License-Identifier: Apache-2.0
// evaluate: BLEU, chrF, chrF++ and TER of a translated file against one or more reference files. See --help.

#include <spdlog/fmt/fmt.h>
#include <transmute/common/progress.h>
#include <transmute/examples/parsing/bracketing.h>
#include <transmute/examples/parsing/tree.h>
#include <transmute/metrics/bootstrap.h>
#include <transmute/metrics/metric_text.h>
#include <transmute/programs/shared/flag_values.h>
#include <transmute/programs/shared/line_stream.h>
#include <transmute/programs/shared/output.h>
#include <transmute/programs/shared/program.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using transmute::BleuOptions;
using transmute::ChrfOptions;
using transmute::ScoreOfSegments;
using Lines = std::vector<std::string>;

struct EvaluateOptions {
  std::string hypothesis_path;
  std::vector<std::string> reference_paths;
  std::vector<std::string> compared_paths;
  std::vector<std::string> metrics = {"bleu"};
  std::string tokenizer = transmute::bleu_tokenizer_name(BleuOptions{}.tokenizer);
  std::string smoothing = "exp";
  std::optional<double> smoothing_value;
  bool effective_order = false;
  bool lowercase = false;
  bool case_sensitive = false;
  transmute::TerOptions ter;
  bool confidence = false;
  bool score_only = false;
  bool trees = false;
  transmute::BootstrapOptions bootstrap;
};

// Names the two of sacreBLEU's tokenizers that need a dictionary.
std::string check_tokenizer(std::string& name) {
  if (name == "ja-mecab" || name == "ko-mecab")
    return name +
           " needs MeCab's dictionary, which transmute does without; take char, or cut the text into words "
           "yourself and take none";
  try {
    transmute::bleu_tokenizer_from_name(name);
    return "";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

void declare_options(CLI::App& app, EvaluateOptions& options) {
  app.add_option("-i,--hypothesis", options.hypothesis_path,
                 "translations, one segment per line, plain or gzipped; by default, or with -, standard input")
      ->type_name("FILE");
  app.add_option("-r,--reference", options.reference_paths,
                 "reference translations, parallel to the hypothesis file; repeat for several references")
      ->type_name("FILE")
      ->required();
  app.add_option("--metric", options.metrics, "one or more metrics, separated by commas")
      ->delimiter(',')
      ->check(transmute::one_of({"bleu", "chrf", "chrf++", "ter"}))
      ->capture_default_str();
  app.add_option("--compare", options.compared_paths,
                 "translations of another system; prints the p-value of its difference from --hypothesis by paired "
                 "bootstrap resampling; may be repeated")
      ->type_name("FILE");
  app.add_flag("--confidence", options.confidence, "also print the mean and the 95% interval over bootstrap samples");
  app.add_option("--samples", options.bootstrap.samples, "number of bootstrap samples for --compare and --confidence")
      ->check(transmute::whole_between(40, 1000000))
      ->capture_default_str();
  app.add_option("--seed", options.bootstrap.seed, "seed of the resampling; 12345 gives sacreBLEU's intervals")
      ->check(transmute::at_least(0))
      ->capture_default_str();
  app.add_flag("--lowercase", options.lowercase, "ignore case (TER does by default)");
  app.add_flag("--case-sensitive", options.case_sensitive, "make TER case-sensitive")->group("TER");
  app.add_flag("--ter-normalize", options.ter.normalized, "separate punctuation from words, as Tercom does")
      ->group("TER");
  app.add_flag("--ter-no-punctuation", options.ter.no_punctuation, "ignore punctuation")->group("TER");
  app.add_flag("--ter-asian-support", options.ter.asian_support,
               "treat each Chinese, Japanese and Korean character as a word")
      ->group("TER");
  app.add_option("--tokenize", options.tokenizer,
                 "BLEU's tokenization; zh: Chinese characters one by one; char: every character, for languages without "
                 "spaces such as Japanese; none: the text is already tokenized")
      ->check(CLI::Validator(check_tokenizer, "{13a,intl,zh,char,none}"))
      ->capture_default_str();
  app.add_option("--smooth", options.smoothing, "BLEU's smoothing of n-gram orders without a match")
      ->check(transmute::one_of({"exp", "floor", "add-k", "none"}))
      ->capture_default_str();
  app.add_option("--smooth-value", options.smoothing_value, "parameter of floor (default 0.1) or add-k (default 1)")
      ->check(transmute::between(0, 1e9));
  app.add_flag("--effective-order", options.effective_order,
               "BLEU: leave out n-gram orders longer than the translation; for single sentences");
  CLI::Option* const trees =
      app.add_flag(
             "--trees", options.trees,
             "score parse trees in brackets, one per line: labeled bracketing precision, recall and F1, complete "
             "matches and tagging accuracy, as evalb with COLLINS.prm, for all sentences and for those of at most "
             "40 words")
          ->group("Trees");
  for (const char* of_text : {"--metric", "--compare", "--confidence", "--lowercase", "--tokenize", "--smooth",
                              "--smooth-value", "--effective-order", "--samples", "--seed", "--case-sensitive",
                              "--ter-normalize", "--ter-no-punctuation", "--ter-asian-support"})
    trees->excludes(app.get_option(of_text));
  CLI::Option* const score_only = app.add_flag(
      "--score-only", options.score_only, "print only the scores, one line per metric and, with --compare, per system");
  for (const char* of_intervals : {"--confidence", "--samples", "--seed"})
    score_only->excludes(app.get_option(of_intervals));
}

// Flags that would change nothing.
void check_have_effect(const CLI::App& app, const EvaluateOptions& options) {
  const auto count = [&](const char* metric) {
    return std::count(options.metrics.begin(), options.metrics.end(), metric);
  };
  const auto need = [&](const char* needed, const std::vector<const char*>& flags) {
    for (const char* flag : flags)
      if (app.count(flag) > 0) throw std::invalid_argument(fmt::format("{} needs {}", flag, needed));
  };
  for (const std::string& metric : options.metrics)
    if (count(metric.c_str()) > 1) throw std::invalid_argument(fmt::format("--metric has {} more than once", metric));
  if (count("bleu") == 0) need("--metric bleu", {"--tokenize", "--smooth", "--smooth-value", "--effective-order"});
  if (count("ter") == 0)
    need("--metric ter", {"--case-sensitive", "--ter-normalize", "--ter-no-punctuation", "--ter-asian-support"});
  if (options.lowercase && options.case_sensitive && options.metrics.size() == 1)
    throw std::invalid_argument("--lowercase excludes --case-sensitive where ter is the only metric");
  if (!options.confidence && options.compared_paths.empty()) need("--confidence or --compare", {"--samples", "--seed"});
  if (options.smoothing_value && options.smoothing != "floor" && options.smoothing != "add-k")
    throw std::invalid_argument(
        fmt::format("--smooth-value needs --smooth floor or add-k; {} takes no value", options.smoothing));
}

// Checks the streams of the command line that read text.
void check_streams(const EvaluateOptions& options) {
  std::vector<transmute::NamedInput> inputs{
      {"--hypothesis", options.hypothesis_path.empty() ? "-" : options.hypothesis_path}};
  for (const std::string& path : options.reference_paths) inputs.push_back({"--reference", path});
  for (const std::string& path : options.compared_paths) inputs.push_back({"--compare", path});
  transmute::check_standard_input_once(inputs);
}

Lines read_hypotheses(const std::string& path) {
  if (transmute::is_standard_stream(path) && isatty(STDIN_FILENO) == 1)
    transmute::note("reading the translations from the terminal; --hypothesis names a file");
  Lines lines = transmute::read_input_lines(path);
  if (lines.empty()) throw std::runtime_error(transmute::input_name(path) + ": is empty; there is nothing to evaluate");
  return lines;
}

// The library would reject unequal counts too, but only here are the names of the files known.
Lines read_parallel(const std::string& path, const std::string& hypothesis_path, std::size_t num_hypotheses) {
  Lines lines = transmute::read_input_lines(path);
  transmute::check_equal_lines(path, lines.size(), hypothesis_path, num_hypotheses, "correspond to");
  return lines;
}

struct System {
  std::string path;
  Lines lines;
};

/// One metric with its settings.
struct Metric {
  std::string name;
  std::string signature;
  std::function<ScoreOfSegments(const Lines&)>
      count;                                          ///< counts n-grams once, for any number of texts made of segments
  std::function<std::string(const Lines&)> describe;  ///< the result in sacreBLEU's words
};

Metric bleu_metric(const EvaluateOptions& options, const std::vector<Lines>& references) {
  BleuOptions bleu;
  bleu.tokenizer = transmute::bleu_tokenizer_from_name(options.tokenizer);
  bleu.letter_case = options.lowercase ? transmute::BleuCase::lower : transmute::BleuCase::mixed;
  bleu.smoothing = transmute::bleu_smoothing_from_name(options.smoothing);
  bleu.smoothing_value = options.smoothing_value;
  bleu.effective_order = options.effective_order;
  const std::string signature = transmute::bleu_signature(bleu, references.size());
  const auto count = [bleu, &references](const Lines& hypotheses) {
    return transmute::bleu_of_segments(hypotheses, references, bleu);
  };
  const auto describe = [bleu, signature, &references](const Lines& hypotheses) {
    return transmute::format_bleu(transmute::corpus_bleu(hypotheses, references, bleu), signature);
  };
  return {"BLEU", signature, count, describe};
}

Metric chrf_metric(const EvaluateOptions& options, const std::vector<Lines>& references, int64_t word_order) {
  ChrfOptions chrf;
  chrf.word_order = word_order;
  chrf.lowercase = options.lowercase;
  const std::string name = transmute::chrf_name(chrf);
  const std::string signature = transmute::chrf_signature(chrf, references.size());
  const auto count = [chrf, &references](const Lines& hypotheses) {
    return transmute::chrf_of_segments(hypotheses, references, chrf);
  };
  const auto describe = [=, &references](const Lines& hypotheses) {
    return fmt::format("{}|{} = {:.2f}", name, signature, transmute::corpus_chrf(hypotheses, references, chrf));
  };
  return {name, signature, count, describe};
}

Metric ter_metric(const EvaluateOptions& options, const std::vector<Lines>& references) {
  transmute::TerOptions ter = options.ter;
  ter.case_sensitive = options.case_sensitive;
  const std::string signature = transmute::ter_signature(ter, references.size());
  const auto count = [ter, &references](const Lines& hypotheses) {
    return transmute::ter_of_segments(hypotheses, references, ter);
  };
  const auto describe = [=, &references](const Lines& hypotheses) {
    return fmt::format("TER|{} = {:.2f}", signature, transmute::corpus_ter(hypotheses, references, ter));
  };
  return {"TER", signature, count, describe};
}

Metric metric_named(const std::string& name, const EvaluateOptions& options, const std::vector<Lines>& references) {
  if (name == "bleu") return bleu_metric(options, references);
  if (name == "ter") return ter_metric(options, references);
  return chrf_metric(options, references, name == "chrf" ? 0 : 2);
}

// BLEU by words says nothing of text without spaces between them.
void note_tokenizer(const EvaluateOptions& options, const std::vector<Lines>& references) {
  const bool has_bleu = std::count(options.metrics.begin(), options.metrics.end(), "bleu") > 0;
  const bool needs_spaces = options.tokenizer == "13a" || options.tokenizer == "intl";
  if (!has_bleu || !needs_spaces) return;
  const transmute::BleuTokenizer fitting = transmute::bleu_tokenizer_for(references.front());
  if (fitting == transmute::BleuTokenizer::mteval_13a) return;
  transmute::note(
      fmt::format("the references have no spaces between words, so that BLEU takes whole clauses for words; "
                  "--tokenize {} counts characters",
                  transmute::bleu_tokenizer_name(fitting)));
}

std::vector<std::size_t> all_segments(std::size_t count) {
  std::vector<std::size_t> segments(count);
  for (std::size_t i = 0; i < count; ++i) segments[i] = i;
  return segments;
}

void print_comparison(const Metric& metric, const std::vector<System>& systems, const EvaluateOptions& options) {
  const std::size_t segments = systems.front().lines.size();
  std::cout << metric.name << '|' << metric.signature << '\n';
  ScoreOfSegments baseline;
  for (const System& system : systems) {
    const ScoreOfSegments score = metric.count(system.lines);
    const auto interval = transmute::bootstrap(segments, score, options.bootstrap);
    std::cout << fmt::format("{:8.2f} ({:.2f} ± {:.2f})", score(all_segments(segments)), interval.mean,
                             interval.half_width);
    if (baseline) {
      std::cout << fmt::format("  p = {:.4f}  ",
                               transmute::paired_bootstrap_p(segments, baseline, score, options.bootstrap));
    } else {
      baseline = score;
      std::cout << "  baseline    ";
    }
    std::cout << transmute::input_name(system.path) << '\n';
  }
}

void print_score(const Metric& metric, const Lines& hypotheses, const EvaluateOptions& options) {
  if (options.score_only) {
    std::cout << fmt::format("{:.2f}\n", metric.count(hypotheses)(all_segments(hypotheses.size())));
    return;
  }
  std::cout << metric.describe(hypotheses);
  if (options.confidence) {
    const auto interval = transmute::bootstrap(hypotheses.size(), metric.count(hypotheses), options.bootstrap);
    std::cout << fmt::format(" ({:.2f} ± {:.2f}, {} samples)", interval.mean, interval.half_width,
                             options.bootstrap.samples);
  }
  std::cout << '\n';
}

std::vector<transmute::Tree> trees_of(const Lines& lines, const std::string& path) {
  std::vector<transmute::Tree> trees;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string name = fmt::format("{}:{}", transmute::input_name(path), i + 1);
    auto read = transmute::read_trees(lines[i], name);
    if (read.empty()) read.push_back({transmute::kTopLabel, "", {}});  // a sentence without words
    if (read.size() != 1)
      throw std::runtime_error(fmt::format("{}: a line must have one tree, not {}", name, read.size()));
    trees.push_back(std::move(read.front()));
  }
  return trees;
}

void print_brackets(const char* which, const transmute::BracketCounts& counts) {
  const transmute::BracketScores scores = transmute::scores_of(counts);
  std::cout << fmt::format(
      "{}: F1 {:.2f}, precision {:.2f}, recall {:.2f}, complete match {:.2f}, tagging accuracy {:.2f}; {} ({} with "
      "other words, {} without words)\n",
      which, scores.f1, scores.precision, scores.recall, scores.complete_match, scores.tagging_accuracy,
      transmute::counted(counts.sentences, "sentence"), counts.errors, counts.skipped);
}

int evaluate_trees(const EvaluateOptions& options) {
  if (options.reference_paths.size() != 1) throw std::invalid_argument("--trees takes one --reference");
  const Lines lines = read_hypotheses(options.hypothesis_path);
  const auto found = trees_of(lines, options.hypothesis_path);
  const auto wanted = trees_of(read_parallel(options.reference_paths.front(), options.hypothesis_path, lines.size()),
                               options.reference_paths.front());
  constexpr int64_t kUsualLength = 40;
  transmute::BracketCounts all, usual;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const transmute::BracketCounts counts = transmute::bracket_counts(found[i], wanted[i]);
    all += counts;
    if (transmute::length_of(wanted[i]) <= kUsualLength) usual += counts;
  }
  if (options.score_only) {
    std::cout << fmt::format("{:.2f}\n", transmute::scores_of(all).f1);
    return 0;
  }
  print_brackets("all", all);
  print_brackets("<= 40 words", usual);
  return 0;
}

int evaluate(const EvaluateOptions& options) {
  check_streams(options);
  if (options.trees) return evaluate_trees(options);
  std::vector<System> systems = {{options.hypothesis_path, read_hypotheses(options.hypothesis_path)}};
  const std::size_t segments = systems.front().lines.size();
  for (const std::string& path : options.compared_paths)
    systems.push_back({path, read_parallel(path, options.hypothesis_path, segments)});
  std::vector<Lines> references;
  for (const std::string& path : options.reference_paths)
    references.push_back(read_parallel(path, options.hypothesis_path, segments));
  note_tokenizer(options, references);
  for (const std::string& name : options.metrics) {
    const Metric metric = metric_named(name, options, references);
    if (systems.size() > 1 && !options.score_only) {
      print_comparison(metric, systems, options);
    } else {
      for (const System& system : systems) print_score(metric, system.lines, options);
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Scores translations against references with BLEU, chrF, chrF++ and TER. The scores equal sacreBLEU's.",
               "evaluate");
  app.footer(
      "{} -i translated.de -r test.de --metric bleu,chrf,ter --confidence\n"
      "{translate} -m runs/demo/model < test.en | {} -r test.de");
  EvaluateOptions options;
  declare_options(app, options);
  return transmute::run_program(app, argc, argv, [&] {
    check_have_effect(app, options);
    return evaluate(options);
  });
}
