// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/text_checks.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>
#include <transmute/common/files.h>
#include <transmute/common/hash.h>
#include <transmute/common/progress.h>
#include <transmute/common/text_file.h>
#include <transmute/common/zip_member.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace fs = std::filesystem;

namespace {

constexpr uintmax_t kCheapBytes = uintmax_t{32} << 20U;  // a tenth of a second

// Reads a file whose size makes it cheap, of others the beginning, so that what is wrong with it is said at the start.
// Returns the number of lines where all were read.
std::optional<int64_t> read_through(const TextFile& file) {
  constexpr int64_t kBeginning = 1000;  // lines
  const bool is_cheap = fs::file_size(file.path) <= kCheapBytes;
  TextFileReader reader(file);
  bool has_zeros = false;
  for (std::string line; reader.next(line);) {
    if (!has_zeros && line.find('\0') != std::string::npos) {
      has_zeros = true;
      spdlog::warn("{}:{}: has zero bytes; {}", file.path, reader.line_number(),
                   remedy_of_zero_bytes(line, reader.line_number() == 1));
    }
    if (!is_cheap && reader.line_number() == kBeginning) return std::nullopt;
  }
  return reader.line_number();
}

void check_pair(const TextFile& source, const TextFile& target) {
  const std::optional<int64_t> of_source = read_through(source), of_target = read_through(target);
  if (of_source && of_target && *of_source != *of_target)
    refuse_unequal_lines(source.path, *of_source, target.path, *of_target);
}

bool is_same_text(const TextFile& a, const TextFile& b) {
  std::error_code error;
  if (a.column != b.column) return false;
  if (fs::equivalent(a.path, b.path, error)) return true;
  const uintmax_t bytes = fs::file_size(a.path, error);
  return bytes > 0 && bytes <= kCheapBytes && bytes == fs::file_size(b.path, error) &&
         hash_file(a.path) == hash_file(b.path);
}

// Steps that the config allows; empty if time alone ends the training.
std::optional<int64_t> expected_steps(const TrainingConfig& config, int64_t epoch_tokens, int64_t batches_per_step) {
  const TrainingOptions& training = config.training;
  int64_t steps = training.max_steps;
  if (training.max_epochs > 0) {
    const int64_t batches = std::max<int64_t>(1, epoch_tokens / training.batch_tokens);
    steps = std::min(steps, std::max<int64_t>(1, training.max_epochs * batches / batches_per_step));
  } else if (training.max_minutes > 0) {
    return std::nullopt;
  }
  return steps;
}

// `ends`: how the message begins.
void warn_of_end(const TrainingConfig& config, int64_t steps, const std::string& ends) {
  constexpr double kEarly = 0.75;  // of all steps: how many an epoch has is only estimated
  const auto all_steps = static_cast<double>(config.training.max_steps);
  const bool follows_time = config.training.max_minutes > 0;  // see Steps::learning_rate()
  if (has_floor(config.training.schedule) && !follows_time && static_cast<double>(steps) < kEarly * all_steps)
    spdlog::warn(
        "{}, before training.schedule has lowered the learning rate: it falls until training.max_steps. Set "
        "training.max_steps (now {}) to about {}",
        ends, format_count(config.training.max_steps), format_count(steps));
  if (steps <= config.training.warmup_steps)
    spdlog::warn(
        "{}, inside the warm-up, with the learning rate still rising. Set training.warmup_steps (now {}) to "
        "at most {}, or train longer",
        ends, format_count(config.training.warmup_steps), format_count(std::max<int64_t>(1, steps / 5)));
  if (config.has_validation_text() && steps < config.validation.every)
    spdlog::warn("{}, before the first validation. Set validation.every (now {}) to about {}", ends,
                 format_count(config.validation.every), format_count(std::max<int64_t>(1, steps / 10)));
}

}  // namespace

void warn_of_one_file(const TextFile& source, const TextFile& target) {
  std::error_code ignored;
  if (source.column == target.column && fs::equivalent(source.path, target.path, ignored))
    spdlog::warn("{} is both source and target: the model will learn to copy", source.path);
}

void warn_of_seen_validation_text(const TextFiles& training, const TextFiles& validation) {
  const auto side_of = [](const TextFiles& text) { return text.source.empty() ? text.target : text.source; };
  const std::vector<TextFile> trained = side_of(training);
  for (const TextFile& file : side_of(validation))
    if (std::any_of(trained.begin(), trained.end(), [&](const TextFile& other) { return is_same_text(file, other); }))
      spdlog::warn(
          "{} is both training and validation text: validation will measure how well the model has learned it by "
          "heart; use other text, such as lines that are held out",
          file.path);
}

namespace {

// Training opens its text many times, by a path, and a file among others in an archive has none.
void check_archive(const std::string& path) {
  std::array<char, 4> mark{};
  InputFile(path).read(0, mark.data(), mark.size());
  if (std::string_view(mark.data(), mark.size()) != "PK\3\4") return;
  if (const size_t files = zip_members(path).size(); files != 1)
    throw std::runtime_error(
        fmt::format("{}: is a zip archive of {}; training reads an archive only if it has one file, so unpack it", path,
                    counted(static_cast<int64_t>(files), "file")));
}

}  // namespace

// Translation memories are XML or have columns: tags, tabs and the other language would be learned as text.
void warn_of_format(const std::string& path) {
  constexpr int64_t kLooked = 1000, kFewest = 10;
  TextFileReader reader(path);
  int64_t tabs = 0;
  for (std::string line; reader.line_number() < kLooked && reader.next(line);) {
    if (reader.line_number() == 1 && begins_with(line, "<?xml"))
      return spdlog::warn(
          "{}: begins as XML does, but each line is read as text; 'prepare --pairs' makes text of TMX and XLIFF", path);
    const size_t tab = line.find('\t');
    tabs += tab != std::string::npos && tab > 0 && tab + 1 < line.size() ? 1 : 0;
  }
  if (tabs >= kFewest && 10 * tabs >= 9 * reader.line_number())
    spdlog::warn(
        "{}: has tabs in {} of its first {}, but each line is read as one text; 'cut -f 1' takes the first column, and "
        "a config's data.train_pairs has files of source<tab>target",
        path, format_count(tabs), counted(reader.line_number(), "line"));
}

void check_file(const std::string& path, const std::string& data_folder) {
  if (fs::is_directory(path)) throw std::runtime_error(fmt::format("{}: is a folder; a text file is needed", path));
  if (::access(path.c_str(), R_OK) == 0) {
    if (fs::is_regular_file(path)) return check_archive(path);
    throw std::runtime_error(
        fmt::format("{}: is a pipe or a device; training reads its text several times, so write it to a file", path));
  }
  if (errno == ENOTDIR)
    throw std::runtime_error(fmt::format(
        "{}: is within a file, not in a folder; training reads an archive only if it has one file, so unpack it",
        path));
  const std::string error = std::strerror(errno);
  std::string where;
  if (fs::path(path).is_relative())
    where = fmt::format("; looked for in {}{}", fs::absolute(path).lexically_normal().parent_path().string(),
                        data_folder.empty() ? "" : ", with data.folder: " + data_folder);
  throw std::runtime_error(fmt::format("{}: cannot be opened: {}{}", path, error, where));
}

void check_text_files(const TextFiles& files, const std::string& data_folder) {
  for (const auto* side : {&files.source, &files.target})
    for (const TextFile& file : *side) check_file(file.path, data_folder);
  if (files.source.empty())
    for (const TextFile& file : files.target) read_through(file);
  for (size_t i = 0; i < std::min(files.source.size(), files.target.size()); ++i) {
    warn_of_one_file(files.source[i], files.target[i]);
    check_pair(files.source[i], files.target[i]);
  }
}

void warn_of_unknown_tokens(const TrainingConfig& config, const std::string& text, const UnknownTokens& tokens) {
  constexpr int64_t kPercent = 100;
  if (kPercent * tokens.unknown <= tokens.tokens) return;
  const double percent = 100.0 * static_cast<double>(tokens.unknown) / static_cast<double>(tokens.tokens);
  spdlog::warn(
      config.training.initialize_from.empty()
          ? fmt::format("{}: the vocabulary does not know {:.1f}% of the tokens; was it learned from another text? Use "
                        "another --run-folder, or set tokenizer.character_coverage: 1 or tokenizer.byte_fallback: true",
                        text, percent)
          : fmt::format("{}: the vocabulary, which is that of {}, does not know {:.1f}% of the tokens; choose a model "
                        "that knows the characters of this text, or train from scratch",
                        text, config.training.initialize_from, percent));
}

void warn_of_short_training(const TrainingConfig& config, int64_t epoch_tokens, int64_t batches_per_step,
                            int64_t done_steps) {
  const std::optional<int64_t> steps = expected_steps(config, epoch_tokens, batches_per_step);
  if (!steps || *steps <= done_steps) return;
  warn_of_end(config, *steps, fmt::format("the training ends after about {}", counted(*steps, "step")));
}

void warn_of_early_end(const TrainingConfig& config, int64_t steps) {
  warn_of_end(config, steps, fmt::format("the training ended after {}", counted(steps, "step")));
}

}  // namespace v0
}  // namespace transmute
