// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/benchmarks/training_work.h>
#include <transmute/network/precision.h>

#include <string>

namespace transmute::benchmarks {

struct DeviceRun {
  std::string device;
  int64_t batch_tokens = 0;
  int64_t micro_batch_tokens = 0;
  double seconds = 0;
  int64_t length = 0;  ///< tokens of every sentence; 0: as Multi30k's
  bool recompute = false;
  double peak_tflops = 0;  ///< the device's own, as its maker states it; 0: unknown
};

/// Training steps that follow each other as in training, without waiting for the device, and one line about them.
void train_on_device(const Shape& shape, Precision precision, const DeviceRun& run);

/// The heading of those lines.
void print_device_heading();

}  // namespace transmute::benchmarks
