// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A time of day that a test sets. Programs that preload this library see CLOCK_REALTIME shifted by
// the seconds in the file ELASTIC_TEST_CLOCK, an int64_t; a change of the file takes effect at
// once. The machine's clock is not changed.
//
// A wait in the kernel by that clock would not see the shift, so the library aborts such a program.

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

const std::atomic<std::int64_t>* open_shift() {
  const char* const path = std::getenv("ELASTIC_TEST_CLOCK");
  const int file = path == nullptr ? -1 : ::open(path, O_RDONLY | O_CLOEXEC);
  void* const memory =
      ::mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, file < 0 ? -1 : file, 0);
  if (file < 0 || memory == MAP_FAILED) {
    std::fputs("stepped_clock: ELASTIC_TEST_CLOCK names no file\n", stderr);
    std::abort();
  }
  ::close(file);
  return static_cast<const std::atomic<std::int64_t>*>(memory);
}

std::int64_t shift() {
  static const std::atomic<std::int64_t>* const seconds = open_shift();
  return *seconds;
}

bool is_time_of_day(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

void refuse_to_wait(clockid_t clock, const char* call) {
  if (!is_time_of_day(clock)) return;
  std::fprintf(stderr, "stepped_clock: %s waits by the time of day\n", call);
  std::abort();
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) {
  const long result = ::syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && is_time_of_day(clock)) time->tv_sec += shift();
  return static_cast<int>(result);
}

int gettimeofday(timeval* time, void*) {
  timespec now{};
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* result) {
  timespec now{};
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  if (result != nullptr) *result = now.tv_sec;
  return now.tv_sec;
}

int timerfd_create(int clock, int flags) {
  refuse_to_wait(clock, "timerfd_create");
  static auto* const real = next<int(int, int)>("timerfd_create");
  return real(clock, flags);
}

int clock_nanosleep(clockid_t clock, int flags, const timespec* wait, timespec* left) {
  if ((flags & TIMER_ABSTIME) != 0) refuse_to_wait(clock, "clock_nanosleep");
  static auto* const real =
      next<int(clockid_t, int, const timespec*, timespec*)>("clock_nanosleep");
  return real(clock, flags, wait, left);
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* until) {
  refuse_to_wait(CLOCK_REALTIME, "pthread_cond_timedwait");
  static auto* const real =
      next<int(pthread_cond_t*, pthread_mutex_t*, const timespec*)>("pthread_cond_timedwait");
  return real(condition, mutex, until);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* until) {
  refuse_to_wait(clock, "pthread_cond_clockwait");
  static auto* const real =
      next<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>(
          "pthread_cond_clockwait");
  return real(condition, mutex, clock, until);
}

}  // extern "C"
