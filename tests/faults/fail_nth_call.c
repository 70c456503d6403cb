/* SPDX-License-Identifier: Apache-2.0 */
/* A layer for LD_PRELOAD that makes one call into the system fail: the n-th of one kind.
 *
 *   TRANSMUTE_FAULT=write:17        the 17th write, with ENOSPC; kinds: open, read, write, fsync, rename, mkdir, mmap,
 *                                   thread, and malloc for whatever takes memory of the C library
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

/* TRANSMUTE_FAULT, read once: malloc is called too often to look it up. */
static char wanted_kind[16];
static long wanted_call;

__attribute__((constructor)) static void read_wish(void) {
  const char* wish = getenv("TRANSMUTE_FAULT");
  if (wish != NULL && sscanf(wish, "%15[a-z]:%ld", wanted_kind, &wanted_call) != 2) wanted_kind[0] = '\0';
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void begin_at(const char* path) {
  const char* from = getenv("TRANSMUTE_FAULT_FROM");
  if (path != NULL && (from == NULL || strstr(path, from) != NULL)) __atomic_store_n(&counting, 1, __ATOMIC_SEQ_CST);
}

/* Whether this call, one of `kind`, is the one. */
static int fails(const char* kind, int error) {
  if (!__atomic_load_n(&counting, __ATOMIC_SEQ_CST) || strcmp(wanted_kind, kind) != 0) return 0;
  if (__atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST) != wanted_call) return 0;
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

/* The C library's own names for its allocator: looking them up would take memory. */
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

/* Callers that end the process themselves where there is no memory, or are left in a state that they do not survive:
 * OpenMP's threads, the C library's list of what to do when a thread ends, SentencePiece's protobuf. */
static int is_spared(const void* caller) {
  Dl_info place;
  if (dladdr(caller, &place) == 0) return 0;
  return strstr(place.dli_fname, "libgomp") != NULL || strstr(place.dli_fname, "libsentencepiece") != NULL ||
         strstr(place.dli_fname, "libtransmute_spm") != NULL ||
         (place.dli_sname != NULL && strcmp(place.dli_sname, "__cxa_thread_atexit_impl") == 0);
}

static int malloc_fails(const void* caller) {
  return __atomic_load_n(&counting, __ATOMIC_SEQ_CST) && strcmp(wanted_kind, "malloc") == 0 && !is_spared(caller) &&
         fails("malloc", ENOMEM);
}
#define MALLOC_FAILS malloc_fails(__builtin_return_address(0))

/* Operator new, whose caller only it knows: it decides, and has the malloc that it calls do so. */
static __thread enum { undecided, succeeds, is_to_fail } next_malloc __attribute__((tls_model("initial-exec")));

static void* allocate(size_t size, const void* caller) {
  static void* (*operator_new)(size_t);
  if (operator_new == NULL) operator_new = (void* (*)(size_t))dlsym(RTLD_NEXT, "_Znwm");
  next_malloc = malloc_fails(caller) ? is_to_fail : succeeds;
  return operator_new(size);
}

void* _Znwm(size_t size) {
  return allocate(size, __builtin_return_address(0));
}

void* _Znam(size_t size) {
  return allocate(size, __builtin_return_address(0));
}

void* malloc(size_t size) {
  int fails_now = next_malloc == is_to_fail;
  if (next_malloc == undecided) fails_now = MALLOC_FAILS;
  next_malloc = undecided;
  return fails_now ? NULL : __libc_malloc(size);
}

void* calloc(size_t count, size_t size) {
  return MALLOC_FAILS ? NULL : __libc_calloc(count, size);
}

void* realloc(void* block, size_t size) {
  return MALLOC_FAILS ? NULL : __libc_realloc(block, size);
}

void* memalign(size_t alignment, size_t size) {
  return MALLOC_FAILS ? NULL : __libc_memalign(alignment, size);
}

void* aligned_alloc(size_t alignment, size_t size) {
  return MALLOC_FAILS ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void** block, size_t alignment, size_t size) {
  void* const taken = MALLOC_FAILS ? NULL : __libc_memalign(alignment, size);
  if (taken == NULL) return ENOMEM;
  *block = taken;
  return 0;
}
