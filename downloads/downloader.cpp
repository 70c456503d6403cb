// SPDX-License-Identifier: Apache-2.0
#include <transmute/downloads/downloader.h>

#include <fcntl.h>
#include <openssl/evp.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <transmute/common/ascii_case.h>
#include <transmute/common/files.h>
#include <transmute/common/progress.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace fs = std::filesystem;

namespace {

constexpr int kMaxFailures = 5;
constexpr double kMaxWait = 300;  // seconds

void wait(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

bool is_success(int status) {
  return status >= 200 && status < 300;
}

// Statuses of servers that are busy or being restarted.
bool may_pass(int status) {
  return status == 408 || status == 429 || (status >= 500 && status != 501 && status != 505);
}

[[noreturn]] void fail(const std::string& url, const std::string& what) {
  throw std::runtime_error(fmt::format("{}: {}", without_control(url), without_control(what)));
}

[[noreturn]] void fail(const std::string& url, const Response& response) {
  if (!response.error.empty()) fail(url, response.error);
  std::string remedy;
  if (response.status == 401 || response.status == 403)
    remedy =
        ": this needs permission; where the site asks you to accept a license, do so there, and put a token of "
        "yours into the variable HF_TOKEN";
  else if (response.status == 404)
    remedy = ": there is no such model or file, or it is private";
  else if (response.status == 429)
    remedy = response.retry_after > 0
                 ? fmt::format(": too many requests; the server asks to wait {:.0f} seconds", response.retry_after)
                 : ": too many requests; try again later";
  fail(url, fmt::format("the server answered {}{}", response.status, remedy));
}

// Waits before the next attempt, or gives up.
void wait_or_fail(const std::string& url, const Response& response, int failures, bool was_reached) {
  const bool may_recover = response.error.empty() ? may_pass(response.status) : response.may_recover || was_reached;
  if (!may_recover || failures >= kMaxFailures || response.retry_after > kMaxWait) fail(url, response);
  wait(response.retry_after > 0 ? response.retry_after : 0.5 * (1 << failures));
}

// If-Range tells by it whether a file is still the same. Weak tags do not say so.
std::string validator_of(const Response& response) {
  std::string tag = response.header("etag");
  if (tag.size() > 2 && tag.front() == '"') return tag;
  return response.header("last-modified");
}

// "bytes 100-199/200": the first number.
std::optional<uint64_t> begin_of_range(const std::string& content_range) {
  unsigned long long begin = 0;
  if (std::sscanf(content_range.c_str(), "bytes %18llu-", &begin) != 1) return std::nullopt;
  return begin;
}

}  // namespace

bool is_digest(Digest::Kind kind, const std::string& hex) {
  return hex.size() == (kind == Digest::Kind::sha256 ? 64 : 40) &&
         std::all_of(hex.begin(), hex.end(), [](char c) { return is_ascii_digit(c) || (c >= 'a' && c <= 'f'); });
}

std::string digest_of_file(const std::string& path, Digest::Kind kind) {
  std::ifstream file(path, std::ios::binary);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  const auto require = [](bool succeeds) {
    if (!succeeds) throw std::runtime_error("OpenSSL cannot compute SHA-256 or SHA-1");
  };
  require(context != nullptr);
  require(EVP_DigestInit_ex(context.get(), kind == Digest::Kind::sha256 ? EVP_sha256() : EVP_sha1(), nullptr) == 1);
  if (kind == Digest::Kind::git_blob) {
    const std::string header = fmt::format("blob {}", std::filesystem::file_size(path));
    require(EVP_DigestUpdate(context.get(), header.c_str(), header.size() + 1) == 1);  // with its zero byte
  }
  std::vector<char> block(1 << 20);
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0)
    require(EVP_DigestUpdate(context.get(), block.data(), static_cast<size_t>(file.gcount())) == 1);
  if (!file.eof()) throw std::runtime_error(path + ": cannot be read");
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  require(EVP_DigestFinal_ex(context.get(), digest, &length) == 1);
  std::string hex;
  for (unsigned int i = 0; i < length; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

// A file of which a part has arrived, with what identifies the file on the server beside it.
class Downloader::PartialFile {
 public:
  explicit PartialFile(const std::string& path) : path_(path + ".part"), tag_path_(path + ".tag") {
    fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd_ < 0) fail_to_write();
    struct stat status = {};
    if (::fstat(fd_, &status) != 0) fail_to_write();
    size_ = static_cast<uint64_t>(status.st_size);
    std::error_code ignored;
    if (fs::exists(tag_path_, ignored)) tag_ = read_regular_file(tag_path_, 4096);
  }
  ~PartialFile() {
    ::close(fd_);
    if (size_ > 0) return;
    std::error_code ignored;  // there is nothing to continue
    fs::remove(path_, ignored);
    fs::remove(tag_path_, ignored);
  }
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  const std::string& tag() const { return tag_; }

  /// Empties the file before its tag changes, so that a crash leaves no bytes under another file's tag.
  void restart(const std::string& tag) {
    if (::ftruncate(fd_, 0) != 0) fail_to_write();
    size_ = 0;
    tag_ = tag;
    write_file_atomically(tag_path_, tag);
  }
  void append(const char* bytes, size_t count) {
    while (count > 0) {
      const ssize_t written = ::pwrite(fd_, bytes, count, static_cast<off_t>(size_));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) fail_to_write();
      bytes += written;
      count -= static_cast<size_t>(written);
      size_ += static_cast<uint64_t>(written);
    }
  }
  void rename_to(const std::string& path) {
    if (::fsync(fd_) != 0) fail_to_write();
    fs::rename(path_, path);
    fs::remove(tag_path_);
  }

 private:
  [[noreturn]] void fail_to_write() const {
    throw std::runtime_error(fmt::format("{}: cannot be written: {}{}", path_, std::strerror(errno),
                                         errno == ENOSPC ? "; free some space and run again" : ""));
  }

  std::string path_, tag_path_, tag_;
  int fd_ = -1;
  uint64_t size_ = 0;
};

Downloader::Downloader(std::string token, std::string token_origin, Progress progress)
    : token_(std::move(token)), token_origin_(std::move(token_origin)), progress_(std::move(progress)) {
  if (token_.find_first_of("\r\n") != std::string::npos)
    throw std::invalid_argument("the token has a line end in it, which no token has");
}

Response Downloader::perform(const std::string& url, bool wants_body, std::vector<std::string> headers,
                             const Connection::TakeBytes& take) {
  // libcurl sends this header to no other server that a redirect leads to.
  if (!token_.empty() && url.compare(0, token_origin_.size() + 1, token_origin_ + "/") == 0)
    headers.push_back("Authorization: Bearer " + token_);
  return connection_.perform({url, std::move(headers), wants_body}, take);
}

std::string Downloader::text(const std::string& url, uint64_t most) {
  for (int failures = 1;; ++failures) {
    std::string body;
    const Response response = perform(url, true, {}, [&](const Response& begun, const char* bytes, size_t count) {
      if (!is_success(begun.status)) return;
      if (count > most - body.size()) fail(url, fmt::format("the response has more than {} bytes", most));
      body.append(bytes, count);
    });
    if (response.error.empty() && is_success(response.status)) return body;
    wait_or_fail(url, response, failures, false);
  }
}

std::optional<uint64_t> Downloader::size(const std::string& url) {
  const Response response = perform(url, false, {}, [](const Response&, const char*, size_t) {});
  if (!response.error.empty() || response.status == 404) fail(url, response);
  return is_success(response.status) ? response.content_length() : std::nullopt;  // some servers refuse HEAD
}

// The server's bytes do not continue what has arrived.
struct OtherFile {};

// One request for the rest of a file.
struct Downloader::Attempt {
  enum class Outcome { whole, other_file, failed } outcome;
  Response response{};
};

Downloader::Attempt Downloader::fetch_rest(const RemoteFile& file, PartialFile& part) {
  using Outcome = Attempt::Outcome;
  if (!file.digest && part.tag().empty() && part.size() > 0) part.restart("");
  if (file.size && part.size() > *file.size) part.restart("");
  if (file.size && part.size() == *file.size) return {Outcome::whole};
  std::vector<std::string> headers;
  if (part.size() > 0) {
    headers.push_back(fmt::format("Range: bytes={}-", part.size()));
    if (!part.tag().empty()) headers.push_back("If-Range: " + part.tag());
  }
  std::optional<uint64_t> all = file.size;
  bool is_first = true;
  const auto begin = [&](const Response& response) {
    is_first = false;
    const std::string tag = validator_of(response);
    if (response.status == 200) part.restart(tag);
    if (tag != part.tag() ||
        (response.status == 206 && begin_of_range(response.header("content-range")) != part.size()))
      throw OtherFile{};
    if (const auto length = response.content_length()) all = part.size() + *length;
    if (file.size && all != file.size)
      fail(file.url, fmt::format("has {} bytes, but should have {}", *all, *file.size));
  };
  Response response;
  try {
    response = perform(file.url, true, headers, [&](const Response& begun, const char* bytes, size_t count) {
      if (begun.status != 200 && begun.status != 206) return;
      if (is_first) begin(begun);
      if (file.size && count > *file.size - part.size()) fail(file.url, "is longer than it should be");
      part.append(bytes, count);
      if (progress_) progress_(part.size(), all);
    });
    if (is_first && response.status == 200) begin(response);  // an empty file
    if (response.status == 416) throw OtherFile{};            // the file has become shorter
  } catch (const OtherFile&) {                                // from the beginning again
    part.restart("");
    return {Outcome::other_file};
  }
  const bool is_whole = response.error.empty() && (response.status == 200 || response.status == 206);
  return {is_whole ? Outcome::whole : Outcome::failed, response};
}

void Downloader::fetch(const RemoteFile& file, const std::string& path) {
  const auto is_right = [&](const std::string& at) {
    return digest_of_file(at, file.digest->kind) == file.digest->hex;
  };
  std::error_code ignored;
  if (fs::exists(path, ignored)) {
    if (file.digest && is_right(path)) return;
    fs::remove(path);
  }
  PartialFile part(path);
  bool was_continued = part.size() > 0, has_progress = false;
  for (int failures = 0;;) {
    const uint64_t before = part.size();
    const Attempt attempt = fetch_rest(file, part);
    if (attempt.outcome != Attempt::Outcome::whole) {
      const bool is_further = part.size() > before;
      has_progress = has_progress || is_further;
      failures = is_further ? 1 : failures + 1;
      was_continued = true;
      if (attempt.outcome == Attempt::Outcome::failed) wait_or_fail(file.url, attempt.response, failures, has_progress);
      if (failures > kMaxFailures) fail(file.url, "the server sends other parts of the file than it is asked for");
      continue;
    }
    if (file.size && part.size() != *file.size)
      fail(file.url, fmt::format("has {} bytes, but should have {}", part.size(), *file.size));
    if (!file.digest || is_right(part.path())) break;
    part.restart("");
    if (!was_continued)
      fail(file.url, "is not the file that it should be: its checksum differs. Try again later, or from another place");
    was_continued = false;  // its parts may be of different files
  }
  part.rename_to(path);
}

}  // namespace v0
}  // namespace transmute
