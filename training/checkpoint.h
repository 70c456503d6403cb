// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/model_folder.h>
#include <transmute/training/optimization/ema.h>
#include <transmute/training/optimization/optimizer.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The state of a training between two steps. A resumed run needs it, the weights, the optimizer's moments and the
/// configuration: the order of the text and dropout are functions of (seed, epoch) and (seed, step).
struct TrainState {
  int64_t step = 0;                  ///< updates done
  int64_t epoch = 0;                 ///< counts from 0
  int64_t window = 0;                ///< within the epoch, see Epoch
  int64_t batch = 0;                 ///< the next one of that window
  int64_t target_tokens = 0;         ///< trained on so far
  double seconds = 0;                ///< spent training so far
  std::string metric;                ///< metric of best_score and score
  std::string conditions;            ///< conditions of the validations, see Validator::conditions
  std::optional<double> best_score;  ///< the higher the better
  int64_t validations_since_best = 0;
  std::optional<double> score;   ///< score of the validation after this very step; the higher the better
  int64_t batches_per_step = 0;  ///< batches of the last step: accumulated ones times processes; 0: none yet
  bool validation_due = false;   ///< after this very step, where a signal stopped the training before it
  bool is_interim = false;       ///< a checkpoint for a stopped training to continue from, outside the regular ones

  /// The pass over the text, counted from 1, that the last batch came from: the cursor is already after it.
  int64_t pass() const { return epoch > 0 && window == 0 && batch == 0 ? epoch : epoch + 1; }
};

/// The state as checkpoints store it.
std::string to_json(const TrainState& state);
/// @throws std::runtime_error naming `path` if the text is damaged or of another version.
TrainState state_from_json(const std::string& text, const std::string& path);

/// Rules for keeping checkpoints: one that any rule selects is kept, and so is the newest. An interim checkpoint is
/// removed when the next one is written.
struct KeepPolicy {
  int64_t newest = 5;
  int64_t best = 0;    ///< number kept with the highest scores by `metric`; of equal ones the older
  int64_t every = 0;   ///< keeps those whose step is a multiple of this; 0: none
  std::string metric;  ///< scores by another one do not count
  /// Scores under other conditions do not count either.
  std::string conditions;
};

/// The parts that training changes: written to checkpoints and restored from them.
struct TrainedParts {
  Transformer& transformer;
  Adam& optimizer;
  WeightAverage* average;  ///< null for none
};

/// The data in checkpoints that training does not change.
struct TrainedWith {
  const std::string& config;  ///< the resolved YAML
  const Tokenizer& tokenizer;
  const TextProfile& profile;
};

/// The checkpoints of a run: model folders that also hold the optimizer and the TrainState, named by step.
class CheckpointStore {
 public:
  /// @param folder where they are; made when the first one is written
  explicit CheckpointStore(std::string folder);

  /// Paths, oldest first.
  std::vector<std::string> list() const;

  /// The state of the newest one, or of a fresh start where there is none.
  /// @throws std::runtime_error as restore() does.
  TrainState newest_state() const;

  /// Writes one, all or nothing, then removes what `policy` does not keep.
  void save(const TrainState& state, const TrainedWith& with, const TrainedParts& parts,
            const KeepPolicy& policy) const;

  /// Continues from the newest one. Without any, nothing happens and the state is that of a fresh start. If it has no
  /// average, the average starts from its weights.
  /// @throws std::runtime_error naming the file that is damaged and the remedy.
  TrainState restore(const TrainedParts& parts) const;

 private:
  void remove_rests_of_crashes() const;
  void prune(const KeepPolicy& policy) const;

  std::string folder_;
};

/// The error for a newest checkpoint that cannot be read, with the remedy.
std::runtime_error cannot_resume(const std::string& checkpoint, const std::string& why);

/// Sets the transformer's parameters to the mean of those in several model folders, summed in double.
/// @throws std::runtime_error if one of them is of another shape, or damaged.
void average_parameters(const std::vector<std::string>& model_folders, Transformer& transformer);

/// Cosine of the angle between the matrices of two networks of the same shape, all of them together without embeddings:
/// about 0 if they were drawn and trained independently, near 1 between neighboring checkpoints of one training.
double similarity_of(const Transformer& one, const Transformer& other);

}  // namespace v0
}  // namespace transmute
