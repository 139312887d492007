#pragma once
/// Several indexes that are looked at together.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "index/index_file.h"

namespace warpmer::engine {

/// Opens indexes that are to be compared k-mer by k-mer; any may be "-". InputError for one that cannot
/// be read; UsageError for the first that differs from the first in k, strand, minimizers or shards, saying
/// how.
std::vector<index::IndexFile> open_alike(const std::vector<std::string>& paths);

/// Throws the InputError for a shard that is not what a writer makes, though its checksum is right.
[[noreturn]] void refuse_disorder(const index::IndexFile& index, std::uint32_t shard);

/// Pages of indexes that a thread has mapped at a time, about.
inline constexpr std::uint64_t kMappedBytesOfThread = std::uint64_t{8} << 20;

/// What the process holds now, and what no one accounts for while `threads` threads go through indexes.
std::uint64_t working_bytes(unsigned threads);

/// Of `cap` bytes for the whole process, those that a job on `threads` threads with `inputs` indexes may work
/// in, when it needs `other_bytes` besides. ResourceError when that leaves nothing.
std::uint64_t memory_to_work_in(std::uint64_t cap, std::uint64_t other_bytes, unsigned threads,
                                std::size_t inputs);

}  // namespace warpmer::engine
