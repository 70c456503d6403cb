#include <transmute/common/mapped_file.h>

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/mman.h>
#include <sys/stat.h>
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
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  void* mapped = nullptr;
  const bool opened = fd >= 0 && ::fstat(fd, &status) == 0;
  if (opened && status.st_size > 0)
    mapped = ::mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_SHARED, fd, 0);
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (!opened || mapped == MAP_FAILED)
    throw std::runtime_error(fmt::format("{}: cannot be opened: {}", path, std::strerror(error)));
  data_ = static_cast<const uint8_t*>(mapped);
  size_ = static_cast<size_t>(status.st_size);
  if (size_ > 0) ::madvise(bytes_of(data_), size_, MADV_RANDOM);
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
