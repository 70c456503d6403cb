#include <transmute/translation/files/torchscript_file.h>

#include <spdlog/fmt/fmt.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/version.h>
#include <transmute/common/checksum.h>
#include <transmute/common/files.h>
#include <transmute/common/json.h>
#include <transmute/model/libtorch.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

// Of the file: its methods, its extra files and the parameters' names.
constexpr int64_t kFormatVersion = 1;

constexpr const char* kFacts = "transmute.json";
constexpr const char* kSharedTokenizer = "tokenizer.model";
constexpr const char* kSourceTokenizer = "tokenizer.source.model";
constexpr const char* kTargetTokenizer = "tokenizer.target.model";

NamedTensors parameters_of(const torch::jit::Module& module) {
  NamedTensors named;
  for (const auto& item : module.named_parameters()) named.emplace_back(item.name, item.value);
  return named;
}

// Of the parameters and the extra files. LibTorch does not check those that its archives have.
std::string checksum_of(const NamedTensors& tensors, const torch::jit::ExtraFilesMap& files) {
  uint32_t crc = 0;
  const auto add_text = [&](const std::string& text) { crc = crc32(crc, text.data(), text.size()); };
  const std::map<std::string, torch::Tensor> sorted(tensors.begin(), tensors.end());
  for (const auto& [name, tensor] : sorted) {
    const torch::Tensor data = tensor.contiguous();
    add_text(name);
    crc = crc32(crc, data.data_ptr(), data.nbytes());
  }
  for (const char* name : {kConfigFile, kSharedTokenizer, kSourceTokenizer, kTargetTokenizer})
    if (const auto file = files.find(name); file != files.end()) add_text(file->second);
  return fmt::format("{:08x}", crc);
}

torch::jit::ExtraFilesMap extra_files_of(const LoadedModel& model) {
  torch::jit::ExtraFilesMap files{{kConfigFile, model.config}};
  if (model.tokenizer.shared()) {
    files[kSharedTokenizer] = model.tokenizer.source().serialized();
  } else {
    files[kSourceTokenizer] = model.tokenizer.source().serialized();
    files[kTargetTokenizer] = model.tokenizer.target().serialized();
  }
  return files;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

[[noreturn]] void unreadable_export(const std::string& path, const std::string& what) {
  throw std::runtime_error(fmt::format("{}: damaged ({}); restore it, or export it again", path, what));
}

torch::jit::Module open(const std::string& path, torch::jit::ExtraFilesMap& extra_files) {
  if (!std::filesystem::is_regular_file(path)) throw std::runtime_error(fmt::format("{}: no such file", path));
  try {
    return torch::jit::load(path, torch::kCPU, extra_files);
  } catch (const c10::Error& error) {
    throw std::runtime_error(fmt::format(
        "{}: no TorchScript file, damaged, or written by a newer LibTorch than this build's {} ({}); restore it, or "
        "export it again",
        path, TORCH_VERSION, first_line(error.what_without_backtrace())));
  } catch (const std::exception& error) {
    unreadable_export(path, first_line(error.what()));
  }
}

void check_facts(const std::string& path, const torch::jit::ExtraFilesMap& files, const NamedTensors& weights) {
  const std::string& text = files.at(kFacts);
  if (text.empty())
    throw std::runtime_error(
        fmt::format("{}: a TorchScript file, but not one that export_torchscript made (it has no {})", path, kFacts));
  int64_t version = 0;
  std::string checksum;
  try {
    const Json facts = parse_json(text);
    version = facts.at("format_version").get<int64_t>();
    if (version == kFormatVersion) checksum = facts.at("crc32").get<std::string>();
  } catch (const Json::exception& error) {
    unreadable_export(path, fmt::format("unreadable {}: {}", kFacts, error.what()));
  }
  if (version != kFormatVersion)
    throw std::runtime_error(
        fmt::format("{}: the file has format version {}, this build reads version {}; open it with the transmute that "
                    "wrote it, or export the model again",
                    path, version, kFormatVersion));
  if (weights.empty())
    throw std::runtime_error(fmt::format("{}: has no parameters; a frozen file runs in LibTorch only", path));
  if (checksum != checksum_of(weights, files)) unreadable_export(path, "its checksum does not match its content");
}

Tokenizer tokenizer_of(const std::string& path, torch::jit::ExtraFilesMap& files) {
  const auto model = [&](const char* name) {
    return std::make_shared<const SubwordModel>(files[name], fmt::format("{}:{}", path, name));
  };
  if (!files[kSourceTokenizer].empty()) return Tokenizer(model(kSourceTokenizer), model(kTargetTokenizer));
  const auto both = model(kSharedTokenizer);
  return Tokenizer(both, both);
}

}  // namespace

void save_torchscript_model(const std::string& path, const torch::jit::Module& module, const LoadedModel& model,
                            const std::string& precision) {
  torch::jit::ExtraFilesMap files = extra_files_of(model);
  const Json facts{{"format_version", kFormatVersion},
                   {"precision", precision},
                   {"special_ids",
                    {{"pad", special_ids::kPad},
                     {"unknown", special_ids::kUnknown},
                     {"begin", special_ids::kBegin},
                     {"end", special_ids::kEnd}}},
                   {"crc32", checksum_of(parameters_of(module), files)}};
  files[kFacts] = json_text(facts, 2) + "\n";
  std::ostringstream content;
  module.save(content, files);
  write_file_atomically(path, content.str());
}

LoadedModel load_torchscript_model(const std::string& path, torch::Device device) {
  torch::jit::ExtraFilesMap files{
      {kConfigFile, ""}, {kFacts, ""}, {kSharedTokenizer, ""}, {kSourceTokenizer, ""}, {kTargetTokenizer, ""}};
  const torch::jit::Module module = open(path, files);
  const NamedTensors weights = parameters_of(module);
  check_facts(path, files, weights);
  LoadedModel model =
      make_model(tokenizer_of(path, files), files[kConfigFile], fmt::format("{}:{}", path, kConfigFile));
  model.stored = give_weights(model.transformer, weights, path, device);
  return model;
}

}  // namespace v0
}  // namespace transmute
