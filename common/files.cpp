// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/files.h>

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const std::string& path, const char* what) {
  const int error = errno;
  const char* remedy = error == ENOSPC ? "; free some space and run again" : "";
  throw std::runtime_error(fmt::format("{}: {}: {}{}", path, what, std::strerror(error), remedy));
}

// Closes the descriptor on every way out.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

void sync_path(const std::string& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0 || ::fsync(file.fd) != 0) fail(path, "cannot be synced to disk");
}

// So that a crash does not undo a rename. The file is already there: a folder that may not be read, or a file system
// that does not sync folders, is no failure.
void sync_folder(const std::string& path) {
  const Descriptor folder{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (folder.fd < 0 && errno == EACCES) return;
  if (folder.fd >= 0 && (::fsync(folder.fd) == 0 || errno == EINVAL || errno == EBADF || errno == EOPNOTSUPP)) return;
  fail(path, "cannot be synced to disk");
}

std::string parent_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

// A name beside `path` that nobody can guess, and so neither plant nor own.
std::string beside(const std::string& path, const char* purpose) {
  static thread_local std::random_device random;
  return fmt::format("{}.{}-{:08x}", path, purpose, random());
}

// Where the links of `path` lead, whether or not something is there.
std::string follow_links(const std::string& path) {
  constexpr int kMostLinks = 40;  // as many as Linux follows
  fs::path target = path;
  for (int links = 0; fs::is_symlink(fs::symlink_status(target)); ++links) {
    if (links == kMostLinks) {
      errno = ELOOP;
      fail(path, "cannot be written");
    }
    target = target.parent_path() / fs::read_symlink(target);
  }
  return target.string();
}

// A new file that is neither a link nor somebody's. Its mode is what the umask leaves.
int make_file(std::string& name, const std::string& target) {
  int fd = -1;
  do {
    name = beside(target, "partial");
    fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  } while (fd < 0 && errno == EEXIST);
  return fd;
}

std::string make_folder(const std::string& target) {
  if (const std::string parent = parent_of(target); !fs::exists(parent)) ensure_writable_folder(parent);
  std::string name;
  int result = -1;
  do {
    name = beside(target, "partial");
    result = ::mkdir(name.c_str(), 0777);
  } while (result != 0 && errno == EEXIST);
  if (result != 0) fail(target, "the folder cannot be made");
  return name;
}

// Gives `fresh` the name `path` in one instant. An older folder of that name becomes `fresh`: rename() alone does not
// replace a folder that has content, so the two exchange their names. Where the file system cannot (NFS), the older one
// steps aside first; a crash in between leaves it beside as "….replaced-…".
void replace_folder(const std::string& fresh, const std::string& path) {
  const auto rename = [&](const std::string& from, const std::string& to) {
    if (::rename(from.c_str(), to.c_str()) != 0) fail(path, "cannot be replaced");
  };
  if (!fs::exists(path)) return rename(fresh, path);
  if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0) return;
  if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) fail(path, "cannot be replaced");
  const std::string aside = beside(path, "replaced");
  rename(path, aside);
  if (::rename(fresh.c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::rename(aside.c_str(), path.c_str());
    errno = error;
    fail(path, "cannot be replaced");
  }
  rename(aside, fresh);
}

}  // namespace

std::string path_in(const std::string& folder, const std::string& name) {
  return (fs::path(folder) / name).string();
}

std::string read_file(const std::string& path, uint64_t most) {
  if (fs::is_directory(path)) throw std::runtime_error(path + ": is a folder; a file is needed");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail(path, "cannot be opened");
  // By read(), which tells an error from the end; << into a string does not.
  std::string content;
  std::vector<char> block(1 << 16);
  while (stream.read(block.data(), static_cast<std::streamsize>(block.size())) || stream.gcount() > 0)
    if (content.append(block.data(), static_cast<size_t>(stream.gcount())).size() > most)
      throw std::runtime_error(fmt::format("{}: has more than {} bytes; is it the right file?", path, most));
  if (stream.bad()) fail(path, "cannot be read");
  return content;
}

InputFile::InputFile(const std::string& path) : InputFile(path, ::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  struct stat status = {};
  if (fd_ < 0 || ::fstat(fd_, &status) != 0) fail(path, "cannot be opened");
  size_ = static_cast<uint64_t>(status.st_size);
}

InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

size_t InputFile::read(uint64_t offset, void* to, size_t count) const {
  size_t done = 0;
  while (done < count) {
    const ssize_t found = ::pread(fd_, static_cast<char*>(to) + done, count - done, static_cast<off_t>(offset + done));
    if (found < 0 && errno == EINTR) continue;
    if (found < 0) fail(path_, "cannot be read");
    if (found == 0) break;
    done += static_cast<size_t>(found);
  }
  return done;
}

AtomicFile::AtomicFile(const std::string& path) : path_(path) {
  struct stat old = {};
  const bool exists = ::stat(path.c_str(), &old) == 0;
  // A device or a pipe has no content to keep; a folder is an error. Some links lead to what has no name, as the
  // shell's /dev/fd/63 does.
  if (exists && !S_ISREG(old.st_mode)) {
    fd_ = ::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
    if (fd_ < 0) fail(path_, "cannot be written");
    return;
  }
  target_ = follow_links(path);
  if (exists && ::access(target_.c_str(), W_OK) != 0) fail(path_, "cannot be written");
  fd_ = make_file(partial_, target_);
  if (fd_ < 0) fail(path_, "cannot be written");
  if (!exists) return;
  // Only root may give a file away. A group that stays another must not get what was for the old one.
  const bool is_kept = ::fchown(fd_, old.st_uid, old.st_gid) == 0 || ::fchown(fd_, -1, old.st_gid) == 0;
  if (::fchmod(fd_, old.st_mode & (is_kept ? 0777 : 0707)) == 0) return;
  discard();
  fail(path_, "cannot be written");
}

AtomicFile::~AtomicFile() {
  discard();
}

void AtomicFile::discard() {
  if (fd_ < 0) return;
  const int error = errno;
  ::close(fd_);
  fd_ = -1;
  if (!partial_.empty()) ::unlink(partial_.c_str());
  errno = error;
}

void AtomicFile::write(const void* bytes, size_t count) {
  const char* next = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t written = ::write(fd_, next, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path_, "cannot be written");
    next += written;
    count -= static_cast<size_t>(written);
  }
}

void AtomicFile::commit() {
  if (partial_.empty()) return discard();  // a special file has it already
  if (::fsync(fd_) != 0) fail(path_, "cannot be synced to disk");
  if (::rename(partial_.c_str(), target_.c_str()) != 0) fail(path_, "cannot be replaced");
  ::close(fd_);
  fd_ = -1;
  sync_folder(parent_of(target_));
}

void write_file_atomically(const std::string& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content.data(), content.size());
  file.commit();
}

void remove_rests_of(const std::string& path) {
  const std::string parent = parent_of(path), begin = fs::path(path).filename().string() + ".partial-";
  if (!fs::is_directory(parent)) return;
  std::vector<fs::path> rests;
  for (const auto& entry : fs::directory_iterator(parent)) {
    const std::string name = entry.path().filename().string();
    if (name.size() != begin.size() + 8 || name.compare(0, begin.size(), begin) != 0) continue;
    if (name.find_first_not_of("0123456789abcdef", begin.size()) == std::string::npos) rests.push_back(entry.path());
  }
  for (const auto& rest : rests) fs::remove_all(rest);
}

void write_folder_atomically(const std::string& name, const std::function<void(const std::string&)>& fill) {
  // "model/" is the folder "model": what stands beside it gets no slash in its name.
  const std::string path = follow_links(fs::path(name).has_filename() ? name : fs::path(name).parent_path().string());
  if (fs::exists(path) && !fs::is_directory(path)) throw std::runtime_error(path + ": exists and is not a folder");
  const std::string partial = make_folder(path);
  std::error_code ignored;
  try {
    fill(partial);
    if (struct stat old = {}; ::stat(path.c_str(), &old) == 0) ::chmod(partial.c_str(), old.st_mode & 07777);
    for (const auto& entry : fs::recursive_directory_iterator(partial))
      entry.is_directory() ? sync_folder(entry.path().string()) : sync_path(entry.path().string());
    sync_folder(partial);
    replace_folder(partial, path);
    sync_folder(parent_of(path));
    fs::remove_all(partial, ignored);  // the old one, where there was one
  } catch (...) {
    fs::remove_all(partial, ignored);
    throw;
  }
}

void ensure_writable_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw std::runtime_error(fmt::format("{}: the folder cannot be made: {}", path, error.message()));
  if (!fs::is_directory(path)) throw std::runtime_error(path + ": exists and is not a folder");
  if (::access(path.c_str(), W_OK | X_OK) != 0) fail(path, "the folder cannot be written to");
}

}  // namespace v0
}  // namespace transmute
