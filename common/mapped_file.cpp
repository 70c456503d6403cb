// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/mapped_file.h>

#include <spdlog/fmt/fmt.h>
#include <sys/mman.h>
#include <transmute/common/files.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

void* bytes_of(const uint8_t* data) {
  return const_cast<uint8_t*>(data);  // madvise and munmap take what mmap gave
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const InputFile file(path);
  const auto size = static_cast<size_t>(file.size());
  if (size == 0) return;
  void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (mapped == MAP_FAILED)
    throw std::runtime_error(fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  data_ = static_cast<const uint8_t*>(mapped);
  size_ = size;
  ::madvise(bytes_of(data_), size_, MADV_RANDOM);
}

MappedFile::~MappedFile() {
  if (size_ > 0) ::munmap(bytes_of(data_), size_);
}

void MappedFile::will_need(size_t offset, size_t count) const {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t begin = offset / page * page;
  if (begin < size_) ::madvise(static_cast<uint8_t*>(bytes_of(data_)) + begin, offset + count - begin, MADV_WILLNEED);
}

void MappedFile::release() const {
  if (size_ > 0) ::madvise(bytes_of(data_), size_, MADV_DONTNEED);
}

}  // namespace v0
}  // namespace transmute
