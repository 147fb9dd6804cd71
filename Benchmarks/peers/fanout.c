// SPDX-License-Identifier: MIT
//
// fanout: one ruler for servers that push updates to many subscribers.
//
// It opens N subscribers, waits until the server has confirmed every subscription, publishes updates of which at most
// W are unacknowledged (or so many per second), and reads the time "ts" out of every delivery. It never waits for one
// thing alone: everything is one thread and one epoll set, so a server that is slow to accept does not slow down the
// other handshakes. It prints one JSON line, also when the server stalls; then "stalled" is true and the exit code 3.
//
// With --pause it prints a line with "ready" when all subscribers are there, and waits for a line on its standard input
// before it publishes and again before it closes the connections: whoever measures the server's processor time and
// memory reads them at these two moments.
//
//   gcc -O2 -Wall -Wextra -o fanout fanout.c && ./fanout --peer signal --port 8080 --subscribers 1000 --updates 500
//
// For --tls it takes OpenSSL: gcc -DWITH_TLS ... -lssl -lcrypto. Then all that goes to --port is TLS 1.3, also the
// publisher where --publish-port is the same.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#ifdef WITH_TLS
#include <openssl/err.h>
#include <openssl/ssl.h>
#endif

// What is spoken: Signal Server's live protocol, plain messages on a WebSocket, both published by HTTP PUT; NATS and
// MQTT 3.1.1 over WebSocket, published over TCP; and Redis' RESP, which is TCP alone.
enum peer { SIGNAL, WS, NATS, MQTT, REDIS };
static const char *const peer_names[] = {"signal", "ws", "nats", "mqtt", "redis"};

enum state { CONNECTING, UPGRADING, SUBSCRIBING, READY, CLOSED };

struct client {
  int fd;
  struct ssl_st *tls;    // nothing where it is not spoken
  enum state state;
  int index;
  bool confirmed;        // the server has said that the subscription stands
  bool saw_last;         // the last update has arrived
  int values;            // deliveries so far
  uint64_t began;        // when it began to connect
  unsigned char *carry;  // the beginning of a message whose rest has not arrived
  size_t carry_length;
};

static struct {
  enum peer peer;
  int port, publish_port, subscribers, connecting, window, size, snapshot;
  long updates;
  double rate, seconds, stall;
  const char *path, *channel, *extensions, *tokens;
  bool to_one, in_step, pause, tls, resume;
} opt = {.port = 8080, .subscribers = 1000, .connecting = 128, .window = 1, .size = 64, .updates = -1, .stall = 4,
         .path = "/events?match=a&initial=false&oldValue=false", .channel = "a"};

static struct client *clients, publisher = {.index = -1}, input_line = {.index = -2};
static int set, opened, ready, closed, refused, resumed;
static bool line_came;
static uint64_t progress;  // when something last arrived
static unsigned char input[1 << 20];
static char **fields;  // what says who asks, in a request: of each subscriber, and behind them of the publisher

// ------------------------------------------------------------------------------------------ time, counts, percentiles

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// A histogram with 32 steps for each doubling: 3 % off at most, whatever the range, and no sorting.
struct histogram { uint64_t count, max, bin[64 * 64]; };
static struct histogram latency, connects;
static uint64_t delivered, bytes, gaps, last_ts;

static void record(struct histogram *h, uint64_t ns) {
  int shift = ns < 64 ? 0 : 63 - __builtin_clzll(ns) - 5;
  h->bin[shift ? (size_t)(shift * 32 + (int)(ns >> shift)) : ns]++;
  h->count++;
  if (ns > h->max) h->max = ns;
}

static double percentile_us(const struct histogram *h, double p) {
  uint64_t rank = (uint64_t)((double)h->count * p), seen = 0;
  for (size_t i = 0; i < sizeof h->bin / sizeof *h->bin; i++) {
    seen += h->bin[i];
    if (seen > rank) {
      size_t shift = i < 64 ? 0 : i / 32 - 1;
      return (double)((i - shift * 32) << shift) / 1e3;
    }
  }
  return (double)h->max / 1e3;
}

#define die(...) (fprintf(stderr, "fanout: " __VA_ARGS__), fputc('\n', stderr), exit(1))

// Reads the tokens, one on each line.
static void read_tokens(void) {
  fields = calloc((size_t)opt.subscribers + 1, sizeof *fields);
  FILE *file = opt.tokens ? fopen(opt.tokens, "r") : NULL;
  if (opt.tokens && !file) die("%s: %s", opt.tokens, strerror(errno));
  for (int i = 0; i <= opt.subscribers; i++) {
    char token[1024] = "";
    if (file && fscanf(file, "%1000s", token) != 1) die("a token is missing for each subscriber and the publisher");
    fields[i] = calloc(1, strlen(token) + 32);
    if (file) sprintf(fields[i], "Authorization: Bearer %s\r\n", token);
  }
  if (file) fclose(file);
}

// Copies a template; each {i} becomes the number.
static char *expand(char *out, const char *template, long i) {
  for (; *template; template++) {
    if (strncmp(template, "{i}", 3)) {
      *out++ = *template;
      continue;
    }
    out += sprintf(out, "%ld", i);
    template += 2;
  }
  *out = 0;
  return out;
}

// ----------------------------------------------------------------------------------------------------------------- TLS

#ifdef WITH_TLS
// One cipher suite, so that it is the same for every server. Nothing is verified.
static void secure(struct client *c) {
  static SSL_CTX *context;
  if (!context) {
    signal(SIGPIPE, SIG_IGN);  // OpenSSL writes without MSG_NOSIGNAL
    context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256");
    SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(context, 1);  // one read for the head of a record and what is in it
  }
  c->tls = SSL_new(context);
  SSL_set_fd(c->tls, c->fd);
  SSL_set_connect_state(c->tls);
  if (opt.resume && clients->state == READY) SSL_set_session(c->tls, SSL_get_session(clients->tls));
}

// What read and send would return.
static ssize_t outcome(struct client *c, int is_good, const size_t *length) {
  if (is_good) return (ssize_t)*length;
  int error = SSL_get_error(c->tls, is_good);
  if (error == SSL_ERROR_SSL) die("TLS: %s", ERR_error_string(ERR_get_error(), NULL));
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) errno = EAGAIN;
  return error == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

// Goes on with a handshake; returns whether it has come to its end.
static bool shake_hands(struct client *c) {
  if (!c->tls) return true;
  ssize_t n = outcome(c, SSL_do_handshake(c->tls) == 1, &(size_t){1});
  if (n == 0 || (n < 0 && errno != EAGAIN)) die("the server closed connection %d in its handshake", c->index);
  if (n > 0) resumed += SSL_session_reused(c->tls);
  return n > 0;
}

static ssize_t receive(struct client *c, void *to, size_t room) {
  size_t n = 0;
  return c->tls ? outcome(c, SSL_read_ex(c->tls, to, room, &n), &n) : read(c->fd, to, room);
}

static ssize_t transmit(struct client *c, const void *data, size_t length) {
  size_t n = 0;
  return c->tls ? outcome(c, SSL_write_ex(c->tls, data, length, &n), &n) : send(c->fd, data, length, MSG_NOSIGNAL);
}

// Whether something has been read from the socket that epoll therefore does not tell of.
static bool has_more(struct client *c) { return c->tls && SSL_has_pending(c->tls); }
#else
#define secure(c) die("--tls takes a build with -DWITH_TLS -lssl -lcrypto")
#define shake_hands(c) true
#define receive(c, to, room) read((c)->fd, to, room)
#define transmit(c, data, length) send((c)->fd, data, length, MSG_NOSIGNAL)
#define has_more(c) false
#endif

// ------------------------------------------------------------------------------------------------------------- sending

// Commands are small and the sockets of subscribers empty: one that is not taken whole is a fault worth ending for.
static void send_whole(struct client *c, const void *data, size_t length) {
  if (transmit(c, data, length) != (ssize_t)length) die("cannot send: %s", strerror(errno));
}

// A frame of a client must be masked; the key may be anything, and with zeros the bytes stay what they are.
static void send_frame(struct client *c, int opcode, const void *data, size_t length) {
  unsigned char frame[4096];
  size_t n = 0;
  if (length > sizeof frame - 8) die("command too long");
  frame[n++] = (unsigned char)(0x80 | opcode);
  if (length < 126) {
    frame[n++] = (unsigned char)(0x80 | length);
  } else {
    frame[n++] = 0x80 | 126;
    frame[n++] = (unsigned char)(length >> 8);
    frame[n++] = (unsigned char)length;
  }
  memset(frame + n, 0, 4);
  memcpy(frame + n + 4, data, length);
  send_whole(c, frame, n + 4 + length);
}

// An MQTT packet: type and flags, the length in groups of seven bits, the rest.
static size_t mqtt_packet(unsigned char *out, int type, const void *rest, size_t length) {
  size_t n = 0, left = length;
  out[n++] = (unsigned char)type;
  do {
    out[n++] = (unsigned char)((left & 127) | (left > 127 ? 128 : 0));
    left >>= 7;
  } while (left);
  memcpy(out + n, rest, length);
  return n + length;
}

// A text as MQTT has it, behind its length.
static size_t mqtt_text(unsigned char *out, const char *text, size_t length) {
  out[0] = (unsigned char)(length >> 8);
  out[1] = (unsigned char)length;
  memcpy(out + 2, text, length);
  return length + 2;
}

static size_t mqtt_connect(unsigned char *out, int index) {
  unsigned char rest[64] = {0, 4, 'M', 'Q', 'T', 'T', 4, 2 /* clean session */, 0, 0 /* no keep-alive */};
  char name[32];
  int length = sprintf(name, "fanout-%d-%d", (int)getpid() % 100000, index);
  return mqtt_packet(out, 0x10, rest, 10 + mqtt_text(rest + 10, name, (size_t)length));
}

// Asks for the updates, on the upgraded connection. The others subscribe with the address of the WebSocket.
static void subscribe(struct client *c) {
  unsigned char out[2048];
  char channel[512];
  size_t length = (size_t)(expand(channel, opt.channel, c->index) - channel);
  if (opt.peer == NATS) {
    int n = sprintf((char *)out, "CONNECT {\"verbose\":false,\"pedantic\":false}\r\nSUB %s 1\r\nPING\r\n", channel);
    send_frame(c, 2, out, (size_t)n);
  } else if (opt.peer == MQTT) {
    send_frame(c, 2, out, mqtt_connect(out, c->index));
    unsigned char rest[600] = {0, 1};  // the packet's number; the zero at the end is the quality of service
    send_frame(c, 2, out, mqtt_packet(out, 0x82, rest, 2 + mqtt_text(rest + 2, channel, length) + 1));
  } else if (opt.peer == REDIS) {
    int n = sprintf((char *)out, "SUBSCRIBE %s\r\n", channel);
    send_whole(c, out, (size_t)n);
  }
}

// ----------------------------------------------------------------------------------------------------------- receiving

static void become_ready_if_complete(struct client *c) {
  if (c->state != SUBSCRIBING || !c->confirmed || c->values < opt.snapshot) return;
  c->state = READY;
  ready++;
  record(&connects, now() - c->began);
}

// Counts the deliveries in a message: each has one "ts". Servers may put several deliveries into a message.
static void scan(struct client *c, const unsigned char *p, size_t length, uint64_t arrived) {
  const unsigned char *end = p + length;
  while ((p = memmem(p, (size_t)(end - p), "\"ts\":", 5))) {
    uint64_t ts = 0;
    for (p += 5; p < end && *p >= '0' && *p <= '9'; p++) ts = ts * 10 + (uint64_t)(*p - '0');
    c->values++;
    delivered++;
    record(&latency, arrived > ts ? arrived - ts : 0);
    if (last_ts && ts == last_ts) c->saw_last = true;
  }
}

#define HAS(text) (memmem(p, length, text, sizeof text - 1) != NULL)

// One WebSocket message, or for Redis one reply.
static void on_message(struct client *c, const unsigned char *p, size_t length, uint64_t arrived) {
  scan(c, p, length, arrived);
  if (opt.peer == SIGNAL) {
    if (c->state == SUBSCRIBING && HAS("\"type\":\"live\"")) c->confirmed = true;
    if (length < 300 && HAS("\"type\":\"gap\"")) gaps++;
  } else if (opt.peer == NATS && length < 4096) {
    if (c->state == SUBSCRIBING && HAS("PONG\r\n")) c->confirmed = true;
    if (HAS("PING\r\n")) send_frame(c, 2, "PONG\r\n", 6);
    if (HAS("-ERR")) die("NATS: %.*s", (int)length, p);
  } else if (opt.peer == MQTT && length && p[0] == 0x90) {
    c->confirmed = true;
  }
  become_ready_if_complete(c);
}

// Takes whole frames from the front; returns how much was taken.
static size_t take_frames(struct client *c, const unsigned char *p, size_t length, uint64_t arrived) {
  size_t at = 0;
  while (length - at >= 2) {
    const unsigned char *f = p + at;
    uint64_t size = f[1] & 127;
    size_t head = size == 126 ? 4 : size == 127 ? 10 : 2;
    if (length - at < head) break;
    if (head > 2) {
      size = 0;
      for (size_t i = 2; i < head; i++) size = size << 8 | f[i];
    }
    if (size > sizeof input / 2) die("a frame of %llu bytes", (unsigned long long)size);
    if (length - at < head + size) break;
    int opcode = f[0] & 15;
    if (opcode <= 2 && f[0] & 0x40) {  // compressed: one delivery, whose content is not looked at
      c->values++;
      delivered++;
    } else if (opcode <= 2) {
      on_message(c, f + head, size, arrived);
    }
    if (opcode == 8) fprintf(stderr, "fanout: close %d\n", size >= 2 ? f[head] << 8 | f[head + 1] : 1005);
    if (opcode == 9) send_frame(c, 10, f + head, size);
    at += head + size;
  }
  return at;
}

// Takes whole replies of Redis: an array is only the number of those that follow, so each is taken by itself.
static size_t take_replies(struct client *c, const unsigned char *p, size_t length, uint64_t arrived) {
  size_t at = 0;
  const unsigned char *line;
  while ((line = memchr(p + at, '\n', length - at))) {
    size_t next = (size_t)(line - p) + 1;
    if (p[at] == '$') {
      size_t size = strtoul((const char *)p + at + 1, NULL, 10);
      if (length - next < size + 2) break;
      on_message(c, p + next, size, arrived);
      next += size + 2;
    } else if (p[at] == ':') {
      c->confirmed = true;
      become_ready_if_complete(c);
    } else if (p[at] == '-') {
      die("Redis: %.*s", (int)(next - at), p + at);
    }
    at = next;
  }
  return at;
}

// The acknowledgements at the front of what the publisher was sent: counts them; returns how much was taken.
static long acknowledged;
static size_t take_acknowledgements(const unsigned char *p, size_t length) {
  size_t at = 0;
  while (at < length) {
    const unsigned char *q = p + at, *end;
    size_t left = length - at, taken;
    if (opt.peer == MQTT) {
      if (left < 2 || left < (size_t)q[1] + 2) break;
      if (q[0] == 0x40) acknowledged++;
      taken = (size_t)q[1] + 2;
    } else if (opt.peer == NATS || opt.peer == REDIS) {
      if (!(end = memchr(q, '\n', left))) break;
      taken = (size_t)(end - q) + 1;
      if (*q == ':' || !strncmp((const char *)q, "PONG", 4)) acknowledged++;
      if (!strncmp((const char *)q, "PING", 4)) send_whole(&publisher, "PONG\r\n", 6);
      if (*q == '-') die("%.*s", (int)taken, q);
    } else {
      if (!(end = memmem(q, left, "\r\n\r\n", 4))) break;
      taken = (size_t)(end - q) + 4;
      for (const unsigned char *f = q; (f = memchr(f, '\n', (size_t)(end - f))); f++)
        if (!strncasecmp((const char *)f + 1, "content-length:", 15)) taken += strtoul((const char *)f + 16, NULL, 10);
      if (left < taken) break;
      acknowledged++;
      if (left < 10 || q[9] != '2') refused++;
    }
    at += taken;
  }
  return at;
}

// ---------------------------------------------------------------------------------------------------------- connecting

static void watch(int operation, struct client *c, uint32_t events) {
  struct epoll_event event = {.events = events, .data.ptr = c};
  if (epoll_ctl(set, operation, c->fd, &event)) die("epoll_ctl: %s", strerror(errno));
}

// A source address has about 28 000 ports; those of the connections before stay taken for a while after their end.
static void open_socket(struct client *c, int port, int sequence) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
  if (fd < 0) die("socket: %s", strerror(errno));
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  uint32_t host = 0x7f000002u + (uint32_t)getpid() % 200 * 4 + (uint32_t)sequence / 8000;
  struct sockaddr_in source = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(host)};
  if (bind(fd, (struct sockaddr *)&source, sizeof source)) die("bind: %s", strerror(errno));
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (connect(fd, (struct sockaddr *)&to, sizeof to) && errno != EINPROGRESS) die("connect: %s", strerror(errno));
  c->fd = fd;
  if (opt.tls && port == opt.port) secure(c);
}

static void open_next(void) {
  struct client *c = &clients[opened];
  c->index = opened++;
  c->began = now();
  open_socket(c, opt.port, c->index);
  watch(EPOLL_CTL_ADD, c, EPOLLOUT);
}

static void on_connected(struct client *c) {
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &length);
  if (error) die("connect: %s", strerror(error));
  watch(EPOLL_CTL_MOD, c, EPOLLIN);
  if (!shake_hands(c)) return;
  if (opt.peer == REDIS) {
    c->state = SUBSCRIBING;
    subscribe(c);
    return;
  }
  char path[1024], request[4096];
  expand(path, opt.path, c->index);
  int n = sprintf(request,
                  "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n%s%s%s%s%s\r\n",
                  path, opt.port, fields[c->index], opt.peer == MQTT ? "Sec-WebSocket-Protocol: mqtt\r\n" : "",
                  opt.extensions ? "Sec-WebSocket-Extensions: " : "", opt.extensions ? opt.extensions : "",
                  opt.extensions ? "\r\n" : "");
  send_whole(c, request, (size_t)n);
  c->state = UPGRADING;
}

static size_t take_upgrade(struct client *c, const unsigned char *p, size_t length) {
  const unsigned char *end = memmem(p, length, "\r\n\r\n", 4);
  if (!end) return 0;
  if (strncmp((const char *)p, "HTTP/1.1 101", 12)) die("no upgrade: %.*s", (int)(end - p), p);
  c->state = SUBSCRIBING;
  subscribe(c);
  if (opt.peer == WS) {
    c->confirmed = true;
    become_ready_if_complete(c);
  }
  return (size_t)(end - p) + 4;
}

// All sockets share one buffer; a client keeps only what is left of a message that has not arrived whole. Returns
// whether there is more to take.
static bool on_readable(struct client *c) {
  size_t length = c->carry_length, at = 0;
  if (length) memcpy(input, c->carry, length);
  ssize_t n = receive(c, input + length, sizeof input - 1 - length);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (n <= 0) {
    if (c == &publisher) die("the server closed the publisher's connection");
    if (c->state != READY) die("the server closed connection %d before it was ready", c->index);
    c->state = CLOSED;
    closed++;
    close(c->fd);
    return false;
  }
  uint64_t arrived = progress = now();
  length += (size_t)n;
  input[length] = 0;
  bytes += (uint64_t)n;
  if (c == &publisher) {
    at = take_acknowledgements(input, length);
  } else {
    if (c->state == UPGRADING) at = take_upgrade(c, input, length);
    if (c->state >= SUBSCRIBING)
      at += opt.peer == REDIS ? take_replies(c, input + at, length - at, arrived)
                              : take_frames(c, input + at, length - at, arrived);
  }
  c->carry_length = length - at;
  if (c->carry_length) {
    c->carry = realloc(c->carry, c->carry_length);
    memcpy(c->carry, input + at, c->carry_length);
  }
  return has_more(c);
}

// Handles what is there, or waits for it at most so many nanoseconds.
static void turn(uint64_t wait) {
  static struct epoll_event events[1024];
  struct timespec limit = {.tv_sec = (time_t)(wait / 1000000000u), .tv_nsec = (long)(wait % 1000000000u)};
  int n = epoll_pwait2(set, events, 1024, &limit, NULL);
  for (int i = 0; i < n; i++) {
    struct client *c = events[i].data.ptr;
    if (c == &input_line) {
      char line[64];
      line_came = read(0, line, sizeof line) >= 0;
    } else if (c->state == CONNECTING) {
      on_connected(c);
    } else if (c->state != CLOSED) {
      while (on_readable(c)) {}
    }
  }
}

static bool stalled(void) { return (double)(now() - progress) / 1e9 > opt.stall; }

// Waits for a line from whoever measures; the connections are served meanwhile.
static void wait_for_line(void) {
  if (!opt.pause) return;
  line_came = false;
  watch(EPOLL_CTL_ADD, &input_line, EPOLLIN);
  while (!line_came) turn(100000000);
  watch(EPOLL_CTL_DEL, &input_line, 0);
}

// ---------------------------------------------------------------------------------------------------------- publishing

static char *pending;  // requests that the publisher's socket has not taken
static size_t pending_at, pending_length, pending_capacity;

static void add_update(long number, uint64_t ts) {
  char *body = malloc((size_t)opt.size + 128), channel[512];
  int target = (int)(number % opt.subscribers);
  size_t name = (size_t)(expand(channel, opt.channel, target) - channel);
  int length = sprintf(body, "{\"ts\":%llu,\"n\":%d,\"pad\":\"", (unsigned long long)ts, target);
  // Digits, other ones each time: text as it is, neither all the same nor without any order.
  static uint64_t random = 1;
  for (int i = 0; i < opt.size; i++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    body[length++] = (char)('0' + (random >> 33) % 10);
  }
  length += sprintf(body + length, "\"}");
  const char *field = fields[opt.subscribers];
  size_t room = (size_t)length + name + strlen(field) + 512;
  if (pending_length + room > pending_capacity) {
    pending_capacity = (pending_length + room) * 2;
    pending = realloc(pending, pending_capacity);
  }
  char *out = pending + pending_length;
  if (opt.peer == NATS) {
    out += sprintf(out, "PUB %s %d\r\n%s\r\nPING\r\n", channel, length, body);
  } else if (opt.peer == REDIS) {
    out += sprintf(out, "*3\r\n$7\r\nPUBLISH\r\n$%zu\r\n%s\r\n$%d\r\n%s\r\n", name, channel, length, body);
  } else if (opt.peer == MQTT) {  // quality of service 1, which is the one that is acknowledged
    unsigned char *rest = malloc(room);
    int id = (int)(number % 60000) + 1;
    size_t n = mqtt_text(rest, channel, name);
    rest[n++] = (unsigned char)(id >> 8);
    rest[n++] = (unsigned char)id;
    memcpy(rest + n, body, (size_t)length);
    out += mqtt_packet((unsigned char *)out, 0x32, rest, n + (size_t)length);
    free(rest);
  } else {
    out += sprintf(out, "PUT /properties/%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%sContent-Length: %d\r\n\r\n%s", channel,
                   opt.publish_port, field, length, body);
  }
  pending_length = (size_t)(out - pending);
  free(body);
}

static void flush(void) {
  while (pending_at < pending_length) {
    ssize_t n = transmit(&publisher, pending + pending_at, pending_length - pending_at);
    if (n < 0 && errno == EAGAIN) return;
    if (n < 0) die("cannot publish: %s", strerror(errno));
    pending_at += (size_t)n;
  }
  pending_at = pending_length = 0;
}

static void open_publisher(void) {
  open_socket(&publisher, opt.publish_port, 30000);
  publisher.state = READY;
  watch(EPOLL_CTL_ADD, &publisher, EPOLLIN);
  unsigned char out[128];
  if (opt.peer == NATS) send_whole(&publisher, "CONNECT {\"verbose\":false}\r\n", 27);
  if (opt.peer == MQTT) send_whole(&publisher, out, mqtt_connect(out, -1));
}

static bool all_saw_last(void) {
  for (int i = 0; i < opt.subscribers; i++)
    if (!clients[i].saw_last && clients[i].state == READY) return false;
  return true;
}

// The deliveries of so many updates.
static uint64_t expected(long sent) { return (uint64_t)sent * (uint64_t)(opt.to_one ? 1 : opt.subscribers); }

// Publishes until the number or the time is reached, and waits for the rest. Returns false when the server stalls.
static bool publish(uint64_t start, long *sent) {
  progress = start;
  for (*sent = 0;;) {
    uint64_t t = now();
    if (opt.updates < 0 && (double)(t - start) / 1e9 >= opt.seconds) opt.updates = *sent + 1;
    uint64_t wait = 100000000;
    while (*sent - acknowledged < opt.window && (opt.updates < 0 || *sent < opt.updates)) {
      if (opt.in_step && *sent % opt.window == 0 && (acknowledged < *sent || delivered < expected(*sent))) break;
      uint64_t ts = now();
      if (opt.rate > 0) {
        // The time when it is due, not when it is sent: who is late is charged for the wait.
        uint64_t due = start + (uint64_t)((double)*sent / opt.rate * 1e9);
        if (due > ts) {
          wait = due - ts;
          break;
        }
        ts = due;
      }
      if (*sent + 1 == opt.updates) last_ts = ts;
      add_update((*sent)++, ts);
    }
    flush();
    bool all_sent = opt.updates >= 0 && *sent >= opt.updates;
    if (all_sent && acknowledged >= *sent && (delivered >= expected(*sent) || (!opt.to_one && all_saw_last()))) return true;
    if (stalled()) return false;
    turn(pending_length ? 1000000 : wait);
  }
}

// -------------------------------------------------------------------------------------------------------------- running

static void parse(int count, char **arguments) {
  static const struct option options[] = {
      {"peer", 1, 0, 'p'}, {"port", 1, 0, 'P'}, {"publish-port", 1, 0, 'Q'}, {"path", 1, 0, 'u'},
      {"channel", 1, 0, 'c'}, {"subscribers", 1, 0, 'n'}, {"connecting", 1, 0, 'k'}, {"updates", 1, 0, 'm'},
      {"seconds", 1, 0, 's'}, {"window", 1, 0, 'w'}, {"rate", 1, 0, 'r'}, {"size", 1, 0, 'b'},
      {"snapshot", 1, 0, 'i'}, {"stall", 1, 0, 'S'}, {"to-one", 0, 0, 'o'}, {"pause", 0, 0, 'a'},
      {"extensions", 1, 0, 'x'}, {"tokens", 1, 0, 't'}, {"tls", 0, 0, 'T'}, {"resume", 0, 0, 'R'}, {"in-step", 0, 0, 'l'},
      {0, 0, 0, 0}};
  for (int option; (option = getopt_long(count, arguments, "", options, NULL)) != -1;) {
    switch (option) {
      case 'p':
        while (strcmp(peer_names[opt.peer], optarg))
          if (++opt.peer > REDIS) die("--peer is signal, ws, nats, mqtt or redis");
        break;
      case 'P': opt.port = atoi(optarg); break;
      case 'Q': opt.publish_port = atoi(optarg); break;
      case 'u': opt.path = optarg; break;               // of the WebSocket; {i} is the subscriber's number
      case 'c': opt.channel = optarg; break;            // property, subject, topic or channel; {i} as above
      case 'n': opt.subscribers = atoi(optarg); break;
      case 'k': opt.connecting = atoi(optarg); break;   // handshakes under way at a time
      case 'm': opt.updates = atol(optarg); break;      // how many to publish; 0 publishes nothing
      case 's': opt.seconds = atof(optarg); break;      // or how long
      case 'w': opt.window = atoi(optarg); break;
      case 'r': opt.rate = atof(optarg); break;         // updates per second; without it, as fast as they are taken
      case 'b': opt.size = atoi(optarg); break;         // bytes of padding in each value
      case 'i': opt.snapshot = atoi(optarg); break;     // values that belong to the handshake
      case 'S': opt.stall = atof(optarg); break;        // seconds without any progress that end the run
      case 'x': opt.extensions = optarg; break;         // offered with each WebSocket
      case 't': opt.tokens = optarg; break;             // a file: of each subscriber, then the publisher's
      case 'o': opt.to_one = true; break;               // each update is for one subscriber: the number n in it
      case 'l': opt.in_step = true; break;              // a window's updates at once, when all have those before it
      case 'a': opt.pause = true; break;
      case 'T': opt.tls = true; break;
      case 'R': opt.resume = true; break;               // the sessions of all are resumed from that of the first
      default: exit(2);
    }
  }
  if (optind < count || opt.subscribers < 1 || opt.connecting < 1 || opt.window < 1 || opt.size < 0 ||
      strlen(opt.path) > 300 || strlen(opt.channel) > 100 || (opt.updates < 0 && opt.seconds <= 0))
    die("wrong arguments; --updates or --seconds is needed");
  if (!opt.publish_port) opt.publish_port = opt.port;
}

int main(int count, char **arguments) {
  parse(count, arguments);
  prctl(PR_SET_TIMERSLACK, 1);
  read_tokens();
  clients = calloc((size_t)opt.subscribers, sizeof *clients);
  set = epoll_create1(EPOLL_CLOEXEC);
  uint64_t start = progress = now();
  while (ready < opt.subscribers && !stalled()) {
    int together = opt.resume && !ready ? 1 : opt.connecting;
    while (opened < opt.subscribers && opened - ready < together) open_next();
    turn(100000000);
  }
  double connect_seconds = (double)(now() - start) / 1e9;
  bool ok = ready == opt.subscribers;
  if (ok && opt.updates) open_publisher();
  if (opt.pause) {
    printf("{\"ready\":%d,\"resumed\":%d,\"stalled\":%s,\"connect_s\":%.3f,\"connect_p99_us\":%.0f}\n", ready, resumed,
           ok ? "false" : "true", connect_seconds, percentile_us(&connects, 0.99));
    fflush(stdout);
  }
  wait_for_line();

  uint64_t waiting = delivered;
  latency = (struct histogram){0};
  delivered = bytes = gaps = 0;
  long sent = 0;
  start = now();
  if (ok && opt.updates) ok = publish(start, &sent);
  double seconds = (double)(now() - start) / 1e9;
  printf("{\"peer\":\"%s\",\"subscribers\":%d,\"connected\":%d,\"connect_s\":%.3f,\"connect_p99_us\":%.0f,"
         "\"window\":%d,\"rate\":%g,\"updates\":%ld,\"acknowledged\":%ld,\"refused\":%d,\"delivered\":%llu,"
         "\"expected\":%llu,\"before\":%llu,\"gaps\":%llu,\"closed\":%d,\"seconds\":%.4f,\"deliveries_per_s\":%.0f,"
         "\"bytes\":%llu,\"p50_us\":%.1f,\"p99_us\":%.1f,\"max_us\":%.1f,\"stalled\":%s}\n",
         peer_names[opt.peer], opt.subscribers, ready, connect_seconds, percentile_us(&connects, 0.99), opt.window,
         opt.rate, sent, acknowledged, refused, (unsigned long long)delivered, (unsigned long long)expected(sent),
         (unsigned long long)waiting, (unsigned long long)gaps, closed, seconds, (double)delivered / seconds,
         (unsigned long long)bytes, percentile_us(&latency, 0.5), percentile_us(&latency, 0.99),
         (double)latency.max / 1e3, ok ? "false" : "true");
  fflush(stdout);
  wait_for_line();
  return ok ? 0 : 3;
}
