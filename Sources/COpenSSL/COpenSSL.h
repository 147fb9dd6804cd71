/* SPDX-License-Identifier: MIT */
/* What SignalHTTP uses of OpenSSL's libcrypto: the SHA-1 of the WebSocket handshake (RFC 6455 section 4.2.2). */
#ifndef COPENSSL_H
#define COPENSSL_H

#include <openssl/sha.h>

#endif
