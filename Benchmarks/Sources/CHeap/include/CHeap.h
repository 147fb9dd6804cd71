// SPDX-License-Identifier: MIT
#pragma once

/// How many bytes the process has taken from the heap and not given back, as the C library counts them.
long heap_bytes(void);
