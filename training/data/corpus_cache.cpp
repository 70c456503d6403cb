// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/data/corpus_cache.h>

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <transmute/common/files.h>
#include <transmute/common/hash.h>
#include <transmute/common/json.h>
#include <transmute/common/progress.h>
#include <transmute/common/random.h>
#include <transmute/common/stopwatch.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace fs = std::filesystem;

namespace {

constexpr const char* kCacheLockFile = "cache.lock";  // "lock" is the name of a run folder's lock
constexpr const char* kContentsFile = "contents.json";
// Part of each corpus' key. It changes when the same text would be tokenized or stored in another way.
constexpr uint64_t kCorpusVersion = 2;

// Keeps other processes out while it lives. The lock of a process that dies is released.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder) {
    const std::string path = path_in(folder, kCacheLockFile);
    fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    int failed = fd_ < 0 ? -1 : ::flock(fd_, LOCK_EX | LOCK_NB);
    if (fd_ >= 0 && failed != 0 && errno == EWOULDBLOCK) {
      spdlog::info("waiting for another process that prepares text in {}", folder);
      do {
        failed = ::flock(fd_, LOCK_EX);
      } while (failed != 0 && errno == EINTR);
    }
    if (failed == 0) return;
    const std::string reason = std::strerror(errno);
    if (fd_ >= 0) ::close(fd_);
    throw std::runtime_error(fmt::format(
        "{}: cannot be locked: {}; set data.cache_folder to a folder whose file system has locks", path, reason));
  }
  ~FolderLock() { ::close(fd_); }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_ = -1;
};

// The properties by which a changed file is recognized.
Json state_of(const struct stat& file) {
  return {{"bytes", file.st_size},
          {"seconds", file.st_mtim.tv_sec},
          {"nanoseconds", file.st_mtim.tv_nsec},
          {"inode", file.st_ino}};
}

// True for the folders that open() makes of a text, finished or not: text-0123456789abcdef,
// text-0123456789abcdef.partial-01234567.
bool names_corpus(const std::string& name) {
  static const std::regex kEnd("-[0-9a-f]{16}(\\.partial-[0-9a-f]{8})?$");
  return std::regex_search(name, kEnd);
}

uint64_t key_of(const Tokenizer& tokenizer, const LengthLimits& limits) {
  return combine_keys(kCorpusVersion, hash_text(tokenizer.source().serialized()),
                      hash_text(tokenizer.target().serialized()), limits.source_tokens, limits.target_tokens,
                      hash_bytes(&limits.ratio, sizeof(limits.ratio)));
}

const std::string& first_file_of(const AlignedFiles& files) {
  return (files.source.empty() ? files.target : files.source).path;
}

int token_bytes_of(const Tokenizer& tokenizer, const LengthLimits& limits) {
  constexpr int64_t kLimit = 1 << 16;
  const bool small = tokenizer.source().size() <= kLimit && tokenizer.target().size() <= kLimit &&
                     limits.source_tokens < kLimit && limits.target_tokens < kLimit;
  return small ? 2 : 4;
}

}  // namespace

// Hashes of the text files, stored in contents.json. Lost or damaged entries are computed again. Requires the folder's
// lock.
class CorpusCache::Contents {
 public:
  explicit Contents(std::string path) : path_(std::move(path)) {}

  // Merges the entries that other processes have written.
  void read() {
    if (!note_state()) return;
    std::optional<Json> contents = parse_json_if_valid(read_file(path_));
    if (!contents || !contents->is_object()) return;
    for (auto& [name, known] : contents->get_ref<Json::object_t&>()) files_[name] = std::move(known);
  }

  // Reads a file only if its size or time has changed since it was hashed.
  uint64_t hash_of(const std::string& text) {
    struct stat status {};
    if (::stat(text.c_str(), &status) != 0)
      throw std::runtime_error(fmt::format("{}: cannot be opened: {}", text, std::strerror(errno)));
    if (S_ISDIR(status.st_mode)) throw std::runtime_error(fmt::format("{}: is a folder; a text file is needed", text));
    const Json now = state_of(status);
    Json& known = files_[fs::absolute(text).lexically_normal().string()];
    if (known.is_object() && known.value("file", Json()) == now && known.contains("hash") &&
        known["hash"].is_number_unsigned())
      return known["hash"];
    const uint64_t hash = hash_file(text);
    known = {{"file", now}, {"hash", hash}};
    has_news_ = true;
    return hash;
  }

  void write() {
    if (!has_news_) return;
    // Adding member by member would compare each with all before it.
    const Json contents = Json::object_t(files_.begin(), files_.end());
    write_file_atomically(path_, json_text(contents, 2) + "\n");
    has_news_ = false;
    note_state();
  }

 private:
  // True if contents.json exists and has changed since the last look.
  bool note_state() {
    struct stat status {};
    if (::stat(path_.c_str(), &status) != 0) return false;
    const Json before = std::exchange(state_, state_of(status));
    return state_ != before;
  }

  std::string path_;
  Json state_;
  std::map<std::string, Json> files_;  // files by their names
  bool has_news_ = false;
};

CorpusCache::CorpusCache(std::string folder)
    : folder_(std::move(folder)), contents_(std::make_unique<Contents>(path_in(folder_, kContentsFile))) {}

CorpusCache::~CorpusCache() = default;

void CorpusCache::hash_contents(const std::vector<AlignedFiles>& corpora) {
  ensure_writable_folder(folder_);
  const FolderLock lock(folder_);
  contents_->read();
  for (const AlignedFiles& files : corpora)
    for (const std::string& path : {files.source.path, files.target.path, files.alignment})
      if (!path.empty()) contents_->hash_of(path);
  contents_->write();
}

std::shared_ptr<const TokenShards> CorpusCache::open(const AlignedFiles& files, const Tokenizer& tokenizer,
                                                     const LengthLimits& limits, WorkerCrew& workers) {
  ensure_writable_folder(folder_);
  const FolderLock lock(folder_);
  contents_->read();
  const auto content = [&](const TextFile& file) -> uint64_t {
    if (file.empty()) return 0;
    const uint64_t whole = contents_->hash_of(file.path);
    return file.column ? combine_keys(whole, *file.column) : whole;
  };
  const uint64_t key = combine_keys(key_of(tokenizer, limits), content(files.source), content(files.target),
                                    content(files.alignment), hash_text(files.language));
  contents_->write();
  constexpr size_t kMostNameBytes = 200;  // limits the bytes of the file's name, so that there is room for the key
  const std::string name = shortened_name(fs::path(first_file_of(files)).filename().string(), kMostNameBytes);
  const std::string corpus = path_in(folder_, fmt::format("{}-{:016x}", name, key));
  opened_.insert(corpus);
  if (fs::exists(corpus)) {
    try {
      return std::make_shared<TokenShards>(corpus, key);
    } catch (const DamagedShards& error) {
      spdlog::warn("{}: the text is tokenized again", error.what());
      if (!fs::is_directory(corpus)) fs::remove(corpus);  // make() would not replace it
    }
  }
  make(corpus, files, tokenizer, limits, workers, key);
  return std::make_shared<TokenShards>(corpus, key);
}

void CorpusCache::make(const std::string& folder, const AlignedFiles& files, const Tokenizer& tokenizer,
                       const LengthLimits& limits, WorkerCrew& workers, uint64_t key) const {
  const Stopwatch clock;
  const bool plain = files.source.empty();
  const char* unit = plain ? "lines" : "pairs";
  spdlog::info("tokenizing " + (plain || files.source.path == files.target.path
                                    ? files.target.path
                                    : files.source.path + " and " + files.target.path));
  write_folder_atomically(folder, [&](const std::string& partial) {
    ShardOptions options;
    options.key = key;
    options.has_links = !files.alignment.empty();
    // A pair can have more links than tokens.
    options.token_bytes = options.has_links ? 4 : token_bytes_of(tokenizer, limits);
    ShardWriter writer(partial, options);
    const LeftOut left_out = tokenize_files(files, tokenizer, limits, workers, [&](const TokenizedPair& pair) {
      writer.add(pair);
      if (writer.pairs() % options.pairs_per_shard == 0)
        spdlog::info("{} {} are tokenized", format_count(static_cast<int64_t>(writer.pairs())), unit);
    });
    writer.finish(left_out);
    const double seconds = clock.seconds();
    const auto lines = static_cast<double>(writer.pairs()) + static_cast<double>(left_out.total());
    spdlog::info("tokenized {0} {1} in {2:.1f} s ({3} {1}/s)", format_count(static_cast<int64_t>(lines)), unit, seconds,
                 format_count(static_cast<int64_t>(lines / seconds)));
  });
}

void CorpusCache::remove_others() {
  const FolderLock lock(folder_);
  for (const auto& entry : fs::directory_iterator(folder_)) {
    if (!names_corpus(entry.path().filename().string()) || opened_.count(entry.path().string()) > 0) continue;
    spdlog::info("removing {}, which was made from another text or with another tokenizer", entry.path().string());
    fs::remove_all(entry.path());
  }
}

}  // namespace v0
}  // namespace transmute
