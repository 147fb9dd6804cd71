// SPDX-License-Identifier: MIT
#include <sys/types.h>

/// Starts a program as a process of its own, with signals as they are by default and no other descriptors than its three.
///
/// `arguments` and `environment` end with NULL. `folder` is where it works, or NULL. Of `descriptors`, those of its input,
/// output and errors, -1 stands for none: the end of the input, and outputs that go nowhere. Gives back 0, or what errno
/// would be.
int start_process(pid_t *process, const char *program, char *const arguments[], char *const environment[],
                  const char *folder, const int descriptors[3]);
