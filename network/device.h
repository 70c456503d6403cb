// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace transmute {
inline namespace v0 {

/// A device that runs networks.
struct Device {
  /// Kinds of devices.
  enum class Kind {
    cpu,       ///< the CPU
    gpu,       ///< an NVIDIA GPU
    automatic  ///< a GPU if there is a usable one, else the CPU
  };
  Kind kind = Kind::cpu;  ///< which kind
  int index = 0;          ///< number of the GPU

  bool is_cpu() const { return kind == Kind::cpu; }
};

/// The device that is called `cpu`, `cuda`, `cuda:1` or `auto`. Whether there is such a GPU is another question.
/// @throws std::invalid_argument for any other name
Device named_device(const std::string& name);

/// The number of workers to run: on the CPU `threads`, or one for each core if that is 0; on a GPU 1.
/// @throws std::invalid_argument if `threads` is negative or absurdly many
int worker_count(int threads, const Device& device);

}  // namespace v0
}  // namespace transmute
