// The clock of a program that is stopped and continued again and again: it stands still while the program is stopped.
//
// Preloaded into wrk, whose only clock is gettimeofday(), it takes the time that the program was stopped off the
// machine's own clock. The file that VIRTUAL_CLOCK names holds that time as a number of eight bytes, in nanoseconds;
// whoever stops the program adds to it before the program goes on. So latencies, durations and timeouts are those of a
// program that was never stopped.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

using Nanoseconds = std::atomic<std::int64_t>;
static_assert(Nanoseconds::is_always_lock_free && sizeof(Nanoseconds) == 8);

const Nanoseconds* stood = nullptr;

__attribute__((constructor)) void open_clock() {
  const char* path = std::getenv("VIRTUAL_CLOCK");
  const int file = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  void* page = file < 0 ? MAP_FAILED : mmap(nullptr, sizeof(Nanoseconds), PROT_READ, MAP_SHARED, file, 0);
  if (page == MAP_FAILED) {
    std::fputs("VIRTUAL_CLOCK does not name a clock\n", stderr);
    _exit(127);
  }
  close(file);
  stood = static_cast<const Nanoseconds*>(page);
}

}  // namespace

extern "C" int gettimeofday(struct timeval* __restrict now, void* __restrict) noexcept {
  // A thread may see itself go on a moment before it sees the clock moved: it never sees time go back.
  static thread_local std::int64_t latest_us = 0;
  timespec real{};
  clock_gettime(CLOCK_MONOTONIC, &real);
  const std::int64_t real_ns = std::int64_t{1'000'000'000} * real.tv_sec + real.tv_nsec;
  const std::int64_t shown_us = (real_ns - stood->load(std::memory_order_acquire)) / 1000;
  latest_us = shown_us > latest_us ? shown_us : latest_us;
  now->tv_sec = latest_us / 1'000'000;
  now->tv_usec = latest_us % 1'000'000;
  return 0;
}
