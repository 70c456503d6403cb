// SPDX-License-Identifier: Apache-2.0
#include <transmute/downloads/model_download.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/common/process_lock.h>
#include <transmute/downloads/archive.h>
#include <transmute/downloads/default_models.h>
#include <transmute/downloads/hub.h>
#include <transmute/formats/foreign/load_model.h>

#include <algorithm>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace fs = std::filesystem;

namespace {

// A pointer of Git LFS has fewer bytes.
constexpr uint64_t kMaxPointerBytes = 1024;

// Larger than any model; sums of sizes below it do not overflow.
constexpr uint64_t kMaxModelBytes = uint64_t{1} << 50;

// Replaces the first `from` in a text; false if there is none.
bool replace(std::string& text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  if (at == std::string::npos) return false;
  text.replace(at, from.size(), to);
  return true;
}

// The last part of an address's path.
std::string file_name_of(const std::string& url) {
  const std::string path = url.substr(0, url.find_first_of("?#"));
  return path.substr(path.rfind('/') + 1);
}

void plan_hub_model(std::string name, const std::string& source, ModelPlan& plan) {
  if (const size_t at = name.find('@'); at != std::string::npos) {
    plan.revision = name.substr(at + 1);
    name.resize(at);
    if (!is_hub_name("x/" + plan.revision))
      throw std::invalid_argument(
          fmt::format("{}: \"{}\" is no name of a branch, tag or commit", source, plan.revision));
  }
  if (!is_hub_name(name))
    throw std::invalid_argument(fmt::format("{}: write the name of a model on the hub as hf:OWNER/NAME", source));
  plan.hub_name = name;
  plan.source = "hf:" + name;
  if (plan.name.empty()) plan.name = name.substr(name.find('/') + 1);
}

void plan_archive(const std::string& url, ModelPlan& plan) {
  const std::string stem = archive_stem(file_name_of(url));
  if (stem.empty())
    throw std::invalid_argument(
        fmt::format("{}: is no archive of a model by its name, which would end in .argosmodel, .zip or .tar.gz", url));
  if (begins_with(url, "http:") && plan.sha256.empty())
    throw std::invalid_argument(
        fmt::format("{}: over http: others may change what arrives; use https:, or give --sha256", url));
  plan.source = url;
  if (plan.name.empty()) plan.name = stem;
}

// The address of the file that a pointer of Git LFS stands for, on sites whose addresses tell.
RemoteFile behind_pointer(const RemoteFile& pointer, const std::string& path) {
  const std::string text = read_file(path, kMaxPointerBytes);
  const auto value = [&](const std::string& key) {
    const size_t at = text.find("\n" + key);
    if (at == std::string::npos) return std::string();
    const size_t begin = at + 1 + key.size();
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  RemoteFile file{pointer.url, pointer.name, std::nullopt, Digest{Digest::Kind::sha256, value("oid sha256:")}};
  if (!is_digest(file.digest->kind, file.digest->hex) ||
      !(replace(file.url, "://raw.githubusercontent.com/", "://media.githubusercontent.com/media/") ||
        replace(file.url, "/raw/", "/resolve/")))
    throw std::runtime_error(
        fmt::format("{}: is a pointer of Git LFS to a file elsewhere; give that file's address", pointer.url));
  return file;
}

bool is_pointer(const std::string& path) {
  return fs::file_size(path) <= kMaxPointerBytes &&
         begins_with(read_file(path, kMaxPointerBytes), "version https://git-lfs.github.com/spec/");
}

void check_space(const std::string& arrivals, const ModelDescription& description) {
  std::error_code error;
  const uint64_t available = fs::space(arrivals, error).available + bytes_in(arrivals);  // with what has arrived
  if (!error && description.bytes && available < *description.bytes)
    throw std::runtime_error(fmt::format("{}: the model has {}, but there is space for {} only", arrivals,
                                         size_text(*description.bytes), size_text(available)));
}

// Downloads an archive to `path`, also from behind a pointer of Git LFS.
void fetch_archive(Downloader& downloader, RemoteFile file, const std::string& path) {
  if (!file.digest) {
    downloader.fetch(file, path);
    if (!is_pointer(path)) return;
    file = behind_pointer(file, path);
    fs::remove(path);
  }
  downloader.fetch(file, path);
}

// Removes what an earlier download of another revision, or of another model of this name, left.
void remove_others(const std::string& folder, const std::vector<RemoteFile>& files) {
  std::vector<fs::path> others;
  for (const auto& entry : fs::directory_iterator(folder))
    if (std::none_of(files.begin(), files.end(),
                     [&](const RemoteFile& file) { return file.name == entry.path().filename(); }))
      others.push_back(entry.path());
  for (const fs::path& other : others) fs::remove_all(other);
}

// Removes what has arrived whole and could not be used the next time either.
[[noreturn]] void remove_unusable(const ModelPlan& plan, const std::string& arrivals, const std::string& reason) {
  fs::remove_all(arrivals);
  throw std::runtime_error(fmt::format("{} was downloaded, but is no model that transmute can use, and was removed: {}",
                                       plan.source, reason));
}

}  // namespace

ModelPlan plan_of(const ModelRequest& request, const std::string& endpoint) {
  const std::string& source = request.source;
  ModelPlan plan;
  plan.name = request.name;
  plan.sha256 = request.sha256;
  if (!plan.sha256.empty() && !is_digest(Digest::Kind::sha256, plan.sha256))
    throw std::invalid_argument("--sha256: is no SHA-256, which has 64 digits of 0 to 9 and a to f");
  if (begins_with(source, "hf:")) {
    plan_hub_model(source.substr(3), source, plan);
  } else if (begins_with(source, endpoint + "/") && is_hub_name(source.substr(endpoint.size() + 1))) {
    plan_hub_model(source.substr(endpoint.size() + 1), source, plan);  // the model's page
  } else if (begins_with(source, "https://") || begins_with(source, "http://")) {
    plan_archive(source, plan);
  } else if (const std::string of_pair = default_source(source); !of_pair.empty()) {
    if (plan.name.empty()) plan.name = source;
    plan_hub_model(of_pair.substr(3), source, plan);
  } else {
    throw std::invalid_argument(fmt::format(
        "there is no model for \"{}\" in the list of get --list; name one as hf:OWNER/NAME, or give the address of an "
        "archive",
        source));
  }
  if (!plan.hub_name.empty() && !plan.sha256.empty())
    throw std::invalid_argument("--sha256 is for archives; the hub names the checksums of its models' files");
  if (!is_model_name(plan.name))
    throw std::invalid_argument(fmt::format(
        "\"{}\" is no name for a stored model; give one of letters, digits, '.', '_' and '-' with --name", plan.name));
  return plan;
}

ModelDescription describe_model(Downloader& downloader, const ModelPlan& plan, const std::string& endpoint) {
  ModelDescription description;
  if (!plan.hub_name.empty()) {
    HubModel model = describe_hub_model(downloader, endpoint, plan.hub_name, plan.revision);
    description.bytes = 0;
    for (const RemoteFile& file : model.files) {
      *description.bytes += *file.size;
      if (*description.bytes > kMaxModelBytes)
        throw std::runtime_error(fmt::format("{}: would have more than {}", plan.source, size_text(kMaxModelBytes)));
    }
    description.origin = std::move(model.origin);
    description.files = std::move(model.files);
    return description;
  }
  RemoteFile archive{plan.source, file_name_of(plan.source), downloader.size(plan.source), std::nullopt};
  description.bytes = archive.size;
  archive.size.reset();  // a pointer's, maybe
  if (!plan.sha256.empty()) archive.digest = Digest{Digest::Kind::sha256, plan.sha256};
  description.origin.source = plan.source;
  description.files.push_back(std::move(archive));
  return description;
}

std::string download_model(Downloader& downloader, const ModelPlan& plan, const ModelDescription& description) {
  const std::string store = required_model_store();
  ensure_writable_folder(store);
  const ProcessLock lock(path_in(store, ".lock"), "a download into " + store);
  // Hidden, so that nobody takes it for a model. After an interruption, what arrived stays here.
  const std::string arrivals = path_in(store, "." + plan.name + ".arriving");
  const std::string model = path_in(arrivals, "model");
  fs::create_directories(arrivals);
  check_space(arrivals, description);
  ModelOrigin origin = description.origin;
  if (plan.hub_name.empty()) {
    fs::remove_all(model);
    fs::create_directories(model);
    const RemoteFile& file = description.files.front();
    const std::string archive = path_in(arrivals, file.name);
    fetch_archive(downloader, file, archive);
    origin.revision = digest_of_file(archive, Digest::Kind::sha256);
    try {
      unpack_model(archive, model);
    } catch (const BadArchive& error) {
      remove_unusable(plan, arrivals, error.what());
    }
  } else {
    fs::create_directories(model);
    for (const RemoteFile& file : description.files) downloader.fetch(file, path_in(model, file.name));
    remove_others(model, description.files);
  }
  write_model_origin(model, origin);
  try {
    load_model(model);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    remove_unusable(plan, arrivals, error.what());
  }
  std::string folder = path_in(store, plan.name);
  fs::rename(model, folder);
  fs::remove_all(arrivals);
  return folder;
}

}  // namespace v0
}  // namespace transmute
