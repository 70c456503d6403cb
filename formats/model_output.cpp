// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/model_output.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/formats/model_checksums.h>
#include <transmute/formats/model_folder.h>
#include <transmute/formats/shortlist_file.h>
#include <transmute/tokenizer/tokenizer_files.h>

#include <filesystem>
#include <set>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

void check_may_replace_model(const std::string& path, const std::string& flag) {
  namespace fs = std::filesystem;
  if (!fs::exists(path)) return;
  if (!fs::is_directory(path))
    throw std::invalid_argument(fmt::format("{}: exists and is not a folder; name another {}", path, flag));
  if (fs::is_empty(path)) return;
  const auto holds = [&](const char* file) { return fs::is_regular_file(fs::path(path) / file); };
  if (!holds(kConfigFile) || (!holds(kWeightsFile) && !holds(kNeutralWeightsFile)))
    throw std::invalid_argument(fmt::format("{}: exists and is not a model folder; name another {}", path, flag));
  const std::set<std::string> ours{kConfigFile,          kWeightsFile,         kNeutralWeightsFile,
                                   kChecksumsFile,       kTextProfileFile,     kShortlistFile,
                                   kSharedTokenizerFile, kSourceTokenizerFile, kTargetTokenizerFile};
  for (const auto& entry : fs::directory_iterator(path))
    if (const std::string name = entry.path().filename().string(); ours.count(name) == 0)
      throw std::invalid_argument(
          fmt::format("{}: has '{}', which is not part of a model and would be deleted; move it, or name another {}",
                      path, name, flag));
}

}  // namespace v0
}  // namespace transmute
