// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/automatic_config.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/common/hash.h>
#include <transmute/common/progress.h>
#include <transmute/common/text_file.h>
#include <transmute/common/utf8.h>
#include <transmute/text/sentence_characters.h>
#include <transmute/training/data/parallel_text.h>
#include <transmute/training/initial_model.h>
#include <transmute/training/text_checks.h>
#include <unicode/unorm2.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

AlignedFilesReader reader_of(const PairOfFiles& files) {
  return AlignedFilesReader({files.source, files.target, {}});
}

// Chinese, Japanese, Thai, Lao, Khmer and Burmese, which put no blanks between words.
bool is_of_script_without_blanks(UChar32 code) {
  constexpr std::pair<UChar32, UChar32> kRanges[] = {{0x0e00, 0x0eff}, {0x1000, 0x109f}, {0x1780, 0x17ff},
                                                     {0x3040, 0x30ff}, {0x3400, 0x4dbf}, {0x4e00, 0x9fff}};
  return std::any_of(std::begin(kRanges), std::end(kRanges),
                     [&](const auto& range) { return code >= range.first && code <= range.second; });
}

int64_t words_in(const std::string& line) {
  constexpr int64_t kCharactersOfAWord = 2;
  int64_t words = 0, characters = 0;
  bool in_word = false;
  for (const Character& character : Characters(line)) {
    const bool is_blank = character.code == ' ' || character.code == '\t';
    if (!is_blank && !in_word) ++words;
    in_word = !is_blank;
    if (is_of_script_without_blanks(character.code)) ++characters;
  }
  return words + characters / kCharactersOfAWord;
}

// True for punctuation and symbols that NFKC replaces: ，？№…. NFKC also decomposes the vowels of Thai and Lao and the
// Armenian ligature; these are letters, whose decomposed forms nobody writes.
bool is_replaced_mark(UChar32 c) {
  constexpr UChar32 kThaiAm = 0xE33, kLaoAm = 0xEB3, kArmenianEw = 0x587;
  constexpr uint32_t kMarks = U_GC_P_MASK | U_GC_SM_MASK | U_GC_SC_MASK | U_GC_SO_MASK;
  if (c == kThaiAm || c == kLaoAm || c == kArmenianEw) return true;
  return c >= 0x80 && (U_GET_GC_MASK(c) & kMarks) != 0 && u_getIntPropertyValue(c, UCHAR_NFKC_QUICK_CHECK) == UNORM_NO;
}

// True for marks that only some writing systems have: letters, № and marks as wide as Chinese characters. Other marks,
// such as …, are found in all languages.
bool belongs_to_script(const std::string& mark) {
  constexpr UChar32 kNumero = 0x2116;
  const UChar32 c = character_at(mark, 0).code;
  return u_isalpha(c) != 0 || c == kNumero || sentence_characters::takes_two_columns(c);
}

// The number of lines that contain each of these marks.
class ReplacedMarks {
 public:
  void count(const std::string& line) {
    std::set<std::string> marks;
    for (const Character& character : Characters(line))
      if (is_replaced_mark(character.code)) marks.insert(line.substr(character.begin, character.end - character.begin));
    for (const std::string& mark : marks) ++lines_[mark];
  }

  // Marks that are frequent enough to be learned and are no slips.
  std::set<std::string> frequent(int64_t all) const {
    constexpr int64_t kFewest = 10, kOneIn = 1000;
    std::set<std::string> marks;
    for (const auto& [mark, count] : lines_)
      if (count >= std::max(kFewest, all / kOneIn)) marks.insert(mark);
    return marks;
  }

 private:
  std::map<std::string, int64_t> lines_;
};

// A line of plain text may be a word or a whole chapter: a dozen words count as one pair.
double pairs_of(const TextSize& size) {
  constexpr int64_t kWordsOfAPair = 12;
  return static_cast<double>(std::max<int64_t>(size.is_plain ? size.words / kWordsOfAPair : size.pairs, 1));
}

// Rounded to two digits: a rule claims no more precision.
int64_t rounded(double value) {
  const double unit = std::pow(10.0, std::floor(std::log10(std::max(value, 1.0))) - 1);
  return std::max<int64_t>(1, std::llround(std::round(value / std::max(unit, 1.0)) * std::max(unit, 1.0)));
}

struct Shape {
  int64_t from_pairs, layers, d_model, heads, d_ff;
  double dropout;
  int64_t batch_tokens;
};

// Each row applies to texts of at least this many pairs, up to the next row.
constexpr Shape kShapes[] = {{0, 2, 128, 4, 256, 0.3, 1024},        {2'000, 3, 128, 4, 256, 0.3, 2048},
                             {15'000, 4, 128, 4, 256, 0.3, 4096},   {100'000, 4, 256, 4, 1024, 0.2, 4096},
                             {500'000, 4, 256, 4, 1024, 0.1, 8192}, {3'000'000, 6, 512, 8, 2048, 0.1, 16384}};

// The row for a text whose training time is not limited.
size_t largest_shape(const TextSize& size) {
  size_t found = 0;
  for (size_t i = 0; i < std::size(kShapes); ++i)
    if (pairs_of(size) >= static_cast<double>(kShapes[i].from_pairs)) found = i;
  return found;
}

// The endings of the two files; the names of the sides if the endings are the same or missing.
std::pair<std::string, std::string> endings_of(const PairOfFiles& files) {
  std::pair<std::string, std::string> both(text_file_ending(files.source), text_file_ending(files.target));
  if (both.first.empty() || both.second.empty() || both.first == both.second) return {"source", "target"};
  return both;
}

AutomaticText held_out_files(const PairOfFiles& files, const std::string& folder) {
  if (files.is_plain()) {
    const std::string ending = text_file_ending(files.target).empty() ? "txt" : text_file_ending(files.target);
    return {{"", path_in(folder, "train." + ending)}, {"", path_in(folder, "valid." + ending)}};
  }
  const auto [source, target] = endings_of(files);
  return {{path_in(folder, "train." + source), path_in(folder, "train." + target)},
          {path_in(folder, "valid." + source), path_in(folder, "valid." + target)}};
}

// The peak of a new network's learning rate; deeper or wider ones need less.
double peak_rate(int64_t d_model) {
  return 0.36 / static_cast<double>(d_model);
}

double steps_per_pass(const TextSize& size, int64_t batch_tokens) {
  const double tokens = kTokensPerWord * static_cast<double>(size.words) + pairs_of(size);
  return std::max(1.0, tokens / (kBatchFill * static_cast<double>(batch_tokens)));
}

// Sets everything that follows from the number of steps.
void set_steps(TrainingConfig& config, const TextSize& size, int64_t steps) {
  const TrainingOptions& training = config.training;
  plan_steps(config, steps);
  // In few passes over the text a network memorizes little, and dropout only slows it down.
  const double passes = static_cast<double>(steps) / steps_per_pass(size, training.batch_tokens);
  double& dropout = config.model.model.dropout;
  if (passes < 60) dropout = std::min(dropout, passes < 25 ? 0.1 : 0.2);
}

}  // namespace

void plan_steps(TrainingConfig& config, int64_t steps) {
  constexpr double kMostValidations = 20, kFewest = 1.5, kMinutesOfOne = 2;
  TrainingOptions& training = config.training;
  // Few steps need a larger share of warm-up: a post-norm network whose learning rate rises faster does not converge.
  const int64_t least = std::clamp<int64_t>(steps / 2, 1, 350);
  training.warmup_steps = std::clamp<int64_t>(steps / 5, least, 4000);
  training.checkpoint_every = std::max<int64_t>(1, steps / 50);
  training.log_every = std::clamp<int64_t>(steps / 100, 1, 100);
  double validations = kMostValidations;
  if (training.max_minutes > 0)
    validations = std::clamp(training.max_minutes / kMinutesOfOne, kFewest, kMostValidations);
  config.validation.every = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(steps) / validations));
}

TextSize measure_text(const PairOfFiles& files) {
  AlignedFilesReader lines = reader_of(files);
  TextSize size;
  size.is_plain = files.is_plain();
  int64_t source_words = 0, target_words = 0;
  ReplacedMarks source_marks, target_marks;
  for (AlignedLine line; lines.next(line); ++size.lines) {
    const int64_t source = words_in(line.source), target = words_in(line.target);
    if (target == 0 || (source == 0 && !size.is_plain)) continue;  // training leaves it out
    ++size.pairs;
    source_words += source;
    target_words += target;
    source_marks.count(line.source);
    target_marks.count(line.target);
  }
  size.words = std::max(source_words, target_words);
  const std::set<std::string> of_source = source_marks.frequent(size.pairs);
  for (const std::string& mark : target_marks.frequent(size.pairs))
    // Symbols are collected from both sides: a rare … in a source should be read as the ... that the model knows.
    if (size.is_plain || belongs_to_script(mark) || of_source.count(mark) > 0) size.replaced_marks.push_back(mark);
  return size;
}

void check_enough_text(const AutomaticText& text, const TextSize& size) {
  const int64_t least = text.valid.target.empty() ? 20 : 1;
  if (size.pairs >= least) return;
  std::string found = counted(size.lines, "line");
  if (size.pairs < size.lines)
    found += fmt::format(", of which {} {} text{}", size.pairs, size.pairs == 1 ? "has" : "have",
                         size.is_plain ? "" : " on both sides");
  throw std::runtime_error(
      fmt::format("{} has {}; give at least {}, better thousands", text.train.first(), found, least));
}

void check_free_to_hold_out(const PairOfFiles& files, const std::string& folder, bool was_divided) {
  const AutomaticText text = held_out_files(files, folder);
  for (const auto* pair : {&text.train, &text.valid})
    for (const std::string& file : {pair->source, pair->target}) {
      if (file.empty()) continue;                              // plain text has no source
      const bool is_link = std::filesystem::is_symlink(file);  // to a file that would be overwritten
      if (!is_link && !std::filesystem::exists(file)) continue;
      if (is_link || !was_divided || (!files.is_plain() && std::filesystem::equivalent(file, files.source)) ||
          std::filesystem::equivalent(file, files.target))
        throw std::runtime_error(fmt::format(
            "{} already exists, and the run's part of the text would replace it; use another --run-folder", file));
    }
}

AutomaticText hold_out(const PairOfFiles& files, const TextSize& size, const std::string& folder) {
  constexpr int64_t kMostHeldOut = 1000;
  const bool is_plain = files.is_plain();
  if (!is_plain) warn_of_one_file(files.source, files.target);
  check_enough_text({files, {}}, size);
  const auto one_in = static_cast<uint64_t>(std::max<int64_t>(20, size.pairs / kMostHeldOut));
  ensure_writable_folder(folder);
  const AutomaticText text = held_out_files(files, folder);
  std::vector<std::unique_ptr<AtomicFile>> parts;  // targets, then sources: of training, and of validation
  for (const std::string& file : {text.train.target, text.valid.target, text.train.source, text.valid.source}) {
    if (file.empty()) continue;
    remove_rests_of(file);
    parts.push_back(std::make_unique<AtomicFile>(file));
  }
  AlignedFilesReader lines = reader_of(files);
  int64_t held_out = 0, number = 0;
  std::set<uint64_t> seen;  // until a line is held out
  for (AlignedLine line; lines.next(line); ++number) {
    const std::string& deciding = is_plain ? line.target : line.source;
    const uint64_t hash = hash_text(deciding);
    const bool is_last_chance = held_out == 0 && seen.insert(hash).second && number + 1 == size.lines;
    const size_t out = hash % one_in == 0 || is_last_chance ? 1 : 0;
    held_out += static_cast<int64_t>(out);
    parts[out]->write((line.target + '\n').data(), line.target.size() + 1);
    if (!is_plain) parts[2 + out]->write((line.source + '\n').data(), line.source.size() + 1);
  }
  if (held_out == 0 || held_out == number)
    throw std::runtime_error(fmt::format(
        "{}: its lines are too much alike to set some of them aside for validation, as equal lines stay together; give "
        "more different lines, or name a validation text with {}",
        files.first(), is_plain ? "--valid-text" : "--valid-source and --valid-target"));
  for (const auto& part : parts) part->commit();
  return text;
}

void name_held_out_in(const std::string& folder, DataOptions& data) {
  namespace fs = std::filesystem;
  std::vector<std::string> own;
  const bool is_plain = !data.train_text.empty();
  const std::vector<std::vector<std::string>*> lists =
      is_plain ? std::vector<std::vector<std::string>*>{&data.train_text, &data.valid_text}
               : std::vector<std::vector<std::string>*>{&data.train_source, &data.train_target, &data.valid_source,
                                                        &data.valid_target};
  for (const std::vector<std::string>* files : lists) {
    if (files->size() != 1) return;
    const fs::path path(files->front());
    own.push_back(path_in(folder, path.filename().string()));
    const bool was_held_out = path.is_absolute() && path.parent_path().filename() == fs::path(folder).filename() &&
                              path.parent_path() == fs::path(lists.front()->front()).parent_path();
    if (!was_held_out || !fs::exists(own.back())) return;
  }
  for (size_t i = 0; i < lists.size(); ++i) *lists[i] = {own[i]};
}

int64_t smaller_shapes(const TextSize& size) {
  return static_cast<int64_t>(largest_shape(size));
}

TrainingConfig config_for(const TextSize& size, int64_t smaller) {
  TrainingConfig config;
  const Shape& shape = kShapes[largest_shape(size) - static_cast<size_t>(smaller)];
  TokenizerOptions& tokenizer = config.model.tokenizer;
  constexpr int64_t kBytes = 256;
  tokenizer.vocab_size = std::clamp<int64_t>(rounded(45 * std::sqrt(pairs_of(size))), 300, 32'000) + kBytes;
  // The rarest characters become bytes in training too: bytes that never occur there would mean nothing to the network.
  tokenizer.byte_fallback = true;
  tokenizer.character_coverage = 0.9999;
  tokenizer.max_training_sentences = 500'000;
  tokenizer.user_defined_symbols = size.replaced_marks;  // SentencePiece normalizes none of these
  TransformerOptions& model = config.model.model;
  model.num_encoder_layers = model.num_decoder_layers = shape.layers;
  model.d_model = shape.d_model;
  model.num_heads = shape.heads;
  model.d_ff = shape.d_ff;
  model.dropout = shape.dropout;
  if (size.is_plain) {
    model.architecture = Architecture::decoder_only;
  } else {
    config.data.max_length_ratio = 9;
  }
  TrainingOptions& training = config.training;
  training.batch_tokens = shape.batch_tokens;
  training.micro_batch_tokens = std::min<int64_t>(shape.batch_tokens, 1024);
  training.schedule = Schedule::cosine;
  training.learning_rate = peak_rate(shape.d_model);
  training.precision = std::nullopt;
  if (size.is_plain) {
    training.label_smoothing = 0;  // perplexity is what counts
  } else {
    config.validation.max_sentences = 500;
  }
  // So few sentences have few fourgrams in common with their references: BLEU would prefer one model to another by
  // chance.
  constexpr int64_t kLeastPairsForBleu = 10'000;
  if (!size.is_plain && size.pairs < kLeastPairsForBleu) config.validation.metric = ValidationMetric::chrf;

  const double passes = std::clamp(100 * std::sqrt(30'000 / pairs_of(size)), 10.0, 200.0);
  config.training.max_steps = rounded(passes * steps_per_pass(size, shape.batch_tokens));
  set_steps(config, size, config.training.max_steps);
  return config;
}

void begin_with(TrainingConfig& config, const TextSize& size, const std::string& model) {
  constexpr int64_t kShareOfSteps = 5, kShareOfRate = 10;
  const double dropout = config.model.model.dropout;
  config.model = ModelConfig();
  config.model.model.dropout = dropout;
  config.training.initialize_from = model;
  take_network_of_initial_model(config, ConfigSchema());  // nothing is given so far
  config.training.learning_rate = peak_rate(config.model.model.d_model) / kShareOfRate;
  config.training.max_steps = std::max<int64_t>(1, config.training.max_steps / kShareOfSteps);
  set_steps(config, size, config.training.max_steps);
}

double steps_within(double minutes, double seconds_per_step) {
  constexpr double kForTraining = 0.85;  // the rest of the time goes to validations, checkpoints and other work
  return kForTraining * minutes * 60 / seconds_per_step;
}

void limit_time(TrainingConfig& config, const TextSize& size, double minutes, double seconds_per_step) {
  TrainingOptions& training = config.training;
  training.max_minutes = minutes;
  double steps = steps_within(minutes, seconds_per_step);
  if (steps >= static_cast<double>(training.max_steps)) return set_steps(config, size, training.max_steps);
  constexpr double kFewSteps = 6000, kTokensOfAPiece = 1200;
  constexpr int64_t kSmallestBatch = 2048, kSmallestVocabulary = 8000;
  if (training.initialize_from.empty() && !size.is_plain) {
    // A short training lacks steps: with half of the tokens, a step teaches nearly as much.
    while (steps < kFewSteps && training.batch_tokens > kSmallestBatch) {
      training.batch_tokens /= 2;
      training.max_steps *= 2;
      steps *= 2;
    }
    const double tokens = steps * kBatchFill * static_cast<double>(training.batch_tokens);
    int64_t& vocabulary = config.model.tokenizer.vocab_size;
    vocabulary = std::min(vocabulary, std::max(kSmallestVocabulary, rounded(tokens / kTokensOfAPiece)));
  }
  set_steps(config, size, rounded(steps));
}

}  // namespace v0
}  // namespace transmute
