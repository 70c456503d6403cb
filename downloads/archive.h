// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace transmute {
inline namespace v0 {

/// The name of an archive of a model without its ending (.argosmodel, .zip, .tar, .tar.gz, .tgz, .tar.xz, .tar.bz2,
/// .tar.zst); empty for any other name.
std::string archive_stem(const std::string& name);

/// Thrown for an archive that is no model's or is damaged, and remains so however often it is unpacked.
class BadArchive : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Unpacks from a zip or tar archive the files of a model, by the endings of their names, into an existing folder. A
/// single folder around them, also beside a README or a license, is left out. Nothing is run, and nothing is written
/// outside the folder.
/// @throws BadArchive naming the archive that is damaged, has no such files, has links, absolute paths or "..", or more
/// than 1,000 entries, or whose files have more than 100 times its size (and 64 MiB); std::runtime_error naming the
/// file that cannot be written
void unpack_model(const std::string& archive, const std::string& folder);

}  // namespace v0
}  // namespace transmute
