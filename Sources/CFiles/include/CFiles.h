// SPDX-License-Identifier: MIT
// The files that the server serves, inside the binary.
#ifndef CFILES_H
#define CFILES_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
  /// Where it is served, with the slash at the beginning; UTF-8.
  const char *path;
  const uint8_t *bytes;
  size_t size;
} cfiles_file;

/// The number of files.
size_t cfiles_count(void);

/// A file by its index, which is less than the number; it is there as long as the program.
cfiles_file cfiles_at(size_t index);

#endif
