// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

namespace transmute {
inline namespace v0 {

/// A translated file that waits to be fetched.
struct StoredFile {
  std::string name;        ///< name for the client that fetches it
  std::string media_type;  ///< media type of the content
  std::string content;     ///< its bytes
};

/// Translated files, by ids that nobody can guess. Each is kept for some minutes; if they take too much memory, the
/// oldest are removed first. May be used by many threads.
class FileStore {
 public:
  /// Keeps a file and returns its id.
  std::string add(StoredFile file);
  /// Null if the file no longer exists.
  std::shared_ptr<const StoredFile> find(const std::string& id);

 private:
  struct Entry {
    std::string id;
    std::chrono::steady_clock::time_point since;
    std::shared_ptr<const StoredFile> file;
  };
  void drop_old(size_t room);

  std::mutex mutex_;
  std::deque<Entry> entries_;
  size_t bytes_ = 0;
};

}  // namespace v0
}  // namespace transmute
