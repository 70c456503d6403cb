// SPDX-License-Identifier: Apache-2.0
#include <transmute/serving/api_keys.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <spdlog/fmt/fmt.h>
#include <transmute/common/text_file.h>

#include <sstream>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

constexpr size_t kHashBytes = 32;

std::string sha256(const std::string& text) {
  std::string hash(kHashBytes, '\0');
  if (EVP_Digest(text.data(), text.size(), reinterpret_cast<unsigned char*>(hash.data()), nullptr, EVP_sha256(),
                 nullptr) != 1)
    throw std::runtime_error("OpenSSL cannot compute SHA-256");
  return hash;
}

std::optional<std::string> bytes_of_hex(const std::string& hex) {
  if (hex.size() != 2 * kHashBytes || hex.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
    return std::nullopt;
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

}  // namespace

ApiKeys::ApiKeys(const std::string& path) : are_needed_(true) {
  LineReader reader(path);
  for (std::string line; reader.next(line);) {
    std::istringstream words(line);
    std::string hex, name;
    words >> hex >> name;
    if (hex.empty() || hex.front() == '#') continue;
    const auto hash = bytes_of_hex(hex);
    if (!hash || name.empty())
      throw std::runtime_error(fmt::format(
          "{}:{}: a line has the SHA-256 of a key, 64 hexadecimal digits, and a name; make one with: printf %s KEY | "
          "sha256sum",
          path, reader.line_number()));
    hashes_.emplace_back(*hash, name);
  }
}

std::optional<std::string> ApiKeys::name_of(const std::string& key) const {
  const std::string hash = sha256(key);
  std::optional<std::string> name;
  for (const auto& [known, its_name] : hashes_)
    if (CRYPTO_memcmp(known.data(), hash.data(), kHashBytes) == 0) name = its_name;
  return name;
}

CurrentApiKeys::CurrentApiKeys(std::string path) : path_(std::move(path)), current_(read()) {}

std::shared_ptr<const ApiKeys> CurrentApiKeys::current() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return current_;
}

std::shared_ptr<const ApiKeys> CurrentApiKeys::read() const {
  return path_.empty() ? std::make_shared<const ApiKeys>() : std::make_shared<const ApiKeys>(path_);
}

void CurrentApiKeys::reload() {
  auto fresh = read();
  const std::lock_guard<std::mutex> lock(mutex_);
  current_.swap(fresh);
}

}  // namespace v0
}  // namespace transmute
