#pragma once
/// The plan of one GPU's part of a counting job: its work, and the memory and settings for it.

#include <cstdint>
#include <string>

#include "backend/count_bounds.h"
#include "backend/count_table.h"
#include "file/spill_file.h"
#include "kmer/kmer.h"

namespace warpmer::gpu {

/// The places that segments may be spilled to.
struct SpillPlan {
  std::uint64_t host_bytes = std::uint64_t{1} << 30;  ///< beside kLeastBytesOfThread
  unsigned threads = 2;                               ///< threads that copy
  file::SpillPlace place;                             ///< place of the temporary file
};

/// Settings that change the speed, but not the results. Times are those of an H200 that counts and freezes
/// 0.84 G k-mers.
struct DeviceTuning {
  /// Used if the number of k-mers is known beforehand; of more than kMaxNarrowK bases half as many. Should
  /// nearly all be distinct, tables of 4096 (2048) slots are mostly enough (`load`), and larger ones leave
  /// too few blocks on a multiprocessor. Of 7 M reads of 3 Gbp, 0.91 G k-mers at k = 21 take 137 ms in bins
  /// of up to 4096, and 125 so; 0.67 G at k = 55 take 141 and 108 ms, as a bin is then put in order as a
  /// whole, too.
  double kmers_per_bin = 3276;
  double load = 0.7;  ///< load of a table, as expected from the bins before
  /// Neighbouring bins are counted as one if k-mers repeat so often that one table holds them. This takes
  /// 18.4 instead of 19.9 ms for 100 Mbp on each of two GPUs.
  bool joins_bins = true;
  /// All blocks together count a bin that has more k-mers than this and than a number of usual bins. One
  /// block took 39.6 s for one k-mer that occurred 8.6e9 times; all blocks take 0.6 s.
  std::uint64_t long_bin_kmers = std::uint64_t{1} << 20;
  std::uint32_t long_bin_ratio = 64;
  /// The room for distinct k-mers in a chunk of spilled words is this times the number that earlier chunks
  /// suggest. A chunk that has more is counted again, in halves.
  double entries_margin = 1.15;
  bool counts_early =
      true;  ///< words that do not fit may be counted early if that pays; else they are spilled
};

struct DeviceCountPlan {
  KmerParams kmers;
  backend::CountBounds kept;
  bool histogram_only = false;  ///< no strings are made
  backend::CountTable table = backend::CountTable::automatic;
  std::uint64_t memory_bytes = 0;  ///< device memory that may be held
  DeviceTuning tuning;
  std::uint64_t expected_kmers = 0;  ///< estimated occurrences on all devices; 0: unknown
  std::uint32_t owners = 1;          ///< devices of all ranks that share these
  SpillPlan spill;                   ///< for each device
  std::string purpose = "counting";  ///< name of the job in messages
};

}  // namespace warpmer::gpu
