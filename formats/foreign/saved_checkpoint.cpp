// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/saved_checkpoint.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <transmute/common/files.h>
#include <transmute/common/zip_archive.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace transmute {
inline namespace v0 {
namespace formats {

bool is_torchscript(const std::string& path) {
  std::string begin(2, '\0');
  InputFile(path).read(0, begin.data(), begin.size());
  return begin == "PK" && ZipArchive(path).has("constants.pkl");
}

std::string find_checkpoint(const std::string& path, const std::vector<std::string>& best,
                            const std::function<bool(const std::filesystem::path&)>& is_checkpoint) {
  namespace fs = std::filesystem;
  const auto is_one = [&](const fs::path& file) {
    return fs::is_regular_file(file) && is_checkpoint(fs::absolute(file));
  };
  if (!fs::is_directory(path)) return is_one(path) ? path : "";
  for (const std::string& name : best)
    if (const std::string file = path_in(path, name); is_one(file)) return file;
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(path))
    if (is_one(entry.path())) found.push_back(entry.path().string());
  if (found.size() > 1)
    throw std::runtime_error(fmt::format("{}: has {} checkpoints{}{}; give the path of one", path, found.size(),
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

void add_settings(const Pickle& pickle, const PickleValue* record, Json& settings) {
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
