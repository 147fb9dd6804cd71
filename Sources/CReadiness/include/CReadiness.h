// SPDX-License-Identifier: MIT
// What Swift's Glibc module does not expose: epoll, eventfd, timerfd, accept4, mallopt, malloc_trim. Nothing else belongs here.
#ifndef CREADINESS_H
#define CREADINESS_H

#include <stdint.h>
#include <sys/epoll.h>

/// The members of one readiness event, hiding the union and the packing of `struct epoll_event`.
static inline uint64_t creadiness_token(const struct epoll_event *events, int index) { return events[index].data.u64; }
static inline uint32_t creadiness_flags(const struct epoll_event *events, int index) { return events[index].events; }

static const uint32_t creadiness_readable = EPOLLIN;
static const uint32_t creadiness_writable = EPOLLOUT;
static const uint32_t creadiness_peer_ended = EPOLLRDHUP;
static const uint32_t creadiness_hung_up = EPOLLHUP;
static const uint32_t creadiness_failed = EPOLLERR;
static const uint32_t creadiness_edge = 1u << 31;  // EPOLLET, which Swift does not import: it is a signed constant

/// Each returns -1 and sets errno on failure, like the call it wraps.
int creadiness_create(void);
int creadiness_add(int set, int descriptor, uint32_t flags, uint64_t token);
int creadiness_remove(int set, int descriptor);
int creadiness_wait(int set, struct epoll_event *events, int capacity, int timeout_ms);

int creadiness_make_event(void);
int creadiness_signal_event(int descriptor);
int creadiness_make_timer(void);
/// Arms a monotonic timer once, `nanoseconds` from now; 0 disarms it.
int creadiness_arm_timer(int descriptor, int64_t nanoseconds);

/// The address of a peer, or its credentials if it came through a unix socket; what does not apply is zero.
struct creadiness_peer {
  uint64_t address[2];      // in network order; an IPv4 address is in the first four bytes
  uint32_t zone;            // of a link-local IPv6 address
  uint16_t port;            // in host byte order
  uint8_t family;           // 0 unix, 1 IPv4, 2 IPv6
  uint8_t has_credentials;  // whether the system has told the user and the process at the other end
  uint32_t user;
  uint32_t process;
};

/// accept4 with SOCK_NONBLOCK | SOCK_CLOEXEC.
int creadiness_accept(int listener, struct creadiness_peer *peer);

/// Sets three of the allocator's parameters (mallopt(3)); has no effect with C libraries other than glibc.
void creadiness_set_allocator(int arenas, int map_threshold, int trim_threshold);

/// Returns free memory to the system (malloc_trim(3)); has no effect with C libraries other than glibc.
void creadiness_trim(void);

#endif
