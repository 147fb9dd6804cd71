/* SPDX-License-Identifier: MIT */
/* TLS by OpenSSL on memory buffers: OpenSSL never accesses a socket. Encrypted bytes are read from and written to two
   buffers that all channels of a thread share, so that a turn of the loop stays one receive and one send. */
#ifndef CTLS_H
#define CTLS_H

#include <stddef.h>
#include <stdint.h>

/* The encrypted bytes of the channel that is in use. */
typedef struct {
  const unsigned char *input;
  size_t input_count;
  unsigned char *output;
  size_t output_count;
  size_t output_capacity;
} ctls_buffers;

typedef struct ctls_tickets ctls_tickets;
typedef struct ctls_context ctls_context;
typedef struct ctls_channel ctls_channel;

/* The result of a call. */
enum {
  /* More encrypted bytes are needed. */
  ctls_more = 0,
  /* The peer has sent its last byte (close_notify). */
  ctls_ended = 1,
  /* The channel can no longer be used; an alert may be in the output. */
  ctls_failed = 2
};

/* Keys of session tickets (RFC 8446 section 4.6.1, RFC 5077): a new one every `seconds`, the previous one still
   decrypts. NULL when there is no randomness. */
ctls_tickets *ctls_tickets_new(uint64_t seconds);
void ctls_tickets_free(ctls_tickets *tickets);

/* A server's settings; NULL when there is no memory. With `modern` only TLS 1.3 is used. `tickets` must outlive it. */
ctls_context *ctls_server_new(int modern, ctls_tickets *tickets);
/* A client's settings, which trust the system's authorities. */
ctls_context *ctls_client_new(void);
void ctls_context_free(ctls_context *context);

/* Adds a chain with its key, both PEM; the first one added is used for server names that no certificate has. Returns 1,
   or 0 with a reason in `reason`. */
int ctls_add_certificate(ctls_context *context, const char *chain, const char *key, char *reason, size_t size);
/* Requests client certificates signed by these authorities; no tickets are issued then, so that the certificate of each
   connection is verified. */
int ctls_ask_clients(ctls_context *context, const char *authorities, int required, char *reason, size_t size);
/* Trusts these authorities instead of the system's. */
int ctls_trust(ctls_context *context, const char *authorities, char *reason, size_t size);

/* Information about a certificate. */
typedef struct {
  /* Seconds since 1970. */
  int64_t not_after;
  /* Not zero for an RSA key, with which a handshake costs twice as much. */
  int is_rsa;
} ctls_certificate;

/* The number of certificates. */
size_t ctls_certificate_count(const ctls_context *context);
ctls_certificate ctls_certificate_at(const ctls_context *context, size_t index);
/* The n-th DNS name of all certificates, empty when it does not fit, 0 when there is none. */
int ctls_name(const ctls_context *context, size_t index, char *name, size_t size);

/* A channel of a server, or, with a host, of a client that requires its certificate. `context` must outlive it. */
ctls_channel *ctls_channel_new(ctls_context *context, const char *host);
void ctls_channel_free(ctls_channel *channel);
/* Whether the handshake is complete, so that bytes can be sent. */
int ctls_is_established(const ctls_channel *channel);

/* What a name of a certificate is. */
enum { ctls_dns_name = 1, ctls_uri = 2, ctls_mail = 3, ctls_common_name = 4 };

/* The verified certificate that a client has shown: its SHA-256 into `sha256`, which has room for 32 bytes, its end in
   seconds since 1970 into `not_after`, and its names into `names`, each after its kind in one byte and its length in two,
   the more significant first. Names that do not fit, are empty or have other characters than their kind allows are left
   out, and so is the common name when there are several. Returns the size of the names; less than 0 when there is no
   certificate. */
long ctls_client_certificate(
  const ctls_channel *channel, unsigned char *sha256, long long *not_after, unsigned char *names, size_t size);

/* Decrypts all available input into `bytes`, which has room for that and one record more, and continues the
   handshake. */
size_t ctls_open(ctls_channel *channel, ctls_buffers *buffers, void *bytes, size_t count, int *state);
/* Encrypts the `count` blocks (an array of `struct iovec`, which is not named here: Swift would take it for this module's)
   after `skipped` bytes, until there is no more, or the output has `enough`. Returns how many bytes it
   has encrypted; less than 0 when the channel has failed. */
long ctls_seal(
  ctls_channel *channel, ctls_buffers *buffers, const void *blocks, int count, size_t skipped, size_t enough);
/* Writes close_notify: nothing follows (RFC 8446 section 6.1). */
void ctls_end(ctls_channel *channel, ctls_buffers *buffers);

/* Why the last call on this channel failed, for a log: at most `size` bytes with the zero at the end. */
void ctls_reason(const ctls_channel *channel, char *reason, size_t size);

/* Makes a certificate with a key on P-256 (RSA with 2048 bits when `rsa`), and writes both as PEM, the certificate first.

   `names` are written `DNS:live.example,IP:127.0.0.1`; NULL for none. It is the certificate of a server, with `client` that
   of a client, or, when `seconds` is less than 0, of an authority for -seconds. `issuer` is the PEM of an authority with its key; NULL signs it with
   its own. Returns how many bytes were written, 0 when it could not be made. */
size_t ctls_make_certificate(
  const char *subject, const char *names, int client, long seconds, int rsa, const char *issuer, char *pem, size_t size);

#endif
