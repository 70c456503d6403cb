// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/mapped_file.h>

#include <sys/mman.h>
#include <transmute/common/files.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

MappedFile::MappedFile(const InputFile& file, const std::string& path) : bytes_(file.size()) {
  void* memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE, file.descriptor(), 0);
  if (memory == MAP_FAILED)
    throw std::runtime_error(path + ": cannot be mapped into memory (" + std::strerror(errno) +
                             "); copy the file to a local disk");
  begin_ = static_cast<char*>(memory);
}

MappedFile::~MappedFile() {
  ::munmap(begin_, bytes_);
}

// Pages at the ends hold bytes of the neighbors.
void MappedFile::forget(char* begin, size_t bytes) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t before = (page - reinterpret_cast<uintptr_t>(begin) % page) % page;
  if (bytes <= before) return;
  ::madvise(begin + before, (bytes - before) / page * page, MADV_DONTNEED);
}

std::shared_ptr<void> MappedFile::part(const std::shared_ptr<MappedFile>& file, uint64_t offset, size_t bytes) {
  char* begin = file->begin_ + offset;
  return {begin, [file, bytes](void* memory) { forget(static_cast<char*>(memory), bytes); }};
}

}  // namespace v0
}  // namespace transmute
