// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "CProcesses.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

int start_process(pid_t *process, const char *program, char *const arguments[], char *const environment[],
                  const char *folder, const int descriptors[3]) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int failure = posix_spawn_file_actions_init(&actions);
  if (failure) return failure;
  failure = posix_spawnattr_init(&attributes);
  if (failure) {
    posix_spawn_file_actions_destroy(&actions);
    return failure;
  }
  for (int target = 0; target < 3 && !failure; target++) {
    failure = descriptors[target] < 0
                  ? posix_spawn_file_actions_addopen(&actions, target, "/dev/null", O_RDWR, 0)
                  : posix_spawn_file_actions_adddup2(&actions, descriptors[target], target);
  }
  if (!failure) failure = posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  if (!failure && folder) failure = posix_spawn_file_actions_addchdir_np(&actions, folder);
  sigset_t signals;
  sigemptyset(&signals);
  if (!failure) failure = posix_spawnattr_setsigmask(&attributes, &signals);
  sigfillset(&signals);
  if (!failure) failure = posix_spawnattr_setsigdefault(&attributes, &signals);
  if (!failure) failure = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  if (!failure) failure = posix_spawn(process, program, &actions, &attributes, arguments, environment);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return failure;
}
