// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/common/aligned_buffer.h>
#include <transmute/common/memory.h>
#include <transmute/tests/support/sanitizers.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace transmute {
namespace {

TEST(MapMemory, GivesZerosThatMayBeWritten) {
  const size_t bytes = 3 * kLargeBlock + 1;
  auto* block = static_cast<char*>(map_memory(bytes));
  EXPECT_TRUE(std::all_of(block, block + bytes, [](char c) { return c == 0; }));
  std::fill_n(block, bytes, 'x');
  unmap_memory(block, bytes);
  EXPECT_THROW(map_memory(std::numeric_limits<size_t>::max() / 2), std::bad_alloc);
}

TEST(AlignedBuffer, IsMappedWhereItIsLarge) {
  AlignedBuffer<int32_t> buffer;
  for (const int64_t count : {int64_t{7}, int64_t{1} << 17, int64_t{3}}) {
    int32_t* numbers = buffer.mapped(count);
    // The C library's blocks never begin on a page's border where they are as large: its own bytes come first.
    const bool is_large = static_cast<size_t>(count) * sizeof(int32_t) >= kLargeBlock;
    const auto border = is_large ? static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE)) : uintptr_t{64};
    EXPECT_EQ(reinterpret_cast<uintptr_t>(numbers) % border, 0U);
    std::fill_n(numbers, count, 5);
    EXPECT_EQ(buffer.at_least(1), numbers) << "there is room";
  }
  AlignedBuffer<int32_t> other = std::move(buffer);
  int32_t* numbers = other.at_least(int64_t{1} << 18);
  std::fill_n(numbers, int64_t{1} << 18, 6);
  EXPECT_EQ(other.size(), int64_t{1} << 18);
}

int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t pages = 0, resident = 0;
  statm >> pages >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

TEST(ReturnFreedMemory, GivesBackWhatLiesBetweenBlocksInUse) {
#ifndef __GLIBC__
  GTEST_SKIP() << "needs glibc's malloc";
#endif
  if (testing::kHasSanitizer) GTEST_SKIP() << "a sanitizer's heap keeps what is freed";
  constexpr size_t kBlocks = 4000, kBlock = 20'000;
  std::vector<std::unique_ptr<std::string>> blocks;
  for (size_t i = 0; i < kBlocks; ++i) blocks.push_back(std::make_unique<std::string>(kBlock, 'x'));
  for (size_t i = 0; i + 1 < kBlocks; ++i) blocks[i].reset();  // the last keeps the heap from shrinking
  const int64_t freed = resident_bytes();
  if (freed == 0) GTEST_SKIP() << "needs Linux's /proc";
  return_freed_memory();
  EXPECT_LT(resident_bytes(), freed - static_cast<int64_t>(kBlocks * kBlock) / 2);
  EXPECT_EQ(*blocks.back(), std::string(kBlock, 'x'));
}

TEST(Memory, HugePagesBackALargeBlockThatAsksForThem) {
#ifndef __linux__
  GTEST_SKIP() << "needs Linux";
#endif
  std::string policy;
  std::getline(std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled") >> std::ws, policy);
  if (policy.empty() || policy.find("[never]") != std::string::npos) GTEST_SKIP() << "the system has no huge pages";
  constexpr size_t kBytes = size_t{32} << 20;
  const std::unique_ptr<char, decltype(&std::free)> block(static_cast<char*>(std::aligned_alloc(64, kBytes)),
                                                          std::free);
  prefer_huge_pages(block.get(), kBytes);
  std::fill_n(block.get(), kBytes, 'x');
  // "7f12…-7f34… rw-p …", then the mapping's facts, a line each; "hg": it has asked for huge pages.
  const auto address = reinterpret_cast<uintptr_t>(block.get() + kBytes / 2);
  bool is_here = false, has_asked = false;
  std::ifstream mappings("/proc/self/smaps");
  for (std::string line; std::getline(mappings, line);) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) is_here = begin <= address && address < end;
    if (is_here && line.rfind("VmFlags:", 0) == 0) has_asked = line.find(" hg") != std::string::npos;
  }
  EXPECT_TRUE(has_asked);
  char small = 'x';
  prefer_huge_pages(&small, 1);  // nothing to be had, and no harm
  EXPECT_EQ(small, 'x');
}

}  // namespace
}  // namespace transmute
