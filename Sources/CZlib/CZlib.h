/* SPDX-License-Identifier: MIT */
/* What SignalHTTP uses of zlib: streams of DEFLATE (RFC 1951) and gzip (RFC 1952), and sums of their content. */
#ifndef CZLIB_H
#define CZLIB_H

#include <zlib.h>

#endif
