// SPDX-License-Identifier: Apache-2.0
#include <transmute/benchmarks/conditions.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace transmute::benchmarks {

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double cpu_seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown CPU";
}

std::vector<std::string> shape_names() {
  std::vector<std::string> names;
  for (const Shape& shape : kShapes) names.emplace_back(shape.name);
  return names;
}

const Shape& shape_named(const std::string& name) {
  return *std::find_if(std::begin(kShapes), std::end(kShapes), [&](const Shape& shape) { return shape.name == name; });
}

TransformerOptions options_of(const Shape& shape) {
  TransformerOptions options;
  options.source_vocab_size = options.target_vocab_size = shape.vocab_size;
  options.num_encoder_layers = options.num_decoder_layers = shape.layers;
  options.d_model = shape.d_model;
  options.d_ff = shape.d_ff;
  options.num_heads = shape.num_heads;
  options.dropout = shape.dropout;
  return options;
}

}  // namespace transmute::benchmarks
