// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/threads.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/model/transformer.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

namespace transmute {

/// A model and its modules on a device, in eval mode, with the threads that run them.
struct OpenModel {
  LoadedModel model;
  Transformer network;
  torch::Device device;
  std::unique_ptr<ThreadPool> threads;
};

/// The flags of programs that look into one translation model: --model, --device, --precision, --threads.
/// Lives as long as the CLI::App that it added them to.
class ModelFlags {
 public:
  void add_to(CLI::App& app);
  const std::string& path() const { return path_; }
  /// @throws as load_model and parse_device; std::invalid_argument where the device has no such precision.
  OpenModel open() const;

 private:
  std::string path_;
  std::string device_ = "cpu";
  std::string precision_ = "float32";
  int threads_ = 0;
};

}  // namespace transmute
