#pragma once
/// Cores and memory that this process may use, as affinity, cgroups and Slurm grant them.

#include <cstdint>
#include <string>
#include <string_view>

namespace warpmer::host {

/// Returns the number of cores that this process may use: the least of its affinity mask, its cgroup's CPU
/// quota and what Slurm grants (SLURM_CPUS_PER_TASK, SLURM_CPUS_ON_NODE). Where several processes of the job
/// run on the node (host/node_share.h), its part of what is for all of them. At least 1.
unsigned usable_cores();

/// Returns the bytes of memory that this process is allowed: the least of its cgroup's limit, ulimit's (-v,
/// -d), Slurm's (SLURM_MEM_PER_NODE, SLURM_MEM_PER_CPU times its cores, SLURM_MEM_PER_GPU times the node's
/// GPUs) and the machine's memory; its part of them, as of cores.
std::uint64_t allowed_memory_bytes();

/// Warns if a cap is more than what of these its cgroup, ulimit and Slurm say. `settled` does so for
/// all that run a job.
void warn_above_grant(std::uint64_t cap);

/// Returns the part of these bytes that it may use: no more than is free now, of the machine and of what its
/// cgroups allow (system/process_limits.h); its part of that, and what it holds already. So it may be another
/// number each time: a job asks once.
std::uint64_t usable_memory_bytes();

/// The threads and the memory of a job.
struct Resources {
  unsigned threads = 0;            ///< 0: the cores that this process may use
  std::uint64_t memory_bytes = 0;  ///< hard cap on the process; 0: nine tenths of what it may use
  bool are_settled = false;        ///< by `settled`
};

/// Returns what they mean, in numbers: to be called once, as what is free changes. Unasked, a job stays clear
/// of the limit at which the kernel kills. Warns of a cap above that, unless told not to: who only predicts a
/// job does not run it here, and of several ranks one is enough. Settled ones stay as they are, without a
/// warning.
Resources settled(const Resources& resources, bool warns = true);
unsigned threads_or_all(unsigned threads);

/// Bytes by which what the process itself holds when a job begins may differ from one time to the next: a cap
/// that a refusal names has so much to spare.
inline constexpr std::uint64_t kResidentVariation = std::uint64_t{2} << 20;

/// Returns the bytes that a cap on the whole process leaves besides what it holds now, and may hold besides.
std::uint64_t memory_left(std::uint64_t cap);

/// Says why a job with such a cap on the whole process is not begun: that it is too little for `doing`, as
/// "counting 31-mers", with so many threads; and a cap that would do, which is `enough` and a little more.
std::string memory_refusal(std::uint64_t cap, std::string_view doing, unsigned threads, std::uint64_t enough);

/// ResourceError unless a cap of so many bytes for the whole process leaves something to work in besides
/// `spoken_for`, which reading and writing alone need with so many threads.
void check_memory(std::uint64_t cap, std::uint64_t spoken_for, unsigned threads);

/// Returns the part of a cap for the whole process that the text of a record may take that has to be there as
/// a whole (in FASTQ, bases are good only if there is a quality for each). Until it is counted, a record
/// takes up to four times as much, and each of `threads` may have one.
std::size_t longest_record_bytes(std::uint64_t cap, unsigned threads);

/// Return the resident set of this process now (see resident_memory.h), and the largest it has been.
std::uint64_t resident_bytes();
std::uint64_t peak_resident_bytes();

/// Makes memory that is freed go back to the system at once from now on, so that it counts no longer for the
/// resident set. For jobs that are short of it: it makes allocating slower.
void return_freed_memory_at_once() noexcept;

/// Gives what has been freed back to the system now. For jobs that go on for long, and allocate and free in
/// small pieces, to call from time to time.
void return_freed_memory() noexcept;

/// Returns the user and system time of this process so far.
double cpu_seconds();

}  // namespace warpmer::host
