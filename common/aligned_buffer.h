// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/memory.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace transmute {
inline namespace v0 {
/// Memory on cache lines that grows and never shrinks. Growing loses what was in it.
template <class T>
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(int64_t count) { at_least(count); }

  /// Room for `count` values.
  T* at_least(int64_t count) {
    if (count > count_) {
      const size_t bytes = bytes_of(count);
      reset();
      memory_.reset(static_cast<T*>(std::aligned_alloc(kLine, bytes)));
      if (!memory_) throw std::bad_alloc();
      prefer_huge_pages(memory_.get(), bytes);
      count_ = count;
    }
    return memory_.get();
  }
  /// The same for what stays: where it is large, from map_memory.
  T* mapped(int64_t count) {
    const size_t bytes = bytes_of(count);
    if (bytes < kLargeBlock) return at_least(count);
    reset();
    memory_ = {static_cast<T*>(map_memory(bytes)), Free{bytes}};
    count_ = count;
    return memory_.get();
  }
  T* data() { return memory_.get(); }
  const T* data() const { return memory_.get(); }
  int64_t size() const { return count_; }

 private:
  static constexpr size_t kLine = 64;
  struct Free {
    size_t mapped_bytes = 0;  // 0: the C library's
    void operator()(T* memory) const {
      if (mapped_bytes > 0) {
        unmap_memory(memory, mapped_bytes);
      } else {
        std::free(memory);
      }
    }
  };
  static size_t bytes_of(int64_t count) { return (static_cast<size_t>(count) * sizeof(T) + kLine - 1) / kLine * kLine; }
  void reset() {
    memory_ = std::unique_ptr<T[], Free>();  // with its deleter: {} would mean nullptr, and keep the old one
    count_ = 0;
  }

  std::unique_ptr<T[], Free> memory_;
  int64_t count_ = 0;
};

}  // namespace v0
}  // namespace transmute
