// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/step_report.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/libtorch/libtorch.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace transmute {
inline namespace v0 {

void StepReport::restart() {
  parts_.steps.clear_totals();
  watch_ = Stopwatch();
}

int64_t StepReport::first_estimate(const TrainingConfig& config) {
  return config.training.max_epochs > 0 ? 0 : config.training.max_steps;
}

// The passes over the text have as many steps as so far.
int64_t StepReport::estimated_last_step() const {
  const TrainingOptions& training = parts_.config.training;
  const double passes = static_cast<double>(parts_.state.epoch) + parts_.steps.epoch_done();
  if (training.max_epochs == 0 || passes == 0) return last_step_;
  const double steps = static_cast<double>(parts_.state.step) * static_cast<double>(training.max_epochs) / passes;
  return static_cast<int64_t>(std::min(steps, static_cast<double>(training.max_steps)));
}

// Until the end that comes first; validation.patience may end the training before.
double StepReport::seconds_left(double seconds_per_step) const {
  const TrainingOptions& training = parts_.config.training;
  const double left = seconds_per_step * static_cast<double>(std::max<int64_t>(0, last_step_ - step_ + 1));
  return training.max_minutes > 0 ? std::min(left, training.max_minutes * 60 - parts_.clock.seconds()) : left;
}

std::string StepReport::plan(double seconds_per_step, double left) const {
  constexpr double kDay = 24 * 3600, kMany = 2;
  const TrainingOptions& training = parts_.config.training;
  const std::string limit =
      training.max_minutes > 0 ? "at the latest" : fmt::format("at the latest, with {}", counted(last_step_, "step"));
  if (left < kMany * kDay)
    return fmt::format("a step takes about {:.2g} s here; the training ends in about {} {}", seconds_per_step,
                       format_duration(std::max(left, 0.0)), limit);
  return fmt::format(
      "a step takes about {:.3g} s here; the training ends in about {:.0f} days {}. To end sooner, set "
      "training.max_minutes or training.max_steps, a smaller network (model.num_encoder_layers, "
      "model.num_decoder_layers, model.d_model, model.d_ff) or batch (training.batch_tokens); without --config, "
      "--source, --target and --minutes choose all of this for the time that there is",
      seconds_per_step, left / kDay, limit);
}

std::string StepReport::describe_step() const {
  const double share = parts_.steps.share_of_step();
  const int64_t step = step_;
  const std::string where =
      fmt::format("step {} is under way, about {:.0f}% of it computed", format_count(step), 100 * share);
  if (step != first_step_)
    return fmt::format("{}; the training ends in about {} at the latest", where, format_duration(seconds_left_));
  if (last_step_ == 0) return where;
  const double seconds_per_step = session_.seconds() / share;
  return where + "; " + plan(seconds_per_step, seconds_left(seconds_per_step));
}

void StepReport::after_step() {
  constexpr int64_t kFirstSteps = 5;
  constexpr double kSoon = 10, kLate = 30;  // seconds
  const int64_t step = parts_.state.step, made = step - first_step_ + 1;
  if (made > 0) {
    step_ = step + 1;
    last_step_ = estimated_last_step();
    const double seconds = session_.seconds(), per_step = seconds / static_cast<double>(made);
    seconds_left_ = std::max(0.0, seconds_left(per_step));
    if (!has_told_plan_ && ((made >= kFirstSteps && seconds >= kSoon) || seconds >= kLate)) {
      has_told_plan_ = true;
      parts_.log.info(plan(per_step, seconds_left_));
    }
  }
  show_progress();
}

void StepReport::show_progress() {
  if (!parts_.log.shows_progress()) return;
  const TrainState& state = parts_.state;
  const TrainingOptions& training = parts_.config.training;
  const double seconds = parts_.clock.seconds();
  double done = static_cast<double>(state.step) / static_cast<double>(training.max_steps);
  if (training.max_minutes > 0) done = std::max(done, seconds / (training.max_minutes * 60));
  if (training.max_epochs > 0) {
    const double epochs = static_cast<double>(state.epoch) + parts_.steps.epoch_done();
    done = std::max(done, epochs / static_cast<double>(training.max_epochs));
  }
  const LossSum& loss = parts_.steps.totals().loss;
  const double rate = static_cast<double>(loss.tokens) / std::max(watch_.seconds(), 1e-9);
  parts_.log.show_progress(
      done, fmt::format("step {} | epoch {} | loss {:.3f} | {} tok/s | ETA {}", format_count(state.step), state.pass(),
                        loss.sum / static_cast<double>(std::max<int64_t>(loss.tokens, 1)),
                        format_count(static_cast<int64_t>(rate)),
                        format_duration(seconds * (1 - done) / std::max(done, 1e-9))));
}

// On a few pairs of the last step: one more pass over a small share of a micro-batch.
void StepReport::measure_source_signal() {
  if (!parts_.steps.sample()) return;
  const TransformerOptions& options = parts_.config.model.model;
  signal_ = source_signal(parts_.transformer, *parts_.steps.sample());
  constexpr int64_t kUsualStart = 700;  // a warm-up that was planned for little time may end before
  const TrainingOptions& training = parts_.config.training;
  const bool is_warm = parts_.state.step >= (training.max_minutes > 0 ? std::max(training.warmup_steps, kUsualStart)
                                                                      : training.warmup_steps);
  if (warned_of_collapse_ || !is_warm || !is_collapsed()) return;
  warned_of_collapse_ = true;
  parts_.log.warn(fmt::format("step {}: {}", format_count(parts_.state.step), collapse_warning(*signal_, options)));
}

bool StepReport::is_collapsed() const {
  const bool attends_by_score = parts_.config.model.model.score_function != ScoreFunction::uniform;
  return signal_ && signal_->is_collapsed() && attends_by_score;
}

void StepReport::warn_if_still_collapsed() {
  if (!is_collapsed()) return;
  parts_.log.warn(
      "the training ended before the decoder began to see its source: translations will have little to do with it. "
      "Train for more steps (or --minutes); if that has been tried, docs/training.md has other remedies");
}

Json StepReport::metrics(double seconds) {
  const TrainState& state = parts_.state;
  const Steps::Totals& totals = parts_.steps.totals();
  const auto tokens = static_cast<double>(totals.loss.tokens);
  Json line{{"type", "train"},
            {"step", state.step},
            {"epoch", state.epoch},
            {"loss", totals.loss.sum / tokens},
            {"learning_rate", parts_.steps.learning_rate(state.step)},
            {"gradient_norm", parts_.steps.gradient_norm()},
            {"target_tokens", state.target_tokens},
            {"target_tokens_per_second", tokens / seconds},
            {"seconds", parts_.clock.seconds()}};
  if (!parts_.config.is_language_model())
    line["source_tokens_per_second"] = static_cast<double>(totals.source_tokens) / seconds;
  if (signal_) {
    line["position_variance"] = signal_->position_variance;
    line["attention_entropy"] = signal_->attention_entropy;
    line["sharpest_head"] = signal_->sharpest_head;
  }
  if (parts_.config.training.guided_alignment > 0) line["alignment_loss"] = totals.loss.guidance / tokens;
  if (parts_.config.training.consistency != Consistency::none) line["divergence"] = totals.loss.divergence / tokens;
  return line;
}

void StepReport::write_metrics() {
  const double seconds = watch_.seconds();
  measure_source_signal();
  const Json line = metrics(seconds);
  parts_.log.record(line);
  if (!parts_.log.shows_progress())
    parts_.log.info(
        fmt::format("step {} | epoch {} | loss {:.4f} | learning rate {:.3g} | gradient norm {:.3f} | {} tok/s",
                    format_count(parts_.state.step), parts_.state.pass(), line["loss"].get<double>(),
                    line["learning_rate"].get<double>(), line["gradient_norm"].get<double>(),
                    format_count(static_cast<int64_t>(line["target_tokens_per_second"].get<double>()))));
  restart();
}

}  // namespace v0
}  // namespace transmute
