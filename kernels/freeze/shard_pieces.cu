#include <algorithm>
#include <cmath>

#include "kernels/freeze/shard_pieces.cuh"

namespace warpmer::gpu {

namespace {

/// With fewer, starting pieces and surveying them costs (measured: shards of 179,000 entries in two pieces
/// each took 4 % longer); with more, the last ones keep the device waiting.
constexpr double kEntriesPerPiece = 196608;
/// And at least, where blocks would have nothing to do.
constexpr double kLeastEntriesPerPiece = 16384;

constexpr std::uint32_t kSurveyThreads = 256;
/// Bins of a piece that a block surveys, at most.
constexpr std::uint32_t kBinsAtOnce = 32;

/// Blocks that survey a piece.
template <class Key>
__host__ __device__ std::uint32_t blocks_per_piece(const FreezeTask<Key>& task) {
  return (task.bins_per_shard + kBinsAtOnce - 1) / kBinsAtOnce;
}

/// A block surveys some bins of a piece.
template <class Key>
class Surveyor {
 public:
  /// `part`: which of the blocks of the piece.
  __device__ Surveyor(const FreezeTask<Key>& task, std::uint32_t shard, std::uint32_t piece,
                      std::uint32_t pieces, std::uint32_t part)
      : task_(task),
        plan_(task.plans[shard]),
        words_(task.output + plan_.first_word),
        first_bin_((task.first_shard + shard) * task.bins_per_shard),
        piece_(piece),
        pieces_(pieces),
        part_(part) {}

  /// Entries of the shard before the piece: the same for all threads.
  __device__ std::uint64_t entries_before() const {
    const std::uint32_t first = piece_begin(piece_, pieces_, task_.counted.range_count);
    std::uint64_t sum = 0;
    for (std::uint32_t bin = threadIdx.x; bin < task_.bins_per_shard; bin += kSurveyThreads)
      sum += task_.counted.ranges_of(first_bin_ + bin)[first];
    return block_sum(sum);
  }

  /// Exceptions in the piece's bins that are the block's: the same for all threads.
  __device__ std::uint32_t exceptions() const {
    if (plan_.shape.exceptions == 0) return 0;
    __shared__ std::uint64_t begins[kBinsAtOnce];
    __shared__ std::uint32_t sizes[kBinsAtOnce];
    const std::uint32_t first_bin = first_bin_ + part_ * kBinsAtOnce;
    const std::uint32_t bins = min(kBinsAtOnce, task_.bins_per_shard - part_ * kBinsAtOnce);
    const std::uint32_t first = piece_begin(piece_, pieces_, task_.counted.range_count);
    const std::uint32_t end = piece_begin(piece_ + 1, pieces_, task_.counted.range_count);
    if (const std::uint32_t bin = threadIdx.x; bin < bins) {
      const std::uint32_t* ranges = task_.counted.ranges_of(first_bin + bin);
      begins[bin] = task_.counted.begins[first_bin + bin - task_.counted.first_bin] + ranges[first];
      sizes[bin] = ranges[end] - ranges[first];
    }
    __syncthreads();
    const std::uint64_t escape = (std::uint64_t{1} << plan_.shape.count_bits) - 1;
    std::uint32_t sum = 0;
    for (std::uint32_t bin = threadIdx.x / 32; bin < bins; bin += kSurveyThreads / 32) {
      const std::uint32_t* counts = task_.counted.counts + begins[bin];
      if (escape < kBigCount) {
#pragma unroll 4
        for (std::uint32_t i = threadIdx.x % 32; i < sizes[bin]; i += 32) sum += counts[i] > escape ? 1 : 0;
        continue;
      }
      // Then it depends on what counts are that do not fit 32 bits.
      for (std::uint32_t i = threadIdx.x % 32; i < sizes[bin]; i += 32) {
        const Key hash = task_.counted.keys[begins[bin] + i];
        sum += counts[i] == kBigCount && entry_count(task_, first_bin_, hash, kBigCount) > escape ? 1 : 0;
      }
    }
    return static_cast<std::uint32_t>(block_sum(sum));
  }

  /// The words of the payload that are put together of bits: all pieces share in those that are no entries;
  /// of the entries' it is the piece's first one and, after the last piece, what follows the last bit.
  __device__ void clear() const {
    const index::PayloadLayout& layout = plan_.layout;
    clear(words_, layout.entries_at);
    clear(words_ + layout.exceptions_at, layout.words - layout.exceptions_at);
    if (part_ != 0) return;
    const std::uint64_t entries_before = this->entries_before();
    if (threadIdx.x != 0) return;
    auto* out = reinterpret_cast<std::uint32_t*>(words_ + layout.entries_at);
    const std::uint64_t end = 2 * (layout.exceptions_at - layout.entries_at);
    if (const std::uint64_t w = entries_before * layout.entry_bits / 32; w < end) out[w] = 0;
    if (piece_ != pieces_ - 1) return;
    for (std::uint64_t w = plan_.shape.entries * layout.entry_bits / 32; w < end; ++w) out[w] = 0;
  }

 private:
  __device__ void clear(unsigned long long* words, std::uint64_t n) const {
    const std::uint32_t parts = blocks_per_piece(task_);
    const std::uint64_t first = (piece_ * parts + part_) * kSurveyThreads + threadIdx.x;
    for (std::uint64_t w = first; w < n; w += pieces_ * parts * kSurveyThreads) words[w] = 0;
  }

  __device__ static std::uint64_t block_sum(std::uint64_t mine) {
    __shared__ unsigned long long total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    if (mine > 0) atomicAdd(&total, static_cast<unsigned long long>(mine));
    __syncthreads();
    const std::uint64_t sum = total;
    __syncthreads();
    return sum;
  }

  const FreezeTask<Key>& task_;
  const ShardPlan& plan_;
  unsigned long long* words_;
  std::uint32_t first_bin_, piece_, pieces_, part_;
};

template <class Key>
__global__ __launch_bounds__(kSurveyThreads) void survey_kernel(const __grid_constant__ FreezeTask<Key> task,
                                                                std::uint32_t pieces) {
  const std::uint32_t parts = blocks_per_piece(task), number = blockIdx.x / parts;
  const std::uint32_t shard = number / pieces, piece = number % pieces;
  if (task.plans[shard].shape.entries == 0) return;
  const Surveyor<Key> surveyor(task, shard, piece, pieces, blockIdx.x % parts);
  const std::uint32_t exceptions = surveyor.exceptions();
  if (threadIdx.x == 0) atomicAdd(piece_exceptions(task, shard, pieces) + piece, exceptions);
  surveyor.clear();
}

}  // namespace

std::uint32_t pieces_for(double entries_per_shard) {
  return static_cast<std::uint32_t>(
      std::clamp(std::ceil(entries_per_shard / kEntriesPerPiece), 1.0, double{kMostPieces}));
}

std::uint32_t pieces_for(double entries_per_shard, std::uint32_t shards, std::uint32_t blocks) {
  const double most = std::min<double>(kMostPieces, entries_per_shard / kLeastEntriesPerPiece);
  return std::max(pieces_for(entries_per_shard), std::min(blocks / shards, static_cast<std::uint32_t>(most)));
}

// The number of the piece whose turn it is comes first.
std::size_t freeze_scratch(std::uint32_t shards) { return 1 + std::size_t{shards} * kMostPieces; }

template <class Key>
void launch_survey(const FreezeTask<Key>& task, std::uint32_t pieces, cudaStream_t stream) {
  const std::uint32_t blocks = task.shards * pieces * blocks_per_piece(task);
  survey_kernel<<<blocks, kSurveyThreads, 0, DriverLock::Shared(stream)>>>(task, pieces);
  check_launch("freezing shards");
}

template void launch_survey(const FreezeTask<Key64>&, std::uint32_t, cudaStream_t);
template void launch_survey(const FreezeTask<Key128>&, std::uint32_t, cudaStream_t);

}  // namespace warpmer::gpu
