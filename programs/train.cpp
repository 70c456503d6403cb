// SPDX-License-Identifier: Apache-2.0
// train: learns a Transformer from text. See --help.

#include <spdlog/fmt/fmt.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <transmute/common/files.h>
#include <transmute/model/threading.h>
#include <transmute/programs/program.h>
#include <transmute/training/distributed/launcher.h>
#include <transmute/training/trainer.h>

#include <filesystem>
#include <iostream>

namespace {

struct Arguments {
  std::string config;
  std::vector<std::string> assignments;
  transmute::TrainerOptions trainer;
  bool describe_config = false;
  int local_ranks = 0;  // 0: what the environment says
  double rank_timeout = transmute::RankOptions().timeout_seconds;
};

// Of the launcher and of ranks other than the first, only what goes wrong, to the terminal.
void start_logging_of(const std::string& who) {
  auto logger = spdlog::stderr_color_mt("train");
  logger->set_pattern(fmt::format("[%Y-%m-%d %H:%M:%S] {}%^%v%$", who));
  logger->set_level(spdlog::level::warn);
  spdlog::set_default_logger(logger);
}

// To the terminal, and once the run folder is known to be writable, to its train.log as well.
void start_logging(const std::string& run_folder) {
  transmute::ensure_writable_folder(run_folder);
  const auto file = (std::filesystem::path(run_folder) / "train.log").string();
  auto logger = std::make_shared<spdlog::logger>(
      "train", spdlog::sinks_init_list{std::make_shared<spdlog::sinks::stderr_color_sink_mt>(),
                                       std::make_shared<spdlog::sinks::basic_file_sink_mt>(file)});
  logger->set_pattern("[%Y-%m-%d %H:%M:%S] %^%v%$");
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(logger);
}

// The command line without --local-ranks, for the ranks that it asks for.
std::vector<std::string> command_of_rank(int argc, char** argv) {
  const std::string flag = "--local-ranks";
  std::vector<std::string> words{std::filesystem::read_symlink("/proc/self/exe").string()};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == flag) {
      ++i;  // its value
    } else if (word.rfind(flag + "=", 0) != 0) {
      words.push_back(word);
    }
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

int train(const Arguments& arguments, const std::vector<std::string>& command_of_rank) {
  transmute::TrainingConfig config;
  transmute::ConfigSchema schema;
  config.declare(schema);
  if (arguments.describe_config) {
    std::cout << schema.to_markdown();
    return 0;
  }
  if (arguments.config.empty()) throw std::invalid_argument("--config FILE is needed, for example configs/demo.yaml");
  schema.read_file(arguments.config);
  for (const auto& assignment : arguments.assignments) schema.set(assignment);
  config.check();
  transmute::catch_stop_signals();
  if (arguments.local_ranks > 1) {
    start_logging_of("");
    return transmute::run_local_ranks(arguments.local_ranks, command_of_rank, arguments.rank_timeout,
                                      transmute::stop_signal);
  }

  transmute::TrainerOptions options = arguments.trainer;
  if (options.run_folder.empty())
    options.run_folder = (std::filesystem::path("runs") / std::filesystem::path(arguments.config).stem()).string();
  options.ranks = arguments.local_ranks == 1 ? transmute::RankOptions() : transmute::ranks_from_environment();
  options.ranks.timeout_seconds = arguments.rank_timeout;
  if (options.ranks.rank == 0) {
    start_logging(options.run_folder);
    spdlog::info(fmt::format("training {} in {}", arguments.config, options.run_folder));
  } else {
    start_logging_of(fmt::format("rank {}: ", options.ranks.rank));
  }
  try {
    transmute::Trainer trainer(config, schema.to_yaml(), options);
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

}  // namespace

int main(int argc, char** argv) {
  transmute::configure_process_for_workers();
  CLI::App app(
      "Learns a Transformer from aligned text files, or a language model from plain text. Run again with the same run "
      "folder, it goes on from the "
      "newest checkpoint.",
      "train");
  Arguments arguments;
  app.add_option("--config", arguments.config, "the experiment's YAML file");
  app.add_option("--set", arguments.assignments, "override a key of it, for example training.warmup_steps=8000")
      ->type_name("KEY=VALUE")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--run-folder", arguments.trainer.run_folder,
                 "gets checkpoints, metrics and the model; default: runs/ and the config's name");
  app.add_option("--device", arguments.trainer.device, "cpu, cuda, cuda:N or auto")->capture_default_str();
  app.add_option("--threads", arguments.trainer.threads, "workers on the CPU; 0: one per core")->capture_default_str();
  app.add_option("--local-ranks", arguments.local_ranks,
                 "train with so many processes on this machine; more machines: torchrun, srun or mpirun, whose RANK, "
                 "WORLD_SIZE, MASTER_ADDR … are understood; 1: alone, whatever they say")
      ->check(CLI::Range(1, 1024));
  app.add_option("--rank-timeout", arguments.rank_timeout,
                 "seconds without a sign of life after which a process is lost, and all others end")
      ->check(transmute::between(0.001, 1e9))
      ->capture_default_str();
  app.add_option("--profile", arguments.trainer.profile,
                 "write a trace of this run's steps 5 to 24 (data, forward, backward and optimizer of each worker, and "
                 "LibTorch's operations), which chrome://tracing and ui.perfetto.dev open");
  app.add_flag("--describe-config", arguments.describe_config, "print every key with default and meaning");
  return transmute::run_program(app, argc, argv, [&] { return train(arguments, command_of_rank(argc, argv)); });
}
