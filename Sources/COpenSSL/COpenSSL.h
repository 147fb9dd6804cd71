/* SPDX-License-Identifier: MIT */
/* What is used of OpenSSL itself: the SHA-1 of the WebSocket handshake (RFC 6455 section 4.2.2) by SignalHTTP, and
   digests, random bytes and signatures of tokens by SignalAccess. TLS is CTLS. */
#ifndef COPENSSL_H
#define COPENSSL_H

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/x509.h>

#endif
