// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/downloads/connection.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace transmute {
inline namespace v0 {

/// The checksum by which a source names a file's content.
struct Digest {
  enum class Kind {
    sha256,    ///< SHA-256 of the content
    git_blob,  ///< SHA-1 of git's header and the content: git's name of a file
  };
  Kind kind = Kind::sha256;
  std::string hex;  ///< lower case
};

/// True if the text has the length and the characters of such a checksum.
bool is_digest(Digest::Kind kind, const std::string& hex);

/// @throws std::runtime_error naming the file that cannot be read
std::string digest_of_file(const std::string& path, Digest::Kind kind);

/// A file on a server.
struct RemoteFile {
  std::string url;
  std::string name;              ///< its name here
  std::optional<uint64_t> size;  ///< nothing if the server does not say
  std::optional<Digest> digest;  ///< nothing if nobody says
};

/// Downloads texts and files. Where the server or the network fails in a way that may pass, or the server asks to wait
/// (429, 503 with Retry-After), it tries again, five times without progress.
class Downloader {
 public:
  /// Called as bytes of a file arrive: how many are there now, and of how many, where that is known.
  using Progress = std::function<void(uint64_t done, std::optional<uint64_t> all)>;

  /// @param token sent to servers whose address begins with `token_origin`, and to no other; may be empty
  Downloader(std::string token, std::string token_origin, Progress progress);

  /// The body of a response.
  /// @throws std::runtime_error naming the address, for a failure and for more than `most` bytes
  std::string text(const std::string& url, uint64_t most);

  /// The size of a file, by HEAD; nothing if the server does not say, or refuses HEAD.
  /// @throws std::runtime_error naming the address
  std::optional<uint64_t> size(const std::string& url);

  /// Downloads a file to `path`, unless it is there with the right digest. What is there of it in `path`.part is
  /// continued by a range: if the file on the server is the same, or where a digest will tell. A file of another size
  /// or digest than it should have is an error, and is removed.
  /// @throws std::runtime_error naming the address, or the file that cannot be written; what arrived remains for the
  /// next time.
  void fetch(const RemoteFile& file, const std::string& path);

 private:
  class PartialFile;
  struct Attempt;
  Response perform(const std::string& url, bool wants_body, std::vector<std::string> headers,
                   const Connection::TakeBytes& take);
  Attempt fetch_rest(const RemoteFile& file, PartialFile& part);

  Connection connection_;
  std::string token_, token_origin_;
  Progress progress_;
};

}  // namespace v0
}  // namespace transmute
