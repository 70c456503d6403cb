#include <transmute/translation/load_model.h>
#include <transmute/translation/torchscript.h>

#include <filesystem>

namespace transmute {
inline namespace v0 {

LoadedModel load_model(const std::string& path, torch::Device device) {
  // What does not exist is a folder that is missing: train makes folders.
  return std::filesystem::is_regular_file(path) ? load_torchscript_model(path, device)
                                                : load_model_folder(path, device);
}

}  // namespace v0
}  // namespace transmute
