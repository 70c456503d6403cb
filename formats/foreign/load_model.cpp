// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/load_model.h>

#include <transmute/common/files.h>
#include <transmute/formats/foreign/marian_files.h>
#include <transmute/formats/foreign/readers.h>
#include <transmute/formats/model_store.h>
#include <transmute/formats/torchscript_file.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

// The first bytes tell: one that is cut short is an archive still.
bool is_no_zip_archive(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char begin[2] = {};
  return file.read(begin, sizeof begin) && (begin[0] != 'P' || begin[1] != 'K');
}

LoadedModel load_any_model(const std::string& name, const ParallelFor& parallel_for, WeightMemory memory) {
  const std::string path = model_path(name);
  if (!std::filesystem::exists(path_in(path, kWeightsFile)))
    if (const std::string checkpoint = formats::find_joeynmt_checkpoint(path); !checkpoint.empty())
      return formats::load_joeynmt_checkpoint(checkpoint);  // its folder has a config.yaml, too
  if (std::filesystem::is_directory(path) && !std::filesystem::exists(path_in(path, kConfigFile))) {
    if (formats::is_hugging_face_folder(path)) return formats::load_hugging_face_folder(path, parallel_for);
    if (const std::string folder = formats::find_ctranslate2_folder(path); !folder.empty())
      return formats::load_ctranslate2_folder(folder);
    if (const std::string npz = formats::find_marian_file(path); !npz.empty()) return formats::load_marian_model(npz);
  }
  if (!std::filesystem::exists(path_in(path, kConfigFile))) {
    if (const std::string checkpoint = formats::find_fairseq_checkpoint(path); !checkpoint.empty())
      return formats::load_fairseq_checkpoint(checkpoint);
    if (const std::string checkpoint = formats::find_opennmt_checkpoint(path); !checkpoint.empty())
      return formats::load_opennmt_checkpoint(checkpoint);
  }
  if (std::filesystem::is_regular_file(path)) {
    const bool is_archive = !is_no_zip_archive(path);
    if (!is_archive && !formats::is_marian_binary(path))
      throw std::runtime_error(path +
                               ": no model; a model is a folder, or a file that export_torchscript or Marian "
                               "wrote. Text is given with --input");
    return formats::is_marian_file(path) ? formats::load_marian_model(path) : load_torchscript_model(path);
  }
  // A path that does not exist is a folder that is missing: train makes folders.
  return load_model_folder(path, parallel_for, memory);
}

}  // namespace

LoadedModel load_model(const std::string& path, const ParallelFor& parallel_for, WeightMemory memory) {
  try {
    return load_any_model(path, parallel_for, memory);
  } catch (const std::filesystem::filesystem_error& error) {  // as of links in a circle
    throw std::runtime_error(error.path1().string() + ": cannot be read: " + error.code().message());
  }
}

LoadedModel load_model(const std::string& path, Architecture architecture, const ParallelFor& parallel_for,
                       WeightMemory memory) {
  LoadedModel model = load_model(path, parallel_for, memory);
  if (model.options.architecture == architecture) return model;
  throw std::invalid_argument(
      path + (architecture == Architecture::encoder_decoder
                  ? ": is a language model (model.architecture: decoder_only), which has no source; it is for generate "
                    "and score --text"
                  : ": is a translation model (model.architecture: encoder_decoder), which needs a source; it is for "
                    "translate, visualize, embed and score --source --target"));
}

}  // namespace v0
}  // namespace transmute
