// SPDX-License-Identifier: Apache-2.0
// train: learns a Transformer from text. See --help.

#include <spdlog/fmt/fmt.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <transmute/common/files.h>
#include <transmute/common/progress.h>
#include <transmute/common/threads.h>
#include <transmute/model/plain_errors.h>
#include <transmute/model/threading.h>
#include <transmute/programs/flag_values.h>
#include <transmute/programs/line_stream.h>
#include <transmute/programs/program.h>
#include <transmute/programs/translator_flags.h>
#include <transmute/training/automatic_config.h>
#include <transmute/training/distributed/launcher.h>
#include <transmute/training/fingerprints.h>
#include <transmute/training/initial_model.h>
#include <transmute/training/run_folder.h>
#include <transmute/training/step_timing.h>
#include <transmute/training/text_checks.h>
#include <transmute/training/trainer.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <string_view>

namespace {

struct Arguments {
  std::string config;
  transmute::AutomaticText text;  // instead of a config
  std::string initial_model;      // what a training without a config begins with; empty: a new network
  double minutes = 0;             // 0: as long as the text is worth
  std::vector<std::string> assignments;
  transmute::TrainerOptions trainer;
  bool describe_config = false;
  int local_ranks = 0;  // 0: what the environment says
  double rank_timeout = transmute::RankOptions().timeout_seconds;
};

constexpr const char* kTime = "[%Y-%m-%d %H:%M:%S] ";

// To the terminal alone: before there is a run folder and, of the launcher and of ranks other than the first, only
// what goes wrong.
void log_to_terminal(const std::string& who, spdlog::level::level_enum level) {
  auto logger = std::make_shared<spdlog::logger>("train", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_pattern(fmt::format("{}{}%^%v%$", kTime, who));
  logger->set_level(level);
  spdlog::set_default_logger(logger);
}

// To the terminal, and once the run folder is known to be writable, to its train.log as well.
void start_logging(const std::string& run_folder) {
  transmute::ensure_writable_folder(run_folder);
  const auto file = (std::filesystem::path(run_folder) / "train.log").string();
  auto logger = std::make_shared<spdlog::logger>(
      "train", spdlog::sinks_init_list{std::make_shared<spdlog::sinks::stderr_color_sink_mt>(),
                                       std::make_shared<spdlog::sinks::basic_file_sink_mt>(file)});
  logger->set_pattern(fmt::format("{}%^%v%$", kTime));
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(logger);
}

// While there is nothing to save yet, a signal ends the process at once; what it leaves unfinished goes at the next
// start. Does only what a handler of signals may do.
void end_at_once(int signal) {
  constexpr std::string_view kMessage =
      "\ntrain: stopped before the first step; the same command prepares the training again\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kMessage.data(), kMessage.size());
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void end_at_once_on_signals() {
  std::signal(SIGINT, end_at_once);
  std::signal(SIGTERM, end_at_once);
}

// The command line without --local-ranks, for the ranks that it asks for. Each gets its share of the cores, unless
// --threads says otherwise: a rank alone cannot tell whether a launcher has dealt out the cores that it may run on.
std::vector<std::string> command_of_rank(int argc, char** argv, const Arguments& arguments) {
  std::vector<std::string> words{std::filesystem::read_symlink("/proc/self/exe").string()};
  std::vector<std::string> flags{"--local-ranks"};
  if (arguments.trainer.threads == 0) flags.emplace_back("--threads");
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto is_word = [&](const std::string& flag) { return word == flag || word.rfind(flag + "=", 0) == 0; };
    if (std::none_of(flags.begin(), flags.end(), is_word)) {
      words.push_back(word);
    } else if (word.find('=') == std::string::npos) {
      ++i;  // its value
    }
  }
  if (arguments.trainer.threads == 0) {
    const int share = transmute::available_cores() / std::max(1, arguments.local_ranks);
    words.insert(words.end(), {"--threads", std::to_string(std::max(1, share))});
  }
  return words;
}

// The present exception, with the rank that it comes from.
[[noreturn]] void throw_as_rank(int rank) {
  try {
    throw;
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("rank {}: {}", rank, error.what()));
  } catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("rank {}: {}", rank, error.what()));
  }
}

// What is trained: the typed config, and the schema that is bound to it.
struct Experiment {
  transmute::TrainingConfig config;
  transmute::ConfigSchema schema;
  transmute::TextSize size;           // of a text without a config
  transmute::TrainingOptions chosen;  // before --set; with a config, the defaults

  Experiment() { config.declare(schema); }

  // What --set says comes before what is chosen.
  void set(const std::vector<std::string>& assignments) {
    for (const auto& assignment : assignments) schema.set(assignment);
  }
};

std::string run_folder_of(const Arguments& arguments) {
  if (!arguments.trainer.run_folder.empty()) return arguments.trainer.run_folder;
  const std::filesystem::path config(arguments.config);
  const std::string beside = config.has_parent_path() ? config.parent_path().string() : ".";
  // A run's own config goes on with that run.
  if (config.filename() == transmute::kConfigFile && transmute::RunFolder(beside).has_begun()) return beside;
  return (std::filesystem::path("runs") / std::filesystem::path(arguments.config).stem()).string();
}

// --profile must be none of the files that are read.
void check_profile(const Arguments& arguments, const transmute::TrainingConfig& config) {
  const transmute::PairOfFiles &train = arguments.text.train, &valid = arguments.text.valid;
  std::vector<transmute::NamedInput> inputs{
      {"--config", arguments.config},   {"--source", train.source},
      {"--target", train.target},       {"--valid-source", valid.source},
      {"--valid-target", valid.target}, {"training.initialize_from", config.training.initialize_from}};
  const transmute::DataOptions& data = config.data;
  for (const auto& [key, files] :
       {std::pair("data.train_source", &data.train_source), std::pair("data.train_target", &data.train_target),
        std::pair("data.train_pairs", &data.train_pairs), std::pair("data.train_text", &data.train_text),
        std::pair("data.train_alignments", &data.train_alignments), std::pair("data.valid_source", &data.valid_source),
        std::pair("data.valid_target", &data.valid_target), std::pair("data.valid_pairs", &data.valid_pairs),
        std::pair("data.valid_text", &data.valid_text)})
    for (const std::string& file : *files) inputs.push_back({key, transmute::path_in(data.folder, file)});
  transmute::check_output_is_no_input(arguments.trainer.profile, inputs, "--profile");
}

std::string absolute(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
}

uint64_t fingerprint_of(const transmute::AutomaticText& text) {
  std::vector<std::string> paths{text.train.source, text.train.target};
  if (!text.valid.source.empty()) paths.insert(paths.end(), {text.valid.source, text.valid.target});
  return transmute::files_fingerprint(paths);
}

// The config that was chosen when the run began.
void read_chosen_config(const Arguments& arguments, Experiment& experiment) {
  const std::string& run_folder = arguments.trainer.run_folder;
  const uint64_t given = transmute::Fingerprints::read(run_folder).given;
  if (given == 0)
    throw std::runtime_error(
        fmt::format("the run in {0} was begun with a configuration, not with --source and --target. Continue it with "
                    "--config {0}/{1} --run-folder {0}, or use another --run-folder",
                    run_folder, transmute::kConfigFile));
  if (given != fingerprint_of(arguments.text))
    throw std::runtime_error(
        fmt::format("the run in {} was begun with another text than {} and {}, or with other --valid-source and "
                    "--valid-target. Give the same files as when it was begun, or use another --run-folder for these",
                    run_folder, arguments.text.train.source, arguments.text.train.target));
  experiment.schema.read_file(transmute::path_in(run_folder, transmute::kConfigFile));
  experiment.chosen = experiment.config.training;
  if (!arguments.initial_model.empty())  // another one is refused, as every change that comes too late
    experiment.config.training.initialize_from = absolute(arguments.initial_model);
  if (arguments.minutes > 0) experiment.config.training.max_minutes = arguments.minutes;
}

// A config that goes on with a run which was begun without one.
void name_own_text(const std::string& run_folder, transmute::TrainingConfig& config) {
  const transmute::RunFolder folder(run_folder);
  if (folder.has_begun()) folder.name_own_text(config);
}

// Shape and schedule by the size of the text, the micro-batches by the device.
transmute::TrainingConfig chosen_config(const Arguments& arguments, const transmute::TextSize& size,
                                        int64_t smaller = 0) {
  transmute::TrainingConfig config = transmute::config_for(size, smaller);
  if (transmute::is_for_gpu(arguments.trainer))
    config.training.micro_batch_tokens = transmute::TrainingOptions().micro_batch_tokens;
  return config;
}

// Everything that a config says, by the size of the text.
void configure(const Arguments& arguments, const transmute::AutomaticText& text, const transmute::TextSize& size,
               Experiment& experiment) {
  experiment.size = size;
  experiment.config = chosen_config(arguments, experiment.size);
  if (!arguments.initial_model.empty())
    transmute::begin_with(experiment.config, experiment.size, absolute(arguments.initial_model),
                          arguments.trainer.run_folder);
  experiment.chosen = experiment.config.training;
  transmute::DataOptions& data = experiment.config.data;
  data.train_source = {text.train.source};
  data.train_target = {text.train.target};
  data.valid_source = {text.valid.source};
  data.valid_target = {text.valid.target};
}

// Refuses what it can before there is a run folder. Returns the size of the whole text.
transmute::TextSize check_wishes(const Arguments& arguments) {
  for (const auto* given : {&arguments.text.train, &arguments.text.valid})
    for (const std::string& file : {given->source, given->target})
      if (!file.empty()) transmute::check_file(file, "");
  spdlog::info(fmt::format("reading {} and {}", arguments.text.train.source, arguments.text.train.target));
  const transmute::TextSize size = transmute::measure_text(arguments.text.train);
  Experiment trial;
  configure(arguments, arguments.text, size, trial);
  trial.set(arguments.assignments);
  trial.config.check();
  if (arguments.text.valid.source.empty()) transmute::check_enough_to_hold_out(size, arguments.text.train.source);
  return size;
}

// Splits the text where nothing is given for validation, and chooses everything else.
void choose_config(const Arguments& arguments, Experiment& experiment) {
  const std::string& run_folder = arguments.trainer.run_folder;
  transmute::TextSize size = check_wishes(arguments);
  const auto lock = transmute::RunFolder(run_folder).lock();
  transmute::AutomaticText text{{absolute(arguments.text.train.source), absolute(arguments.text.train.target)},
                                {absolute(arguments.text.valid.source), absolute(arguments.text.valid.target)}};
  const bool is_to_divide = text.valid.source.empty();
  const std::string folder = transmute::RunFolder(run_folder).held_out();
  transmute::Fingerprints kept = transmute::Fingerprints::read(run_folder);
  if (is_to_divide) {
    transmute::check_free_to_hold_out(text.train, folder, kept.divided);
    kept.divided = true;  // from here on the files are the run's, even where the division is interrupted
  }
  kept.given = fingerprint_of(arguments.text);
  kept.write(run_folder);
  if (is_to_divide) {
    text = transmute::hold_out(text.train, size, folder);
    size = transmute::measure_text(text.train);
  }
  configure(arguments, text, size, experiment);
}

void read_config(const Arguments& arguments, Experiment& experiment) {
  const bool automatic = !arguments.text.train.source.empty();
  if (!automatic && arguments.config.empty())
    throw std::invalid_argument(
        "--config FILE is needed, for example configs/demo.yaml, or a text: --source FILE --target FILE");
  if (!automatic && arguments.minutes > 0)
    throw std::invalid_argument(
        fmt::format("--minutes plans a training without a config; with one, its number of steps counts, and --set "
                    "training.max_minutes={:g} ends it earlier",
                    arguments.minutes));
  if (!automatic) {
    experiment.schema.read_file(arguments.config);
  } else if (transmute::RunFolder(arguments.trainer.run_folder).has_begun()) {
    read_chosen_config(arguments, experiment);
  } else {
    choose_config(arguments, experiment);
  }
  name_own_text(run_folder_of(arguments), experiment.config);
  experiment.set(arguments.assignments);
  transmute::take_network_of_initial_model(experiment.config, run_folder_of(arguments));
  experiment.config.check();
}

std::string shape_of(const transmute::TrainingConfig& config) {
  const transmute::TransformerOptions& model = config.model.model;
  return fmt::format("{}+{} layers of width {} with {} tokens a step", model.num_encoder_layers,
                     model.num_decoder_layers, model.d_model, transmute::format_count(config.training.batch_tokens));
}

// Seconds per step of the largest shape that gets enough steps, up to the one that the text deserves. Begins with the
// smallest: one that gets enough of them is timed quickly, and only one that does not is timed in vain.
double choose_shape_for_minutes(const Arguments& arguments, Experiment& experiment) {
  constexpr double kEnoughSteps = 1500, kShareOfTime = 0.05, kMostSeconds = 20;
  const auto use_shape = [&](int64_t smaller) {
    const transmute::DataOptions data = experiment.config.data;
    experiment.config = chosen_config(arguments, experiment.size, smaller);
    experiment.config.data = data;
    experiment.set(arguments.assignments);
  };
  const auto measure = [&] {
    const double most_seconds = std::min(kMostSeconds, kShareOfTime * arguments.minutes * 60);
    spdlog::info(fmt::format("measuring how long a step takes here: {}", shape_of(experiment.config)));
    const double seconds = transmute::with_plain_errors([&] {
      return transmute::measure_seconds_per_step(experiment.config, experiment.size, arguments.trainer, most_seconds);
    });
    spdlog::info(fmt::format("a step takes about {:.3g} s", seconds));
    return seconds;
  };
  const auto gets_enough_steps = [&](double seconds) {
    const double wanted = std::min(kEnoughSteps, static_cast<double>(experiment.config.training.max_steps));
    return transmute::steps_within(arguments.minutes, seconds) >= wanted;
  };
  int64_t smaller = arguments.initial_model.empty() ? transmute::smaller_shapes(experiment.size) : 0;
  if (smaller > 0) use_shape(smaller);
  double seconds = measure();
  while (smaller > 0 && gets_enough_steps(seconds)) {
    use_shape(--smaller);
    const double of_larger = measure();
    if (!gets_enough_steps(of_larger)) {
      use_shape(smaller + 1);
      break;
    }
    seconds = of_larger;
  }
  return seconds;
}

// Steps that fit into the time, by this machine's speed.
void fit_into_minutes(const Arguments& arguments, Experiment& experiment) {
  const double seconds = choose_shape_for_minutes(arguments, experiment);
  const int64_t wanted = experiment.config.training.max_steps;
  transmute::limit_time(experiment.config, experiment.size, arguments.minutes, seconds);
  experiment.set(arguments.assignments);
  const int64_t steps = experiment.config.training.max_steps;
  if (steps < wanted)
    spdlog::info(fmt::format("{} fit into --minutes {:g}; this text deserves {}, which take {} here",
                             transmute::counted(steps, "step"), arguments.minutes, transmute::format_count(wanted),
                             transmute::format_duration(seconds * static_cast<double>(wanted))));
}

void log_choices(const Experiment& experiment, const std::string& run_folder) {
  const transmute::TransformerOptions& model = experiment.config.model.model;
  const transmute::TrainingOptions& training = experiment.config.training;
  spdlog::info(fmt::format(
      "chosen for {}: {} pieces, {}+{} layers of width {}, dropout {}, {} of {} tokens, warm-up {}",
      transmute::counted(experiment.size.pairs, "sentence pair"),
      transmute::format_count(experiment.config.model.tokenizer.vocab_size), model.num_encoder_layers,
      model.num_decoder_layers, model.d_model, model.dropout, transmute::counted(training.max_steps, "step"),
      transmute::format_count(training.batch_tokens), transmute::format_count(training.warmup_steps)));
  spdlog::info(
      fmt::format("every value is in {}; to train with others, change a copy and run: transmute train --config COPY",
                  transmute::path_in(run_folder, transmute::kConfigFile)));
}

// A vocabulary that was chosen here may have another size; one that was asked for may not.
transmute::Trainer make_trainer(const Arguments& arguments, Experiment& experiment,
                                const transmute::TrainerOptions& options) {
  const auto is_vocabulary = [](const std::string& assignment) {
    return assignment.rfind("tokenizer.vocab_size=", 0) == 0 ||
           assignment.rfind("tokenizer.target_vocab_size=", 0) == 0;
  };
  const auto& asked = arguments.assignments;
  const bool is_chosen_here = experiment.size.pairs > 0 && std::none_of(asked.begin(), asked.end(), is_vocabulary);
  int64_t& size = experiment.config.model.tokenizer.vocab_size;
  const auto make = [&] { return transmute::Trainer(experiment.config, experiment.schema.to_yaml(), options); };
  const auto make_no_larger = [&] {
    try {
      return make();
    } catch (const transmute::VocabularyTooLarge& error) {
      if (!is_chosen_here) throw;
      spdlog::info(fmt::format("the text has only {} to learn", transmute::counted(error.most(), "piece")));
      size = error.most();
    }
    return make();
  };
  try {
    return make_no_larger();
  } catch (const transmute::VocabularyTooSmall& error) {
    if (!is_chosen_here) throw;
    size = error.least() + error.least() / 4;  // some words too
    spdlog::info(fmt::format("the text has {} characters: the vocabulary gets {} pieces",
                             transmute::format_count(error.least()), transmute::format_count(size)));
  }
  return make_no_larger();
}

int run_training(const Arguments& arguments, Experiment& experiment, const transmute::TrainerOptions& options) {
  try {
    if (experiment.size.pairs > 0) {
      if (arguments.minutes > 0) fit_into_minutes(arguments, experiment);
      log_choices(experiment, options.run_folder);
    }
    transmute::Trainer trainer = make_trainer(arguments, experiment, options);
    transmute::catch_stop_signals();
    const int signal = trainer.run(transmute::stop_signal);
    constexpr int kSignalExit = 128;
    return signal == 0 ? 0 : kSignalExit + signal;
  } catch (const std::exception& error) {
    if (options.ranks.rank > 0) throw_as_rank(options.ranks.rank);
    spdlog::default_logger()->sinks().back()->log(
        {"train", spdlog::level::err, fmt::format("error: {}", error.what())});
    throw;
  }
}

int train(const Arguments& arguments, const std::vector<std::string>& rank_command) {
  Experiment experiment;
  if (arguments.describe_config) {
    std::cout << experiment.schema.to_markdown();
    return 0;
  }
  transmute::TrainerOptions options = arguments.trainer;
  options.ranks = arguments.local_ranks > 0 ? transmute::RankOptions() : transmute::ranks_from_environment();
  const bool has_text = !arguments.text.train.source.empty();
  if (has_text && (arguments.local_ranks > 1 || options.ranks.size > 1))
    throw std::invalid_argument(
        "--source and --target set up a training of one process; for several, run it once, then take the config.yaml "
        "of its run folder with --config");
  log_to_terminal("", options.ranks.rank == 0 ? spdlog::level::info : spdlog::level::warn);
  if (options.ranks.rank == 0) end_at_once_on_signals();
  check_profile(arguments, experiment.config);  // before the text is divided
  read_config(arguments, experiment);
  check_profile(arguments, experiment.config);
  if (arguments.local_ranks > 1) {
    transmute::catch_stop_signals();
    log_to_terminal("", spdlog::level::warn);
    return transmute::run_local_ranks(arguments.local_ranks, rank_command, arguments.rank_timeout,
                                      transmute::stop_signal);
  }
  options.run_folder = run_folder_of(arguments);
  options.ranks.timeout_seconds = arguments.rank_timeout;
  if (options.ranks.rank == 0) {
    start_logging(options.run_folder);
    spdlog::info(fmt::format("training {} in {}", has_text ? arguments.text.train.source : arguments.config,
                             options.run_folder));
    for (const std::string& message : experiment.config.unused_values(experiment.chosen)) spdlog::warn(message);
  } else {
    log_to_terminal(fmt::format("rank {}: ", options.ranks.rank), spdlog::level::warn);
  }
  return run_training(arguments, experiment, options);
}

void add_text_flags(CLI::App& app, Arguments& arguments, CLI::Option* config, CLI::Option* run_folder) {
  const auto add = [&app](const char* name, std::string& value, const char* text) {
    return app.add_option(name, value, text)->type_name("FILE")->group("Without a config");
  };
  CLI::Option* const source = add("--source", arguments.text.train.source,
                                  "training text; everything else is chosen automatically, see docs/training.md");
  CLI::Option* const target = add("--target", arguments.text.train.target, "its translation, line for line");
  source->needs(target)->needs(run_folder)->excludes(config);
  target->needs(source);
  CLI::Option* const valid_source =
      add("--valid-source", arguments.text.valid.source, "validation text; default: lines held out from --source");
  CLI::Option* const valid_target = add("--valid-target", arguments.text.valid.target, "its translation");
  valid_source->needs(valid_target)->needs(source);
  valid_target->needs(valid_source);
  app.add_option("--initialize-from", arguments.initial_model,
                 "fine-tuning: begin with the network, weights and vocabulary of this model")
      ->type_name("MODEL")
      ->needs(source)
      ->group("Without a config");
  app.add_option("--minutes", arguments.minutes, "training time; default: chosen from the size of the text")
      ->check(transmute::positive())
      ->group("Without a config");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Trains a Transformer on aligned text files, or a language model on plain text. Run again with the same run "
      "folder, it resumes from the newest checkpoint.",
      "train");
  app.footer(
      "{} --source train.en --target train.de --run-folder runs/mine --minutes 60\n"
      "{} --config configs/demo.yaml --set training.max_minutes=10");
  Arguments arguments;
  CLI::Option* const config =
      app.add_option("-c,--config", arguments.config, "the experiment's YAML file")->type_name("FILE");
  app.add_option("--set", arguments.assignments,
                 "override a configuration key, for example training.warmup_steps=8000; may be repeated")
      ->type_name("KEY=VALUE")
      ->take_all()
      ->allow_extra_args(false);
  CLI::Option* const run_folder =
      app.add_option(
             "--run-folder", arguments.trainer.run_folder,
             "folder for checkpoints, metrics and the model; default with --config: runs/ and the config's name")
          ->type_name("FOLDER");
  transmute::add_device_flag(app, arguments.trainer.device);
  transmute::add_threads_flag(app, arguments.trainer.threads);
  app.add_option("--local-ranks", arguments.local_ranks,
                 "number of training processes on this machine; for several machines, start train with torchrun, srun "
                 "or mpirun, whose RANK, WORLD_SIZE and MASTER_ADDR it reads; 1: ignore these variables")
      ->check(transmute::whole_between(1, 1024));
  app.add_option("--rank-timeout", arguments.rank_timeout,
                 "seconds without a sign of life after which a process counts as lost and the others stop")
      ->check(transmute::between(1, 1e9))
      ->capture_default_str();
  app.add_option("--profile", arguments.trainer.profile,
                 "write a trace of steps 5 to 24 of this run (data, forward, backward and optimizer of each worker, "
                 "and LibTorch's operations) for chrome://tracing or ui.perfetto.dev")
      ->type_name("FILE");
  add_text_flags(app, arguments, config, run_folder);
  app.add_flag("--describe-config", arguments.describe_config,
               "print all configuration keys with their defaults and meanings");
  return transmute::run_program(app, argc, argv, [&] {
    transmute::configure_process_for_workers();
    return train(arguments, command_of_rank(argc, argv, arguments));
  });
}
