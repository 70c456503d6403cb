// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/torchscript_weights.h>

#include <transmute/formats/pickled_tensors.h>

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

}  // namespace v0
}  // namespace transmute
