// SPDX-License-Identifier: MIT
#include "CLibFuzzer.h"

// Swift's runtime keeps metadata for the life of the process; the leak checker would report it.
const char *__asan_default_options(void) { return "detect_leaks=0"; }
