// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/config_schema.h>
#include <transmute/common/export.h>
#include <transmute/model/consistency.h>
#include <transmute/training/adam_options.h>
#include <transmute/training/data/batch_options.h>
#include <transmute/training/schedule.h>
#include <transmute/translation/files/model_folder.h>
#include <transmute/translation/precision.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Which text is learned from. File names are relative to `folder`; plain or gzipped, one sentence a line,
/// line n of a source file translated by line n of the target file at the same place in its list. A decoder-only model
/// takes plain text instead, each line of which is a text of its own.
struct DataOptions {
  std::string folder;                     ///< relative to the current folder; empty: the current folder
  std::vector<std::string> train_source;  ///< source files
  std::vector<std::string> train_target;  ///< their translations, file by file
  /// Files of lines "source<tab>target", beside train_source and train_target or instead; further columns are ignored.
  std::vector<std::string> train_pairs;
  std::vector<std::string> train_text;  ///< what a decoder-only model learns from
  /// How often an epoch goes through each pair of files, then each of train_pairs, or each text; empty: once.
  std::vector<double> train_weights;
  /// Word alignments of each pair of files, in Pharaoh's notation; "" for a pair without one. Read where
  /// TrainingOptions::guided_alignment asks for it.
  std::vector<std::string> train_alignments;
  std::vector<std::string> valid_source;  ///< source files for validation
  std::vector<std::string> valid_target;  ///< their translations
  std::vector<std::string> valid_pairs;   ///< as train_pairs
  std::vector<std::string> valid_text;    ///< validation text of a decoder-only model
  int64_t max_source_tokens = 256;        ///< training pairs with a longer source are left out, and counted
  int64_t max_target_tokens = 256;        ///< and those with a longer target, and longer lines of plain text
  /// The largest ratio of the two sides' numbers of tokens; pairs beyond it are left out too. 0: no limit.
  double max_length_ratio = 0;
  /// Segmentations drawn afresh in each epoch, see SubwordSampler: BPE-dropout's probability, or the exponent for
  /// unigram models. 0: none.
  double source_sampling = 0;
  double target_sampling = 0;  ///< the same for target files, or for plain text
  std::string cache_folder;    ///< keeps the tokenized text; empty: `cache` in the run folder
  int64_t prefetch_threads = BatchStreamOptions().prefetch_threads;  ///< threads that prepare batches ahead
};

/// How the network is trained. Defaults: section 5 of the paper.
struct TrainingOptions {
  /// A model whose network, weights and tokenizer the run begins with, in any form that load_model() reads; empty: new
  /// weights and a new tokenizer. See take_network_of_initial_model().
  std::string initialize_from;
  int64_t seed = 1;  ///< seed of the initial weights, the order of the text and dropout
  /// Padded target tokens, and padded source tokens, of one batch at most.
  int64_t batch_tokens = BatchStreamOptions().batch_tokens;
  int64_t accumulate_batches = 1;  ///< batches of each process whose gradients make one step
  /// A batch is computed in micro-batches of at most this many padded tokens, which bounds memory; 0:
  /// default_micro_batch_tokens.
  int64_t micro_batch_tokens = 0;
  int64_t max_steps = ScheduleOptions().last_step;  ///< updates of the weights
  int64_t max_epochs = 0;                           ///< passes over the text; 0: no limit
  bool recompute = false;  ///< the layers' activations in the backward pass, instead of keeping them
  double max_minutes = 0;  ///< time for training, over all resumed runs; 0: no limit

  Schedule schedule = ScheduleOptions().schedule;         ///< shape of the learning rate's curve
  int64_t warmup_steps = ScheduleOptions().warmup_steps;  ///< in which the learning rate rises
  double learning_rate_scale = ScheduleOptions().scale;   ///< factor before Eq. 3, noam's
  double learning_rate = ScheduleOptions().peak;          ///< the peak of the other schedules
  double min_learning_rate = ScheduleOptions().floor;     ///< where cosine and linear arrive with max_steps
  double adam_beta1 = AdamOptions().beta1;                ///< decay of the gradient's mean
  double adam_beta2 = AdamOptions().beta2;                ///< decay of the squared gradient's mean
  double adam_epsilon = AdamOptions().epsilon;            ///< added to the root of the squared gradient's mean
  double weight_decay = AdamOptions().weight_decay;       ///< AdamW's (Loshchilov and Hutter, 2019), of matrices
  double clip_norm = AdamOptions().clip_norm;  ///< the gradient's global L2 norm is scaled down to this; 0: no clipping
  /// Steps in a row whose loss or gradient is not finite that are passed over, the weights untouched, before the run
  /// ends; 0: it ends at the first.
  int64_t max_skipped_steps = 0;
  /// The target gets 1 - label_smoothing of the probability, and every piece of the vocabulary, the target
  /// included, label_smoothing / V (Szegedy et al., 2016; section 5.4).
  double label_smoothing = 0.1;
  Consistency consistency = Consistency::none;  ///< each batch goes through the network twice, and both shall agree
  double consistency_weight = 0;                ///< of the divergence between them; 0: the method's published one
  double cut_probability = 0.05;                ///< simcut: of a token's vector to be zeroed in the second pass
  /// Weight of a loss that makes one head of the attention to the source look where the words' alignments say (Garg et
  /// al., 2019); 0: none. Translations' alignments are then best taken from that head.
  double guided_alignment = 0;
  int64_t guided_layer = 0;  ///< decoder layer, counted from 1; 0: the last but one
  int64_t guided_head = 1;   ///< from 1
  /// Decay of the weights' moving average, which is validated and becomes the finished model; 0: no average.
  double ema_decay = 0;

  /// Numeric type of the matrix products: float32 or bfloat16. Without a value: bfloat16 where the device multiplies it
  /// in hardware.
  std::optional<Precision> precision = Precision::float32;

  int64_t log_every = 50;           ///< steps between two lines of metrics
  int64_t checkpoint_every = 1000;  ///< steps between two checkpoints
  int64_t keep_checkpoints = 5;     ///< the newest ones that are kept
  int64_t keep_best = 0;            ///< those with the best validation.metric that are kept as well
  int64_t keep_every = 0;           ///< those whose step is a multiple of this are kept for good; 0: none
  /// The newest ones whose mean weights are the finished model (section 6.1). Not where ema_decay says otherwise.
  int64_t average_checkpoints = 5;
};

/// What `training.consistency` and its two other keys say.
TRANSMUTE_API ConsistencyOptions consistency_of(const TrainingOptions& training);

/// What tells good weights from better ones. `automatic` is BLEU for a model that translates, else the loss.
enum class ValidationMetric { automatic, bleu, chrf, chrf_plus_plus, loss };

/// Its name in the config.
TRANSMUTE_API std::string name_of(ValidationMetric metric);

/// What is measured on the validation text, and when.
struct ValidationOptions {
  int64_t every = 1000;  ///< steps between two validations
  /// Chooses the best weights; the loss where nothing is translated.
  ValidationMetric metric = ValidationMetric::automatic;
  int64_t patience = 0;       ///< validations in a row without a better one after which training ends; 0: no end
  int64_t beam_size = 1;      ///< for the translations; greedy search is four times as quick and ranks weights as well
  double length_alpha = 0.6;  ///< length penalty of the search
  int64_t max_sentences = 2000;  ///< sentences translated for BLEU and chrF; 0: none
};

/// One experiment: everything that its YAML file says.
struct TRANSMUTE_API TrainingConfig {
  ModelConfig model;             ///< sections `tokenizer` and `model`
  DataOptions data;              ///< section `data`
  TrainingOptions training;      ///< section `training`
  ValidationOptions validation;  ///< section `validation`

  /// Binds every key of the YAML file to its field.
  void declare(ConfigSchema& schema);

  /// Whether it trains a decoder-only model, on plain text.
  bool is_language_model() const { return model.model.architecture == Architecture::decoder_only; }
  /// Whether the config names text for validation.
  bool has_validation_text() const {
    return is_language_model() ? !data.valid_text.empty() : !data.valid_source.empty() || !data.valid_pairs.empty();
  }

  /// Checks what no single key shows, for example equally many source and target files.
  /// @throws std::invalid_argument with the key and the remedy.
  void check() const;
};

/// A key whose value is not what a run was begun with.
struct ConfigChange {
  std::string key;       ///< the key with its section, for example training.seed
  std::string before;    ///< the value in the run folder
  std::string now;       ///< the value to go on with
  bool refused = false;  ///< the network, or where in the text the checkpoint stands, would not be the same
};

/// What differs between the config that a run folder keeps and the one to go on with.
/// @throws std::runtime_error, std::invalid_argument where the kept file cannot be read.
TRANSMUTE_API std::vector<ConfigChange> changes_since(const std::string& kept_path, const ConfigSchema& now);

}  // namespace v0
}  // namespace transmute
