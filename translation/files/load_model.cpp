// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/files/load_model.h>

#include <transmute/translation/files/torchscript_file.h>

#include <filesystem>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

LoadedModel load_model(const std::string& path, torch::Device device, Int8Weights int8,
                       const ParallelFor& parallel_for) {
  // What does not exist is a folder that is missing: train makes folders.
  return std::filesystem::is_regular_file(path) ? load_torchscript_model(path, device)
                                                : load_model_folder(path, device, int8, parallel_for);
}

LoadedModel load_model(const std::string& path, torch::Device device, Architecture architecture, Int8Weights int8,
                       const ParallelFor& parallel_for) {
  LoadedModel model = load_model(path, device, int8, parallel_for);
  if (model.transformer->options.architecture == architecture) return model;
  throw std::invalid_argument(
      path + (architecture == Architecture::encoder_decoder
                  ? ": is a language model (model.architecture: decoder_only), which has no source; it is for generate "
                    "and score --text"
                  : ": is a translation model (model.architecture: encoder_decoder), which needs a source; it is for "
                    "translate, visualize, embed and score --source --target"));
}

}  // namespace v0
}  // namespace transmute
