// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/torchscript_file.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/checksum.h>
#include <transmute/common/files.h>
#include <transmute/common/json.h>
#include <transmute/common/zip_archive.h>
#include <transmute/formats/pickle.h>
#include <transmute/formats/torchscript_weights.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/tokenizer/tokenizer_files.h>

#include <clocale>
#include <filesystem>
#include <locale>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

// Of the file: its methods, its extra files and the parameters' names.
constexpr int64_t kFormatVersion = 1;

constexpr const char* kFacts = "transmute.json";

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
  for (const char* name :
       {kConfigFile, kSharedTokenizerFile, kSourceTokenizerFile, kTargetTokenizerFile, kTextProfileFile})
    if (const auto file = files.find(name); file != files.end()) add_text(file->second);
  return fmt::format("{:08x}", crc);
}

torch::jit::ExtraFilesMap extra_files_of(const LoadedModel& model) {
  torch::jit::ExtraFilesMap files{{kConfigFile, model.config}};
  for (const auto& [name, tokenizer] : model.tokenizer.files()) files[name] = tokenizer->serialized();
  if (std::string yaml = model.profile.to_yaml(); !yaml.empty()) files[kTextProfileFile] = std::move(yaml);
  return files;
}

[[noreturn]] void unreadable_export(const std::string& path, const std::string& what) {
  throw std::runtime_error(fmt::format("{}: damaged ({}); restore it, or export it again", path, what));
}

// The records of an archive that are texts. LibTorch could give them too, but it runs the file's code as it opens it.
torch::jit::ExtraFilesMap read_extra_files(const ZipArchive& archive) {
  torch::jit::ExtraFilesMap files;
  for (const char* name :
       {kFacts, kConfigFile, kSharedTokenizerFile, kSourceTokenizerFile, kTargetTokenizerFile, kTextProfileFile})
    files[name] = archive.has(std::string("extra/") + name) ? archive.read(std::string("extra/") + name) : "";
  return files;
}

ZipArchive open(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) throw std::runtime_error(fmt::format("{}: no such file", path));
  try {
    return ZipArchive(path);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(
        fmt::format("{}; this is no TorchScript file, or it must be exported again", error.what()));
  }
}

NamedTensors read_weights(const std::string& path, const ZipArchive& archive) {
  try {
    return read_torchscript_parameters(archive);
  } catch (const PickleError& error) {
    unreadable_export(path, error.what());
  }
}

// The checksum that the file says it has.
std::string check_facts(const std::string& path, const ZipArchive& archive, const torch::jit::ExtraFilesMap& files) {
  const std::string& text = files.at(kFacts);
  if (text.empty() && !archive.has("data.pkl"))
    throw std::runtime_error(
        path +
        ": a zip archive that is no model; unzip one that contains a model, such as a package of Argos Translate, and "
        "give the folder");
  if (text.empty() && !archive.has("constants.pkl"))
    throw std::runtime_error(path +
                             ": weights that torch.save wrote, without what describes their network; give the folder "
                             "that they belong to, such as one of Hugging Face with its config.json");
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
  } catch (const JsonLimitError& error) {
    unreadable_export(path, fmt::format("unreadable {}: {}", kFacts, error.what()));
  }
  if (version != kFormatVersion)
    throw std::runtime_error(
        fmt::format("{}: the file has format version {}, this build reads version {}; open it with the transmute that "
                    "wrote it, or export the model again",
                    path, version, kFormatVersion));
  return checksum;
}

Tokenizer tokenizer_of(const std::string& path, torch::jit::ExtraFilesMap& files) {
  const auto model = [&](const char* name) {
    return std::make_shared<const SubwordModel>(files[name], fmt::format("{}:{}", path, name));
  };
  if (!files[kSourceTokenizerFile].empty()) return Tokenizer(model(kSourceTokenizerFile), model(kTargetTokenizerFile));
  const auto both = model(kSharedTokenizerFile);
  return Tokenizer(both, both);
}

// While it lives, new streams print numbers in the classic locale. LibTorch prints a module's code through streams,
// which take the process's locale: with another decimal point or with grouped digits, the file could not be loaded.
// Streams that other threads make meanwhile print in the classic locale too.
class ClassicNumbers {
 public:
  ClassicNumbers() : c_locale_(std::setlocale(LC_ALL, nullptr)) {
    // Without a name, so that C's locale stays what it is.
    std::locale::global(std::locale(std::locale::classic(), new std::numpunct<char>));
  }
  ~ClassicNumbers() {
    std::locale::global(outer_);
    std::setlocale(LC_ALL, c_locale_.c_str());  // which a locale with a name has just changed
  }
  ClassicNumbers(const ClassicNumbers&) = delete;
  ClassicNumbers& operator=(const ClassicNumbers&) = delete;

 private:
  const std::locale outer_;  // the global one
  const std::string c_locale_;
};

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
  {
    std::optional<ClassicNumbers> classic;
    if (std::locale() != std::locale::classic()) classic.emplace();
    module.save(content, files);
  }
  write_file_atomically(path, content.str());
}

LoadedModel load_torchscript_model(const std::string& path, torch::Device device) {
  const ZipArchive archive = open(path);
  torch::jit::ExtraFilesMap files = read_extra_files(archive);
  const std::string checksum = check_facts(path, archive, files);
  const NamedTensors weights = read_weights(path, archive);
  if (weights.empty())
    throw std::runtime_error(fmt::format("{}: has no parameters; a frozen file runs in LibTorch only", path));
  if (checksum != checksum_of(weights, files)) unreadable_export(path, "its checksum does not match its content");
  LoadedModel model = make_model(tokenizer_of(path, files), files[kConfigFile], fmt::format("{}:{}", path, kConfigFile),
                                 std::filesystem::file_size(path));
  model.profile = parse_text_profile(files[kTextProfileFile], fmt::format("{}:{}", path, kTextProfileFile));
  model.stored = give_weights(model.transformer, weights, path, device);
  return model;
}

}  // namespace v0
}  // namespace transmute
