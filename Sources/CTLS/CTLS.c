/* SPDX-License-Identifier: MIT */
#include "CTLS.h"

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/ec.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

/* Mozilla's intermediate profile, without ciphers that lack forward secrecy or authenticated encryption. */
static const char ciphers[] =
  "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
  "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
/* The first needs a library that supports it (OpenSSL 3.5). */
static const char post_quantum_groups[] = "X25519MLKEM768:X25519:P-256";
static const char groups[] = "X25519:P-256";
/* The maximum plaintext of a record (RFC 8446 section 5.1). */
enum { record_bytes = 16384 };

/* --- Reasons --- */

static void copy_text(char *to, size_t size, const char *from) {
  if (size == 0) return;
  size_t count = strlen(from);
  if (count >= size) count = size - 1;
  memcpy(to, from, count);
  to[count] = 0;
}

/* Empties the error queue of this thread and copies the first error, which is the most specific. */
static void take_reason(char *to, size_t size) {
  unsigned long error = ERR_get_error();
  const char *text = error == 0 ? NULL : ERR_reason_error_string(error);
  copy_text(to, size, text == NULL ? "unknown reason" : text);
  ERR_clear_error();
}

/* --- Tickets --- */

typedef struct {
  unsigned char name[16];
  unsigned char cipher[32];
  unsigned char mac[32];
} ticket_key;

struct ctls_tickets {
  pthread_mutex_t lock;
  /* The current key, and the previous one. */
  ticket_key keys[2];
  uint64_t lifetime;
  uint64_t changes_at;
};

static uint64_t seconds_since_boot(void) {
  struct timespec time;
  clock_gettime(CLOCK_BOOTTIME, &time);
  return (uint64_t)time.tv_sec;
}

ctls_tickets *ctls_tickets_new(uint64_t seconds) {
  ctls_tickets *tickets = OPENSSL_zalloc(sizeof *tickets);
  if (tickets == NULL) return NULL;
  if (RAND_priv_bytes((unsigned char *)tickets->keys, sizeof tickets->keys) != 1) {
    OPENSSL_free(tickets);
    return NULL;
  }
  pthread_mutex_init(&tickets->lock, NULL);
  tickets->lifetime = seconds;
  tickets->changes_at = seconds_since_boot() + seconds;
  return tickets;
}

void ctls_tickets_free(ctls_tickets *tickets) {
  pthread_mutex_destroy(&tickets->lock);
  OPENSSL_clear_free(tickets, sizeof *tickets);
}

/* Rotates the key when it is due; false when there is no randomness. */
static int renew(ctls_tickets *tickets) {
  uint64_t now = seconds_since_boot();
  if (now < tickets->changes_at) return 1;
  tickets->keys[1] = tickets->keys[0];
  tickets->changes_at = now + tickets->lifetime;
  return RAND_priv_bytes((unsigned char *)tickets->keys, sizeof tickets->keys[0]) == 1;
}

/* Chooses a key; 0 when there is none of this name, 2 when the ticket should be renewed. */
static int find_key(ctls_tickets *tickets, const unsigned char *name, ticket_key *key) {
  int found = 0;
  pthread_mutex_lock(&tickets->lock);
  if (renew(tickets)) {
    for (int index = 0; index < 2 && found == 0; index++) {
      if (name != NULL && memcmp(name, tickets->keys[index].name, sizeof key->name) != 0) continue;
      *key = tickets->keys[index];
      found = index + 1;
    }
  }
  pthread_mutex_unlock(&tickets->lock);
  return found;
}

static int use_mac(EVP_MAC_CTX *mac, ticket_key *key) {
  char digest[] = "SHA256";
  OSSL_PARAM parameters[] = {
    OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key->mac, sizeof key->mac),
    OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0), OSSL_PARAM_construct_end(),
  };
  return EVP_MAC_CTX_set_params(mac, parameters);
}

/* --- Contexts --- */

struct ctls_context {
  /* One for each certificate; connections begin with the first. A client has one, possibly without a certificate. */
  SSL_CTX **contexts;
  size_t count;
  int has_certificate;
  int is_modern;
  ctls_tickets *tickets;
};

static int on_ticket(
  SSL *ssl, unsigned char *name, unsigned char *vector, EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac, int seals
) {
  ctls_context *context = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
  ticket_key key;
  int found = find_key(context->tickets, seals ? NULL : name, &key);
  int result = found == 0 ? (seals ? -1 : 0) : -1;
  if (found != 0 && seals) {
    memcpy(name, key.name, sizeof key.name);
    if (RAND_bytes(vector, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) == 1
        && EVP_EncryptInit_ex2(cipher, EVP_aes_256_cbc(), key.cipher, vector, NULL) == 1 && use_mac(mac, &key) == 1)
      result = 1;
  } else if (found != 0) {
    if (EVP_DecryptInit_ex2(cipher, EVP_aes_256_cbc(), key.cipher, vector, NULL) == 1 && use_mac(mac, &key) == 1)
      result = found;
  }
  OPENSSL_cleanse(&key, sizeof key);
  return result;
}

/* Selects the certificate for the server name that the client requests (RFC 6066 section 3), otherwise the first. */
static int on_name(SSL *ssl, int *alert, void *argument) {
  (void)alert;
  ctls_context *context = argument;
  const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  if (name == NULL) return SSL_TLSEXT_ERR_NOACK;
  for (size_t index = 0; index < context->count; index++) {
    X509 *certificate = SSL_CTX_get0_certificate(context->contexts[index]);
    if (certificate == NULL || X509_check_host(certificate, name, 0, 0, NULL) != 1) continue;
    if (index > 0) SSL_set_SSL_CTX(ssl, context->contexts[index]);
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_NOACK;
}

/* Selects HTTP/1.1, or no protocol (RFC 7301 section 3.2). */
static int on_protocols(
  SSL *ssl, const unsigned char **chosen, unsigned char *count, const unsigned char *offered, unsigned int size,
  void *argument
) {
  (void)ssl;
  (void)argument;
  static const unsigned char ours[] = "\x08http/1.1";
  unsigned char *found = NULL;
  if (SSL_select_next_proto(&found, count, ours, sizeof ours - 1, offered, size) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

/* Keys with a passphrase are refused; without this OpenSSL would ask for it on the terminal. */
static int no_passphrase(char *buffer, int size, int writes, void *argument) {
  (void)buffer;
  (void)size;
  (void)writes;
  (void)argument;
  return -1;
}

static SSL_CTX *new_context(ctls_context *owner, const SSL_METHOD *method) {
  SSL_CTX *context = SSL_CTX_new(method);
  if (context == NULL) return NULL;
  int lowest = owner->is_modern ? TLS1_3_VERSION : TLS1_2_VERSION;
  int works = SSL_CTX_set_min_proto_version(context, lowest) == 1 && SSL_CTX_set_cipher_list(context, ciphers) == 1
    && (SSL_CTX_set1_groups_list(context, post_quantum_groups) == 1 || SSL_CTX_set1_groups_list(context, groups) == 1);
  /* It is not an error that the first list is not supported. */
  ERR_clear_error();
  if (!works) {
    SSL_CTX_free(context);
    return NULL;
  }
  SSL_CTX_set_options(
    context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE
      | SSL_OP_PRIORITIZE_CHACHA | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_default_passwd_cb(context, no_passphrase);
  SSL_CTX_set_app_data(context, owner);
  return context;
}

static SSL_CTX *new_server_context(ctls_context *owner) {
  SSL_CTX *context = new_context(owner, TLS_server_method());
  if (context == NULL) return NULL;
  static const unsigned char name[] = "signal-server";
  SSL_CTX_set_session_id_context(context, name, sizeof name - 1);
  SSL_CTX_set_num_tickets(context, 1);
  SSL_CTX_set_tlsext_ticket_key_evp_cb(context, on_ticket);
  SSL_CTX_set_alpn_select_cb(context, on_protocols, NULL);
  SSL_CTX_set_tlsext_servername_callback(context, on_name);
  SSL_CTX_set_tlsext_servername_arg(context, owner);
  return context;
}

/* Appends a context to the list; it is freed when that fails. */
static int keep(ctls_context *owner, SSL_CTX *context) {
  SSL_CTX **contexts = OPENSSL_realloc(owner->contexts, (owner->count + 1) * sizeof *contexts);
  if (contexts == NULL) {
    SSL_CTX_free(context);
    return 0;
  }
  owner->contexts = contexts;
  owner->contexts[owner->count++] = context;
  return 1;
}

static ctls_context *new_owner(int modern, ctls_tickets *tickets, SSL_CTX *make(ctls_context *)) {
  ctls_context *owner = OPENSSL_zalloc(sizeof *owner);
  if (owner == NULL) return NULL;
  owner->is_modern = modern;
  owner->tickets = tickets;
  SSL_CTX *context = make(owner);
  if (context != NULL && keep(owner, context)) return owner;
  ctls_context_free(owner);
  return NULL;
}

static SSL_CTX *new_client_context(ctls_context *owner) {
  SSL_CTX *context = new_context(owner, TLS_client_method());
  if (context == NULL) return NULL;
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
  SSL_CTX_set_default_verify_paths(context);
  ERR_clear_error();
  return context;
}

ctls_context *ctls_server_new(int modern, ctls_tickets *tickets) {
  return new_owner(modern, tickets, new_server_context);
}

ctls_context *ctls_client_new(void) { return new_owner(0, NULL, new_client_context); }

void ctls_context_free(ctls_context *owner) {
  for (size_t index = 0; index < owner->count; index++) SSL_CTX_free(owner->contexts[index]);
  OPENSSL_free(owner->contexts);
  OPENSSL_free(owner);
}

int ctls_add_certificate(ctls_context *owner, const char *chain, const char *key, char *reason, size_t size) {
  ERR_clear_error();
  if (owner->has_certificate) {
    SSL_CTX *context = new_server_context(owner);
    if (context == NULL || !keep(owner, context)) {
      take_reason(reason, size);
      return 0;
    }
  }
  SSL_CTX *context = owner->contexts[owner->count - 1];
  owner->has_certificate = 1;
  if (SSL_CTX_use_certificate_chain_file(context, chain) == 1
      && SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1 && SSL_CTX_check_private_key(context) == 1)
    return 1;
  take_reason(reason, size);
  return 0;
}

int ctls_ask_clients(ctls_context *owner, const char *authorities, int required, char *reason, size_t size) {
  ERR_clear_error();
  int mode = SSL_VERIFY_PEER | (required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0);
  for (size_t index = 0; index < owner->count; index++) {
    SSL_CTX *context = owner->contexts[index];
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(authorities);
    if (names == NULL || SSL_CTX_load_verify_file(context, authorities) != 1) {
      sk_X509_NAME_pop_free(names, X509_NAME_free);
      take_reason(reason, size);
      return 0;
    }
    SSL_CTX_set_client_CA_list(context, names);
    SSL_CTX_set_verify(context, mode, NULL);
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(context, 0);
  }
  return 1;
}

int ctls_trust(ctls_context *owner, const char *authorities, char *reason, size_t size) {
  ERR_clear_error();
  X509_STORE *store = X509_STORE_new();
  if (store != NULL && X509_STORE_load_file(store, authorities) == 1) {
    SSL_CTX_set_cert_store(owner->contexts[0], store);
    return 1;
  }
  X509_STORE_free(store);
  take_reason(reason, size);
  return 0;
}

/* --- Certificates --- */

size_t ctls_certificate_count(const ctls_context *owner) { return owner->has_certificate ? owner->count : 0; }

ctls_certificate ctls_certificate_at(const ctls_context *owner, size_t index) {
  ctls_certificate result = {0};
  X509 *certificate = SSL_CTX_get0_certificate(owner->contexts[index]);
  struct tm end;
  if (certificate == NULL) return result;
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) == 1) result.not_after = timegm(&end);
  result.is_rsa = EVP_PKEY_is_a(X509_get0_pubkey(certificate), "RSA");
  return result;
}

int ctls_name(const ctls_context *owner, size_t index, char *name, size_t size) {
  for (size_t place = 0; place < owner->count; place++) {
    X509 *certificate = SSL_CTX_get0_certificate(owner->contexts[place]);
    if (certificate == NULL) continue;
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    int found = 0;
    for (int number = 0; !found && number < sk_GENERAL_NAME_num(names); number++) {
      const GENERAL_NAME *entry = sk_GENERAL_NAME_value(names, number);
      if (entry->type != GEN_DNS || index-- > 0) continue;
      found = 1;
      size_t count = (size_t)ASN1_STRING_length(entry->d.dNSName);
      const unsigned char *bytes = ASN1_STRING_get0_data(entry->d.dNSName);
      if (count >= size || memchr(bytes, 0, count) != NULL) count = 0;
      memcpy(name, bytes, count);
      name[count] = 0;
    }
    GENERAL_NAMES_free(names);
    if (found) return 1;
  }
  return 0;
}

/* --- Channels --- */

struct ctls_channel {
  SSL *ssl;
  /* The buffers of the current call, for the BIO. */
  ctls_buffers *buffers;
  char reason[80];
};

static int bio_read(BIO *bio, char *bytes, size_t count, size_t *read) {
  ctls_buffers *buffers = ((ctls_channel *)BIO_get_data(bio))->buffers;
  BIO_clear_retry_flags(bio);
  if (buffers == NULL || buffers->input_count == 0) {
    BIO_set_retry_read(bio);
    return 0;
  }
  *read = count < buffers->input_count ? count : buffers->input_count;
  memcpy(bytes, buffers->input, *read);
  buffers->input += *read;
  buffers->input_count -= *read;
  return 1;
}

static int bio_write(BIO *bio, const char *bytes, size_t count, size_t *written) {
  ctls_buffers *buffers = ((ctls_channel *)BIO_get_data(bio))->buffers;
  BIO_clear_retry_flags(bio);
  /* Encryption stops before this; only a peer that causes endless answers reaches it, and its channel fails. */
  if (buffers == NULL || buffers->output_capacity - buffers->output_count < count) return 0;
  memcpy(buffers->output + buffers->output_count, bytes, count);
  buffers->output_count += count;
  *written = count;
  return 1;
}

static long bio_control(BIO *bio, int command, long number, void *pointer) {
  (void)bio;
  (void)number;
  (void)pointer;
  return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *bio_method;

static void make_bio_method(void) {
  bio_method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "buffers");
  if (bio_method == NULL) return;
  BIO_meth_set_read_ex(bio_method, bio_read);
  BIO_meth_set_write_ex(bio_method, bio_write);
  BIO_meth_set_ctrl(bio_method, bio_control);
}

static int prepare_client(SSL *ssl, const char *host) {
  SSL_set_connect_state(ssl);
  X509_VERIFY_PARAM *parameters = SSL_get0_param(ssl);
  X509_VERIFY_PARAM_set_hostflags(parameters, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (X509_VERIFY_PARAM_set1_ip_asc(parameters, host) == 1) return 1;
  ERR_clear_error();
  return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

ctls_channel *ctls_channel_new(ctls_context *owner, const char *host) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_bio_method);
  ERR_clear_error();
  ctls_channel *channel = OPENSSL_zalloc(sizeof *channel);
  BIO *bio = bio_method == NULL ? NULL : BIO_new(bio_method);
  SSL *ssl = SSL_new(owner->contexts[0]);
  if (channel == NULL || bio == NULL || ssl == NULL || (host != NULL && !prepare_client(ssl, host))) {
    SSL_free(ssl);
    BIO_free(bio);
    OPENSSL_free(channel);
    return NULL;
  }
  channel->ssl = ssl;
  BIO_set_data(bio, channel);
  BIO_set_init(bio, 1);
  /* One BIO for both directions; its only reference passes to the SSL object. */
  SSL_set_bio(ssl, bio, bio);
  if (host == NULL) SSL_set_accept_state(ssl);
  return channel;
}

void ctls_channel_free(ctls_channel *channel) {
  SSL_free(channel->ssl);
  OPENSSL_free(channel);
}

int ctls_is_established(const ctls_channel *channel) { return SSL_is_init_finished(channel->ssl); }

/* Records why a call failed. */
static void fail(ctls_channel *channel) {
  long verification = SSL_get_verify_result(channel->ssl);
  if (verification != X509_V_OK && !SSL_is_init_finished(channel->ssl)) {
    copy_text(channel->reason, sizeof channel->reason, X509_verify_cert_error_string(verification));
    ERR_clear_error();
    return;
  }
  take_reason(channel->reason, sizeof channel->reason);
}

size_t ctls_open(ctls_channel *channel, ctls_buffers *buffers, void *bytes, size_t count, int *state) {
  ERR_clear_error();
  channel->buffers = buffers;
  size_t opened = 0;
  *state = ctls_more;
  while (1) {
    size_t read = 0;
    if (SSL_read_ex(channel->ssl, (char *)bytes + opened, count - opened, &read) == 1) {
      opened += read;
      continue;
    }
    int error = SSL_get_error(channel->ssl, 0);
    if (error == SSL_ERROR_ZERO_RETURN) {
      *state = ctls_ended;
    } else if (error != SSL_ERROR_WANT_READ) {
      *state = ctls_failed;
      fail(channel);
    }
    break;
  }
  channel->buffers = NULL;
  return opened;
}

/* Appends a name after its kind and its length, unless it does not fit. */
static void append_name(unsigned char *names, size_t size, size_t *used, int kind, const unsigned char *name, int length) {
  if (length <= 0 || length > 0xFFFF || size - *used < (size_t)length + 3) return;
  unsigned char *entry = names + *used;
  entry[0] = (unsigned char)kind;
  entry[1] = (unsigned char)(length >> 8);
  entry[2] = (unsigned char)length;
  memcpy(entry + 3, name, (size_t)length);
  *used += (size_t)length + 3;
}

/* Whether these are visible characters of ASCII: with a zero or another control character, one program would see another
   name than the next. */
static int is_visible(const unsigned char *text, int length) {
  for (int index = 0; index < length; index++)
    if (text[index] <= 0x20 || text[index] >= 0x7F) return 0;
  return 1;
}

static void append_common_name(const X509 *certificate, unsigned char *names, size_t size, size_t *used) {
  const X509_NAME *subject = X509_get_subject_name(certificate);
  int place = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (place < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, place) >= 0) return;
  unsigned char *text = NULL;
  int length = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, place)));
  if (length < 0) return;
  int has_control = 0;
  for (int index = 0; index < length; index++) has_control |= text[index] < 0x20 || text[index] == 0x7F;
  if (!has_control) append_name(names, size, used, ctls_common_name, text, length);
  OPENSSL_free(text);
}

long ctls_client_certificate(
  const ctls_channel *channel, unsigned char *sha256, long long *not_after, unsigned char *names, size_t size
) {
  X509 *certificate = SSL_get0_peer_certificate(channel->ssl);
  if (certificate == NULL || SSL_get_verify_result(channel->ssl) != X509_V_OK) return -1;
  ERR_clear_error();
  unsigned int count = 0;
  if (X509_digest(certificate, EVP_sha256(), sha256, &count) != 1 || count != 32) return -1;
  struct tm end;
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) != 1) return -1;
  *not_after = timegm(&end);
  size_t used = 0;
  GENERAL_NAMES *all = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
  for (int number = 0; number < sk_GENERAL_NAME_num(all); number++) {
    const GENERAL_NAME *entry = sk_GENERAL_NAME_value(all, number);
    int kind = entry->type == GEN_DNS ? ctls_dns_name
      : entry->type == GEN_URI ? ctls_uri
      : entry->type == GEN_EMAIL ? ctls_mail : 0;
    if (kind == 0) continue;
    const unsigned char *text = ASN1_STRING_get0_data(entry->d.ia5);
    int length = ASN1_STRING_length(entry->d.ia5);
    if (is_visible(text, length)) append_name(names, size, &used, kind, text, length);
  }
  GENERAL_NAMES_free(all);
  append_common_name(certificate, names, size, &used);
  ERR_clear_error();
  return (long)used;
}

/* Encrypts at most one record; 0 when the channel has failed. */
static int seal_record(ctls_channel *channel, const void *bytes, size_t count) {
  size_t written = 0;
  if (SSL_write_ex(channel->ssl, bytes, count, &written) == 1 && written == count) return 1;
  fail(channel);
  return 0;
}

long ctls_seal(
  ctls_channel *channel, ctls_buffers *buffers, const void *list, int count, size_t skipped, size_t enough
) {
  const struct iovec *blocks = list;
  unsigned char gathered[record_bytes];
  ERR_clear_error();
  channel->buffers = buffers;
  long sealed = 0;
  int index = 0;
  while (index < count && skipped >= blocks[index].iov_len) skipped -= blocks[index++].iov_len;
  while (index < count && buffers->output_count < enough && sealed >= 0) {
    size_t rest = blocks[index].iov_len - skipped;
    const unsigned char *start = (const unsigned char *)blocks[index].iov_base + skipped;
    size_t filled = 0;
    if (rest >= record_bytes || index + 1 == count) {
      /* Without copying. */
      filled = rest < record_bytes ? rest : record_bytes;
      skipped += filled;
    } else {
      while (index < count && filled < record_bytes) {
        rest = blocks[index].iov_len - skipped;
        size_t taken = rest < record_bytes - filled ? rest : record_bytes - filled;
        memcpy(gathered + filled, (const unsigned char *)blocks[index].iov_base + skipped, taken);
        filled += taken;
        skipped += taken;
        if (skipped == blocks[index].iov_len) {
          skipped = 0;
          index++;
        }
      }
      start = gathered;
    }
    if (index < count && skipped == blocks[index].iov_len) {
      skipped = 0;
      index++;
    }
    sealed = filled == 0 || seal_record(channel, start, filled) ? sealed + (long)filled : -1;
  }
  channel->buffers = NULL;
  return sealed;
}

void ctls_end(ctls_channel *channel, ctls_buffers *buffers) {
  if (!SSL_is_init_finished(channel->ssl)) return;
  ERR_clear_error();
  channel->buffers = buffers;
  SSL_shutdown(channel->ssl);
  channel->buffers = NULL;
  ERR_clear_error();
}

void ctls_reason(const ctls_channel *channel, char *reason, size_t size) {
  copy_text(reason, size, channel->reason);
}

/* --- Making certificates --- */

static int add_extension(X509 *certificate, X509 *issuer, int kind, const char *value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
  X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
  int works = extension != NULL && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return works;
}

static int fill_certificate(X509 *certificate, EVP_PKEY *key, X509 *issuer, const char *subject, const char *names, int client, long seconds) {
  BIGNUM *serial = BN_new();
  /* Random, so that it is practically unique (RFC 5280 section 4.1.2.2: at most 20 bytes, positive). */
  int works = serial != NULL && BN_rand(serial, 127, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1
    && BN_to_ASN1_INTEGER(serial, X509_get_serialNumber(certificate)) != NULL;
  BN_free(serial);
  int is_authority = seconds < 0;
  /* Valid from a day ago: clocks differ. */
  X509_NAME *name = X509_get_subject_name(certificate);
  works = works && X509_set_version(certificate, 2) == 1
    && X509_gmtime_adj(X509_getm_notBefore(certificate), -86400) != NULL
    && X509_gmtime_adj(X509_getm_notAfter(certificate), is_authority ? -seconds : seconds) != NULL
    && X509_set_pubkey(certificate, key) == 1
    && X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)subject, -1, -1, 0) == 1
    && X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1
    && add_extension(certificate, issuer, NID_subject_key_identifier, "hash")
    && add_extension(certificate, issuer, NID_basic_constraints, is_authority ? "critical,CA:TRUE" : "critical,CA:FALSE")
    && add_extension(
      certificate, issuer, NID_key_usage,
      is_authority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature");
  if (issuer != certificate) works = works && add_extension(certificate, issuer, NID_authority_key_identifier, "keyid");
  if (is_authority) return works;
  return works && add_extension(certificate, issuer, NID_ext_key_usage, client ? "clientAuth" : "serverAuth")
    && (names == NULL || add_extension(certificate, issuer, NID_subject_alt_name, names));
}

size_t ctls_make_certificate(
  const char *subject, const char *names, int client, long seconds, int rsa, const char *issuer, char *pem, size_t size
) {
  size_t written = 0;
  X509 *certificate = X509_new();
  EVP_PKEY *key = rsa ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256");
  BIO *input = issuer == NULL ? NULL : BIO_new_mem_buf(issuer, -1);
  X509 *authority = input == NULL ? NULL : PEM_read_bio_X509(input, NULL, no_passphrase, NULL);
  EVP_PKEY *authority_key = authority == NULL ? NULL : PEM_read_bio_PrivateKey(input, NULL, no_passphrase, NULL);
  BIO *output = BIO_new(BIO_s_mem());
  int has_issuer = issuer == NULL || authority_key != NULL;
  if (certificate != NULL && key != NULL && output != NULL && has_issuer
      && fill_certificate(certificate, key, authority == NULL ? certificate : authority, subject, names, client, seconds)
      && X509_sign(certificate, authority_key == NULL ? key : authority_key, EVP_sha256()) > 0
      && PEM_write_bio_X509(output, certificate) == 1
      && PEM_write_bio_PrivateKey(output, key, NULL, NULL, 0, NULL, NULL) == 1) {
    char *bytes = NULL;
    long count = BIO_get_mem_data(output, &bytes);
    if (count > 0 && (size_t)count <= size) {
      memcpy(pem, bytes, (size_t)count);
      written = (size_t)count;
    }
  }
  BIO_free(output);
  BIO_free(input);
  X509_free(authority);
  EVP_PKEY_free(authority_key);
  EVP_PKEY_free(key);
  X509_free(certificate);
  ERR_clear_error();
  return written;
}
