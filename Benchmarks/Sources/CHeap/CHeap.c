// SPDX-License-Identifier: MIT
// In C because the module of the C library leaves this header out.
#include "CHeap.h"
#include <malloc.h>

long heap_bytes(void) {
  struct mallinfo2 info = mallinfo2();
  return (long)(info.uordblks + info.hblkhd);
}
