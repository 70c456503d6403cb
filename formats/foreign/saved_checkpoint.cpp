// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/saved_checkpoint.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <transmute/common/files.h>
#include <transmute/common/zip_archive.h>

#include <stdexcept>

namespace transmute {
inline namespace v0 {
namespace formats {

bool is_torchscript(const std::string& path) {
  std::string begin(2, '\0');
  InputFile(path).read(0, begin.data(), begin.size());
  return begin == "PK" && ZipArchive(path).has("constants.pkl");
}

std::string the_checkpoint_in(const std::string& folder, const std::vector<std::string>& best,
                              const std::function<bool(const std::filesystem::path&)>& is_checkpoint) {
  for (const std::string& name : best)
    if (const std::string file = path_in(folder, name); std::filesystem::exists(file)) return file;
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (is_checkpoint(entry.path())) found.push_back(entry.path().string());
  if (found.size() > 1)
    throw std::runtime_error(fmt::format("{}: has {} checkpoints{}{}; give the path of one", folder, found.size(),
                                         best.empty() ? "" : ", but no ", fmt::join(best, " or ")));
  return found.empty() ? "" : found.front();
}

void read_checkpoint(const std::string& path, const std::function<void(const Pickle&, PickledTensors&)>& use) {
  try {
    read_saved(path, PickleObjects::kept, use);
  } catch (const PickleError& error) {
    throw std::runtime_error(fmt::format("{}: {}; restore the file", path, error.what()));
  }
}

void add_settings(const Pickle& pickle, const PickleValue* record, nlohmann::ordered_json& settings) {
  constexpr size_t kMost = 10'000;  // some hundred; each is compared with those before it
  if (record == nullptr || (record->kind != PickleKind::map && record->kind != PickleKind::object)) return;
  if (record->values.size() > 2 * kMost) throw PickleError("it has more settings than any program");
  for (size_t i = 0; i + 1 < record->values.size(); i += 2) {
    const PickleValue &name = pickle[record->values[i]], &value = pickle[record->values[i + 1]];
    if (name.kind != PickleKind::text) continue;
    if (value.kind == PickleKind::number) settings[name.text] = value.number;
    if (value.kind == PickleKind::real) settings[name.text] = value.real;
    if (value.kind == PickleKind::text) settings[name.text] = value.text;
  }
}

}  // namespace formats
}  // namespace v0
}  // namespace transmute
