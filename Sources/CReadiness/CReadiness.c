// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "CReadiness.h"

#include <malloc.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

int creadiness_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

int creadiness_add(int set, int descriptor, uint32_t flags, uint64_t token) {
  struct epoll_event event = {.events = flags, .data = {.u64 = token}};
  return epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &event);
}

int creadiness_remove(int set, int descriptor) { return epoll_ctl(set, EPOLL_CTL_DEL, descriptor, NULL); }

int creadiness_wait(int set, struct epoll_event *events, int capacity, int timeout_ms) {
  return epoll_wait(set, events, capacity, timeout_ms);
}

int creadiness_make_event(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

int creadiness_signal_event(int descriptor) {
  const uint64_t one = 1;
  return write(descriptor, &one, sizeof one) == sizeof one ? 0 : -1;
}

int creadiness_make_timer(void) { return timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC); }

int creadiness_arm_timer(int descriptor, int64_t nanoseconds) {
  struct itimerspec spec = {
      .it_interval = {0, 0},
      .it_value = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000},
  };
  return timerfd_settime(descriptor, 0, &spec, NULL);
}

int creadiness_accept(int listener, struct creadiness_peer *peer) {
  struct sockaddr_storage from = {0};
  socklen_t length = sizeof from;
  int descriptor = accept4(listener, (struct sockaddr *)&from, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
  memset(peer, 0, sizeof *peer);
  if (descriptor < 0) return descriptor;
  if (from.ss_family == AF_INET) {
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&from;
    memcpy(peer->address, &v4->sin_addr, sizeof v4->sin_addr);
    peer->port = ntohs(v4->sin_port);
    peer->family = 1;
  } else if (from.ss_family == AF_INET6) {
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&from;
    memcpy(peer->address, &v6->sin6_addr, sizeof v6->sin6_addr);
    peer->zone = v6->sin6_scope_id;
    peer->port = ntohs(v6->sin6_port);
    peer->family = 2;
  } else {
    struct ucred credentials;
    socklen_t size = sizeof credentials;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 && size == sizeof credentials) {
      peer->has_credentials = 1;
      peer->user = credentials.uid;
      peer->process = (uint32_t)credentials.pid;
    }
  }
  return descriptor;
}

void creadiness_set_allocator(int arenas, int map_threshold, int trim_threshold) {
#ifdef __GLIBC__
  mallopt(M_ARENA_MAX, arenas);
  mallopt(M_MMAP_THRESHOLD, map_threshold);
  mallopt(M_TRIM_THRESHOLD, trim_threshold);
#endif
}

void creadiness_trim(void) {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}
