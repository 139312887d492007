#pragma once
/// One GPU's part of a counting job: what it is to do, and with what.

#include <cstdint>
#include <functional>
#include <string>

#include "backend/count_table.h"
#include "base/share.h"

namespace warpmer::index {
class IndexFile;  // index/index_file.h
}

namespace warpmer::gpu {

/// Where segments may go.
struct SpillPlan {
  std::uint64_t host_bytes = std::uint64_t{1} << 30;  ///< beside kLeastBytesOfThread
  std::string directory = ".";                        ///< of the temporary file
  bool opens_file_at_once = false;                    ///< not only when something is to be written to it
  unsigned threads = 2;                               ///< that copy
  std::function<Share()> input_read = {};             ///< how much of it has been read (SpillFile)
};

/// What speed depends on and results do not. Times are those of an H200, counting and freezing 0.84 G k-mers.
struct DeviceTuning {
  /// Where the number of k-mers is known beforehand. With 8192 a genome of 3 Gbp takes 53.6 ms instead
  /// of 49.9, because tables of 8192 slots leave too few blocks on a multiprocessor.
  double kmers_per_list = 4096;
  double load = 0.7;  ///< of a table, as expected from the lists before
  /// Neighbouring lists are counted as one where k-mers repeat so often that one table holds them: 18.4
  /// instead of 19.9 ms for 100 Mbp on each of two GPUs.
  bool joins_lists = true;
  /// Lists of more k-mers than this, and than so many usual lists, are counted by all blocks together. One
  /// block took 39.6 s for one k-mer that came 8.6e9 times; all take 0.6.
  std::uint64_t long_list_kmers = std::uint64_t{1} << 20;
  std::uint32_t long_list_ratio = 64;
  /// Room for different k-mers in a chunk of spilled words, by those of the chunks before. A chunk that has
  /// more is counted again, in halves.
  double entries_margin = 1.15;
  bool counts_early = true;  ///< what does not fit may be counted early, where that pays; else it is spilled
};

/// An index to which all is to be added that is counted, as soon as the device has no room for more, instead
/// of being spilled; and what the table of its k-mers may take (kernels/resident/live_table.cuh).
struct LiveShare {
  const index::IndexFile* index = nullptr;  ///< none: what there is no room for is spilled
  std::uint64_t device_bytes = 0, host_bytes = 0;
  bool is_used_always = false;  ///< LiveTableUse::always
};

struct DeviceCountPlan {
  std::uint32_t k = 31;
  bool canonical = true;
  std::uint64_t min_count = 1;
  std::uint64_t max_count = UINT64_MAX;
  backend::CountTable table = backend::CountTable::automatic;
  std::uint64_t memory_bytes = 0;  ///< what may be held on the device
  DeviceTuning tuning;
  std::uint64_t expected_kmers = 0;  ///< occurrences, about, on all devices; 0: unknown
  std::uint32_t owners = 1;          ///< devices that share them, of all ranks
  SpillPlan spill;                   ///< of each device
  LiveShare live;                    ///< of each device, beside `memory_bytes`
  std::string purpose = "counting";  ///< how messages call it
};

}  // namespace warpmer::gpu
