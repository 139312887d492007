#pragma once
/// A text is cut once, and then looked up in one partition of an index after another
/// (kernels/lookup/paged_index.cuh). Consecutive k-mers that share their minimizer are a run, which takes 8
/// bytes for ten k-mers at k = 31. The runs of a text are put in order of the partitions that hold their
/// shards, so that each partition is asked only for its own k-mers; their bases are read from the text,
/// packed to 2 bits each.

#include <cstdint>
#include <vector>

#include "groups/text_run.h"
#include "kernels/lookup/device_index.cuh"
#include "kernels/memory/device_memory.cuh"
#include "kernels/text/cut.cuh"

namespace warpmer::gpu {

/// A run of a text, with its shard, in a word. No k-mers: there is none.
struct alignas(8) ShardRun {
  std::uint32_t start;
  std::uint16_t shard;
  std::uint8_t kmers, minimizer;

  [[nodiscard]] __device__ groups::TextRun run() const { return {start, kmers, minimizer}; }
};

/// The progress of a cut.
struct RunCounters {
  std::uint32_t staged;  ///< number of runs; beyond their room if more was asked for
  std::uint32_t left;    ///< number of tiles for whose runs there was no room
};

/// A cut text, as kernels see it.
struct CutText {
  ShardRun* runs;         ///< partition by partition
  std::uint32_t* begins;  ///< children + 1 numbers: begins of each partition's runs
  std::uint32_t* next;    ///< children numbers: used while runs are put in order
  std::uint32_t* packed;  ///< 16 bases a word, tile by tile, with those that the last k-mers reach into
  std::uint32_t* breaks;  ///< 32 characters a word
  std::uint32_t* left;    ///< tiles whose k-mers are in no run
  RunCounters* counters;
  std::uint32_t* answers;  ///< by start, whole tiles
};

/// Tells which partition has a shard.
struct ShardsByChild {
  const std::uint16_t* child_of;  ///< by shard, on the device
  std::uint32_t children;
};

/// The device memory for one cut text at a time.
class TextRuns {
 public:
  /// Takes texts of up to `starts` starts, which is a multiple of kTileStarts.
  TextRuns(std::uint32_t starts, std::uint32_t children, const index::IndexParams& params);

  /// Return the device memory for each tile, and the rest.
  static std::uint64_t bytes_per_tile(const index::IndexParams& params);
  static std::uint64_t bytes_besides(std::uint32_t children);

  /// Return the largest number of runs of a text with so many starts, and the number of words of its packed
  /// bases.
  static std::uint32_t most_runs(std::uint32_t starts, const index::IndexParams& params);
  static std::uint32_t packed_words(std::uint32_t starts);

  /// Enqueues the cut of a text (DeviceIndex::look_up). Its characters are not needed afterwards: it may lie
  /// in the memory of `answers`, from three quarters of the answers' room on. All answers become
  /// kNoKmerAnswer. `answers` belongs to the text until all partitions have been asked.
  void cut(const char* text, std::uint32_t bytes, std::uint32_t starts, const index::IndexParams& params,
           const ShardsByChild& shards, std::uint32_t* answers, CutStatus* status, cudaStream_t stream);

  [[nodiscard]] const CutText& text() const { return text_; }

 private:
  DeviceArray<std::uint64_t> memory_;
  CutText text_{};
  std::uint32_t room_;  ///< room for runs of a tile, on average
};

/// Enqueues the look-up of the k-mers of texts whose shards are in partition `child`, which is there as
/// `shards`.
void look_up_runs(const std::vector<CutText>& texts, std::uint32_t kmers_of_text, std::uint32_t child,
                  const index::IndexParams& params, const ShardsThere& shards, cudaStream_t stream);

}  // namespace warpmer::gpu
