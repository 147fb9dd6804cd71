// SPDX-License-Identifier: MIT
#pragma once

/// How often the calling thread has taken memory since it began; -1 where that is not counted.
long allocations_of_this_thread(void);
