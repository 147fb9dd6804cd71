// SPDX-License-Identifier: MIT
#include "CStorageFaults.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct storage_faults {
  sqlite3_vfs vfs;
  sqlite3_vfs *real;
  pthread_mutex_t lock;
  int kinds;
  enum storage_fault_mode mode;
  long at;
  bool lasting;
  char suffix[64];
  long calls;
  bool is_logging;
  struct storage_step *steps;
  long step_count, step_room;
};

struct file {
  sqlite3_file base;
  struct storage_faults *faults;
  char *path;
  sqlite3_file *real;
};

static struct file *ours(sqlite3_file *file) { return (struct file *)file; }
static sqlite3_file *real(sqlite3_file *file) { return ours(file)->real; }

// What SQLite asks for right behind a call that has failed, on the same thread, as of errno.
static _Thread_local int last_error;

static bool ends_with(const char *text, const char *end) {
  size_t a = strlen(text), b = strlen(end);
  return a >= b && strcmp(text + a - b, end) == 0;
}

// Whether this call is to fail.
static bool fails(struct file *file, int kind, enum storage_fault_mode *mode) {
  struct storage_faults *faults = file->faults;
  pthread_mutex_lock(&faults->lock);
  bool result = false;
  if ((faults->kinds & kind) && file->path && ends_with(file->path, faults->suffix)) {
    faults->calls++;
    result = faults->lasting ? faults->calls >= faults->at : faults->calls == faults->at;
    *mode = faults->mode;
    if (result) last_error = faults->mode == STORAGE_FAULT_IO ? EIO : ENOSPC;
  }
  pthread_mutex_unlock(&faults->lock);
  return result;
}

static void note(
    struct storage_faults *faults, enum storage_step_kind kind, const char *path, int64_t offset, const void *bytes,
    int64_t count) {
  if (!path) return;
  pthread_mutex_lock(&faults->lock);
  if (faults->is_logging) {
    if (faults->step_count == faults->step_room) {
      faults->step_room = faults->step_room ? 2 * faults->step_room : 1024;
      faults->steps = realloc(faults->steps, (size_t)faults->step_room * sizeof *faults->steps);
    }
    uint8_t *copy = NULL;
    if (bytes) {
      copy = malloc((size_t)count);
      memcpy(copy, bytes, (size_t)count);
    }
    faults->steps[faults->step_count++] = (struct storage_step){kind, strdup(path), offset, copy, count};
  }
  pthread_mutex_unlock(&faults->lock);
}

static int file_close(sqlite3_file *file) {
  int code = real(file)->pMethods ? real(file)->pMethods->xClose(real(file)) : SQLITE_OK;
  free(ours(file)->path);
  return code;
}
static int file_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
  enum storage_fault_mode mode;
  if (fails(ours(file), STORAGE_FAULT_READ, &mode)) return SQLITE_IOERR_READ;
  return real(file)->pMethods->xRead(real(file), bytes, count, offset);
}
static int file_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
  enum storage_fault_mode mode;
  if (fails(ours(file), STORAGE_FAULT_WRITE, &mode)) {
    if (mode == STORAGE_FAULT_IO) return SQLITE_IOERR_WRITE;
    if (mode == STORAGE_FAULT_SHORT) real(file)->pMethods->xWrite(real(file), bytes, count / 2, offset);
    return SQLITE_FULL;
  }
  int code = real(file)->pMethods->xWrite(real(file), bytes, count, offset);
  if (code == SQLITE_OK) note(ours(file)->faults, STORAGE_STEP_WRITE, ours(file)->path, offset, bytes, count);
  return code;
}
static int file_truncate(sqlite3_file *file, sqlite3_int64 size) {
  enum storage_fault_mode mode;
  if (fails(ours(file), STORAGE_FAULT_TRUNCATE, &mode)) return SQLITE_IOERR_TRUNCATE;
  int code = real(file)->pMethods->xTruncate(real(file), size);
  if (code == SQLITE_OK) note(ours(file)->faults, STORAGE_STEP_TRUNCATE, ours(file)->path, size, NULL, 0);
  return code;
}
static int file_sync(sqlite3_file *file, int flags) {
  enum storage_fault_mode mode;
  if (fails(ours(file), STORAGE_FAULT_SYNC, &mode)) return SQLITE_IOERR_FSYNC;
  // Where only what is remembered counts, nothing has to reach the disk.
  if (!ours(file)->faults->is_logging) {
    int code = real(file)->pMethods->xSync(real(file), flags);
    if (code != SQLITE_OK) return code;
  }
  note(ours(file)->faults, STORAGE_STEP_SYNC, ours(file)->path, 0, NULL, 0);
  return SQLITE_OK;
}
static int file_size(sqlite3_file *file, sqlite3_int64 *size) {
  return real(file)->pMethods->xFileSize(real(file), size);
}
static int file_lock(sqlite3_file *file, int level) { return real(file)->pMethods->xLock(real(file), level); }
static int file_unlock(sqlite3_file *file, int level) { return real(file)->pMethods->xUnlock(real(file), level); }
static int file_check(sqlite3_file *file, int *result) {
  return real(file)->pMethods->xCheckReservedLock(real(file), result);
}
static int file_control(sqlite3_file *file, int operation, void *argument) {
  return real(file)->pMethods->xFileControl(real(file), operation, argument);
}
static int file_sector(sqlite3_file *file) { return real(file)->pMethods->xSectorSize(real(file)); }
static int file_device(sqlite3_file *file) { return real(file)->pMethods->xDeviceCharacteristics(real(file)); }
static int file_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **result) {
  return real(file)->pMethods->xShmMap(real(file), page, size, extend, result);
}
static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags) {
  return real(file)->pMethods->xShmLock(real(file), offset, count, flags);
}
static void file_shm_barrier(sqlite3_file *file) { real(file)->pMethods->xShmBarrier(real(file)); }
static int file_shm_unmap(sqlite3_file *file, int remove) { return real(file)->pMethods->xShmUnmap(real(file), remove); }

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_device,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

static struct storage_faults *layer(sqlite3_vfs *vfs) { return vfs->pAppData; }

static int vfs_open(sqlite3_vfs *vfs, sqlite3_filename path, sqlite3_file *base, int flags, int *result) {
  struct file *file = ours(base);
  memset(file, 0, sizeof *file);
  file->faults = layer(vfs);
  file->real = (sqlite3_file *)(file + 1);
  int code = file->faults->real->xOpen(file->faults->real, path, file->real, flags, result);
  if (code != SQLITE_OK) return code;
  file->path = path ? strdup(path) : NULL;
  file->base.pMethods = &methods;
  return SQLITE_OK;
}
static int vfs_delete(sqlite3_vfs *vfs, const char *path, int sync) {
  int code = layer(vfs)->real->xDelete(layer(vfs)->real, path, sync);
  if (code == SQLITE_OK) note(layer(vfs), STORAGE_STEP_DELETE, path, 0, NULL, 0);
  return code;
}
static int vfs_access(sqlite3_vfs *vfs, const char *path, int flags, int *result) {
  return layer(vfs)->real->xAccess(layer(vfs)->real, path, flags, result);
}
static int vfs_full_path(sqlite3_vfs *vfs, const char *path, int room, char *result) {
  return layer(vfs)->real->xFullPathname(layer(vfs)->real, path, room, result);
}
static int vfs_random(sqlite3_vfs *vfs, int count, char *bytes) {
  return layer(vfs)->real->xRandomness(layer(vfs)->real, count, bytes);
}
static int vfs_sleep(sqlite3_vfs *vfs, int microseconds) {
  return layer(vfs)->real->xSleep(layer(vfs)->real, microseconds);
}
static int vfs_time(sqlite3_vfs *vfs, double *time) {
  return layer(vfs)->real->xCurrentTime(layer(vfs)->real, time);
}
static int vfs_last_error(sqlite3_vfs *vfs, int room, char *text) {
  (void)vfs, (void)room, (void)text;
  return last_error;
}

struct storage_faults *storage_faults_new(const char *name) {
  struct storage_faults *faults = calloc(1, sizeof *faults);
  pthread_mutex_init(&faults->lock, NULL);
  faults->real = sqlite3_vfs_find(NULL);
  faults->vfs = (sqlite3_vfs){
      .iVersion = 1,
      .szOsFile = (int)sizeof(struct file) + faults->real->szOsFile,
      .mxPathname = faults->real->mxPathname,
      .zName = strdup(name),
      .pAppData = faults,
      .xOpen = vfs_open,
      .xDelete = vfs_delete,
      .xAccess = vfs_access,
      .xFullPathname = vfs_full_path,
      .xRandomness = vfs_random,
      .xSleep = vfs_sleep,
      .xCurrentTime = vfs_time,
      .xGetLastError = vfs_last_error,
  };
  sqlite3_vfs_register(&faults->vfs, 0);
  return faults;
}

void storage_faults_set(
    struct storage_faults *faults, int kinds, enum storage_fault_mode mode, long at, bool lasting, const char *suffix) {
  pthread_mutex_lock(&faults->lock);
  faults->kinds = kinds;
  faults->mode = mode;
  faults->at = at;
  faults->lasting = lasting;
  faults->calls = 0;
  snprintf(faults->suffix, sizeof faults->suffix, "%s", suffix);
  pthread_mutex_unlock(&faults->lock);
}

void storage_faults_clear(struct storage_faults *faults) {
  pthread_mutex_lock(&faults->lock);
  faults->at = -1;
  faults->lasting = false;
  pthread_mutex_unlock(&faults->lock);
}

long storage_faults_calls(struct storage_faults *faults) {
  pthread_mutex_lock(&faults->lock);
  long calls = faults->calls;
  pthread_mutex_unlock(&faults->lock);
  return calls;
}

void storage_steps_begin(struct storage_faults *faults) {
  pthread_mutex_lock(&faults->lock);
  faults->is_logging = true;
  pthread_mutex_unlock(&faults->lock);
}

long storage_steps_count(struct storage_faults *faults) {
  pthread_mutex_lock(&faults->lock);
  long count = faults->step_count;
  pthread_mutex_unlock(&faults->lock);
  return count;
}

struct storage_step storage_steps_get(struct storage_faults *faults, long index) {
  pthread_mutex_lock(&faults->lock);
  struct storage_step step = faults->steps[index];
  pthread_mutex_unlock(&faults->lock);
  return step;
}
