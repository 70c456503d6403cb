// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/torchscript_file.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/hash.h>
#include <transmute/common/json.h>
#include <transmute/common/zip_archive.h>
#include <transmute/formats/pickle.h>
#include <transmute/formats/pickled_tensors.h>
#include <transmute/tokenizer/tokenizer_files.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

constexpr int kMaxModuleDepth = 32;
constexpr const char* kConstantTable = "sinusoids";  // a buffer, which the config determines

class ParameterReader {
 public:
  ParameterReader(const Pickle& pickle, const PickledStorages& storages)
      : pickle_(pickle), read_(pickle, storages, StorageSharing::refused), visits_left_(pickle.size()) {}

  void read_module(const std::string& prefix, const PickleValue& module, int depth) {
    if (depth > kMaxModuleDepth) throw PickleError("its modules are nested too deeply");
    for (size_t a = 0; a + 1 < module.values.size(); a += 2) {
      // A pickle that says each thing once has fewer than its bytes.
      if (visits_left_-- == 0) throw PickleError("its modules refer to one another too often");
      const PickleValue &key = pickle_[module.values[a]], &value = pickle_[module.values[a + 1]];
      if (key.kind != PickleKind::text) throw PickleError("an attribute has no name");
      const std::string name = prefix + key.text;
      if (value.kind == PickleKind::module) read_module(name + ".", value, depth + 1);
      if (value.kind == PickleKind::tensor && key.text != kConstantTable)
        arrays.emplace_back(name, read_.read(name, value));
    }
  }

  NamedArrays arrays;

 private:
  const Pickle& pickle_;
  PickledTensors read_;
  uint64_t visits_left_;
};

// Version of the file's methods, of its extra files and of its parameters' names.
constexpr int64_t kFormatVersion = 1;

constexpr const char* kFacts = "transmute.json";

using ExtraFiles = std::unordered_map<std::string, std::string>;

// The checksum covers the parameters and the extra files. LibTorch does not check those that its archives have.
std::string checksum_of(const NamedArrays& parameters, const ExtraFiles& files) {
  uint32_t crc = 0;
  const auto add_text = [&](const std::string& text) { crc = crc32(crc, text.data(), text.size()); };
  const std::map<std::string, Array> sorted(parameters.begin(), parameters.end());
  for (const auto& [name, array] : sorted) {
    add_text(name);
    crc = crc32(crc, array.data(), array.bytes());
  }
  for (const char* name :
       {kConfigFile, kSharedTokenizerFile, kSourceTokenizerFile, kTargetTokenizerFile, kTextProfileFile})
    if (const auto file = files.find(name); file != files.end()) add_text(file->second);
  return fmt::format("{:08x}", crc);
}

[[noreturn]] void unreadable_export(const std::string& path, const std::string& what) {
  throw std::runtime_error(fmt::format("{}: damaged ({}); restore it, or export it again", path, what));
}

// The records of an archive that are texts. LibTorch could give them too, but it runs the file's code as it opens it.
ExtraFiles read_extra_files(const ZipArchive& archive) {
  ExtraFiles files;
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

NamedArrays read_weights(const std::string& path, const ZipArchive& archive) {
  try {
    return read_torchscript_parameters(archive);
  } catch (const PickleError& error) {
    unreadable_export(path, error.what());
  }
}

// The checksum that the file says it has.
std::string check_facts(const std::string& path, const ZipArchive& archive, const ExtraFiles& files) {
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

Tokenizer tokenizer_of(const std::string& path, ExtraFiles& files) {
  const auto model = [&](const char* name) {
    return std::make_shared<const SubwordModel>(files[name], fmt::format("{}:{}", path, name));
  };
  if (!files[kSourceTokenizerFile].empty()) return Tokenizer(model(kSourceTokenizerFile), model(kTargetTokenizerFile));
  const auto both = model(kSharedTokenizerFile);
  return Tokenizer(both, both);
}

}  // namespace

NamedArrays read_torchscript_parameters(const ZipArchive& archive) {
  const ArchivedStorages storages(archive);
  const std::string bytes = storages.read_pickle();
  const Pickle pickle(bytes);
  if (pickle.root().kind != PickleKind::module) throw PickleError("it is not a module");
  ParameterReader reader(pickle, storages);
  reader.read_module("", pickle.root(), 0);
  return std::move(reader.arrays);
}

ExtraFiles torchscript_extra_files(const LoadedModel& model, const NamedArrays& parameters,
                                   const std::string& precision) {
  ExtraFiles files{{kConfigFile, model.config}};
  for (const auto& [name, tokenizer] : model.tokenizer.files()) files[name] = tokenizer->serialized();
  if (std::string yaml = model.profile.to_yaml(); !yaml.empty()) files[kTextProfileFile] = std::move(yaml);
  const Json facts{{"format_version", kFormatVersion},
                   {"precision", precision},
                   {"special_ids",
                    {{"pad", special_ids::kPad},
                     {"unknown", special_ids::kUnknown},
                     {"begin", special_ids::kBegin},
                     {"end", special_ids::kEnd}}},
                   {"crc32", checksum_of(parameters, files)}};
  files[kFacts] = json_text(facts, 2) + "\n";
  return files;
}

LoadedModel load_torchscript_model(const std::string& path) {
  const ZipArchive archive = open(path);
  ExtraFiles files = read_extra_files(archive);
  const std::string checksum = check_facts(path, archive, files);
  const NamedArrays weights = read_weights(path, archive);
  if (weights.empty())
    throw std::runtime_error(fmt::format("{}: has no parameters; a frozen file runs in LibTorch only", path));
  if (checksum != checksum_of(weights, files)) unreadable_export(path, "its checksum does not match its content");
  LoadedModel model = make_model(tokenizer_of(path, files), files[kConfigFile], fmt::format("{}:{}", path, kConfigFile),
                                 weights, path, std::filesystem::file_size(path));
  model.profile = parse_text_profile(files[kTextProfileFile], fmt::format("{}:{}", path, kTextProfileFile));
  return model;
}

}  // namespace v0
}  // namespace transmute
