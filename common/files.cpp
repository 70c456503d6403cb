// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/files.h>

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <transmute/common/parsed_number.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const std::string& path, const char* what) {
  const int error = errno;
  const char* remedy = error == ENOSPC   ? "; free some space and run again"
                       : error == EMFILE ? "; raise the limit of open files: ulimit -n"
                                         : "";
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

constexpr const char* kIsFolder = ": is a folder; a file is needed";

[[noreturn]] void refuse_length(const std::string& path, uint64_t most) {
  throw std::runtime_error(fmt::format("{}: has more than {} bytes; is it the right file?", path, most));
}

std::string parent_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

constexpr size_t kRandomDigits = 8;

// The beginning of the names of temporary files of `path`. Where its own name is too long for that, with as much of it
// as fits.
std::string beginning_beside(const std::string& path, const std::string& purpose) {
  const std::string end = "." + purpose + "-";
  return shortened_name(fs::path(path).filename().string(), NAME_MAX - end.size() - kRandomDigits) + end;
}

// A name beside `path` that nobody can guess, and so neither plant nor own.
std::string beside(const std::string& path, const std::string& purpose) {
  static thread_local std::random_device random;
  return path_in(fs::path(path).parent_path().string(),
                 fmt::format("{}{:0{}x}", beginning_beside(path, purpose), random(), kRandomDigits));
}

// The unfinished files and folders of `path`: those that somebody is at work on, and those that a crash left.
std::vector<std::string> partials_of(const std::string& path) {
  const std::string begin = beginning_beside(path, "partial");
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator entry(parent_of(path), error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.size() == begin.size() + kRandomDigits && name.compare(0, begin.size(), begin) == 0 &&
        name.find_first_not_of("0123456789abcdef", begin.size()) == std::string::npos)
      found.push_back(entry->path().string());
  }
  return found;
}

// Takes the lock that an unfinished file or folder has while somebody is at work on it; the system frees it when the
// process ends. False if somebody else has it.
bool take_lock(int fd) {
  return ::flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

// Removes what dead processes left of `path`. Whatever hinders it is no failure: where the file system has no locks,
// the rests stay.
void remove_rests_of_the_dead(const std::string& path) {
  for (const std::string& partial : partials_of(path)) {
    struct stat status = {};
    if (::lstat(partial.c_str(), &status) != 0 || status.st_uid != ::geteuid()) continue;
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) continue;
    const int access = S_ISDIR(status.st_mode) ? O_RDONLY : O_RDWR;  // NFS locks no file that is open for reading only
    const Descriptor rest{::open(partial.c_str(), access | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
    std::error_code ignored;
    if (rest.fd >= 0 && ::flock(rest.fd, LOCK_EX | LOCK_NB) == 0) fs::remove_all(partial, ignored);
  }
}

// The path to which the links of `path` lead, whether or not it exists.
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

// A new file that is neither a link nor somebody's, locked while it is open. Its mode is what the umask leaves.
int make_file(std::string& name, const std::string& target) {
  while (true) {
    name = beside(target, "partial");
    const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST) continue;
    // Before it was locked, somebody may have taken it for a rest.
    if (fd < 0 || (take_lock(fd) && ::access(name.c_str(), F_OK) == 0)) return fd;
    ::close(fd);
  }
}

// The same for a folder, which is locked until `lock` is closed.
std::string make_folder(const std::string& target, Descriptor& lock) {
  if (const std::string parent = parent_of(target); !fs::exists(parent)) ensure_writable_folder(parent);
  while (true) {
    std::string name = beside(target, "partial");
    if (::mkdir(name.c_str(), 0777) != 0) {
      if (errno == EEXIST) continue;
      fail(target, "the folder cannot be made");
    }
    lock.fd = ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (lock.fd < 0 || (take_lock(lock.fd) && ::access(name.c_str(), F_OK) == 0)) return name;
    ::close(std::exchange(lock.fd, -1));
  }
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

bool ends_in(const std::string& name, const std::string& ending) {
  return name.size() > ending.size() && name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
}

bool begins_with(const std::string& name, std::string_view beginning) {
  return name.compare(0, beginning.size(), beginning) == 0;
}

std::string shortened_name(const std::string& name, size_t most) {
  if (name.size() <= most) return name;
  while (most > 0 && (static_cast<unsigned char>(name[most]) & 0xC0) == 0x80) --most;
  return name.substr(0, most);
}

std::string read_file(const std::string& path, uint64_t most) {
  std::error_code ignored;  // opening it says what is wrong
  if (fs::is_directory(path, ignored)) throw std::runtime_error(path + kIsFolder);
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail(path, "cannot be opened");
  // This uses read(), which tells an error from the end; << into a string does not.
  std::string content;
  std::vector<char> block(1 << 16);
  while (stream.read(block.data(), static_cast<std::streamsize>(block.size())) || stream.gcount() > 0)
    if (content.append(block.data(), static_cast<size_t>(stream.gcount())).size() > most) refuse_length(path, most);
  if (stream.bad()) fail(path, "cannot be read");
  return content;
}

std::string read_regular_file(const std::string& path, uint64_t most) {
  const InputFile file(path);
  if (file.size() > most) refuse_length(path, most);
  std::string content(file.size(), '\0');
  content.resize(file.read(0, content.data(), content.size()));
  return content;
}

// Opening a pipe would wait for somebody to write to it, and opening a terminal could make it the process's own.
InputFile::InputFile(const std::string& path)
    : InputFile(path, ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
  struct stat status = {};
  if (fd_ < 0 || ::fstat(fd_, &status) != 0) fail(path, "cannot be opened");
  if (S_ISDIR(status.st_mode)) throw std::runtime_error(path + kIsFolder);
  if (!S_ISREG(status.st_mode)) throw std::runtime_error(path + ": is a pipe or a device; a file is needed");
  size_ = static_cast<uint64_t>(status.st_size);
  constexpr std::string_view kPointerBegin = "version https://git-lfs";
  constexpr uint64_t kMostPointerBytes = 1024;
  char begin[kPointerBegin.size()];
  if (size_ <= kMostPointerBytes && std::string_view(begin, read(0, begin, sizeof begin)) == kPointerBegin)
    throw std::runtime_error(path + ": a pointer of Git LFS in place of the file; run `git lfs pull` in its folder");
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

namespace {

// The open file that /dev/stderr, /dev/fd/3 or a link to one of these stands for, from 0; -1: none.
int descriptor_named(const std::string& path) {
  constexpr int kMostLinks = 8;
  std::error_code error;
  const fs::path descriptors = fs::canonical("/proc/self/fd", error);
  fs::path named = fs::absolute(path, error);
  for (int links = 0; !error && links < kMostLinks; ++links) {
    if (fs::weakly_canonical(named.parent_path(), error) == descriptors)
      return parsed_number<int>(named.filename().string()).value_or(-1);
    if (!fs::is_symlink(fs::symlink_status(named, error))) return -1;
    named = named.parent_path() / fs::read_symlink(named, error);
  }
  return -1;
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : path_(path) {
  // The content of a file that is open already stays, and so does what others write there.
  if (const int open = descriptor_named(path); open >= 0) {
    const int flags = ::fcntl(open, F_GETFL);
    if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY) errno = EBADF;
    if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY) fd_ = ::fcntl(open, F_DUPFD_CLOEXEC, 0);
    if (fd_ < 0) fail(path_, "cannot be written");
    return;
  }
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
  remove_rests_of_the_dead(target_);
  fd_ = make_file(partial_, target_);
  if (fd_ < 0)
    fail(path_, errno == ENOENT ? "cannot be written into a folder that does not exist" : "cannot be written");
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
  for (const std::string& rest : partials_of(path)) fs::remove_all(rest);
}

void use_folder_beside(const std::string& path, const std::function<void(const std::string&)>& use) {
  remove_rests_of_the_dead(path);
  Descriptor lock{-1};
  const std::string partial = make_folder(path, lock);
  std::error_code ignored;
  try {
    use(partial);
  } catch (...) {
    fs::remove_all(partial, ignored);
    throw;
  }
  fs::remove_all(partial, ignored);
}

void write_folder_atomically(const std::string& name, const std::function<void(const std::string&)>& fill) {
  // "model/" is the folder "model": what is beside it gets no slash in its name.
  const std::string path = follow_links(fs::path(name).has_filename() ? name : fs::path(name).parent_path().string());
  if (fs::exists(path) && !fs::is_directory(path)) throw std::runtime_error(path + ": exists and is not a folder");
  use_folder_beside(path, [&](const std::string& partial) {
    fill(partial);
    if (struct stat old = {}; ::stat(path.c_str(), &old) == 0) ::chmod(partial.c_str(), old.st_mode & 07777);
    for (const auto& entry : fs::recursive_directory_iterator(partial))
      entry.is_directory() ? sync_folder(entry.path().string()) : sync_path(entry.path().string());
    sync_folder(partial);
    replace_folder(partial, path);  // `partial` becomes the old one, where there was one
    sync_folder(parent_of(path));
  });
}

void remove_folder_atomically(const std::string& path) {
  const std::string partial = beside(path, "partial");
  // A folder of a container's image, for one, can be removed but not renamed.
  fs::remove_all(::rename(path.c_str(), partial.c_str()) == 0 ? partial : path);
}

size_t allow_open_files(size_t wanted) {
  struct rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  const rlim_t before = limit.rlim_cur;
  if (before >= wanted) return before;
  limit.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
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
