#pragma once
/// Planning: what a counting job would find, take and do, before it is run.

#include <cstdint>
#include <optional>
#include <string>

#include "jobs/count_job.h"
#include "stats/prediction.h"

namespace warpmer::jobs {

struct PlanOptions {
  CountOptions count;  ///< `output` and `provenance` count for the size of the index only
  bool full = false;   ///< read everything
  std::uint64_t sample_bytes = kSampleBytes;  ///< else about so much of all inputs, on disk; 0: everything

  static constexpr std::uint64_t kSampleBytes = std::uint64_t{64} << 20;
};

struct PlanReport {
  // The facts that it rests on.
  bool is_whole = false;           ///< everything was read
  std::uint64_t input_bytes = 0;   ///< on disk; 0: unknown
  std::uint64_t sample_bytes = 0;  ///< read of these
  std::uint64_t begun_inputs = 0;  ///< inputs of which only the beginning was read
  std::uint64_t sample_kmers = 0;
  std::uint32_t shards = 0, counted_shards = 0;
  double seconds = 0;  ///< time that planning took

  // The input.
  stats::KmerPrediction kmers;
  stats::Range index_bytes;

  // The job.
  std::string device;
  host::Resources resources;
  std::optional<stats::Range> memory_bytes;  ///< peak resident set; like the next four, none where unknown
  std::optional<stats::Range> needed_memory_bytes;     ///< with a smaller -m the job ends with an error
  std::optional<stats::Range> unhurried_memory_bytes;  ///< with so much no shard is counted early
  std::optional<stats::Range> beyond_memory_bytes;  ///< bytes of super-k-mers that -m does not hold at once
  std::optional<stats::Range> temporary_bytes;
  std::optional<stats::Range> device_memory_bytes;          ///< on a GPU
  std::optional<stats::Range> read_seconds, count_seconds;  ///< on the CPU of this machine
  std::string refusal;  ///< why the job would end with an error, in one sentence; else empty
};

/// Reads a sample, or everything, on the CPU of this machine, whatever device the job is for. Whatever -m
/// says, that takes some 400 MB at most, or what a 256th of all super-k-mers takes, if that is more; and what
/// `count.only` takes, which is made an index as by the job. Throws Error for what cannot be read; a job that
/// would be refused is no error, but `refusal`.
PlanReport plan(const PlanOptions& options, backend::JobProgress& progress);

}  // namespace warpmer::jobs
