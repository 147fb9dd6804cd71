// SPDX-License-Identifier: MIT
#ifndef CLIBFUZZER_H
#define CLIBFUZZER_H

#include <stddef.h>
#include <stdint.h>

/// libFuzzer's loop, for programs that have a main of their own (compiler-rt/lib/fuzzer/FuzzerInterface.h).
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*run)(const uint8_t *data, size_t size));

#endif
