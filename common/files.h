// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// `folder/name`; an absolute name stays as it is.
std::string path_in(const std::string& folder, const std::string& name);

/// True if a name has this ending and something before it.
bool ends_in(const std::string& name, const std::string& ending);

/// True if a name has this beginning, or is it.
bool begins_with(const std::string& name, std::string_view beginning);

/// The beginning of a name, of at most `most` bytes, that ends between characters.
std::string shortened_name(const std::string& name, size_t most);

/// Limit for files that are read as a whole, larger than any of them: a device or a wrong file must not fill the
/// memory.
constexpr uint64_t kMaxFileBytes = uint64_t{1} << 30;

/// Limit for vocabularies, SentencePiece models and the settings beside them, larger than any of them.
constexpr uint64_t kMaxVocabularyBytes = 256 << 20;

/// The whole content of a file, byte for byte. It may be a pipe, whose end is waited for.
/// @throws std::runtime_error naming the file that cannot be read, or has more than `most` bytes.
std::string read_file(const std::string& path, uint64_t most = kMaxFileBytes);

/// The same for a file from others, such as a model's: refuses a pipe, on which a program would wait forever, and a
/// device.
std::string read_regular_file(const std::string& path, uint64_t most);

/// A regular file of which many threads may read parts at once.
class InputFile {
 public:
  /// @throws std::runtime_error naming the file, also if it is a folder, a pipe, a device or a pointer of Git LFS.
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  int descriptor() const { return fd_; }
  uint64_t size() const { return size_; }
  /// Returns how many bytes there were: fewer than `count` where the file ends.
  size_t read(uint64_t offset, void* to, size_t count) const;

 private:
  InputFile(const std::string& path, int fd) : path_(path), fd_(fd) {}

  std::string path_;
  int fd_;
  uint64_t size_ = 0;
};

/// Replaces `path` by `content`: written beside its final name, synced, then renamed, so that a crash at any
/// instant leaves the old content or the new one. Links are followed, an existing file keeps its mode and owner, and a
/// device or pipe is written to as it is.
/// @throws std::runtime_error naming the file and the cause, a full disk among them; `path` is then
/// untouched.
void write_file_atomically(const std::string& path, std::string_view content);

/// A file that appears under its name only when it is complete: `write` what it holds, then `commit`. Without a commit
/// nothing remains. If the process is killed, the next one that writes the file removes the rest. Errors as for
/// write_file_atomically.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* bytes, size_t count);
  void commit();
  /// The temporary file with the content so far, which a process that must end at once has to remove; empty for a
  /// device or pipe.
  const std::string& partial_path() const { return partial_; }

 private:
  void discard();

  std::string path_;
  std::string target_;   // the file that its links lead to
  std::string partial_;  // empty for a special file
  int fd_ = -1;
};

/// Calls `use` with a new folder beside `path`, which is removed when `use` returns or throws. If the process is
/// killed, the next one that writes `path` removes the folder.
/// @throws std::runtime_error if it cannot be made
void use_folder_beside(const std::string& path, const std::function<void(const std::string&)>& use);

/// Makes the folder `path` with the files that `fill` writes into the folder that it is given; all or nothing, as for
/// AtomicFile. An older folder of that name is replaced: callers check that it is theirs.
/// @throws std::runtime_error naming the folder and the cause.
void write_folder_atomically(const std::string& path, const std::function<void(const std::string&)>& fill);

/// Removes a folder with its content. If the file system can rename the folder, a crash at any instant leaves it whole
/// or as something that remove_rests_of removes.
void remove_folder_atomically(const std::string& path);

/// Removes what a crash left of an unfinished AtomicFile or write_folder_atomically of `path`. Nobody may be at work on
/// it.
void remove_rests_of(const std::string& path);

/// Lets this process have `wanted` files open at once, or as many as the system allows; the initial limit is often
/// 1,024.
/// @returns how many it may have open now; `wanted` where the system does not say
size_t allow_open_files(size_t wanted);

/// Makes a folder and its parents where they are missing.
/// @throws std::runtime_error if it cannot be made or written to.
void ensure_writable_folder(const std::string& path);

}  // namespace v0
}  // namespace transmute
