/* SPDX-License-Identifier: MIT */
/* Tells the processor what will be used soon, for which Swift has no word. */
#ifndef CPREFETCH_H
#define CPREFETCH_H

#include <stdint.h>

/* Begins to load the cache lines of some bytes, and does not wait for them. Any address will do. */
static inline void cprefetch(const void *_Nonnull bytes, int64_t count) {
  enum { LINE = 64 };
  const uintptr_t end = (uintptr_t)bytes + (uintptr_t)count;
  for (uintptr_t line = (uintptr_t)bytes & ~(uintptr_t)(LINE - 1); line < end; line += LINE) {
    __builtin_prefetch((const void *)line);
  }
}

#endif
