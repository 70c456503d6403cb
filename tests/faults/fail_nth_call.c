/* SPDX-License-Identifier: Apache-2.0 */
/* A layer for LD_PRELOAD that makes one call into the system fail: the n-th of one kind.
 *
 *   TRANSMUTE_FAULT=write:17        the 17th write, with ENOSPC
 *   TRANSMUTE_FAULT_FROM=TEXT       counting begins when a file is opened whose path contains TEXT: what the libraries
 *                                   do before the program has anything in hand is not the subject
 *   TRANSMUTE_FAULT_HIT=FILE        is made when the call has been failed: without it there are fewer than n calls
 *
 * What the system says of itself, in /proc and /sys, can always be read: LibTorch's cpuinfo crashes where it cannot.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static int counting;
static long calls;

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void begin_at(const char* path) {
  const char* from = getenv("TRANSMUTE_FAULT_FROM");
  if (path != NULL && (from == NULL || strstr(path, from) != NULL)) __atomic_store_n(&counting, 1, __ATOMIC_SEQ_CST);
}

/* Whether this call, one of `kind`, is the one. */
static int fails(const char* kind, int error) {
  const char* wanted = getenv("TRANSMUTE_FAULT");
  const size_t length = strlen(kind);
  if (wanted == NULL || !__atomic_load_n(&counting, __ATOMIC_SEQ_CST)) return 0;
  if (strncmp(wanted, kind, length) != 0 || wanted[length] != ':') return 0;
  if (__atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST) != atol(wanted + length + 1)) return 0;
  const char* hit = getenv("TRANSMUTE_FAULT_HIT");
  if (hit != NULL) {
    const int fd = NEXT(open)(hit, O_CREAT | O_WRONLY, 0644);
    if (fd >= 0) close(fd);
  }
  errno = error;
  return 1;
}

enum { descriptors = 4096 };
static char of_system[descriptors];

static int is_system(const char* path) {
  return strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/sys/", 5) == 0;
}

static int opened(const char* path, int fd) {
  if (fd >= 0 && fd < descriptors) of_system[fd] = (char)is_system(path);
  return fd;
}

static int read_fails(int fd) {
  return !(fd >= 0 && fd < descriptors && of_system[fd]) && fails("read", EIO);
}

static mode_t mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  begin_at(path);
  return !is_system(path) && fails("open", EMFILE) ? -1 : opened(path, NEXT(open)(path, flags, mode));
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  begin_at(path);
  return !is_system(path) && fails("open", EMFILE) ? -1 : opened(path, NEXT(open64)(path, flags, mode));
}

FILE* fopen(const char* path, const char* mode) {
  begin_at(path);
  return !is_system(path) && fails("open", EMFILE) ? NULL : NEXT(fopen)(path, mode);
}

FILE* fopen64(const char* path, const char* mode) {
  begin_at(path);
  return !is_system(path) && fails("open", EMFILE) ? NULL : NEXT(fopen64)(path, mode);
}

ssize_t read(int fd, void* to, size_t count) {
  return read_fails(fd) ? -1 : NEXT(read)(fd, to, count);
}

ssize_t pread(int fd, void* to, size_t count, off_t offset) {
  return read_fails(fd) ? -1 : NEXT(pread)(fd, to, count, offset);
}

ssize_t pread64(int fd, void* to, size_t count, off64_t offset) {
  return read_fails(fd) ? -1 : NEXT(pread64)(fd, to, count, offset);
}

ssize_t write(int fd, const void* from, size_t count) {
  if (fd <= 2) return NEXT(write)(fd, from, count); /* what it says of it */
  return fails("write", ENOSPC) ? -1 : NEXT(write)(fd, from, count);
}

int fsync(int fd) {
  return fails("fsync", EIO) ? -1 : NEXT(fsync)(fd);
}

int rename(const char* from, const char* to) {
  return fails("rename", EACCES) ? -1 : NEXT(rename)(from, to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  return fails("rename", EACCES) ? -1 : NEXT(renameat2)(from_folder, from, to_folder, to, flags);
}

int mkdir(const char* path, mode_t mode) {
  begin_at(path);
  return fails("mkdir", ENOSPC) ? -1 : NEXT(mkdir)(path, mode);
}

void* mmap(void* address, size_t length, int protection, int flags, int fd, off_t offset) {
  return fails("mmap", ENOMEM) ? MAP_FAILED : NEXT(mmap)(address, length, protection, flags, fd, offset);
}

void* mmap64(void* address, size_t length, int protection, int flags, int fd, off64_t offset) {
  return fails("mmap", ENOMEM) ? MAP_FAILED : NEXT(mmap64)(address, length, protection, flags, fd, offset);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  return fails("thread", EAGAIN) ? EAGAIN : NEXT(pthread_create)(thread, attributes, start, argument);
}
