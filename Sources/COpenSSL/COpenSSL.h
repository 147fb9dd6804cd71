/* SPDX-License-Identifier: MIT */
/* What SignalHTTP uses of OpenSSL itself: the SHA-1 of the WebSocket handshake (RFC 6455 section 4.2.2). TLS is CTLS. */
#ifndef COPENSSL_H
#define COPENSSL_H

#include <openssl/sha.h>

#endif
