// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/byte_source.h>

#include <fcntl.h>
#include <spawn.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <transmute/common/packers.h>
#include <transmute/common/zip_member.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

constexpr unsigned kZlibBufferBytes = 1 << 18;

// Divides "corpus.zip/a.en" at the file. The second part is empty if the path is none of a file within another one.
std::pair<std::string, std::string> archive_and_member(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
    if (std::filesystem::is_regular_file(path.substr(0, slash))) return {path.substr(0, slash), path.substr(slash + 1)};
  return {path, ""};
}

// The first bytes of a regular file; of a pipe none, because they would be lost.
std::string beginning_of(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return "";
  std::array<char, kPackerMarkBytes> bytes{};
  const ssize_t count = pread(fd, bytes.data(), bytes.size(), 0);
  return {bytes.data(), static_cast<size_t>(std::max<ssize_t>(count, 0))};
}

// Why zlib's code says that a file cannot be read. Its messages name the file by its descriptor.
std::string fault_of(int code, const char* message) {
  switch (code) {
    case Z_ERRNO:
      return std::strerror(errno);
    case Z_BUF_ERROR:
      return "the gzipped text is cut off";
    case Z_DATA_ERROR:
      return "the gzipped text is damaged";
    default:
      return message;
  }
}

}  // namespace

// A program that unpacks a file into a pipe.
struct ByteSource::Unpacker {
  Unpacker(const std::string& path, std::string name, int from) : program(std::move(name)) {
    std::array<int, 2> pipe{};
    if (pipe2(pipe.data(), O_CLOEXEC) != 0)
      throw std::runtime_error(fmt::format("{}: no pipe can be made: {}", path, std::strerror(errno)));
    output = pipe[0];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, from, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    std::string unpack = "-dc";
    const std::array<char*, 3> words{program.data(), unpack.data(), nullptr};
    const int failure = posix_spawnp(&process, program.c_str(), &actions, nullptr, words.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe[1]);
    if (failure == 0) return;
    close(output);
    throw std::runtime_error(
        fmt::format("{0}: {1} has packed it, and the program {1} cannot be run ({2}); install it, or unpack the file",
                    path, program, std::strerror(failure)));
  }
  ~Unpacker() { wait(); }
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  // True if it has ended well. The pipe is at its end, or closed.
  bool wait() {
    int status = 0;
    while (process > 0 && waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    process = 0;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

  std::string program;
  int output = -1;
  pid_t process = 0;
};

struct ByteSource::File {
  gzFile handle = nullptr;
  ~File() {
    if (handle != nullptr) gzclose(handle);
  }
};

ByteSource::ByteSource(const std::string& path) : path_(path), file_(std::make_unique<File>()) {
  if (std::filesystem::is_directory(path))
    throw std::runtime_error(fmt::format("{}: is a folder; a text file is needed", path));
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno == ENOTDIR) {
    const auto [archive, member] = archive_and_member(path);
    member_ = std::make_unique<ZipMember>(archive, member);
    return;
  }
  if (fd < 0) throw std::runtime_error(fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  const std::string beginning = beginning_of(fd), packer = packer_of(beginning);
  if (!packer.empty()) {
    try {
      if (packer == "7-Zip") check_not_packed(path, beginning);
      if (packer == "zip")
        member_ = std::make_unique<ZipMember>(path, "");
      else
        unpacker_ = std::make_unique<Unpacker>(path, packer, fd);
    } catch (...) {
      close(fd);
      throw;
    }
    close(fd);
    if (member_) return;
    fd = unpacker_->output;
  }
  file_->handle = gzdopen(fd, "rb");
  if (file_->handle == nullptr) {
    close(fd);
    throw std::runtime_error(fmt::format("{}: cannot be opened: there is not enough memory", path));
  }
  gzbuffer(file_->handle, kZlibBufferBytes);
}

ByteSource::~ByteSource() = default;

size_t ByteSource::read_member(void* to, size_t count) {
  try {
    return member_->read(to, count);
  } catch (const std::runtime_error& damage) {
    error_ = damage.what();
    return 0;
  }
}

size_t ByteSource::read(void* to, size_t count) {
  if (!error_.empty()) return 0;
  if (member_) return read_member(to, count);
  const int read = gzread(file_->handle, to, static_cast<unsigned>(count));
  int code = Z_OK;
  const char* message = gzerror(file_->handle, &code);
  // A gzip stream that ends early reads as a short block with Z_BUF_ERROR.
  if (read < 0 || (code != Z_OK && code != Z_STREAM_END)) error_ = fault_of(code, message);
  const auto bytes = static_cast<size_t>(std::max(read, 0));
  if (!std::exchange(is_begun_, true)) check_not_packed(path_, {static_cast<const char*>(to), bytes});
  if (bytes == 0 && error_.empty() && unpacker_ && unpacker_->process > 0 && !unpacker_->wait())
    error_ = fmt::format("{} cannot unpack it; is the file damaged?", unpacker_->program);
  return bytes;
}

}  // namespace v0
}  // namespace transmute
