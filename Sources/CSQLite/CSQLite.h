/* SPDX-License-Identifier: MIT */
/* What SignalJournal uses of SQLite: connections, prepared statements, and the hook that counts the frames of the log. */
#ifndef CSQLITE_H
#define CSQLITE_H

#include <sqlite3.h>

#endif
