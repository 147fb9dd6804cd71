// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>
#include <stdint.h>

/// A layer of system calls for SQLite that passes everything on to that of the platform, counts it, fails on purpose, and
/// remembers what was written and what was synced.
struct storage_faults;

/// What can fail; several are added.
enum {
  STORAGE_FAULT_READ = 1,
  STORAGE_FAULT_WRITE = 2,
  STORAGE_FAULT_SYNC = 4,
  STORAGE_FAULT_TRUNCATE = 8,
};

/// How a call fails.
enum storage_fault_mode {
  /// Nothing happens, and the system says EIO.
  STORAGE_FAULT_IO = 0,
  /// Nothing happens, and there is no space.
  STORAGE_FAULT_FULL = 1,
  /// Half of it is written, and then there is no space.
  STORAGE_FAULT_SHORT = 2,
};

/// Makes a layer with a name of its own, which SQLite knows from then on.
struct storage_faults *storage_faults_new(const char *name);
/// Lets calls of these kinds fail from the one with this number on, counted from now, 1 for the next; on files whose name
/// ends like this.
void storage_faults_set(
    struct storage_faults *, int kinds, enum storage_fault_mode mode, long at, bool lasting, const char *suffix);
/// Lets nothing fail any more.
void storage_faults_clear(struct storage_faults *);
/// How many calls of the chosen kinds there were since they were chosen.
long storage_faults_calls(struct storage_faults *);

/// What happened to a file.
enum storage_step_kind {
  STORAGE_STEP_WRITE = 1,
  STORAGE_STEP_TRUNCATE = 2,
  STORAGE_STEP_SYNC = 3,
  STORAGE_STEP_DELETE = 4,
};

struct storage_step {
  enum storage_step_kind kind;
  const char *path;
  int64_t offset;
  const uint8_t *bytes;
  int64_t count;
};

/// Remembers from now on what happens to files.
void storage_steps_begin(struct storage_faults *);
/// How many things have happened since.
long storage_steps_count(struct storage_faults *);
/// One of them; it stays as long as the layer.
struct storage_step storage_steps_get(struct storage_faults *, long index);
