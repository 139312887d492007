// Tests the cores that a process is bound to, on machines that are larger than the one that runs the tests.
// ctest: one thread
// ctest: Linux only

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "host/limits.h"

namespace {

/// CPUs of the machine that the kernel pretends to be; 0: it does not.
unsigned pretended_cpus = 0;

}  // namespace

/// In front of the C library's: on the pretended machine, this process may use the last CPU alone.
extern "C" int sched_getaffinity(pid_t process, std::size_t bytes, cpu_set_t* set) noexcept {
  if (pretended_cpus == 0) {
    std::memset(set, 0, bytes);
    return syscall(SYS_sched_getaffinity, process, bytes, set) < 0 ? -1 : 0;
  }
  if (bytes * 8 < pretended_cpus) {
    errno = EINVAL;
    return -1;
  }
  CPU_ZERO_S(bytes, set);
  CPU_SET_S(pretended_cpus - 1, bytes, set);
  return 0;
}

TEST_CASE("affinity holds on machines with more CPUs than a cpu_set_t has room for") {
  for (const unsigned cpus : {64u, 1024u, 1025u, 4096u, 100000u}) {
    CAPTURE(cpus);
    pretended_cpus = cpus;
    // Were the mask not read, these would be all the cores of the machine the test runs on.
    CHECK(warpmer::host::usable_cores() == 1);
  }
  pretended_cpus = 0;
  CHECK(warpmer::host::usable_cores() >= 1);
}
