// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/config_schema.h>
#include <transmute/common/export.h>
#include <transmute/formats/model_config.h>
#include <transmute/network/consistency.h>
#include <transmute/network/precision.h>
#include <transmute/network/search_options.h>
#include <transmute/training/data/batch_options.h>
#include <transmute/training/optimization/adam_options.h>
#include <transmute/training/optimization/schedule.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Files that the configuration names.
struct NamedFiles {
  const char* key;                        ///< key with its section, for example data.train_source
  const std::vector<std::string>& files;  ///< relative to DataOptions::folder
  bool is_plain_text;                     ///< text of a decoder-only model
};

/// Training and validation text. Files are plain or compressed, with one sentence per line, and named relative to
/// `folder`. Line n of a source file is translated by line n of the target file at the same position in its list.
/// Decoder-only models train on plain text, in which each line is a separate text.
struct DataOptions {
  std::string folder;                     ///< relative to the current folder; empty: the current folder
  std::vector<std::string> train_source;  ///< source files
  std::vector<std::string> train_target;  ///< their translations, file by file
  /// Files of lines "source<tab>target", beside train_source and train_target or instead; further columns are ignored.
  std::vector<std::string> train_pairs;
  std::vector<std::string> train_text;  ///< training text of a decoder-only model
  /// Number of times that an epoch contains each pair of files, then each file of train_pairs; or each text. Empty:
  /// once.
  std::vector<double> train_weights;
  /// Word alignments of each pair of files, in Pharaoh format; "" for a pair without alignments. Used by
  /// TrainingOptions::guided_alignment.
  std::vector<std::string> train_alignments;
  /// The languages of each pair of files, then of each file of train_pairs, such as "en-de"; empty: one language pair.
  /// A tag before each source, `>>de<<`, then names the target language.
  std::vector<std::string> train_languages;
  /// Evens out the amounts of text of several languages: a pair of languages with n sentence pairs is drawn
  /// proportionally to n^(1/temperature). Default: Arivazhagan et al., 2019.
  double language_temperature = 5;
  std::vector<std::string> valid_source;                     ///< source files for validation
  std::vector<std::string> valid_target;                     ///< their translations
  std::vector<std::string> valid_pairs;                      ///< as train_pairs
  std::vector<std::string> valid_languages;                  ///< as train_languages
  std::vector<std::string> valid_text;                       ///< validation text of a decoder-only model
  int64_t max_source_tokens = LengthLimits().source_tokens;  ///< pairs with a longer source are skipped and counted
  /// Likewise for a longer target, or a longer line of plain text.
  int64_t max_target_tokens = LengthLimits().target_tokens;
  /// Maximum ratio between the numbers of tokens of the two sides; other pairs are skipped and counted. 0: no limit.
  double max_length_ratio = LengthLimits().ratio;
  /// Subword regularization of source files, drawn again in each epoch (see SubwordSampler): the probability of
  /// BPE-dropout, or alpha for unigram models. 0: none.
  double source_sampling = 0;
  double target_sampling = 0;  ///< the same for target files, or for plain text
  std::string cache_folder;    ///< folder for the tokenized text; empty: `cache` in the run folder
  int64_t prefetch_threads = BatchStreamOptions().prefetch_threads;  ///< threads that prepare batches ahead

  /// The languages that train_languages translates into, each once, in the order in which they appear.
  TRANSMUTE_API std::vector<std::string> target_languages() const;

  /// All files, by their keys. The options must outlive the result.
  TRANSMUTE_API std::vector<NamedFiles> files() const;
};

/// Options of training. Defaults: section 5 of the paper.
struct TrainingOptions {
  /// A model, in any format that load_model() reads, with whose network, weights and tokenizer to start; empty: start
  /// anew. See take_network_of_initial_model().
  std::string initialize_from;
  int64_t seed = 1;  ///< seed of the initial weights, the order of the text and dropout
  /// Maximum number of target tokens, and of source tokens, in a batch, padding included.
  int64_t batch_tokens = BatchStreamOptions().batch_tokens;
  int64_t accumulate_batches = 1;  ///< number of batches per step and process, whose gradients are added
  /// A batch is computed in micro-batches of at most this many padded tokens, which bounds memory; 0:
  /// default_micro_batch_tokens.
  int64_t micro_batch_tokens = 0;
  int64_t max_steps = ScheduleOptions().last_step;  ///< updates of the weights
  int64_t max_epochs = 0;                           ///< passes over the text; 0: no limit
  bool recompute = false;  ///< recompute activations in the backward pass instead of keeping them
  double max_minutes = 0;  ///< time for training, over all resumed runs; 0: no limit

  Schedule schedule = ScheduleOptions().schedule;         ///< shape of the learning rate's curve
  int64_t warmup_steps = ScheduleOptions().warmup_steps;  ///< steps over which the learning rate rises
  double learning_rate_scale = ScheduleOptions().scale;   ///< factor on Eq. 3 (noam)
  double learning_rate = ScheduleOptions().peak;          ///< peak of the other schedules
  double min_learning_rate = ScheduleOptions().floor;     ///< learning rate of cosine and linear at max_steps
  double adam_beta1 = AdamOptions().beta1;                ///< decay of the gradient's mean
  double adam_beta2 = AdamOptions().beta2;                ///< decay of the squared gradient's mean
  double adam_epsilon = AdamOptions().epsilon;            ///< added to the root of the squared gradient's mean
  double weight_decay = AdamOptions().weight_decay;       ///< AdamW's (Loshchilov and Hutter, 2019), of matrices
  double clip_norm = AdamOptions().clip_norm;  ///< the gradient's global L2 norm is scaled down to this; 0: no clipping
  /// Maximum number of consecutive steps to skip, leaving the weights unchanged, because the loss or gradient is not
  /// finite; one more ends the run.
  int64_t max_skipped_steps = 0;
  /// Every piece of the vocabulary gets label_smoothing / V of the probability, and the target in addition
  /// 1 - label_smoothing (Szegedy et al., 2016; section 5.4).
  double label_smoothing = 0.1;
  Consistency consistency = Consistency::none;  ///< consistency regularization, with two passes per batch
  double consistency_weight = 0;                ///< factor on the divergence; 0: the method's published value
  double cut_probability = 0.05;                ///< simcut: probability of zeroing a token's vector
  /// Names of the ways in which each epoch changes some training pairs, see Augmentation.
  std::vector<std::string> augment;
  /// Weight of a loss that trains one cross-attention head on word alignments (Garg et al., 2019); 0: none. Alignments
  /// of translations are then best taken from that head.
  double guided_alignment = 0;
  int64_t guided_layer = 0;  ///< decoder layer, counted from 1; 0: the last but one
  int64_t guided_head = 1;   ///< counted from 1
  /// Decay of the moving average of the weights, which is then validated and becomes the finished model; 0: no average.
  double ema_decay = 0;

  /// Numeric type of the matrix products: float32 or bfloat16. Without a value: bfloat16 if the device multiplies it in
  /// hardware, otherwise float32.
  std::optional<Precision> precision = Precision::float32;

  int64_t log_every = 50;           ///< steps between two records of metrics.jsonl
  int64_t checkpoint_every = 1000;  ///< steps between two checkpoints
  int64_t keep_checkpoints = 5;     ///< number of newest checkpoints to keep
  int64_t keep_best = 0;            ///< number of checkpoints with the best validation.metric to keep in addition
  int64_t keep_every = 0;           ///< also keep each checkpoint whose step is a multiple of this; 0: none
  /// Number of newest checkpoints whose mean becomes the finished model (section 6.1). Ignored with ema_decay.
  int64_t average_checkpoints = 5;
};

/// The consistency options in `training`.
TRANSMUTE_API ConsistencyOptions consistency_of(const TrainingOptions& training);

/// Metric by which validation ranks weights. `automatic` is BLEU for a translation model, otherwise the loss.
enum class ValidationMetric { automatic, bleu, chrf, chrf_plus_plus, loss };

/// The metric's name in the configuration.
TRANSMUTE_API std::string name_of(ValidationMetric metric);

/// Options of validation.
struct ValidationOptions {
  int64_t every = 1000;  ///< steps between two validations
  /// Decides which weights are the best; the loss if nothing is translated.
  ValidationMetric metric = ValidationMetric::automatic;
  int64_t patience = 0;   ///< end after this many consecutive validations without improvement; 0: never
  int64_t beam_size = 1;  ///< for the translations; greedy search is faster and ranks weights as well
  double length_alpha = SearchOptions().length_alpha;  ///< length penalty of the search
  /// Sentences of each language pair that are translated for BLEU and chrF; 0: none.
  int64_t max_sentences = 2000;
};

/// The configuration of an experiment, as in its YAML file.
struct TRANSMUTE_API TrainingConfig {
  ModelConfig model;             ///< sections `tokenizer` and `model`
  DataOptions data;              ///< section `data`
  TrainingOptions training;      ///< section `training`
  ValidationOptions validation;  ///< section `validation`

  /// Binds every key of the YAML file to its field.
  void declare(ConfigSchema& schema);

  /// True if this trains a decoder-only model on plain text.
  bool is_language_model() const { return model.model.architecture == Architecture::decoder_only; }
  /// True if the config names text for validation.
  bool has_validation_text() const {
    return is_language_model() ? !data.valid_text.empty() : !data.valid_source.empty() || !data.valid_pairs.empty();
  }

  /// Checks relations between keys, for example that there are as many source as target files.
  /// @throws std::invalid_argument with the key and the remedy.
  void check() const;

  /// The values that differ from the `usual` ones but have no effect, because another value rules them out: a message
  /// for each, with the remedy.
  std::vector<std::string> unused_values(const TrainingOptions& usual = {}) const;
};

/// A key whose value differs from that in a run folder.
struct ConfigChange {
  std::string key;       ///< key with its section, for example training.seed
  std::string before;    ///< value in the run folder
  std::string now;       ///< new value
  bool refused = false;  ///< the change would alter the network or lose the position in the text
};

/// The differences between the configuration in a run folder and a new one.
/// @param adjust changes the former before they are compared
/// @throws std::runtime_error, std::invalid_argument if the run folder's file cannot be read.
TRANSMUTE_API std::vector<ConfigChange> changes_since(const std::string& kept_path, const ConfigSchema& now,
                                                      const std::function<void(TrainingConfig&)>& adjust = {});

}  // namespace v0
}  // namespace transmute
