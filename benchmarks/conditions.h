// SPDX-License-Identifier: Apache-2.0
#pragma once

// Parts shared by the benchmarks: clocks, the shapes of their networks, and the name of the CPU.

#include <transmute/network/options.h>

#include <time.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace transmute::benchmarks {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start);

/// Seconds of a clock of the system: CPU time does not count what other programs took.
double cpu_seconds(clockid_t clock);

std::string cpu_name();

struct Shape {
  const char* name;
  int64_t layers, d_model, d_ff, num_heads, vocab_size;
  double dropout;
};

/// tiny: configs/multi30k_en_de_small.yaml; base and big: Table 3.
constexpr Shape kShapes[] = {{"tiny", 4, 128, 256, 4, 10000, 0.3},
                             {"small", 4, 256, 1024, 4, 8000, 0.1},
                             {"base", 6, 512, 2048, 8, 8000, 0.1},
                             {"base-32k", 6, 512, 2048, 8, 32000, 0.1},
                             {"big", 6, 1024, 4096, 16, 8000, 0.3}};

std::vector<std::string> shape_names();

/// `name` must be one of shape_names().
const Shape& shape_named(const std::string& name);

TransformerOptions options_of(const Shape& shape);

}  // namespace transmute::benchmarks
