// SPDX-License-Identifier: Apache-2.0
// train: learns a Transformer from text. See --help.

#include <spdlog/fmt/fmt.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/ringbuffer_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <transmute/common/files.h>
#include <transmute/common/progress.h>
#include <transmute/common/threads.h>
#include <transmute/formats/model_store.h>
#include <transmute/libtorch/plain_errors.h>
#include <transmute/libtorch/threading.h>
#include <transmute/programs/shared/flag_values.h>
#include <transmute/programs/shared/line_stream.h>
#include <transmute/programs/shared/program.h>
#include <transmute/programs/shared/signals.h>
#include <transmute/programs/shared/translator_flags.h>
#include <transmute/training/distributed/launcher.h>
#include <transmute/training/distributed/process_group.h>
#include <transmute/training/experiment.h>
#include <transmute/training/run_folder.h>
#include <transmute/training/step_timing.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

namespace {

struct Arguments {
  transmute::ExperimentSetup setup;
  bool describe_config = false;
  bool print_config = false;
  int local_ranks = 0;  // 0: what the environment says
  double rank_timeout = transmute::RankOptions().timeout_seconds;
};

// The text of a log line, without what would command a terminal: names of files may come from strangers.
class SafeText : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/, spdlog::memory_buf_t& line) override {
    const std::string text = transmute::without_control({message.payload.data(), message.payload.size()});
    line.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<spdlog::custom_flag_formatter> clone() const override { return std::make_unique<SafeText>(); }
};

std::unique_ptr<spdlog::formatter> log_line(const std::string& who) {
  auto line = std::make_unique<spdlog::pattern_formatter>();
  line->add_flag<SafeText>('*').set_pattern(fmt::format("[%Y-%m-%d %H:%M:%S] {}%^%*%$", who));
  return line;
}

// The lines that are logged before there is a run folder.
using EarlyLines = spdlog::sinks::ringbuffer_sink_mt;

// To the terminal alone: before there is a run folder and, of the launcher and of ranks other than the first, only
// what goes wrong. The lines are also kept in `early`, if it is given.
void log_to_terminal(const std::string& who, spdlog::level::level_enum level,
                     const std::shared_ptr<EarlyLines>& early = nullptr) {
  auto logger = std::make_shared<spdlog::logger>("train", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  if (early) logger->sinks().push_back(early);
  logger->set_formatter(log_line(who));
  logger->set_level(level);
  spdlog::set_default_logger(logger);
}

// To the terminal, and once the run folder is known to be writable, to its train.log as well, which begins with the
// lines logged so far: warnings about the text and the settings come before the run folder is known.
void start_logging(const std::string& run_folder, EarlyLines& early) {
  const transmute::RunFolder folder(run_folder);
  folder.check_links();
  transmute::ensure_writable_folder(run_folder);
  const auto file = std::make_shared<spdlog::sinks::basic_file_sink_mt>(folder.log());
  auto logger = std::make_shared<spdlog::logger>(
      "train", spdlog::sinks_init_list{std::make_shared<spdlog::sinks::stderr_color_sink_mt>(), file});
  logger->set_formatter(log_line(""));
  logger->flush_on(spdlog::level::info);
  for (const auto& line : early.last_raw()) file->log(line);
  spdlog::set_default_logger(logger);
}

// The command line without --local-ranks, for the ranks that it asks for. Each gets its share of the cores, unless
// --threads says otherwise: a rank alone cannot tell whether a launcher has dealt out the cores that it may run on.
std::vector<std::string> command_of_rank(int argc, char** argv, const Arguments& arguments) {
  std::vector<std::string> words{std::filesystem::read_symlink("/proc/self/exe").string()};
  std::vector<std::string> flags{"--local-ranks"};
  if (arguments.setup.trainer.threads == 0) flags.emplace_back("--threads");
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto is_word = [&](const std::string& flag) {
      return word == flag || transmute::begins_with(word, flag + "=");
    };
    if (std::none_of(flags.begin(), flags.end(), is_word)) {
      words.push_back(word);
    } else if (word.find('=') == std::string::npos) {
      ++i;  // its value
    }
  }
  if (arguments.setup.trainer.threads == 0) {
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

// --profile must be none of the files that are read, nor promise what it is not.
void check_profile(const Arguments& arguments, const transmute::Experiment& experiment) {
  if (std::filesystem::path(arguments.setup.trainer.profile).extension() == ".gz")
    throw std::invalid_argument("--profile: the trace is not compressed; give it a name without .gz");
  const transmute::PairOfFiles &train = arguments.setup.text.train, &valid = arguments.setup.text.valid;
  std::vector<transmute::NamedInput> inputs{
      {"--config", arguments.setup.config},
      {"--source", train.source},
      {train.is_plain() ? "--text" : "--target", train.target},
      {"--valid-source", valid.source},
      {train.is_plain() ? "--valid-text" : "--valid-target", valid.target},
      {"training.initialize_from", transmute::model_path(experiment.config.training.initialize_from)}};
  for (const std::string& file : experiment.schema.files()) inputs.push_back({"base", file});
  const transmute::DataOptions& data = experiment.config.data;
  for (const transmute::NamedFiles& of_key : data.files())
    for (const std::string& file : of_key.files) inputs.push_back({of_key.key, transmute::path_in(data.folder, file)});
  transmute::check_output_is_no_input(arguments.setup.trainer.profile, inputs, "--profile");
}

void log_choices(const transmute::Experiment& experiment, const std::string& run_folder) {
  const transmute::TrainingOptions& training = experiment.config.training;
  spdlog::info("chosen for {}: {} pieces, {}, dropout {}, at most {} of {} tokens, warm-up {}",
               transmute::counted(experiment.size.pairs, experiment.size.is_plain ? "line" : "sentence pair"),
               transmute::format_count(experiment.config.model.tokenizer.vocab_size),
               transmute::network_text(experiment.config), experiment.config.model.model.dropout,
               transmute::counted(training.max_steps, "step"), transmute::format_count(training.batch_tokens),
               transmute::format_count(training.warmup_steps));
  spdlog::info("all settings are in {}; to change them, edit a copy and run: transmute train --config COPY",
               transmute::path_in(run_folder, transmute::kConfigFile));
}

// In train.log; run_program() says it on the terminal.
void log_error(const std::exception& error) {
  spdlog::default_logger()->sinks().back()->log({"train", spdlog::level::err, fmt::format("error: {}", error.what())});
}

int run_training(const transmute::ExperimentSetup& setup, const transmute::TrainerOptions& options,
                 transmute::Experiment& experiment) {
  try {
    const auto seconds_per_step = [&](const transmute::TrainingConfig& config, const transmute::TextSize& size,
                                      double most_seconds) {
      return transmute::with_plain_errors(
          [&] { return transmute::measure_seconds_per_step(config, size, setup.trainer, most_seconds); });
    };
    if (experiment.is_chosen()) {
      if (setup.minutes > 0) transmute::fit_into_minutes(setup, seconds_per_step, experiment);
      log_choices(experiment, options.run_folder);
    }
    transmute::Trainer trainer = transmute::make_trainer(setup, options, experiment);
    const bool is_first = options.ranks.rank == 0;
    transmute::catch_stop_signals(is_first ? "\ntrain: stopping after the step or validation under way, with a "
                                             "checkpoint; to end at once, repeat the signal after two seconds\n"
                                           : "");
    const int signal = trainer.run(transmute::stop_signal);
    constexpr int kWorthlessExit = 3, kSignalExit = 128;
    if (signal != 0) return kSignalExit + signal;
    return trainer.is_worthless() ? kWorthlessExit : 0;
  } catch (const transmute::OtherRankEnded& error) {
    if (options.ranks.rank == 0) log_error(error);
    if (options.ranks.local_size == options.ranks.size) return 1;  // the other one has said it on this terminal
    if (options.ranks.rank > 0) throw_as_rank(options.ranks.rank);
    throw;
  } catch (const std::exception& error) {
    if (options.ranks.rank > 0) throw_as_rank(options.ranks.rank);
    log_error(error);
    throw;
  }
}

int train(const Arguments& arguments, const std::vector<std::string>& rank_command) {
  transmute::Experiment experiment;
  if (arguments.describe_config) {
    std::cout << experiment.schema.to_markdown();
    return 0;
  }
  if (arguments.print_config) {
    transmute::read_experiment(arguments.setup, experiment);
    std::cout << experiment.schema.to_yaml();
    return 0;
  }
  transmute::TrainerOptions options = arguments.setup.trainer;
  options.ranks = arguments.local_ranks > 0 ? transmute::RankOptions() : transmute::ranks_from_environment();
  const bool has_text = arguments.setup.has_text();
  if (has_text && (arguments.local_ranks > 1 || options.ranks.size > 1))
    throw std::invalid_argument(
        "a text without --config sets up a training of one process; for several, run it once, then take the "
        "config.yaml "
        "of its run folder with --config");
  constexpr size_t kMostEarlyLines = 1000;
  const auto early = std::make_shared<EarlyLines>(kMostEarlyLines);
  log_to_terminal("", options.ranks.rank == 0 ? spdlog::level::info : spdlog::level::warn, early);
  if (options.ranks.rank == 0) {  // what a signal leaves unfinished goes at the next start
    transmute::end_at_once_on_stop_signals(
        "\ntrain: stopped before the first step; the same command prepares the training again\n");
  }
  check_profile(arguments, experiment);  // before the text is divided
  transmute::read_experiment(arguments.setup, experiment);
  check_profile(arguments, experiment);
  if (arguments.local_ranks > 1) {
    transmute::catch_stop_signals();
    log_to_terminal("", spdlog::level::warn);
    return transmute::run_local_ranks(arguments.local_ranks, rank_command, arguments.rank_timeout,
                                      transmute::stop_signal);
  }
  options.run_folder = transmute::run_folder_of(arguments.setup);
  options.ranks.timeout_seconds = arguments.rank_timeout;
  if (options.ranks.rank == 0) {
    // Before anything is written there. With several ranks the Trainer locks it: the others must hear of a refusal.
    if (options.ranks.size == 1 && !experiment.lock) experiment.lock = transmute::RunFolder(options.run_folder).lock();
    start_logging(options.run_folder, *early);
    spdlog::info("training {} in {}", has_text ? arguments.setup.text.train.first() : arguments.setup.config,
                 options.run_folder);
    for (const std::string& message : experiment.config.unused_values(experiment.chosen)) spdlog::warn(message);
  } else {
    log_to_terminal(fmt::format("rank {}: ", options.ranks.rank), spdlog::level::warn);
  }
  return run_training(arguments.setup, options, experiment);
}

void add_text_flags(CLI::App& app, Arguments& arguments, CLI::Option* config) {
  const auto add = [&app](const char* name, std::string& value, const char* text) {
    return app.add_option(name, value, text)->type_name("FILE")->group("Without a config");
  };
  CLI::Option* const source = add("--source", arguments.setup.text.train.source,
                                  "training text; everything else is chosen automatically, see docs/training.md");
  CLI::Option* const target = add("--target", arguments.setup.text.train.target, "its translation, line for line");
  source->needs(target)->excludes(config);
  target->needs(source);
  CLI::Option* const valid_source = add("--valid-source", arguments.setup.text.valid.source,
                                        "validation text; default: lines held out from --source");
  CLI::Option* const valid_target = add("--valid-target", arguments.setup.text.valid.target, "its translation");
  valid_source->needs(valid_target)->needs(source);
  valid_target->needs(valid_source);
  CLI::Option* const text = add("--text", arguments.setup.text.train.target,
                                "plain text, instead of --source and --target: trains a language model");
  text->excludes(source)->excludes(config);
  add("--valid-text", arguments.setup.text.valid.target, "validation text; default: lines held out from --text")
      ->needs(text);
  app.add_option("--initialize-from", arguments.setup.initial_model,
                 "fine-tuning: begin with the network, weights and vocabulary of this model")
      ->type_name("MODEL")
      ->needs(source)
      ->group("Without a config");
  app.add_option("--minutes", arguments.setup.minutes,
                 "training time, counted from the first step; default: chosen from the size of the text")
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
      "{} --source train.en --target train.de --minutes 60\n"
      "{} --config configs/demo.yaml --set training.max_minutes=10");
  Arguments arguments;
  CLI::Option* const config =
      app.add_option("-c,--config", arguments.setup.config, "the experiment's YAML file")->type_name("FILE");
  transmute::repeatable(
      app.add_option("--set", arguments.setup.assignments,
                     "override a configuration key, for example training.warmup_steps=8000; may be repeated"))
      ->type_name("KEY=VALUE");
  app.add_option(
         "--run-folder", arguments.setup.trainer.run_folder,
         "folder for checkpoints, metrics and the model; default: runs/ and the name of the config, or those of the "
         "text, such as runs/train.en-de")
      ->type_name("FOLDER");
  transmute::add_device_flag(app, arguments.setup.trainer.device);
  transmute::add_threads_flag(app, arguments.setup.trainer.threads);
  app.add_option("--local-ranks", arguments.local_ranks,
                 "number of training processes on this machine; for several machines, start train with torchrun, srun "
                 "or mpirun, whose RANK, WORLD_SIZE and MASTER_ADDR it reads; 1: ignore these variables")
      ->check(transmute::whole_between(1, 1024));
  app.add_option("--rank-timeout", arguments.rank_timeout,
                 "seconds without a sign of life after which a process counts as lost and the others stop")
      ->check(transmute::between(1, 1e9))
      ->capture_default_str();
  app.add_option("--profile", arguments.setup.trainer.profile,
                 "write a trace of steps 5 to 24 of this run (data, forward, backward and optimizer of each worker, "
                 "and LibTorch's operations) for chrome://tracing or ui.perfetto.dev")
      ->type_name("FILE")
      ->check(transmute::not_standard_output());
  add_text_flags(app, arguments, config);
  app.add_flag("--describe-config", arguments.describe_config,
               "print all configuration keys with their defaults and meanings");
  app.add_flag("--print-config", arguments.print_config,
               "print the whole configuration of --config, its bases and --set, checked, and train nothing")
      ->needs(config);
  return transmute::run_program(app, argc, argv, [&] {
    transmute::configure_process_for_workers();
    if (arguments.setup.has_text()) arguments.setup.trainer.run_folder = transmute::run_folder_of(arguments.setup);
    return train(arguments, command_of_rank(argc, argv, arguments));
  });
}
