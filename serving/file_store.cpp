// SPDX-License-Identifier: Apache-2.0
#include <transmute/serving/file_store.h>

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <random>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

constexpr size_t kMostBytes = 256 << 20;
constexpr std::chrono::minutes kLongest{10};

}  // namespace

std::string FileStore::add(StoredFile file) {
  std::random_device random;  // uses the system's random numbers, which cannot be guessed
  std::string id;
  for (int i = 0; i < 4; ++i) id += fmt::format("{:08x}", random());
  const std::lock_guard<std::mutex> lock(mutex_);
  drop_old(file.content.size());
  bytes_ += file.content.size();
  entries_.push_back({id, std::chrono::steady_clock::now(), std::make_shared<const StoredFile>(std::move(file))});
  return id;
}

std::shared_ptr<const StoredFile> FileStore::find(const std::string& id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  drop_old(0);
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.id == id; });
  return found == entries_.end() ? nullptr : found->file;
}

// Makes room for this many bytes.
void FileStore::drop_old(size_t room) {
  const auto now = std::chrono::steady_clock::now();
  while (!entries_.empty() && (bytes_ + room > kMostBytes || now - entries_.front().since > kLongest)) {
    bytes_ -= entries_.front().file->content.size();
    entries_.pop_front();
  }
}

}  // namespace v0
}  // namespace transmute
