// SPDX-License-Identifier: MIT
// Counts what each thread takes from the heap, for tests that promise to take nothing. The functions stand in front of
// those of the C library, in the program that links this, and pass everything on.
#include "CAllocations.h"
#include <features.h>
#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#if defined(__GLIBC__) && !defined(SANITIZED)
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static __thread long count;

void *malloc(size_t size) {
  count++;
  return __libc_malloc(size);
}
void *calloc(size_t number, size_t size) {
  count++;
  return __libc_calloc(number, size);
}
void *realloc(void *old, size_t size) {
  count++;
  return __libc_realloc(old, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
  count++;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void **result, size_t alignment, size_t size) {
  count++;
  void *memory = __libc_memalign(alignment, size);
  if (!memory) return 12; // ENOMEM
  *result = memory;
  return 0;
}
long allocations_of_this_thread(void) { return count; }
#else
long allocations_of_this_thread(void) { return -1; }
#endif
