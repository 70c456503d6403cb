// SPDX-License-Identifier: Apache-2.0
#include <transmute/downloads/digest.h>

#include <openssl/evp.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <vector>

namespace transmute {
inline namespace v0 {

bool is_digest(Digest::Kind kind, const std::string& hex) {
  return hex.size() == (kind == Digest::Kind::sha256 ? 64 : 40) &&
         std::all_of(hex.begin(), hex.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
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

}  // namespace v0
}  // namespace transmute
