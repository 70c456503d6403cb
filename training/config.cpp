// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/config.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/common/progress.h>
#include <transmute/tokenizer/tokenizer.h>
#include <transmute/tokenizer/truecase.h>
#include <transmute/training/data/augmentation.h>
#include <transmute/training/data/language_pairs.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

const EnumNames<std::optional<Precision>> kPrecisions{
    {Precision::float32, "float32"}, {Precision::bfloat16, "bfloat16"}, {std::nullopt, "auto"}};
const EnumNames<Schedule> kSchedules{{Schedule::noam, "noam"},
                                     {Schedule::inverse_sqrt, "inverse_sqrt"},
                                     {Schedule::cosine, "cosine"},
                                     {Schedule::linear, "linear"},
                                     {Schedule::constant, "constant"}};
const EnumNames<Consistency> kConsistencies{
    {Consistency::none, "none"}, {Consistency::r_drop, "r_drop"}, {Consistency::simcut, "simcut"}};
const EnumNames<ValidationMetric> kMetrics{{ValidationMetric::automatic, "auto"},
                                           {ValidationMetric::bleu, "bleu"},
                                           {ValidationMetric::chrf, "chrf"},
                                           {ValidationMetric::chrf_plus_plus, "chrf++"},
                                           {ValidationMetric::loss, "loss"}};
// Larger than anybody needs, and small enough that no sum or product of a few such values overflows.
constexpr int64_t kMost = 1'000'000'000;
constexpr Bounds<int64_t> kAtLeastZero{0, kMost};
constexpr Bounds<int64_t> kAtLeastOne{1, kMost};
constexpr Bounds<int64_t> kAnySeed{0};
constexpr Bounds<int64_t> kTokens{1, 1'000'000};
constexpr Bounds<int64_t> kBatches{1, 1'000'000};
constexpr Bounds<double> kNotNegative{0.0, std::numeric_limits<float>::max()};
constexpr Bounds<int64_t> kPrefetchThreads{0, 64};
constexpr double kMostTemperature = 1000;

void check_pairs(const std::vector<std::string>& source, const std::vector<std::string>& target, const char* part) {
  if (source.size() != target.size())
    throw std::invalid_argument(
        fmt::format("data.{0}_source names {1} and data.{0}_target {2}; every source file needs a target file", part,
                    counted(static_cast<int64_t>(source.size()), "file"), target.size()));
}

void check_weights(const DataOptions& data, size_t corpora, const char* what) {
  if (data.train_weights.empty()) return;
  if (data.train_weights.size() != corpora)
    throw std::invalid_argument(
        fmt::format("data.train_weights needs one number for each {}, of which there {} {}; it has {}", what,
                    corpora == 1 ? "is" : "are", corpora, data.train_weights.size()));
  constexpr double kMost = 1000;
  double sum = 0;
  for (const double weight : data.train_weights) {
    if (!(weight >= 0 && weight <= kMost))
      throw std::invalid_argument(
          fmt::format("data.train_weights has {}; give numbers between 0 and {}", weight, kMost));
    sum += weight;
  }
  if (sum == 0) throw std::invalid_argument("data.train_weights are all 0; one at least must be more");
}

void check_languages(const DataOptions& data, size_t corpora) {
  check_language_pairs("data.train_languages", data.train_languages, corpora);
  const size_t valid = data.valid_source.size() + data.valid_pairs.size();
  check_language_pairs("data.valid_languages", data.valid_languages, valid);
  if (valid > 0 && data.valid_languages.empty() != data.train_languages.empty())
    throw std::invalid_argument("data.train_languages and data.valid_languages need each other");
  const std::vector<std::string> targets = data.target_languages();
  for (const std::string& pair : data.valid_languages)
    if (std::find(targets.begin(), targets.end(), target_of(pair)) == targets.end())
      throw std::invalid_argument(fmt::format(
          "data.valid_languages has {}, but no pair of data.train_languages leads to {}", pair, target_of(pair)));
}

void check_guidance(const TrainingConfig& config) {
  const DataOptions& data = config.data;
  if (config.training.guided_alignment == 0) return;
  const size_t corpora = data.train_source.size() + data.train_pairs.size();
  if (data.train_alignments.size() != corpora)
    throw std::invalid_argument(
        fmt::format("training.guided_alignment needs data.train_alignments with one file for each pair of files, of "
                    "which there {} {}, \"\" for a pair without; it has {}",
                    corpora == 1 ? "is" : "are", corpora, data.train_alignments.size()));
  if (std::all_of(data.train_alignments.begin(), data.train_alignments.end(), [](auto& path) { return path.empty(); }))
    throw std::invalid_argument("training.guided_alignment needs data.train_alignments, which names no file");
  if (data.source_sampling > 0 || data.target_sampling > 0)
    throw std::invalid_argument(
        "training.guided_alignment cannot be combined with data.source_sampling or data.target_sampling: the "
        "alignment is that of one segmentation");
  if (!config.training.augment.empty())
    throw std::invalid_argument(
        "training.guided_alignment cannot be combined with training.augment: the alignment is that of the text as it "
        "is");
  const TransformerOptions& model = config.model.model;
  if (model.score_function == ScoreFunction::uniform)
    throw std::invalid_argument(
        "training.guided_alignment cannot be combined with model.score_function: uniform, whose attention has nothing "
        "to learn");
  if (config.training.guided_layer > model.num_decoder_layers)
    throw std::invalid_argument(fmt::format("training.guided_layer is {}, but the decoder has {} layers",
                                            config.training.guided_layer, model.num_decoder_layers));
  if (config.training.guided_head > model.num_heads)
    throw std::invalid_argument(fmt::format("training.guided_head is {}, but the attention has {} heads",
                                            config.training.guided_head, model.num_heads));
}

void check_consistency(const TrainingConfig& config) {
  if (config.training.consistency == Consistency::none) return;
  if (config.training.guided_alignment > 0)
    throw std::invalid_argument(
        "training.guided_alignment cannot be combined with training.consistency; leave one of them out");
  const TransformerOptions& model = config.model.model;
  const bool has_dropout = model.dropout > 0 || model.attention_dropout > 0 || model.activation_dropout > 0;
  if (config.training.consistency == Consistency::r_drop && !has_dropout)
    throw std::invalid_argument(
        "training.consistency: r_drop compares two dropout masks, and model.dropout is 0; set it, for example to 0.3, "
        "or use simcut");
}

// Checks what can be checked before there is a tokenizer: an error now is better than one after an hour of tokenizing.
void check_network(const ModelConfig& config) {
  if (config.format_version != ModelConfig::kFormatVersion)
    throw std::invalid_argument(fmt::format("format_version is {}, but this build writes version {}; leave it out",
                                            config.format_version, ModelConfig::kFormatVersion));
  TransformerOptions network = config.model;
  network.source_vocab_size = network.target_vocab_size = config.tokenizer.vocab_size;
  validated(network);
}

[[noreturn]] void refuse_empty(const char* what, const char* remedy) {
  throw std::invalid_argument(
      fmt::format("{} is empty; name the files to learn from in the config, or with {}", what, remedy));
}

void check_parallel_text(const TrainingConfig& config) {
  const DataOptions& data = config.data;
  for (const auto& [key, files, is_plain_text] : data.files())
    if (is_plain_text && !files.empty())
      throw std::invalid_argument(
          fmt::format("{} is for a language model; set model.architecture: decoder_only, or give parallel text: "
                      "data.train_source and data.train_target, data.valid_source and data.valid_target",
                      key));
  check_pairs(data.train_source, data.train_target, "train");
  check_pairs(data.valid_source, data.valid_target, "valid");
  const size_t corpora = data.train_source.size() + data.train_pairs.size();
  if (corpora == 0) refuse_empty("data.train_source", "--set data.train_source=FILE --set data.train_target=FILE");
  if (data.max_length_ratio > 0 && data.max_length_ratio < 1)
    throw std::invalid_argument(fmt::format(
        "data.max_length_ratio: {:g} would leave out every pair; set the tokens of the longer side for one of the "
        "shorter, such as {:.4g}, or 0 for no limit",
        data.max_length_ratio, 1 / data.max_length_ratio));
  check_weights(data, corpora, "pair of files");
  check_languages(data, corpora);
  check_guidance(config);
  // Models of other programs may give the pieces of two tokenizers the same numbers.
  if (config.training.initialize_from.empty() && config.model.tokenizer.vocabulary == VocabularySharing::separate &&
      config.model.model.embedding_tying == EmbeddingTying::all)
    throw std::invalid_argument(
        "tokenizer.vocabulary: separate needs model.embedding_tying: target_output or none, as the two vocabularies "
        "have different pieces under the same numbers");
}

void check_plain_text(const TrainingConfig& config) {
  const DataOptions& data = config.data;
  std::vector<std::pair<const char*, bool>> unused;
  for (const auto& [key, files, is_plain_text] : data.files())
    if (!is_plain_text) unused.emplace_back(key, !files.empty());
  unused.emplace_back("data.train_languages", !data.train_languages.empty());
  unused.emplace_back("data.valid_languages", !data.valid_languages.empty());
  unused.emplace_back("data.max_length_ratio", data.max_length_ratio > 0);
  unused.emplace_back("data.source_sampling", data.source_sampling > 0);
  unused.emplace_back("training.guided_alignment", config.training.guided_alignment > 0);
  unused.emplace_back("training.augment", !config.training.augment.empty());
  for (const auto& [key, given] : unused)
    if (given)
      throw std::invalid_argument(
          fmt::format("{} has no meaning with model.architecture: decoder_only, which has no source; leave it out. The "
                      "text is given as data.train_text and data.valid_text, its sampling as data.target_sampling",
                      key));
  if (data.train_text.empty()) refuse_empty("data.train_text", "--set data.train_text=FILE");
  check_weights(data, data.train_text.size(), "file of data.train_text");
  if (config.model.tokenizer.vocabulary != VocabularySharing::shared)
    throw std::invalid_argument(
        "tokenizer.vocabulary: separate is for two languages; with model.architecture: decoder_only leave it at "
        "shared");
  if (is_truecasing(config.model.tokenizer.normalization))
    throw std::invalid_argument(
        "tokenizer.normalization: nmt_nfkc_tc is for the sentences of translations; with model.architecture: "
        "decoder_only use nmt_nfkc");
  const ValidationMetric metric = config.validation.metric;
  if (metric != ValidationMetric::automatic && metric != ValidationMetric::loss)
    throw std::invalid_argument(
        fmt::format("validation.metric: {} compares translations, of which a decoder_only model makes none; set it to "
                    "loss, or leave it out",
                    name_of(metric)));
}

// True for keys that a resumed run may not change: those of the network and of the position in the text.
bool is_fixed_for_a_run(const std::string& key) {
  if (key == "data.cache_folder" || key == "data.prefetch_threads") return false;
  for (const char* prefix : {"model.", "tokenizer.", "data."})
    if (begins_with(key, prefix)) return true;
  return key == "training.initialize_from" || key == "training.seed" || key == "training.batch_tokens" ||
         key == "training.augment";
}

}  // namespace

std::vector<std::string> DataOptions::target_languages() const {
  std::vector<std::string> targets;
  for (const std::string& pair : train_languages)
    if (const std::string target = target_of(pair); std::find(targets.begin(), targets.end(), target) == targets.end())
      targets.push_back(target);
  return targets;
}

std::vector<NamedFiles> DataOptions::files() const {
  return {{"data.train_source", train_source, false},
          {"data.train_target", train_target, false},
          {"data.train_pairs", train_pairs, false},
          {"data.train_text", train_text, true},
          {"data.train_alignments", train_alignments, false},
          {"data.valid_source", valid_source, false},
          {"data.valid_target", valid_target, false},
          {"data.valid_pairs", valid_pairs, false},
          {"data.valid_text", valid_text, true}};
}

std::vector<ConfigChange> changes_since(const std::string& kept_path, const ConfigSchema& now,
                                        const std::function<void(TrainingConfig&)>& adjust) {
  TrainingConfig kept_config;
  ConfigSchema kept;
  kept_config.declare(kept);
  kept.read_file(kept_path);
  if (adjust) adjust(kept_config);
  const auto old_values = kept.values();
  const auto new_values = now.values();
  std::vector<ConfigChange> changes;
  for (size_t i = 0; i < new_values.size(); ++i) {
    const auto& [key, value] = new_values[i];
    if (value == old_values[i].second) continue;
    // The tokenized text on disk includes the alignments.
    const bool is_switched = key == "training.guided_alignment" && (value == "0" || old_values[i].second == "0");
    changes.push_back({key, old_values[i].second, value, is_switched || is_fixed_for_a_run(key)});
  }
  return changes;
}

ConsistencyOptions consistency_of(const TrainingOptions& training) {
  constexpr double kRDropWeight = 5, kSimCutWeight = 3;  // the values of the papers for small texts
  const double published = training.consistency == Consistency::r_drop ? kRDropWeight : kSimCutWeight;
  return {training.consistency, training.consistency_weight > 0 ? training.consistency_weight : published,
          training.cut_probability};
}

std::string name_of(ValidationMetric metric) {
  for (const auto& [value, name] : kMetrics)
    if (value == metric) return name;
  return {};
}

void TrainingConfig::declare(ConfigSchema& schema) {
  model.declare(schema);

  schema.section("data", "the text: one sentence a line, plain or compressed");
  schema.add("folder", &data.folder, "folder of the files below, relative to the current folder");
  schema.add("train_source", &data.train_source, "source files of the training text");
  schema.add("train_target", &data.train_target, "target files of the training text, parallel to train_source");
  schema.add("train_pairs", &data.train_pairs,
             "files of lines source<tab>target, in addition to train_source and train_target or instead of them; "
             "further columns are ignored");
  schema.add("train_text", &data.train_text,
             "training files of a decoder_only model; each line is an independent text");
  schema.add("train_weights", &data.train_weights,
             "how often an epoch reads each pair of files, then each file of train_pairs (or each file of train_text); "
             "fractions are sampled at random; empty: once each");
  schema.add("train_alignments", &data.train_alignments,
             "word alignments for training.guided_alignment, one file (lines such as 0-0 1-2) per pair of files; \"\" "
             "for a pair without one");
  schema.add(
      "train_languages", &data.train_languages,
      "for several languages: those of each pair of files, then of each file of train_pairs, such as en-de; a tag "
      "before each source then names the target language");
  schema.add("language_temperature", &data.language_temperature,
             "T: a language pair of n sentence pairs is drawn in proportion to n^(1/T); 1: in proportion to n",
             Bounds<double>{1.0, kMostTemperature});
  schema.add("valid_source", &data.valid_source, "source files of the validation text; empty: no validation text");
  schema.add("valid_target", &data.valid_target, "target files of the validation text");
  schema.add("valid_pairs", &data.valid_pairs, "files of lines source<tab>target for validation");
  schema.add("valid_languages", &data.valid_languages, "languages of the validation text, as train_languages");
  schema.add("valid_text", &data.valid_text, "validation files of a decoder_only model; empty: no validation text");
  schema.add("max_source_tokens", &data.max_source_tokens, "pairs with a longer source are left out and counted",
             kTokens);
  schema.add("max_target_tokens", &data.max_target_tokens,
             "pairs with a longer target, and longer lines of train_text, are left out and counted", kTokens);
  schema.add("max_length_ratio", &data.max_length_ratio,
             "pairs whose longer side has more than this many times the tokens of the other are left out and counted; "
             "0: no limit",
             kNotNegative);
  schema.add("source_sampling", &data.source_sampling,
             "subword regularization of the source, drawn anew in each epoch: the probability of BPE-dropout, or the "
             "alpha of unigram sampling; 0: off",
             Bounds<double>{0.0, 1.0});
  schema.add("target_sampling", &data.target_sampling, "the same for the target, or for train_text",
             Bounds<double>{0.0, 1.0});
  schema.add("cache_folder", &data.cache_folder,
             "folder for the tokenized text, which several runs can share; empty: cache in the run folder");
  schema.add("prefetch_threads", &data.prefetch_threads,
             "number of threads that prepare batches ahead; it does not change the batches", kPrefetchThreads);

  schema.section("training", "the optimization, section 5 of the paper");
  schema.add("initialize_from", &training.initialize_from,
             "a model folder, or another program's model, from which the run takes its network, weights and tokenizer; "
             "empty: start from scratch");
  schema.add("seed", &training.seed, "seed of the initial weights, the order of the text and dropout", kAnySeed);
  schema.add("batch_tokens", &training.batch_tokens,
             "maximum number of tokens of a batch on each side, padding included", kAtLeastOne);
  schema.add("accumulate_batches", &training.accumulate_batches,
             "number of batches per process whose gradients are summed before an update", kBatches);
  schema.add("micro_batch_tokens", &training.micro_batch_tokens,
             "maximum number of tokens of a micro-batch, padding included: batches are computed in micro-batches to "
             "bound memory; 0: 2,048 on a CPU, 32,768 on a GPU",
             kAtLeastZero);
  schema.add("recompute", &training.recompute,
             "recompute each layer in the backward pass instead of keeping its activations: less memory, more time");
  schema.add("max_steps", &training.max_steps, "number of updates after which training ends", kAtLeastOne);
  schema.add("max_epochs", &training.max_epochs,
             "number of passes over the text after which training ends; 0: no limit", kAtLeastZero);
  schema.add("max_minutes", &training.max_minutes,
             "training time, over all starts of the run, after which training ends; 0: no limit", kNotNegative);
  schema.add("schedule", &training.schedule, kSchedules,
             "learning-rate schedule: noam is Eq. 3; the others rise to training.learning_rate");
  schema.add("warmup_steps", &training.warmup_steps, "number of steps in which the learning rate rises", kAtLeastOne);
  schema.add("learning_rate_scale", &training.learning_rate_scale, "factor on Eq. 3, for noam", kNotNegative);
  schema.add("learning_rate", &training.learning_rate, "peak learning rate, for all schedules but noam", kNotNegative);
  schema.add("min_learning_rate", &training.min_learning_rate,
             "learning rate that cosine and linear reach at max_steps, or at max_minutes if that is earlier",
             kNotNegative);
  schema.add("adam_beta1", &training.adam_beta1, "decay rate of Adam's mean of the gradient",
             Bounds<double>{0.0, 0.999999});
  schema.add("adam_beta2", &training.adam_beta2, "decay rate of Adam's mean of the squared gradient",
             Bounds<double>{0.0, 0.999999});
  schema.add("adam_epsilon", &training.adam_epsilon, "added to the root of the squared gradient's mean",
             Bounds<double>{1e-30, 1e30});  // 0 / 0 if a gradient is 0
  schema.add("weight_decay", &training.weight_decay, "AdamW's weight decay, applied to matrices only", kNotNegative);
  schema.add(
      "max_skipped_steps", &training.max_skipped_steps,
      "number of consecutive steps without a finite loss and gradient that may be skipped; one more ends the run",
      kAtLeastZero);
  schema.add("clip_norm", &training.clip_norm, "maximum L2 norm of the gradient; 0: no clipping", kNotNegative);
  schema.add("label_smoothing", &training.label_smoothing,
             "probability mass that label smoothing spreads evenly over the vocabulary", Bounds<double>{0.0, 0.99});
  schema.add("augment", &training.augment,
             "changes to 5% of an epoch's pairs each, drawn anew in each epoch: upper (both sides in capitals), title "
             "(both sides with a capital at each word), punctuation (both sides without their final mark), typos (in "
             "one word of ten of the source); empty: none");
  schema.add("consistency", &training.consistency, kConsistencies,
             "compute each batch twice and penalize the divergence of the two predictions: r_drop: two dropout masks; "
             "simcut: tokens are cut out of the second pass");
  schema.add("consistency_weight", &training.consistency_weight,
             "weight of that divergence; 0: 5 for r_drop, 3 for simcut", kNotNegative);
  schema.add("cut_probability", &training.cut_probability, "share of the tokens on each side that simcut cuts out",
             Bounds<double>{0.0, 0.9});
  schema.add("guided_alignment", &training.guided_alignment,
             "weight of the loss that trains an attention head on data.train_alignments; 0: off", kNotNegative);
  schema.add("guided_layer", &training.guided_layer, "decoder layer of that head, from 1; 0: the last but one",
             kAtLeastZero);
  schema.add("guided_head", &training.guided_head, "number of that head, from 1", kAtLeastOne);
  schema.add("ema_decay", &training.ema_decay,
             "decay rate of a moving average of the weights, which is validated and becomes the model; 0: off",
             Bounds<double>{0.0, 0.999999999});
  schema.add("precision", &training.precision, kPrecisions,
             "number format of matrix products; auto: bfloat16 if the CPU or GPU is fast at it, else float32");
  schema.add("log_every", &training.log_every,
             "number of steps between two records of metrics.jsonl and, without a progress bar, between two log lines",
             kAtLeastOne);
  schema.add("checkpoint_every", &training.checkpoint_every, "number of steps between two checkpoints", kAtLeastOne);
  schema.add("keep_checkpoints", &training.keep_checkpoints, "number of newest checkpoints to keep", kAtLeastOne);
  schema.add("keep_best", &training.keep_best,
             "number of checkpoints with the best validation.metric to keep as well; every validation then writes a "
             "checkpoint",
             kAtLeastZero);
  schema.add("keep_every", &training.keep_every,
             "also keep the checkpoints of steps that are multiples of this; 0: none", kAtLeastZero);
  schema.add("average_checkpoints", &training.average_checkpoints,
             "number of newest checkpoints whose mean becomes the model (section 6.1); ignored with ema_decay",
             kAtLeastOne);

  schema.section("validation", "measured on the validation text while training");
  schema.add("every", &validation.every, "number of steps between two validations", kAtLeastOne);
  schema.add("metric", &validation.metric, kMetrics,
             "metric that decides which weights are the best; auto: bleu, or loss for a decoder_only model");
  schema.add("patience", &validation.patience,
             "number of consecutive validations without improvement after which training ends; 0: no limit",
             kAtLeastZero);
  schema.add("beam_size", &validation.beam_size, "beam size of the search for BLEU and chrF; 1: greedy search",
             SearchBounds::kBeamSize);
  schema.add("length_alpha", &validation.length_alpha, "exponent of the length penalty of that search",
             SearchBounds::kLengthAlpha);
  schema.add("max_sentences", &validation.max_sentences,
             "maximum number of sentences of each language pair to translate for BLEU and chrF; 0: none", kAtLeastZero);
}

void TrainingConfig::check() const {
  check_network(model);
  check_tokenizer_options(model.tokenizer);
  is_language_model() ? check_plain_text(*this) : check_parallel_text(*this);
  check_consistency(*this);
  augmentations_of(training.augment);
  if (has_floor(training.schedule) && training.min_learning_rate > training.learning_rate)
    throw std::invalid_argument(fmt::format("training.min_learning_rate ({}) is more than training.learning_rate ({})",
                                            training.min_learning_rate, training.learning_rate));
  const char* valid_keys = is_language_model() ? "data.valid_text" : "data.valid_source and data.valid_target";
  if (validation.patience > 0 && !has_validation_text())
    throw std::invalid_argument(fmt::format("validation.patience needs a validation text: {}", valid_keys));
  if (!is_language_model() && validation.metric != ValidationMetric::loss && validation.max_sentences == 0 &&
      validation.patience > 0)
    throw std::invalid_argument("validation.max_sentences is 0, so nothing is translated: set validation.metric: loss");
  if (training.keep_best > 0 && !has_validation_text())
    throw std::invalid_argument(fmt::format("training.keep_best needs a validation text: {}", valid_keys));
  if (training.ema_decay == 0 && training.average_checkpoints > training.keep_checkpoints)
    throw std::invalid_argument(
        fmt::format("training.average_checkpoints ({}) cannot be more than training.keep_checkpoints ({})",
                    training.average_checkpoints, training.keep_checkpoints));
}

}  // namespace v0
}  // namespace transmute
