// SPDX-License-Identifier: Apache-2.0
#include <transmute/downloads/hub.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/ascii_case.h>
#include <transmute/common/files.h>
#include <transmute/common/json.h>
#include <transmute/common/progress.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

constexpr const char* kHub = "https://huggingface.co";
constexpr uint64_t kMaxDescriptionBytes = 16 << 20;
constexpr uint64_t kMaxFileSize = uint64_t{1} << 50;  // sums of it do not overflow

bool is_one_of(const std::string& name, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Everything beside the weights that the readers of formats/ open, or that tells people about the model.
bool is_settings(const std::string& name) {
  return is_one_of(name, {"config.json",
                          "config.yaml",
                          "checksums.txt",
                          "text_profile.yaml",
                          "generation_config.json",
                          "tokenizer.model",
                          "tokenizer.source.model",
                          "tokenizer.target.model",
                          "tokenizer.json",
                          "tokenizer_config.json",
                          "special_tokens_map.json",
                          "added_tokens.json",
                          "vocab.json",
                          "target_vocab.json",
                          "shared_vocabulary.json",
                          "shared_vocabulary.txt",
                          "source_vocabulary.json",
                          "source_vocabulary.txt",
                          "target_vocabulary.json",
                          "target_vocabulary.txt",
                          "src_vocab.txt",
                          "trg_vocab.txt",
                          "README.md"}) ||
         ends_in(name, ".spm") || ends_in(name, ".model") || ends_in(name, ".yml") ||
         (begins_with(name, "lex.") && ends_in(name, ".bin")) ||
         (begins_with(name, "dict.") && ends_in(name, ".txt")) || begins_with(name, "LICENSE");
}

// The files of weights of one format: `whole`, or an index with its shards.
std::vector<std::string> weights_of(const std::vector<std::string>& names, const std::string& whole) {
  if (is_one_of(whole, names)) return {whole};
  const std::string index = whole + ".index.json";
  if (!is_one_of(index, names)) return {};
  const size_t dot = whole.rfind('.');
  std::vector<std::string> files{index};
  for (const std::string& name : names)  // model-00001-of-00002.safetensors
    if (begins_with(name, whole.substr(0, dot) + "-") && ends_in(name, whole.substr(dot))) files.push_back(name);
  return files;
}

std::vector<std::string> weights_among(const std::vector<std::string>& names) {
  for (const char* whole : {"weights.safetensors", "model.safetensors", "pytorch_model.bin", "model.bin", "model.npz"})
    if (std::vector<std::string> files = weights_of(names, whole); !files.empty()) return files;
  std::vector<std::string> files;
  for (const std::string& name : names)  // of Marian and Firefox
    if (ends_in(name, ".npz") || (begins_with(name, "model.") && ends_in(name, ".bin"))) files.push_back(name);
  if (!files.empty()) return files;
  // Folders of fairseq, OpenNMT-py and JoeyNMT may have several checkpoints.
  for (const char* best : {"checkpoint_best.pt", "best.ckpt", "model.pt"})
    if (is_one_of(best, names)) return {best};
  for (const std::string& name : names)
    if (ends_in(name, ".pt") || ends_in(name, ".ckpt")) files.push_back(name);
  if (files.size() > 1) files.clear();
  return files;
}

// Below its folder and not hidden, in characters that need no escaping in an address.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.size() <= 200 && name.front() != '.' &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return is_ascii_alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

// A member that is a text, or several.
std::vector<std::string> texts_at(const Json& json, const char* key) {
  std::vector<std::string> texts;
  if (const auto found = json.find(key); found != json.end())
    for (const Json& text : found->is_array() ? *found : Json::array({*found}))
      if (text.is_string()) texts.push_back(without_control(text));
  return texts;
}

std::string text_at(const Json& json, const char* key) {
  const std::vector<std::string> texts = texts_at(json, key);
  return texts.empty() ? "" : texts.front();
}

void take_card(const Json& model, ModelOrigin& origin) {
  const auto card = model.find("cardData");
  if (card == model.end() || !card->is_object()) return;
  origin.languages = texts_at(*card, "language");
  const std::string name = text_at(*card, "license_name");
  for (const std::string& license : texts_at(*card, "license"))
    origin.license += (origin.license.empty() ? "" : ", ") + (license == "other" && !name.empty() ? name : license);
}

// A member of "siblings"; nothing if it is in a subfolder or has a name that no file of ours has.
std::optional<RemoteFile> file_of(const Json& sibling) {
  if (!sibling.is_object()) return std::nullopt;
  RemoteFile file;
  file.name = text_at(sibling, "rfilename");
  if (!is_plain_name(file.name)) return std::nullopt;
  const auto take_size = [&](const Json& from) {
    if (const auto size = from.find("size"); size != from.end() && size->is_number_unsigned() && *size <= kMaxFileSize)
      file.size = *size;
  };
  take_size(sibling);
  file.digest = Digest{Digest::Kind::git_blob, text_at(sibling, "blobId")};
  if (const auto lfs = sibling.find("lfs"); lfs != sibling.end() && lfs->is_object()) {
    take_size(*lfs);
    file.digest = Digest{Digest::Kind::sha256, text_at(*lfs, "sha256")};
  }
  return file;
}

}  // namespace

std::string hub_endpoint() {
  const char* const variable = std::getenv("HF_ENDPOINT");
  std::string endpoint = variable && *variable ? variable : kHub;
  while (ends_in(endpoint, "/")) endpoint.pop_back();
  if (!begins_with(endpoint, "https://") && !begins_with(endpoint, "http://"))
    throw std::invalid_argument(fmt::format("HF_ENDPOINT={}: is no address; write it as https://HOST", endpoint));
  return endpoint;
}

bool is_hub_name(const std::string& name) {
  const size_t slash = name.find('/');
  return slash != std::string::npos && is_plain_name(name.substr(0, slash)) && is_plain_name(name.substr(slash + 1));
}

std::vector<std::string> needed_files(const std::vector<std::string>& names) {
  std::vector<std::string> files = weights_among(names);
  if (files.empty()) return files;
  for (const std::string& name : names)
    if (is_settings(name)) files.push_back(name);
  return files;
}

HubModel describe_hub_model(Downloader& downloader, const std::string& endpoint, const std::string& name,
                            const std::string& revision) {
  const std::string url =
      fmt::format("{}/api/models/{}{}?blobs=true", endpoint, name, revision.empty() ? "" : "/revision/" + revision);
  const auto refuse = [&](const std::string& what) { throw std::runtime_error(url + ": " + what); };
  const std::optional<Json> json = parse_json_if_valid(downloader.text(url, kMaxDescriptionBytes));
  if (!json || !json->is_object()) refuse("the response is no description of a model; is HF_ENDPOINT a hub?");
  HubModel model;
  model.origin.source = "hf:" + name;
  model.origin.revision = text_at(*json, "sha");
  if (!is_plain_name(model.origin.revision)) refuse("the response names no commit");
  take_card(*json, model.origin);
  std::vector<RemoteFile> all;
  std::vector<std::string> names;
  if (const auto siblings = json->find("siblings"); siblings != json->end() && siblings->is_array())
    for (const Json& sibling : *siblings)
      if (std::optional<RemoteFile> file = file_of(sibling); file && !is_one_of(file->name, names)) {
        names.push_back(file->name);
        all.push_back(std::move(*file));
      }
  const std::vector<std::string> needed = needed_files(names);
  if (needed.empty())
    refuse("there is no model that transmute reads: none of model.safetensors, pytorch_model.bin, model.bin and .npz");
  for (RemoteFile& file : all) {
    if (!is_one_of(file.name, needed)) continue;
    if (!file.size || !is_digest(file.digest->kind, file.digest->hex))
      refuse(fmt::format("the response has no size or no checksum of {}", file.name));
    file.url = fmt::format("{}/{}/resolve/{}/{}", endpoint, name, model.origin.revision, file.name);
    model.files.push_back(std::move(file));
  }
  return model;
}

}  // namespace v0
}  // namespace transmute
