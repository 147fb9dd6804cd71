// SPDX-License-Identifier: MIT
//
// commands: one ruler for servers that answer commands on kept connections.
//
// It opens N connections, keeps at most W commands in flight on each, and counts the answers. Signal Server is spoken to
// in its live protocol on a WebSocket, or over HTTP (`--peer http`), Redis in RESP, NATS in its own protocol: `set` is a
// message to a stream that confirms each. The commands are made beforehand, so that the ruler formats nothing while it
// measures; each connection sets a property of its own, a new value each time. It prints one JSON line; with one command in
// flight on each connection, also how long the answers took.
//
//   gcc -O2 -Wall -Wextra -o commands commands.c && ./commands --peer signal --port 8080 --verb set --seconds 2
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { VARIANTS = 64 };  // different values of one property, sent in turn: an equal value is no change

struct text { char *bytes; size_t length; };
// What it sends is the commands of all variants, one behind the other; burst n begins at begin[n].
struct connection { int fd; long in_flight, next; double sent; unsigned char carry[4096]; size_t carried, *begin; char *out; };

static struct { bool redis, nats, http, set; int port, connections, window, size; double seconds; const char *token; } opt = {
    .connections = 64, .window = 16, .size = 200, .seconds = 2, .port = 8080};

static long burst;  // commands in one write
static long waits[1000000];  // how many answers took so many microseconds

static void fail(const char *what) {
  fprintf(stderr, "commands: %s: %s\n", what, strerror(errno));
  exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

// A masked text frame (RFC 6455 §5.2) with a mask that is not zero, so that unmasking is work.
static struct text frame(const char *payload, size_t length) {
  static const unsigned char mask[4] = {0x5a, 0x17, 0xc3, 0x81};
  unsigned char *bytes = malloc(length + 14);
  size_t at = 0;
  bytes[at++] = 0x81;
  if (length < 126) {
    bytes[at++] = (unsigned char)(0x80 | length);
  } else {
    bytes[at++] = 0x80 | 126;
    bytes[at++] = (unsigned char)(length >> 8);
    bytes[at++] = (unsigned char)length;
  }
  memcpy(bytes + at, mask, 4);
  at += 4;
  for (size_t i = 0; i < length; i++) bytes[at + i] = (unsigned char)payload[i] ^ mask[i % 4];
  return (struct text){(char *)bytes, at + length};
}

static struct text command(int connection, int variant) {
  char value[65536], line[70000], path[64];
  snprintf(path, sizeof path, opt.nats ? "bench.%d.value" : "bench/%d/value", connection);
  memset(value, 'v', sizeof value);
  int digits = snprintf(value, sizeof value, "%08d", variant);
  value[digits] = 'v';
  value[opt.size - (opt.redis || opt.nats ? 0 : 2)] = 0;  // the quotes of JSON count
  int length;
  if (opt.redis) {
    length = opt.set ? snprintf(line, sizeof line, "*3\r\n$3\r\nSET\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n", strlen(path), path,
                                strlen(value), value)
                     : snprintf(line, sizeof line, "*2\r\n$3\r\nGET\r\n$%zu\r\n%s\r\n", strlen(path), path);
    return (struct text){strndup(line, (size_t)length), (size_t)length};
  }
  if (opt.nats) {
    length = snprintf(line, sizeof line, "PUB %s answer.%d %zu\r\n%s\r\n", path, connection, strlen(value), value);
    return (struct text){strndup(line, (size_t)length), (size_t)length};
  }
  if (opt.http) {
    static char body[66000] = "\r\n";
    if (opt.set) {
      snprintf(body, sizeof body, "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n\"%s\"",
               strlen(value) + 2, value);
    }
    length = snprintf(line, sizeof line, "%s /properties/%s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s", opt.set ? "PUT" : "GET",
                      path, body);
    return (struct text){strndup(line, (size_t)length), (size_t)length};
  }
  length = opt.set ? snprintf(line, sizeof line, "{\"id\":%d,\"type\":\"set\",\"path\":\"%s\",\"value\":\"%s\"}",
                              variant + 1, path, value)
                   : snprintf(line, sizeof line, "{\"id\":%d,\"type\":\"get\",\"path\":\"%s\"}", variant + 1, path);
  return frame(line, (size_t)length);
}

// How many whole answers the bytes hold; what is left over is moved to the beginning.
static long answers(struct connection *c, unsigned char *bytes, size_t length) {
  size_t at = 0;
  long count = 0;
  for (;;) {
    size_t rest = length - at, need;
    unsigned char *p = bytes + at;
    bool is_answer = true;
    if (opt.nats) {
      unsigned char *end = memmem(p, rest, "\r\n", 2), *size = end;
      if (!end) break;
      need = (size_t)(end - p) + 2;
      is_answer = *p == 'M';  // MSG subject sid size; INFO and PING are no answers
      while (is_answer && size[-1] != ' ') size--;
      if (is_answer) need += (size_t)atol((char *)size) + 2;
      if (rest >= need && (*p == '-' || memmem(p, need, "\"error\"", 7))) fail("refused");
    } else if (opt.redis) {
      unsigned char *end = memmem(p, rest, "\r\n", 2);
      if (!end) break;
      need = (size_t)(end - p) + 2;
      if (*p == '-') fail("refused");
      if (*p == '$') need += p[1] == '-' ? 0 : (size_t)atol((char *)p + 1) + 2;
    } else if (opt.http) {
      unsigned char *end = memmem(p, rest, "\r\n\r\n", 4);
      if (!end) break;
      need = (size_t)(end - p) + 4;
      if (p[9] != '2') fail("refused");
      unsigned char *size = memmem(p, need, "\r\nContent-Length: ", 18);
      if (size) need += (size_t)atol((char *)size + 18);
    } else {
      if (rest < 4) break;
      need = p[1] < 126 ? (size_t)p[1] + 2 : ((size_t)p[2] << 8 | p[3]) + 4;
      if (rest >= need && memmem(p, need, "\"error\"", 7)) fail("refused");
    }
    if (rest < need) break;
    at += need;
    count += is_answer;
  }
  c->carried = length - at;
  if (c->carried > sizeof c->carry) fail("an answer is too long");
  memmove(c->carry, bytes + at, c->carried);
  return count;
}

static void upgrade(struct connection *c) {
  char request[4096];
  snprintf(request, sizeof request, "GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n%s%s%s\r\n",
      opt.token ? "Authorization: Bearer " : "", opt.token ? opt.token : "", opt.token ? "\r\n" : "");
  if (write(c->fd, request, strlen(request)) < 0) fail("write");
  unsigned char bytes[8192];
  size_t length = 0;
  // The head of the answer, and the hello behind it.
  for (;;) {
    ssize_t got = read(c->fd, bytes + length, sizeof bytes - length);
    if (got <= 0) fail("handshake");
    length += (size_t)got;
    unsigned char *end = memmem(bytes, length, "\r\n\r\n", 4);
    if (!end) continue;
    size_t head = (size_t)(end - bytes) + 4, need = 2;
    if (length >= head + 4) need = bytes[head + 1] < 126 ? bytes[head + 1] + 2u : ((size_t)bytes[head + 2] << 8 | bytes[head + 3]) + 4;
    if (length > head + 4 && length - head >= need) return;
  }
}

// Asks for the answers to a connection's messages.
static void subscribe(struct connection *c, int index) {
  char line[128];
  int length = snprintf(line, sizeof line, "CONNECT {\"verbose\":false,\"pedantic\":false}\r\nSUB answer.%d 1\r\n", index);
  if (write(c->fd, line, (size_t)length) != length) fail("write");
}

// Makes all that a connection will send.
static void prepare(struct connection *c, int index) {
  size_t length = 0;
  c->begin = calloc((size_t)(VARIANTS / burst) + 1, sizeof *c->begin);
  for (long v = 0; v < VARIANTS / burst * burst; v++) {
    struct text text = command(index, (int)v);
    c->out = realloc(c->out, length + text.length);
    memcpy(c->out + length, text.bytes, text.length);
    length += text.length;
    free(text.bytes);
    if ((v + 1) % burst == 0) c->begin[(v + 1) / burst] = length;
  }
}

// Sends as many bursts as the window has room for.
static void send_bursts(struct connection *c) {
  for (; c->in_flight + burst <= opt.window; c->in_flight += burst) {
    long k = c->next++ % (VARIANTS / burst);
    c->sent = now();
    ssize_t length = (ssize_t)(c->begin[k + 1] - c->begin[k]);
    if (write(c->fd, c->out + c->begin[k], (size_t)length) != length) fail("write");
  }
}

static void note_wait(double seconds) {
  long micros = (long)(seconds * 1e6), most = sizeof waits / sizeof *waits - 1;
  waits[micros < most ? micros : most]++;
}

// The milliseconds that so large a share of the answers did not exceed.
static double quantile(double share, long done) {
  long micros = 0;
  for (long seen = waits[0]; (double)seen < share * (double)done; seen += waits[++micros]) {}
  return (double)micros / 1000;
}

int main(int argc, char **argv) {
  static const struct option options[] = {{"peer", 1, 0, 'p'}, {"port", 1, 0, 'P'}, {"verb", 1, 0, 'v'},
      {"connections", 1, 0, 'c'}, {"window", 1, 0, 'w'}, {"size", 1, 0, 's'}, {"seconds", 1, 0, 't'},
      {"token", 1, 0, 'k'}, {0, 0, 0, 0}};
  for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
    switch (o) {
    case 'p': opt.redis = !strcmp(optarg, "redis"), opt.nats = !strcmp(optarg, "nats"), opt.http = !strcmp(optarg, "http"); break;
    case 'P': opt.port = atoi(optarg); break;
    case 'v': opt.set = !strcmp(optarg, "set"); break;
    case 'c': opt.connections = atoi(optarg); break;
    case 'w': opt.window = atoi(optarg); break;
    case 's': opt.size = atoi(optarg); break;
    case 't': opt.seconds = atof(optarg); break;
    case 'k': opt.token = optarg; break;  // says who asks, on all connections
    default: return 2;
    }
  }
  if (opt.window > VARIANTS || opt.size > 60000 || opt.size < 12 || (opt.nats && !opt.set)) return 2;
  // Half a window: the answers of one half come while the other is under way.
  burst = opt.window > 1 ? opt.window / 2 : 1;
  int set = epoll_create1(0);
  struct connection *all = calloc((size_t)opt.connections, sizeof *all);
  for (int i = 0; i < opt.connections; i++) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)opt.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct connection *c = &all[i];
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(c->fd, (struct sockaddr *)&to, sizeof to) < 0) fail("connect");
    int one = 1;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (opt.nats) subscribe(c, i);
    else if (!opt.redis && !opt.http) upgrade(c);
    prepare(c, i);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    epoll_ctl(set, EPOLL_CTL_ADD, c->fd, &event);
  }
  static unsigned char input[1 << 20];
  long done = 0, open = 0;
  double start = now(), end = start + opt.seconds;
  for (int i = 0; i < opt.connections; i++) {
    send_bursts(&all[i]);
    open += all[i].in_flight;
  }
  while (open > 0) {
    struct epoll_event events[64];
    int count = epoll_wait(set, events, 64, 1000);
    if (count == 0) fail("no answer within a second");
    for (int e = 0; e < count; e++) {
      struct connection *c = events[e].data.ptr;
      memcpy(input, c->carry, c->carried);
      ssize_t got = read(c->fd, input + c->carried, sizeof input - c->carried);
      if (got <= 0) fail("the server has gone");
      long n = answers(c, input, c->carried + (size_t)got);
      done += n;
      if (opt.window == 1 && n > 0) note_wait(now() - c->sent);
      open -= c->in_flight;
      c->in_flight -= n;
      if (now() < end) send_bursts(c);
      open += c->in_flight;
    }
  }
  double took = now() - start;
  printf("{\"answers\":%ld,\"seconds\":%.3f,\"per_s\":%.0f", done, took, (double)done / took);
  if (opt.window == 1) printf(",\"p50_ms\":%.3f,\"p99_ms\":%.3f", quantile(0.5, done), quantile(0.99, done));
  puts("}");
  return 0;
}
