// A warp for each read. The median is found by halving the range of its value: no answer is moved, and how
// many are up to the middle is a sum of the lanes.

#include "kernels/lookup/read_sums.cuh"
#include "kernels/memory/driver_lock.cuh"
#include "kernels/memory/persistent_grid.cuh"

namespace warpmer::gpu {

namespace {

constexpr std::uint32_t kSumThreads = 256;
constexpr std::uint32_t kReadsAtOnce = kSumThreads / 32;

/// The answers of a read, of which each lane of a warp takes every 32nd.
struct WarpAnswers {
  const std::uint32_t* answers;
  std::uint32_t number;

  /// Calls `visit` with each answer of this lane.
  template <class Visit>
  __device__ void for_each(Visit&& visit) const {
    for (std::uint32_t i = threadIdx.x % 32; i < number; i += 32) visit(answers[i]);
  }

  [[nodiscard]] __device__ std::uint32_t up_to(std::uint32_t most) const {
    std::uint32_t mine = 0;
    for_each([&](std::uint32_t answer) { mine += answer <= most ? 1 : 0; });
    return __reduce_add_sync(~0u, mine);
  }

  /// Returns the value of `rank` if the answers were in order, which is one of `low` to `high`.
  [[nodiscard]] __device__ std::uint32_t at_rank(std::uint32_t rank, std::uint32_t low,
                                                 std::uint32_t high) const {
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (up_to(middle) > rank) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  [[nodiscard]] __device__ ReadSums sums() const {
    static_assert(kNoKmerAnswer == UINT32_MAX);  // larger than every answer of a k-mer
    std::uint32_t kmers = 0, found = 0, smallest = kNoKmerAnswer, largest = 0;
    for_each([&](std::uint32_t answer) {
      const bool is_kmer = answer != kNoKmerAnswer;
      kmers += is_kmer ? 1 : 0;
      found += is_kmer && answer > 0 ? 1 : 0;
      smallest = min(smallest, answer);
      largest = max(largest, is_kmer ? answer : 0);
    });
    kmers = __reduce_add_sync(~0u, kmers);
    if (kmers == 0) return {};
    found = __reduce_add_sync(~0u, found);
    smallest = __reduce_min_sync(~0u, smallest);
    largest = __reduce_max_sync(~0u, largest);
    return {kmers, found, smallest, at_rank((kmers - 1) / 2, smallest, largest), largest};
  }
};

/// Where a read's bases are in the joined text.
struct JoinedRead {
  std::uint32_t begin, bases;
};

struct JoinedReads {
  const std::uint32_t* begins;
  std::uint32_t reads;
  [[nodiscard]] __device__ std::uint32_t size() const { return reads; }
  [[nodiscard]] __device__ JoinedRead operator[](std::uint32_t read) const {
    return {begins[read], begins[read + 1] - begins[read] - 1};  // a separator follows
  }
};

struct PlainReads {
  PlainRecords records;
  [[nodiscard]] __device__ std::uint32_t size() const { return records.size(); }
  [[nodiscard]] __device__ JoinedRead operator[](std::uint32_t read) const {
    return {records.joined_at(read), records.line(read, 1).size()};
  }
};

template <class Reads>
__global__ __launch_bounds__(kSumThreads) void sum_up_kernel(const std::uint32_t* answers, Reads reads,
                                                             std::uint32_t k, ReadSums* sums) {
  const std::uint32_t size = reads.size();
  for (std::uint32_t read = blockIdx.x * kReadsAtOnce + threadIdx.x / 32; read < size;
       read += gridDim.x * kReadsAtOnce) {
    const JoinedRead joined = reads[read];
    const std::uint32_t kmers = joined.bases < k ? 0 : joined.bases - k + 1;
    const ReadSums sum = WarpAnswers{answers + joined.begin, kmers}.sums();
    if (threadIdx.x % 32 == 0) sums[read] = sum;
  }
}

template <class Reads>
void launch_sum_up(const std::uint32_t* answers, const Reads& reads, std::uint32_t most, std::uint32_t k,
                   ReadSums* sums, cudaStream_t stream) {
  const std::uint32_t blocks = blocks_for<sum_up_kernel<Reads>>(most, kReadsAtOnce, kSumThreads);
  sum_up_kernel<<<blocks, kSumThreads, 0, DriverLock::Shared(stream)>>>(answers, reads, k, sums);
  check_launch("summing up reads");
}

}  // namespace

void sum_up(const std::uint32_t* answers, const std::uint32_t* begins, std::uint32_t reads, std::uint32_t k,
            ReadSums* sums, cudaStream_t stream) {
  if (reads > 0) launch_sum_up(answers, JoinedReads{begins, reads}, reads, k, sums, stream);
}

void sum_up(const std::uint32_t* answers, const PlainRecords& records, std::uint32_t most, std::uint32_t k,
            ReadSums* sums, cudaStream_t stream) {
  launch_sum_up(answers, PlainReads{records}, most, k, sums, stream);
}

}  // namespace warpmer::gpu
