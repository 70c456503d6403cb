// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/fingerprints.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/common/hash.h>
#include <transmute/common/json.h>
#include <transmute/common/random.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace transmute {
inline namespace v0 {

namespace {

uint64_t number_in(const Json& json, const char* key) {
  if (!json.is_object() || !json.contains(key) || !json[key].is_string()) return 0;
  return std::strtoull(json[key].get<std::string>().c_str(), nullptr, 16);
}

}  // namespace

std::string Fingerprints::path_of(const std::string& run_folder) {
  return path_in(run_folder, "fingerprints.json");
}

bool Fingerprints::exist_in(const std::string& run_folder) {
  return std::filesystem::exists(path_of(run_folder));
}

Fingerprints Fingerprints::read(const std::string& run_folder) {
  if (!exist_in(run_folder)) return {};
  const std::optional<Json> json = parse_json_if_valid(read_file(path_of(run_folder)));
  if (!json) return {};
  const bool divided = json->is_object() && json->value("divided", Json()) == Json(true);
  return {number_in(*json, "vocabulary"), number_in(*json, "text"), number_in(*json, "given"), divided};
}

void Fingerprints::write(const std::string& run_folder) const {
  const auto hex = [](uint64_t number) { return fmt::format("{:016x}", number); };
  const Json json{{"vocabulary", hex(vocabulary)}, {"text", hex(text)}, {"given", hex(given)}, {"divided", divided}};
  write_file_atomically(path_of(run_folder), json_text(json, 2) + "\n");
}

uint64_t files_fingerprint(const std::vector<std::string>& paths) {
  uint64_t hash = 0;
  for (const std::string& path : paths) hash = combine_keys(hash, hash_file(path));
  return hash == 0 ? 1 : hash;
}

uint64_t vocabulary_fingerprint(const TokenizerOptions& options, const TextFiles& files) {
  ModelConfig config;
  config.tokenizer = options;
  ConfigSchema schema;
  config.declare(schema);
  uint64_t hash = 0;
  for (const auto& [key, value] : schema.values())
    if (begins_with(key, "tokenizer.")) hash = hash_text(value, hash);
  for (const std::string& language : options.languages) hash = hash_text(language, hash);
  for (const auto* side : {&files.source, &files.target})
    for (const TextFile& file : *side)
      hash = combine_keys(hash, hash_file(file.path), file.column ? *file.column + 1 : size_t{0});
  return hash == 0 ? 1 : hash;
}

}  // namespace v0
}  // namespace transmute
