#pragma once

#include <transmute/translation/model_folder.h>

#include <string>

namespace transmute {
inline namespace v0 {

/// Opens a model in whichever form it is: a model folder, or a file that export_torchscript made.
/// @throws std::runtime_error where it is missing, damaged or something else.
LoadedModel load_model(const std::string& path, torch::Device device);

}  // namespace v0
}  // namespace transmute
