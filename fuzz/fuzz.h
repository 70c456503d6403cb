// SPDX-License-Identifier: Apache-2.0
// What fuzzers share. Each defines libFuzzer's LLVMFuzzerTestOneInput; scripts/fuzz.sh builds and runs them.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>

namespace transmute::fuzz {

/// The errors that bad input may lead to. Any other exception is a finding, as a crash is.
template <class Act>
void may_refuse(const Act& act) {
  try {
    act();
  } catch (const std::runtime_error&) {
  } catch (const std::invalid_argument&) {
  }
}

/// Demands that something holds, also without assertions.
inline void require(bool holds) {
  if (!holds) std::abort();
}

/// A file in memory that has a name.
class MemoryFile {
 public:
  MemoryFile(const uint8_t* data, size_t size) : descriptor_(::memfd_create("input", 0)) {
    require(descriptor_ >= 0 && ::write(descriptor_, data, size) == static_cast<ssize_t>(size));
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

/// A folder in memory, one for the process.
inline const std::string& scratch_folder() {
  static const std::string folder = [] {
    std::string name = "/dev/shm/transmute-fuzz-XXXXXX";
    require(::mkdtemp(name.data()) != nullptr);
    return name;
  }();
  return folder;
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// Takes an input apart, from the front; zeros and nothing if it has ended.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), left_(size) {}

  bool ended() const { return left_ == 0; }

  uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }

  template <class T>
  T number() {
    T value{};
    const size_t bytes = left_ < sizeof(T) ? left_ : sizeof(T);
    std::memcpy(&value, data_, bytes);
    data_ += bytes;
    left_ -= bytes;
    return value;
  }

  /// At most 255 bytes.
  std::string text() {
    const size_t bytes = std::min<size_t>(byte(), left_);
    std::string text(reinterpret_cast<const char*>(data_), bytes);
    data_ += bytes;
    left_ -= bytes;
    return text;
  }

  std::string rest() {
    std::string text(reinterpret_cast<const char*>(data_), left_);
    left_ = 0;
    return text;
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

}  // namespace transmute::fuzz
