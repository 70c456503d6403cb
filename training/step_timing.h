// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/training/automatic_config.h>
#include <transmute/training/trainer_options.h>

namespace transmute {
inline namespace v0 {

/// The seconds that a step of this config takes on the device: the median of a few steps with made-up text whose
/// sentences are as long as those of a text of this size.
/// @param most_seconds after which no step begins: a large network on a slow machine is timed by fewer
double measure_seconds_per_step(const TrainingConfig& config, const TextSize& size, const TrainerOptions& options,
                                double most_seconds);

}  // namespace v0
}  // namespace transmute
