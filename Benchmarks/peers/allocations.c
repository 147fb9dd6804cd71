// SPDX-License-Identifier: MIT
//
// allocations: counts what a process asks of the allocator, without changing it.
//
// Loaded before the C library (LD_PRELOAD), it keeps the number of calls in the first eight bytes of the file that
// ALLOCATIONS names, which whoever measures reads before and after.
//
//   gcc -O2 -Wall -Wextra -shared -fPIC -o allocations.so allocations.c -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static atomic_ulong before_the_file;
static atomic_ulong *calls = &before_the_file;

// What would be called without this file; looked up once.
#define NEXT(name) \
  if (!real) real = dlsym(RTLD_NEXT, name)

void *malloc(size_t size) {
  static void *(*real)(size_t);
  atomic_fetch_add_explicit(calls, 1, memory_order_relaxed);
  NEXT("malloc");
  return real(size);
}

void *realloc(void *old, size_t size) {
  static void *(*real)(void *, size_t);
  atomic_fetch_add_explicit(calls, 1, memory_order_relaxed);
  NEXT("realloc");
  return real(old, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
  static int (*real)(void **, size_t, size_t);
  atomic_fetch_add_explicit(calls, 1, memory_order_relaxed);
  NEXT("posix_memalign");
  return real(memory, alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  static void *(*real)(size_t, size_t);
  atomic_fetch_add_explicit(calls, 1, memory_order_relaxed);
  NEXT("aligned_alloc");
  return real(alignment, size);
}

__attribute__((constructor)) static void open_file(void) {
  const char *path = getenv("ALLOCATIONS");
  int file = path ? open(path, O_RDWR | O_CREAT, 0600) : -1;
  if (file < 0 || ftruncate(file, sizeof *calls) != 0) return;
  void *memory = mmap(NULL, sizeof *calls, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory != MAP_FAILED) calls = memory;
}
