// Tests reading the kernel's files on cores and memory, as they are on other machines than this one.
// ctest: Linux only

#include "system/linux/cgroup_limits.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <string>

#include "unit/io/io_fixture.h"

namespace {

using warpmer::system::cgroup_cores;
using warpmer::system::cgroup_memory;
using warpmer::system::MemoryRoom;

constexpr std::uint64_t kGigabyte = std::uint64_t{1} << 30;
constexpr std::uint64_t kNoLimit = MemoryRoom::kNoLimit;

/// Paths from the root, and what is in them.
using Files = std::map<std::string, std::string>;

/// A machine that has these files only, until it goes.
class Machine {
 public:
  explicit Machine(const Files& files) {
    for (const auto& [name, content] : files) {
      std::filesystem::create_directories(std::filesystem::path(folder_ / name).parent_path());
      (void)folder_.write(name, content);
    }
  }
  [[nodiscard]] std::string root() const { return folder_ / ""; }

 private:
  io_test::ScratchFolder folder_;
};

void check_room(const Files& files, std::uint64_t limit, std::uint64_t free) {
  const MemoryRoom room = cgroup_memory(Machine(files).root());
  CHECK(room.limit_bytes == limit);
  CHECK(room.free_bytes == free);
}

std::optional<double> cores_of(const Files& files) { return cgroup_cores(Machine(files).root()); }

std::string bytes(double gigabytes) {
  return std::to_string(static_cast<std::uint64_t>(gigabytes * static_cast<double>(kGigabyte))) + "\n";
}

const std::string kOwn = "proc/self/cgroup", kMounts = "sys/fs/cgroup/";

/// Adds the files of a cgroup of version 2 with a limit: `used` bytes, of which `of_files` are pages of
/// files.
void add_memory(Files& files, const std::string& cgroup, const std::string& limit, double used,
                double of_files) {
  files[kMounts + cgroup + "/memory.max"] = limit;
  files[kMounts + cgroup + "/memory.high"] = "max\n";
  files[kMounts + cgroup + "/memory.current"] = bytes(used);
  files[kMounts + cgroup + "/memory.stat"] =
      "anon 4096\ninactive_file " + bytes(of_files / 2) + "active_file " + bytes(of_files / 2) + "slab 7\n";
}

}  // namespace

TEST_CASE("where the kernel says nothing, nothing is limited") {
  check_room({}, kNoLimit, kNoLimit);
  CHECK(!cores_of({}));
  for (const char* text :
       {"", "\n", "0::", "0::/\n", "nonsense\n", "::\n", "0::/a/b\n", "0::a\n", "0::/../..\n"}) {
    CAPTURE(text);
    check_room({{kOwn, text}}, kNoLimit, kNoLimit);
    CHECK(!cores_of({{kOwn, text}}));
  }
  const std::string mine = kMounts + "job/";
  for (const char* text : {"", "max\n", "-1\n", "0\n", "x\n"}) {
    CAPTURE(text);
    check_room({{kOwn, "0::/job\n"}, {mine + "memory.max", text}, {mine + "memory.high", text}}, kNoLimit,
               kNoLimit);
    CHECK(!cores_of({{kOwn, "0::/job\n"}, {mine + "cpu.max", text}, {mine + "cpu.cfs_quota_us", text}}));
  }
}

TEST_CASE("memory that is available on the machine") {
  check_room({{"proc/meminfo", "MemTotal:       24683656 kB\nMemFree:  1 kB\nMemAvailable:   1048576 kB\n"}},
             kNoLimit, kGigabyte);
  check_room({{"proc/meminfo", "MemAvailable:   0 kB\n"}}, kNoLimit, 0);
  check_room({{"proc/meminfo", "MemTotal:       24683656 kB\nMemAvailableToo:   1 kB\nMemAvailable:\n"}},
             kNoLimit, kNoLimit);  // of kernels before 3.14
}

TEST_CASE("limits of version 2: of the process's cgroup, and of those above it") {
  Files files{{kOwn, "0::/user.slice/job\n"}};
  add_memory(files, "user.slice/job", bytes(4), 1, 0);
  check_room(files, 4 * kGigabyte, 3 * kGigabyte);
  add_memory(files, "user.slice", bytes(8), 7, 0);  // others beside the job have 6 of them
  check_room(files, 4 * kGigabyte, 1 * kGigabyte);
  add_memory(files, "user.slice", bytes(2), 1, 0);
  check_room(files, 2 * kGigabyte, 1 * kGigabyte);
  add_memory(files, "user.slice/job", "max\n", 1, 0);
  check_room(files, 2 * kGigabyte, 1 * kGigabyte);
  add_memory(files, "user.slice", "max\n", 7, 0);
  check_room(files, kNoLimit, kNoLimit);
  files[kMounts + "user.slice/memory.high"] = bytes(10);
  check_room(files, 10 * kGigabyte, 3 * kGigabyte);
  // A container sees its own cgroup as the root of all.
  Files container{{kOwn, "0::/\n"}};
  add_memory(container, "", bytes(4), 1, 0);
  check_room(container, 4 * kGigabyte, 3 * kGigabyte);
  container["proc/meminfo"] = "MemAvailable:   2097152 kB\n";
  check_room(container, 4 * kGigabyte, 2 * kGigabyte);
}

TEST_CASE("a cgroup that is full of files has room, and one that is over its limit has none") {
  Files files{{kOwn, "0::/job\n"}};
  add_memory(files, "job", bytes(4), 4, 3.5);
  check_room(files, 4 * kGigabyte, kGigabyte * 7 / 2);
  add_memory(files, "job", bytes(4), 5, 0);
  check_room(files, 4 * kGigabyte, 0);
  add_memory(files, "job", bytes(4), 1, 2);  // the numbers are not of the same moment
  check_room(files, 4 * kGigabyte, 4 * kGigabyte);
  // Where it is not known what would give way, the limit is all there is to go by.
  add_memory(files, "job", bytes(4), 4, 3.5);
  files.erase(kMounts + "job/memory.stat");
  check_room(files, 4 * kGigabyte, kNoLimit);
  add_memory(files, "job", bytes(4), 4, 3.5);
  files.erase(kMounts + "job/memory.current");
  check_room(files, 4 * kGigabyte, kNoLimit);
}

TEST_CASE("limits of version 1, alone and beside version 2") {
  const std::string memory = kMounts + "memory", cpu = kMounts + "cpu";
  Files files{{kOwn, "9:name=systemd:/job\n4:hugetlb,memory:/all/job\n1:cpu,cpuacct:/all/job\n0::/other\n"},
              {memory + "/memory.limit_in_bytes", "9223372036854771712\n"},
              {memory + "/memory.usage_in_bytes", bytes(50)},
              {memory + "/memory.stat", "total_inactive_file 0\ntotal_active_file 0\n"},
              {memory + "/all/job/memory.limit_in_bytes", bytes(6)},
              {memory + "/all/job/memory.usage_in_bytes", bytes(5)},
              // The bytes of the cgroup itself, and then with those below it.
              {memory + "/all/job/memory.stat", "inactive_file 0\nactive_file 0\ntotal_inactive_file " +
                                                    bytes(1) + "total_active_file " + bytes(2)},
              {cpu + "/all/job/cpu.cfs_quota_us", "-1\n"},
              {cpu + "/all/job/cpu.cfs_period_us", "100000\n"}};
  check_room(files, 6 * kGigabyte, 4 * kGigabyte);
  CHECK(!cores_of(files));
  files[cpu + "/all/cpu.cfs_quota_us"] = "250000\n";
  CHECK(!cores_of(files));  // without a period
  files[cpu + "/all/cpu.cfs_period_us"] = "100000\n";
  CHECK(cores_of(files) == 2.5);
  files[memory + "/all/job/memory.limit_in_bytes"] = "9223372036854771712\n";
  const MemoryRoom huge = cgroup_memory(Machine(files).root());
  CHECK(huge.limit_bytes == 9223372036854771712u);
  CHECK(huge.free_bytes > 1000 * kGigabyte);
  // Version 2 has a folder of its own beside version 1, and a controller is in one of them.
  add_memory(files, "unified/other", bytes(3), 1, 0);
  files[kMounts + "unified/other/cpu.max"] = "150000 100000\n";
  check_room(files, 3 * kGigabyte, 2 * kGigabyte);
  CHECK(cores_of(files) == 1.5);
}

TEST_CASE("cores of version 2") {
  Files files{{kOwn, "0::/a/b\n"}, {kMounts + "a/b/cpu.max", "max 100000\n"}};
  CHECK(!cores_of(files));
  files[kMounts + "a/cpu.max"] = "150000 100000\n";
  CHECK(cores_of(files) == 1.5);
  files[kMounts + "a/b/cpu.max"] = "50000 100000\n";
  CHECK(cores_of(files) == 0.5);
  files[kMounts + "a/b/cpu.max"] = "50000 0\n";
  CHECK(cores_of(files) == 1.5);
  files[kMounts + "a/b/cpu.max"] = "50000\n";
  CHECK(cores_of(files) == 1.5);
}
