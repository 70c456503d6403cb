// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Who may use a server. A file has a line for each key: the SHA-256 of the key in hexadecimal, then a name for the
/// log, as `printf %s KEY | sha256sum` begins it. Empty lines and lines that begin with # are passed over. Keys must be
/// random, of 16 characters or more: a fast hash does not protect those that can be guessed.
class ApiKeys {
 public:
  /// Without a file, every request is allowed.
  ApiKeys() = default;
  /// @throws std::runtime_error naming the file and the line.
  explicit ApiKeys(const std::string& path);
  /// True if no key is known, so that none can be right.
  bool empty() const { return hashes_.empty(); }

  bool are_needed() const { return are_needed_; }
  /// The name of a key; nothing if it is unknown. Takes the same time for every key.
  std::optional<std::string> name_of(const std::string& key) const;

 private:
  bool are_needed_ = false;
  std::vector<std::pair<std::string, std::string>> hashes_;  // hashes of 32 bytes, and names
};

/// The keys that a server currently accepts.
class CurrentApiKeys {
 public:
  /// Without a file, every request is allowed.
  /// @throws as ApiKeys' constructor.
  explicit CurrentApiKeys(std::string path);

  const std::string& path() const { return path_; }
  std::shared_ptr<const ApiKeys> current() const;
  /// Reads the file again. If that throws, as ApiKeys' constructor does, the keys stay.
  /// @throws as ApiKeys' constructor; the keys stay then.
  void reload();

 private:
  std::shared_ptr<const ApiKeys> read() const;

  const std::string path_;
  mutable std::mutex mutex_;
  std::shared_ptr<const ApiKeys> current_;
};

}  // namespace v0
}  // namespace transmute
