#pragma once
/// Looking up runs of k-mers of packed text, by a block: each thread takes a run. What takes longer than most
/// (groups/quick_lookup.h) is put off, and then shared out among the warps.

#include <bit>
#include <cstdint>

#include "groups/quick_lookup.h"
#include "groups/string_lookup.h"
#include "groups/text_run.h"
#include "index/index_file.h"
#include "kernels/lookup/device_index.cuh"
#include "kernels/upload/frozen_shards.cuh"
#include "kmer/hash.h"
#include "kmer/lanes.h"
#include "kmer/minimizer.h"

namespace warpmer::gpu {

/// A run, and where the answers to its k-mers go.
struct AskedRun {
  groups::TextRun run;
  std::uint32_t* answers;
};

/// The numbers of a block's runs that are looked up after the others: those whose bucket is left
/// (groups/quick_lookup.h), and those in which the minimizer stands more than once.
template <std::uint32_t kRuns>
struct LeftRuns {
  std::uint16_t numbers[kRuns];
  std::uint32_t size;
};

/// Returns a count as it is answered.
__device__ inline std::uint32_t answer_of(std::uint64_t count) {
  return count < kLargeCountAnswer ? static_cast<std::uint32_t>(count) : kLargeCountAnswer;
}

/// A block's copy of what strings' lengths are read with: loads of lanes from shared memory cost less.
template <class Flanks>
struct BlockLengths {
  static constexpr std::uint32_t kMostFlankBases =
      sizeof(Flanks) == 8 ? groups::kMaxNarrowFlanksK - minimizer_length(groups::kMaxNarrowFlanksK)
                          : kMaxK - minimizer_length(kMaxK);
  groups::FlankLengths lengths[std::bit_ceil(groups::StringLengths(kMostFlankBases).large() + 1)];
};

/// Looks k-mers up in shards that are there. Answers of k-mers whose shards are not there stay unchanged.
template <class Key, class Flanks>
class RunLookup {
 public:
  /// By all threads of a block, which may look up after a barrier.
  __device__ RunLookup(const index::IndexParams& params, const ShardsThere& shards,
                       const std::uint32_t* packed, BlockLengths<Flanks>& lengths)
      : shape_(params.k),
        layout_(shape_, lengths.lengths),
        canonical_(params.canonical),
        hash_(shape_.m),
        shards_(shards),
        packed_(packed) {
    for (std::uint32_t i = threadIdx.x; i < 1u << layout_.length_bits; i += blockDim.x)
      lengths.lengths[i] = shards.lengths[i];
  }

  /// Answers for runs 0 to `runs` - 1, of which `run_at` returns one; all threads of the block together, of
  /// which each may be asked for any run. Answers are 0 before, unless `kFills`. Has barriers, but none in
  /// the end.
  ///
  /// Slower on an H200: to put runs in order of the strings of their buckets first, so that lanes have as
  /// much to do (by 18 %: barriers); to leave to each warp what its own runs leave (by 30 % where there are
  /// many strings); blocks of half as many threads (by 5 % at k = 31).
  template <bool kFills, std::uint32_t kRuns, class RunAt>
  __device__ void answer(LeftRuns<kRuns>& left, std::uint32_t runs, RunAt&& run_at) const {
    if (threadIdx.x == 0) left.size = 0;
    __syncthreads();
    const std::uint32_t lane = threadIdx.x % 32;
    for (std::uint32_t first = threadIdx.x - lane; first < runs; first += blockDim.x) {
      const std::uint32_t i = first + lane;
      const AskedRun asked = run_at(min(i, runs - 1));
      const bool is_quick = i < runs && asked.run.minimizer != groups::TextRun::kSeveral;
      const Lanes lanes = Lanes(~0u).those(is_quick);
      const bool is_done = i >= runs || (is_quick && answer_quickly<kFills>(asked, lanes));
      if (!is_done) left.numbers[atomicAdd(&left.size, 1u)] = static_cast<std::uint16_t>(i);
    }
    __syncthreads();
    // A warp takes each of the few that are left, and each lane some of its k-mers.
    for (std::uint32_t i = threadIdx.x / 32; i < left.size; i += blockDim.x / 32) {
      const AskedRun asked = run_at(left.numbers[i]);
      for (std::uint32_t j = lane; j < asked.run.kmers; j += 32)
        answer_kmer<kFills>(asked.run.start + j, asked.answers + j);
    }
  }

 private:
  static constexpr std::uint32_t kNotThere = UINT32_MAX;

  /// Writes the counts of what a super-k-mer and a string have in common.
  struct Answers {
    std::uint32_t* answers;
    std::uint32_t kmers;
    bool is_forward;

    __device__ void operator()(std::uint32_t first, std::uint32_t number, const groups::StringCounts& counts,
                               std::uint32_t from) const {
      std::uint32_t* to = answers + (is_forward ? first : kmers - 1 - first);
      const std::int32_t step = is_forward ? 1 : -1;
      if (counts.are_small()) {
        counts.for_each_small(from, number, [&](std::uint32_t count) {
          *to = count;
          to += step;
        });
        return;
      }
      counts.for_each(from, number, [&](std::uint64_t count) {
        *to = answer_of(count);
        to += step;
      });
    }
  };

  /// Returns the place of a group's shard among those that are there.
  [[nodiscard]] __device__ std::uint32_t place_of(std::uint32_t id) const {
    const std::uint32_t place = shape_.shard_of(id) - shards_.first;  // below 0 has wrapped
    return place < shards_.count ? place : kNotThere;
  }

  /// Answers a run, unless that is much work. Returns whether it is done. All of `lanes` call it together.
  template <bool kFills>
  __device__ bool answer_quickly(const AskedRun& asked, Lanes lanes) const {
    const auto text = groups::super_kmer_at<Flanks>(packed_, asked.run, shape_, canonical_);
    const std::uint32_t id = hash_(text.super.mmer), place = place_of(id);
    const bool is_there = place != kNotThere;
    lanes = lanes.those(is_there);
    if (!is_there) return true;
    if constexpr (kFills) {
      for (std::uint32_t i = 0; i < asked.run.kmers; ++i) asked.answers[i] = 0;
    }
    using Search = groups::QuickSearch<Flanks>;
    const Answers answers{asked.answers, asked.run.kmers, text.is_forward};
    return Search(layout_, text.super).run(shards_.records[place], shape_.rest_of(id), lanes, answers) !=
           Search::kLeft;
  }

  /// Answers for one k-mer. Not in line: it is rare, and needs many registers.
  template <bool kFills>
  __device__ __noinline__ void answer_kmer(std::uint32_t start, std::uint32_t* answer) const {
    const auto kmer = groups::kmer_at<Key, Flanks>(packed_, start, shape_, canonical_);
    const std::uint32_t id = hash_(kmer.mmer), place = place_of(id);
    if (place == kNotThere) return;
    if constexpr (kFills) *answer = 0;
    groups::find_super_kmer(shards_.shards[place], shape_.rest_of(id), kmer, Answers{answer, 1, true});
  }

  groups::GroupShape shape_;
  groups::StringLayout layout_;
  bool canonical_;
  GroupHash hash_;
  ShardsThere shards_;
  const std::uint32_t* packed_;
};

}  // namespace warpmer::gpu
