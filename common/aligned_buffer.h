#pragma once

#include <transmute/common/memory.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace transmute {
inline namespace v0 {
/// Memory on cache lines that grows and never shrinks. Growing loses what stood in it.
template <class T>
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(int64_t count) { at_least(count); }

  /// Room for `count` values.
  T* at_least(int64_t count) {
    if (count > count_) {
      const size_t bytes = (static_cast<size_t>(count) * sizeof(T) + kLine - 1) / kLine * kLine;
      memory_.reset();
      count_ = 0;
      memory_.reset(static_cast<T*>(std::aligned_alloc(kLine, bytes)));
      if (!memory_) throw std::bad_alloc();
      prefer_huge_pages(memory_.get(), bytes);
      count_ = count;
    }
    return memory_.get();
  }
  T* data() { return memory_.get(); }
  const T* data() const { return memory_.get(); }
  int64_t size() const { return count_; }

 private:
  static constexpr size_t kLine = 64;
  struct Free {
    void operator()(T* memory) const { std::free(memory); }
  };
  std::unique_ptr<T[], Free> memory_;
  int64_t count_ = 0;
};

}  // namespace v0
}  // namespace transmute
