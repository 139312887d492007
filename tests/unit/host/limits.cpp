// Tests the resources that a process may use, on machines that are larger than the one that runs the tests.
// ctest: one thread

#include "host/limits.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

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

TEST_CASE("processes of a job on one node divide what is free there") {
  const std::uint64_t alone = warpmer::host::usable_memory_bytes();
  setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "4", 1);
  const std::uint64_t one_of_four = warpmer::host::usable_memory_bytes();
  CHECK(warpmer::host::allowed_memory_bytes() >= one_of_four);
  unsetenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  CHECK(one_of_four > 0);
  CHECK(one_of_four < alone / 2);  // others may take and give back memory in between
  CHECK(warpmer::host::allowed_memory_bytes() >= alone);
}
