// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace transmute {
inline namespace v0 {

/// The checksum by which a source names a file's content.
struct Digest {
  enum class Kind {
    sha256,    ///< of the content
    git_blob,  ///< SHA-1 of git's header and the content: git's name of a file
  };
  Kind kind = Kind::sha256;
  std::string hex;  ///< lower case
};

/// True if the text has the length and the characters of such a checksum.
bool is_digest(Digest::Kind kind, const std::string& hex);

/// @throws std::runtime_error naming the file that cannot be read
std::string digest_of_file(const std::string& path, Digest::Kind kind);

}  // namespace v0
}  // namespace transmute
