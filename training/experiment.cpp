// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/experiment.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>
#include <transmute/common/files.h>
#include <transmute/common/progress.h>
#include <transmute/common/shell_word.h>
#include <transmute/common/text_file.h>
#include <transmute/formats/model_store.h>
#include <transmute/tokenizer/tokenizer.h>
#include <transmute/training/checkpoint.h>
#include <transmute/training/fingerprints.h>
#include <transmute/training/initial_model.h>
#include <transmute/training/run_folder.h>
#include <transmute/training/text_checks.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace fs = std::filesystem;

namespace {

// train.en.gz and train.de.gz: "train.en-de".
std::string name_of(const PairOfFiles& files) {
  const fs::path name = fs::path(without_packer_ending(files.first())).filename();
  if (files.is_plain()) return name.stem().string();
  const std::string target = text_file_ending(files.target);
  return name.string() + (target.empty() || "." + target == name.extension() ? "" : "-" + target);
}

}  // namespace

std::string run_folder_of(const ExperimentSetup& setup) {
  if (!setup.trainer.run_folder.empty()) return setup.trainer.run_folder;
  if (setup.has_text()) return (fs::path("runs") / name_of(setup.text.train)).string();
  const fs::path config(setup.config);
  const std::string beside = config.has_parent_path() ? config.parent_path().string() : ".";
  // A run's own config continues with that run.
  if (config.filename() == kConfigFile && RunFolder(beside).has_begun()) return beside;
  return (fs::path("runs") / fs::path(setup.config).stem()).string();
}

namespace {

void assign(const ExperimentSetup& setup, Experiment& experiment) {
  for (const auto& assignment : setup.assignments) experiment.schema.set(assignment);
}

std::string absolute(const std::string& path) {
  return path.empty() ? path : fs::absolute(path).lexically_normal().string();
}

uint64_t text_fingerprint(const AutomaticText& text) {
  std::vector<std::string> paths;
  for (const std::string& path : {text.train.source, text.train.target, text.valid.source, text.valid.target})
    if (!path.empty()) paths.push_back(path);
  return files_fingerprint(paths);
}

// "a.en and b.de".
std::string names_of(const PairOfFiles& files) {
  return files.is_plain() ? files.target : fmt::format("{} and {}", files.source, files.target);
}

// Shape and schedule depend on the size of the text, the micro-batches on the device. A given vocabulary is kept.
TrainingConfig chosen_config(const ExperimentSetup& setup, const TextSize& size, int64_t smaller = 0) {
  TrainingConfig config = config_for(size, smaller);
  if (is_for_gpu(setup.trainer)) config.training.micro_batch_tokens = TrainingOptions().micro_batch_tokens;
  if (setup.initial_model.empty()) RunFolder(setup.trainer.run_folder).take_given_vocabulary(config);
  return config;
}

// Adapts the config of a run to another time limit. Network, vocabulary and warm-up stay as they were trained; the
// intervals of checkpoints and validations follow from the speed so far.
void change_minutes(const ExperimentSetup& setup, TrainingConfig& config) {
  TrainingOptions& training = config.training;
  const double before = std::exchange(training.max_minutes, setup.minutes);
  if (before == setup.minutes) return;
  const TrainState state = CheckpointStore(RunFolder(setup.trainer.run_folder).checkpoints()).newest_state();
  if (state.seconds > 0) {
    const int64_t warmup_steps = training.warmup_steps;
    const double steps = static_cast<double>(state.step) * setup.minutes * 60 / state.seconds;
    plan_steps(config, std::llround(std::clamp(steps, 1.0, static_cast<double>(training.max_steps))));
    training.warmup_steps = warmup_steps;
  }
  if (before == 0 || before > setup.minutes || !training.initialize_from.empty()) return;
  Experiment anew;
  anew.config = chosen_config(setup, measure_text(setup.text.train));
  assign(setup, anew);
  const auto weights = [](const TransformerOptions& network) {  // an approximation; a language model has no encoder
    return std::max(network.num_encoder_layers, network.num_decoder_layers) * network.d_model * network.d_model;
  };
  if (weights(anew.config.model.model) <= weights(config.model.model)) return;
  spdlog::warn(
      "the run in {} keeps the network that it began with, {}. With enough time, this text gets {}; to let "
      "--minutes {:g} decide, use another --run-folder",
      setup.trainer.run_folder, network_text(config), network_text(anew.config), setup.minutes);
}

// Reads the config that was chosen when the run began.
void read_chosen_config(const ExperimentSetup& setup, Experiment& experiment) {
  const std::string& run_folder = setup.trainer.run_folder;
  const uint64_t given = Fingerprints::read(run_folder).given;
  if (given == 0)
    throw std::runtime_error(
        fmt::format("the run in {} was begun with a configuration, not with a text alone. Continue it with "
                    "--config {} --run-folder {}, or use another --run-folder",
                    run_folder, shell_word(path_in(run_folder, kConfigFile)), shell_word(run_folder)));
  if (given != text_fingerprint(setup.text))
    throw std::runtime_error(
        fmt::format("the run in {} was begun with another text than {}, or with another validation text ({}). Give the "
                    "same files as when it was begun, or use another --run-folder for these",
                    run_folder, names_of(setup.text.train),
                    setup.text.train.is_plain() ? "--valid-text" : "--valid-source and --valid-target"));
  experiment.schema.read_file(path_in(run_folder, kConfigFile));
  experiment.chosen = experiment.config.training;
  // A resumed run must name the same initial model.
  experiment.config.training.initialize_from = absolute(model_path(setup.initial_model));
  if (setup.minutes > 0) change_minutes(setup, experiment.config);
}

// For a config that continues a run which was begun without one.
void name_own_text(const std::string& run_folder, TrainingConfig& config) {
  const RunFolder folder(run_folder);
  if (folder.has_begun()) folder.name_own_text(config);
}

// Sets all values of the config by the size of the text.
void configure(const ExperimentSetup& setup, const AutomaticText& text, const TextSize& size, Experiment& experiment) {
  experiment.size = size;
  experiment.config = chosen_config(setup, experiment.size);
  if (!setup.initial_model.empty())
    begin_with(experiment.config, experiment.size, absolute(model_path(setup.initial_model)));
  experiment.chosen = experiment.config.training;
  DataOptions& data = experiment.config.data;
  if (text.train.is_plain()) {
    data.train_text = {text.train.target};
    data.valid_text = {text.valid.target};
    return;
  }
  data.train_source = {text.train.source};
  data.train_target = {text.train.target};
  data.valid_source = {text.valid.source};
  data.valid_target = {text.valid.target};
}

// Rejects what it can before there is a run folder. Returns the size of the whole text.
TextSize check_wishes(const ExperimentSetup& setup) {
  const bool is_to_divide = setup.text.valid.target.empty();
  std::set<std::string> looked_at;
  for (const auto* given : {&setup.text.train, &setup.text.valid})
    for (const std::string& file : {given->source, given->target}) {
      if (file.empty()) continue;
      check_file(file, "");
      if (is_to_divide && looked_at.insert(file).second)
        warn_of_format(file);  // later messages would name the parts of the text, which the user has never seen
    }
  Experiment trial;
  assign(setup, trial);  // before the text, which may be long, is read: checks the keys and the device
  is_for_gpu(setup.trainer);
  spdlog::info("reading {}", names_of(setup.text.train));
  const TextSize size = measure_text(setup.text.train);
  configure(setup, setup.text, size, trial);
  assign(setup, trial);
  trial.config.check();
  check_enough_text(setup.text, size);
  return size;
}

// Splits the text if no validation text is given, and chooses all other values.
void choose_config(const ExperimentSetup& setup, Experiment& experiment) {
  const std::string& run_folder = setup.trainer.run_folder;
  TextSize size = check_wishes(setup);
  experiment.lock = RunFolder(run_folder).lock();
  AutomaticText text{{absolute(setup.text.train.source), absolute(setup.text.train.target)},
                     {absolute(setup.text.valid.source), absolute(setup.text.valid.target)}};
  const bool is_to_divide = text.valid.target.empty();
  const std::string folder = RunFolder(run_folder).held_out();
  Fingerprints kept = Fingerprints::read(run_folder);
  if (is_to_divide) {
    check_free_to_hold_out(text.train, folder, kept.divided);
    kept.divided = true;  // from here on the files belong to the run, even if the division is interrupted
  }
  kept.given = text_fingerprint(setup.text);
  kept.write(run_folder);
  if (is_to_divide) {
    text = hold_out(text.train, size, folder);
    size = measure_text(text.train);
  }
  configure(setup, text, size, experiment);
}

}  // namespace

void read_experiment(const ExperimentSetup& setup, Experiment& experiment) {
  const bool automatic = setup.has_text();
  if (!automatic && setup.config.empty())
    throw std::invalid_argument(
        "--config FILE is needed, for example configs/demo.yaml, or a text: --source FILE --target FILE, or for a "
        "language model --text FILE");
  if (!automatic && setup.minutes > 0)
    throw std::invalid_argument(
        fmt::format("--minutes plans a training without a config; with one, its number of steps counts, and --set "
                    "training.max_minutes={:g} ends it earlier",
                    setup.minutes));
  if (!automatic) {
    experiment.schema.read_file(setup.config);
  } else if (RunFolder(setup.trainer.run_folder).has_begun()) {
    read_chosen_config(setup, experiment);
  } else {
    choose_config(setup, experiment);
  }
  name_own_text(run_folder_of(setup), experiment.config);
  assign(setup, experiment);
  take_network_of_initial_model(experiment.config, experiment.schema, RunFolder(run_folder_of(setup)).begun_config());
  experiment.config.check();
}

std::string network_text(const TrainingConfig& config) {
  const TransformerOptions& model = config.model.model;
  const std::string layers = config.is_language_model()
                                 ? counted(model.num_decoder_layers, "layer")
                                 : fmt::format("{}+{} layers", model.num_encoder_layers, model.num_decoder_layers);
  return fmt::format("{} of width {}", layers, model.d_model);
}

namespace {

// Chooses the largest shape that gets enough steps, up to the one that suits the text. Returns its seconds per step.
// Begins with the smallest, because a shape that gets enough steps is timed quickly; only the first that does not is
// timed in vain.
double choose_shape_for_minutes(const ExperimentSetup& setup, const StepTimer& timer, Experiment& experiment) {
  constexpr double kEnoughSteps = 1500, kEnoughOfWide = 5000, kShareOfTime = 0.05, kMostSeconds = 20;
  constexpr int64_t kNarrow = 128;
  const auto use_shape = [&](int64_t smaller) {
    const DataOptions data = experiment.config.data;
    experiment.config = chosen_config(setup, experiment.size, smaller);
    experiment.config.data = data;
    assign(setup, experiment);
  };
  const auto measure = [&] {
    const double most_seconds = std::min(kMostSeconds, kShareOfTime * setup.minutes * 60);
    spdlog::info("measuring how long a step takes here: {} with {} tokens a step", network_text(experiment.config),
                 format_count(experiment.config.training.batch_tokens));
    const double seconds = timer(experiment.config, experiment.size, most_seconds);
    spdlog::info("a step takes about {:.3g} s", seconds);
    return seconds;
  };
  const auto gets_enough_steps = [&](double seconds) {
    const double enough = experiment.config.model.model.d_model > kNarrow ? kEnoughOfWide : kEnoughSteps;
    const double wanted = std::min(enough, static_cast<double>(experiment.config.training.max_steps));
    return steps_within(setup.minutes, seconds) >= wanted;
  };
  int64_t smaller = setup.initial_model.empty() ? smaller_shapes(experiment.size) : 0;
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

}  // namespace

void fit_into_minutes(const ExperimentSetup& setup, const StepTimer& timer, Experiment& experiment) {
  const double seconds = choose_shape_for_minutes(setup, timer, experiment);
  const double whole = seconds * static_cast<double>(experiment.config.training.max_steps);
  limit_time(experiment.config, experiment.size, setup.minutes, seconds);
  assign(setup, experiment);
  if (const double share = steps_within(setup.minutes, seconds) * seconds / whole; share < 1)
    spdlog::info(
        "--minutes {:g} allows about {}; the full training for this text would take {} here", setup.minutes,
        counted(std::max<int64_t>(1, std::llround(share * static_cast<double>(experiment.config.training.max_steps))),
                "step"),
        format_duration(whole));
}

Trainer make_trainer(const ExperimentSetup& setup, const TrainerOptions& options, Experiment& experiment) {
  const auto is_vocabulary = [](const std::string& assignment) {
    return begins_with(assignment, "tokenizer.vocab_size=") || begins_with(assignment, "tokenizer.target_vocab_size=");
  };
  const auto& asked = setup.assignments;
  const bool is_chosen_here = experiment.is_chosen() && std::none_of(asked.begin(), asked.end(), is_vocabulary);
  int64_t& size = experiment.config.model.tokenizer.vocab_size;
  TrainerOptions with_lock = options;
  with_lock.lock = std::move(experiment.lock);  // held during all attempts
  if (setup.minutes > 0)
    with_lock.plan = [assignments = setup.assignments](TrainingConfig& config, int64_t steps) {
      plan_steps(config, steps);
      ConfigSchema schema;
      config.declare(schema);
      for (const std::string& assignment : assignments) schema.set(assignment);
    };
  const auto make = [&] { return Trainer(experiment.config, experiment.schema.to_yaml(), with_lock); };
  const auto make_no_larger = [&] {
    try {
      return make();
    } catch (const VocabularyTooLarge& error) {
      if (!is_chosen_here) throw;
      spdlog::info("the text has only {} to learn", counted(error.most(), "piece"));
      size = error.most();
    }
    return make();
  };
  try {
    return make_no_larger();
  } catch (const VocabularyTooSmall& error) {
    if (!is_chosen_here) throw;
    size = error.least() + error.least() / 4;  // leaves room for some words
    spdlog::info("the text has {} characters: the vocabulary gets {} pieces", format_count(error.least()),
                 format_count(size));
  }
  return make_no_larger();
}

}  // namespace v0
}  // namespace transmute
