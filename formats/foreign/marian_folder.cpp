// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/marian_files.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <transmute/common/files.h>
#include <transmute/common/parsed_number.h>
#include <transmute/common/zip_archive.h>
#include <transmute/formats/foreign/network_builder.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace formats {

namespace {

namespace fs = std::filesystem;

std::string folder_of(const std::string& path) {
  return fs::path(path).parent_path().string();
}

// A file as a decoder.yml names it: by its path from there, or from where Marian was trained.
std::string named_file(const std::string& folder, const std::string& name) {
  const std::string beside = path_in(folder, fs::path(name).filename().string());
  return fs::exists(path_in(folder, name)) || !fs::exists(beside) ? path_in(folder, name) : beside;
}

// The files that a decoder.yml lists; none if it does not exist.
std::vector<std::string> listed_files(const std::string& decoder, std::vector<std::string> MarianDecoder::*list) {
  std::vector<std::string> files;
  if (!fs::exists(decoder)) return files;
  const MarianDecoder content = read_marian_decoder(decoder);
  for (const std::string& name : content.*list) files.push_back(named_file(folder_of(decoder), name));
  return files;
}

// Files by the beginning and the end of their names, in order.
std::vector<std::string> files_like(const std::string& folder, const std::string& begin, const std::string& end) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder)) {
    const std::string name = entry.path().filename().string();
    if (name.size() > begin.size() && name.compare(0, begin.size(), begin) == 0 && ends_in(name, end))
      files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Bergamot's settings: config.intgemm8bitalpha.yml and the like.
std::vector<std::string> bergamot_configs(const std::string& folder) {
  return files_like(folder, "config.", ".yml");
}

// The files that may have a model's settings for translating: the file that training writes, that of a published
// folder, and Bergamot's that lists the model.
std::vector<std::string> decoder_files(const std::string& model) {
  const std::string folder = folder_of(model);
  std::vector<std::string> files{model + ".decoder.yml", path_in(folder, "decoder.yml")};
  for (const std::string& config : bergamot_configs(folder))
    for (const std::string& listed : listed_files(config, &MarianDecoder::models))
      if (fs::path(listed).filename() == fs::path(model).filename()) files.push_back(config);
  return files;
}

// "ende" of model.ende.intgemm.alphas.bin; empty if a name has no middle.
std::string middle_name(const std::string& model) {
  const std::string name = fs::path(model).filename().string();
  const size_t begin = name.find('.'), end = name.find('.', begin == std::string::npos ? begin : begin + 1);
  return end == std::string::npos || name.find('.', end + 1) == std::string::npos
             ? ""
             : name.substr(begin + 1, end - begin - 1);
}

std::vector<std::string> find_vocabularies(const std::string& model, const std::vector<std::string>& decoders) {
  const std::string folder = folder_of(model), middle = middle_name(model);
  std::vector<std::string> files;
  for (const std::string& decoder : decoders)
    if (files.empty()) files = listed_files(decoder, &MarianDecoder::vocabs);
  const auto take = [&](const std::vector<std::string>& names) {
    std::vector<std::string> paths;
    for (const std::string& name : names) paths.push_back(path_in(folder, name));
    const bool are_there =
        std::all_of(paths.begin(), paths.end(), [](const std::string& path) { return fs::exists(path); });
    if (files.empty() && are_there) files = paths;
  };
  if (!middle.empty()) {
    take({"vocab." + middle + ".spm"});
    take({"srcvocab." + middle + ".spm", "trgvocab." + middle + ".spm"});
  }
  take({"vocab.spm"});
  take({"vocab.yml"});
  for (const char* end : {".vocab.yml", ".spm"})
    if (const auto found = files_like(folder, "", end); files.empty() && found.size() == 1) files = found;
  if (files.empty() || files.size() > 2)
    throw std::runtime_error(fmt::format(
        "{}: its vocabularies are not known; a decoder.yml beside it should list them under vocabs", model));
  return files;
}

// Text shortlists, which a decoder.yml may list too, are for --shortlist.
std::string find_shortlist(const std::string& model, const std::vector<std::string>& decoders) {
  for (const std::string& decoder : decoders)
    if (const auto listed = listed_files(decoder, &MarianDecoder::shortlist); !listed.empty())
      return ends_in(listed.front(), ".bin") && fs::exists(listed.front()) ? listed.front() : "";
  const std::string middle = middle_name(model);
  std::vector<std::string> found = files_like(folder_of(model), "lex.", ".bin");
  const auto is_of_another = [&](const std::string& path) {
    return fs::path(path).filename().string().find("." + middle + ".") == std::string::npos;
  };
  if (!middle.empty()) found.erase(std::remove_if(found.begin(), found.end(), is_of_another), found.end());
  return found.size() == 1 ? found.front() : "";
}

// A number of a decoder.yml, or true or false; NaN for anything else.
double number_of(const std::string& text) {
  if (text == "true" || text == "false") return text == "true" ? 1 : 0;
  return parsed_number<double>(text).value_or(std::numeric_limits<double>::quiet_NaN());
}

SearchOptions read_search(const std::vector<std::string>& decoders, bool is_intgemm) {
  SearchOptions search;
  const auto path = std::find_if(decoders.begin(), decoders.end(), [](const auto& file) { return fs::exists(file); });
  if (path == decoders.end()) {
    if (is_intgemm) search.beam_size = 1;
    return search;
  }
  const MarianDecoder decoder = read_marian_decoder(*path);
  const std::string &beam_size = decoder.beam_size, &normalize = decoder.normalize;
  if (!beam_size.empty())
    search.beam_size = within(SearchBounds::kBeamSize, number_of(beam_size), *path + ": beam-size", beam_size);
  if (normalize.empty()) return search;
  search.length_penalty = LengthPenalty::power;
  search.length_alpha = within(SearchBounds::kLengthAlpha, number_of(normalize), *path + ": normalize", normalize);
  return search;
}

}  // namespace

bool is_marian_file(const std::string& path) {
  return is_marian_binary(path) ||
         (fs::path(path).extension() == ".npz" && ZipArchive(path).has("special:model.yml.npy"));
}

std::string find_marian_file(const std::string& folder) {
  std::vector<std::string> decoders = bergamot_configs(folder);
  decoders.insert(decoders.begin(), path_in(folder, "decoder.yml"));
  for (const std::string& decoder : decoders) {
    const std::vector<std::string> listed = listed_files(decoder, &MarianDecoder::models);
    if (listed.size() > 1)
      throw std::runtime_error(fmt::format("{}: lists {} models, an ensemble; name each of their files: --model {}",
                                           decoder, listed.size(), fmt::join(listed, " --model ")));
    if (!listed.empty() && fs::exists(listed.front())) return listed.front();
  }
  const auto without = [](std::vector<std::string> files, const auto& is_other) {
    files.erase(std::remove_if(files.begin(), files.end(), is_other), files.end());
    return files;
  };
  std::vector<std::string> found =
      without(files_like(folder, "", ".npz"), [](const std::string& path) { return !is_marian_file(path); });
  if (found.empty())
    found = without(files_like(folder, "", ".bin"),
                    [](const std::string& path) { return !fs::is_regular_file(path) || !is_marian_binary(path); });
  for (const char* end : {".bin.gz", ".bin.zst"})
    if (const auto packed = files_like(folder, "model.", end); found.empty() && !packed.empty())
      throw std::runtime_error(packed.front() + ": is compressed; unpack it and the files beside it");
  if (found.size() < 2) return found.empty() ? "" : found.front();
  if (const std::string latest = path_in(folder, "model.npz"); fs::exists(latest)) return latest;
  throw std::runtime_error(fmt::format("{}: has {} models of Marian; give the path of one of them: {}", folder,
                                       found.size(), fmt::join(found, ", ")));
}

MarianNeighbors find_marian_neighbors(const std::string& model, bool is_intgemm) {
  const std::vector<std::string> decoders = decoder_files(model);
  const std::vector<std::string> vocabularies = find_vocabularies(model, decoders);
  return {vocabularies.front(), vocabularies.back(), find_shortlist(model, decoders),
          read_search(decoders, is_intgemm)};
}

}  // namespace formats
}  // namespace v0
}  // namespace transmute
