// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/writers.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/common/zip_writer.h>
#include <transmute/formats/foreign/outgoing_model.h>
#include <transmute/text/language_codes.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace formats {

namespace {

constexpr const char* kVersion = "1.0";

void require_package(const LoadedModel& model, const ModelFacts& facts) {
  if (facts.source_language.empty() || facts.target_language.empty())
    throw std::invalid_argument(
        "a package of Argos Translate names its languages: add --source-language and "
        "--target-language");
  if (!model.tokenizer.source().language_names().empty())
    throw std::invalid_argument("Argos Translate cannot run this model: it would not tell it the target language");
  require_sentencepiece(model.tokenizer.source(), "Argos Translate");
}

std::string metadata(const ModelFacts& facts) {
  const Json json{{"package_version", kVersion},        {"argos_version", kVersion},
                  {"from_code", facts.source_language}, {"from_name", language_name(facts.source_language)},
                  {"to_code", facts.target_language},   {"to_name", language_name(facts.target_language)}};
  return json.dump(2, ' ', true) + "\n";  // ASCII: Argos Translate reads it in the encoding of the locale
}

}  // namespace

void save_argos_package(const LoadedModel& model, Precision precision, const ModelFacts& facts,
                        const std::string& path) {
  namespace fs = std::filesystem;
  require_package(model, facts);
  const std::string top = fmt::format("translate-{}_{}-1_0/", facts.source_language, facts.target_language);
  const std::string file_name = fs::path(path).filename();
  const std::string usage =
      fmt::format("```sh\nargospm install {}\nargos-translate --from {} --to {} \"A sentence.\"\n```", file_name,
                  facts.source_language, facts.target_language);
  use_folder_beside(path, [&](const std::string& folder) {
    save_ctranslate2_folder(model, precision, folder);
    ZipWriter archive(path);
    archive.add(top + "metadata.json", metadata(facts));
    archive.add(top + "README.md", model_card(model, precision, facts, usage));
    archive.add(top + "sentencepiece.model", model.tokenizer.source().serialized());
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    for (const std::string& name : names)
      if (!ends_in(name, ".spm"))  // text is divided by sentencepiece.model
        archive.add(fmt::format("{}model/{}", top, name),
                    read_file(path_in(folder, name), std::numeric_limits<uint32_t>::max()));
    archive.commit();
  });
}

}  // namespace formats
}  // namespace v0
}  // namespace transmute
