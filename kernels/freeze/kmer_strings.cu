// K-mers of neighbouring layers that share k - 1 bases are at most four on either side. Each upper one walks
// from its own place to all of them, searches where they are far, and takes the lower one of its own rank. No
// two take the same one, so that no order of work matters.

#include <thrust/iterator/counting_iterator.h>

#include <cub/device/device_select.cuh>

#include "kernels/freeze/kmer_strings.cuh"
#include "kernels/memory/small_copy.cuh"
#include "kernels/warps/sorted_search.cuh"
#include "kmer/lanes.h"

namespace warpmer::gpu {

namespace {

constexpr std::uint32_t kLinkThreads = 256, kLinksEach = 4;

/// The bits of a key that are its flanks, and those of all flanks but their first base. They are the same for
/// all keys.
template <class Key>
struct FlankBits {
  Key flanks, shared;

  __device__ explicit FlankBits(std::uint32_t flank_bases)
      : flanks(key_mask<Key>(flank_bases)), shared(flanks >> 2) {}
};

/// The k-mers around one: those that share all but its first base, and their place in a shard. The lanes of a
/// warp go through all of it together, as kmer/lanes.h says.
template <class Key>
class Neighbours {
 public:
  __device__ Neighbours(const OrderedKmers<Key>& kmers, const FlankBits<Key>& bits, std::uint32_t i,
                        std::uint32_t begin, std::uint32_t end)
      : kmers_(kmers), bits_(bits), i_(i), begin_(begin), end_(end), key_(kmers.key[i]) {}

  /// Returns the k-mer that follows this one in its string, or this one when there is none.
  [[nodiscard]] __device__ std::uint32_t next(const Lanes& all) const {
    const bool is_upper = kmers_.keys.layer(key_) != 0;
    const Key layer_begin = key_ & ~bits_.flanks, layer_last = key_ | bits_.flanks;
    const Key lowest = layer_begin - (bits_.flanks + 1) + ((key_ & bits_.shared) << 2);
    Lower lower{i_, 0};
    std::uint32_t rank = 0;
    const Lanes uppers = all.those(is_upper);
    if (all.any(is_upper && i_ - begin_ > kFew && !(kmers_.key[i_ - kFew] < lowest))) {
      if (is_upper) lower = search_back(lowest, rank, uppers);
    } else if (is_upper) {
      lower = look_back(lowest, layer_begin, rank);
    }
    const bool goes_on = rank < lower.n;
    const Lanes others = all.those(goes_on);
    if (all.any(goes_on && end_ - i_ > kFew && !(layer_last < kmers_.key[i_ + kFew]))) {
      if (goes_on) rank += search_behind(others);
    } else if (goes_on) {
      rank += look_behind(layer_last);
    }
    all.meet();
    if (rank >= lower.n) return i_;
    return lower.n == 1 ? lower.first : of_rank(lower.first, lower.n, rank);
  }

 private:
  /// Where no more lie between than this, a step for each is soonest done; else searches are.
  static constexpr std::uint32_t kFew = 12;

  /// The k-mers of the layer below that share all but the first base.
  struct Lower {
    std::uint32_t first, n;
  };

  /// Return the lower k-mers, the first of which would be `lowest`, and add to `rank` the number of those
  /// before this one that differ in the first base alone and come sooner. One goes back step by step.
  [[nodiscard]] __device__ Lower look_back(Key lowest, Key layer_begin, std::uint32_t& rank) const {
    Lower lower{i_, 0};
    for (std::uint32_t at = i_; at > begin_; --at) {
      const Key other = kmers_.key[at - 1];
      if (other < lowest) break;
      if (other < layer_begin) {
        if (other - lowest >= 4) continue;
        lower.first = at - 1;
        ++lower.n;
      } else if (((other ^ key_) & bits_.shared) == 0) {
        rank += kmers_.is_more_frequent(i_, at - 1) ? 0 : 1;
      }
    }
    return lower;
  }
  /// The other searches.
  [[nodiscard]] __device__ Lower search_back(Key lowest, std::uint32_t& rank, const Lanes& lanes) const {
    Lower lower{lower_bound_before(kmers_.key, begin_, i_, lowest), 0};
    lanes.meet();
    for (std::uint32_t at = lower.first; at < lower.first + 4; ++at)
      lower.n += at < i_ && kmers_.key[at] - lowest < 4 ? 1 : 0;
    std::uint32_t begin = lower.first + lower.n;
    const Key one = bits_.shared + 1;
    for (std::uint32_t base = 0; base < 3; ++base) {
      const Key wanted = (key_ & ~(3 * one)) + base * one;
      const bool is_before = lower.n > 0 && wanted < key_;
      begin = lower_bound(kmers_.key, is_before ? begin : i_, i_, wanted);
      if (is_before && begin < i_ && kmers_.key[begin] == wanted)
        rank += kmers_.is_more_frequent(i_, begin) ? 0 : 1;
      lanes.meet();
    }
    return lower;
  }
  /// Return the number of those behind this one that differ in the first base alone and come sooner.
  [[nodiscard]] __device__ std::uint32_t look_behind(Key layer_last) const {
    std::uint32_t rank = 0;
    for (std::uint32_t at = i_ + 1; at < end_; ++at) {
      const Key other = kmers_.key[at];
      if (other > layer_last) break;
      if (((other ^ key_) & bits_.shared) == 0) rank += kmers_.is_more_frequent(at, i_) ? 1 : 0;
    }
    return rank;
  }
  [[nodiscard]] __device__ std::uint32_t search_behind(const Lanes& lanes) const {
    const std::uint32_t more = 3 - first_base();
    std::uint32_t at = i_, rank = 0;
    for (std::uint32_t step = 1; step <= 3; ++step) {
      const Key wanted = key_ + (bits_.shared + 1) * step;
      if (step <= more) {
        const std::uint32_t found = lower_bound_behind(kmers_.key, at, end_, wanted);
        if (found < end_ && kmers_.key[found] == wanted) rank += kmers_.is_more_frequent(found, i_) ? 1 : 0;
        at = found - 1;  // which is below what is wanted next
      }
      lanes.meet();
    }
    return rank;
  }
  [[nodiscard]] __device__ std::uint32_t first_base() const {
    return static_cast<std::uint32_t>(key_ >> (2 * (kmers_.flank_bases() - 1))) & 3;
  }
  /// Returns which of consecutive k-mers has so many before it, by counts and then by order.
  [[nodiscard]] __device__ std::uint32_t of_rank(std::uint32_t first, std::uint32_t n,
                                                 std::uint32_t rank) const {
    std::uint32_t found = first;
    for (std::uint32_t i = first; i < first + n; ++i) {
      std::uint32_t before = 0;
      for (std::uint32_t j = first; j < first + n; ++j) {
        const bool is_before = j < i ? !kmers_.is_more_frequent(i, j) : kmers_.is_more_frequent(j, i);
        before += j != i && is_before ? 1 : 0;
      }
      if (before == rank) found = i;
    }
    return found;
  }

  const OrderedKmers<Key>& kmers_;
  const FlankBits<Key>& bits_;
  std::uint32_t i_, begin_, end_;
  Key key_;
};

template <class Key>
__global__ __launch_bounds__(kLinkThreads) void link_kmers(const __grid_constant__ OrderedKmers<Key> kmers,
                                                           std::uint32_t* steps, std::uint8_t* are_heads) {
  const std::uint32_t first = blockIdx.x * kLinkThreads * kLinksEach + threadIdx.x;
  std::uint32_t shard = warp_last_not_above(kmers.shard_begins, kmers.shards, first - first % 32);
  std::uint32_t begin = kmers.shard_begins[shard], end = kmers.shard_begins[shard + 1];
  const FlankBits<Key> bits(kmers.flank_bases());
#pragma unroll 1
  for (std::uint32_t e = 0; e < kLinksEach; ++e) {
    const std::uint32_t i = first + e * kLinkThreads;
    const Lanes lanes(__ballot_sync(~0u, i < kmers.size));
    if (i >= kmers.size) return;
    while (end <= i) {
      begin = end;
      end = kmers.shard_begins[++shard + 1];
    }
    lanes.meet();
    const std::uint32_t next = Neighbours<Key>(kmers, bits, i, begin, end).next(lanes);
    steps[i] = i - next;
    if (next != i) are_heads[next] = 0;
  }
}

template <class Key>
__global__ __launch_bounds__(kLinkThreads) void follow_strings(
    const __grid_constant__ DeviceStrings<Key> strings, StringTail* tails) {
  const std::uint32_t s = blockIdx.x * kLinkThreads + threadIdx.x;
  if (s >= strings.size) return;
  const OrderedKmers<Key>& kmers = strings.kmers;
  StringTail tail{0, UINT32_MAX, 0, 0, 0, 0};
  strings.for_each_kmer(s, [&](std::uint32_t i) {
    const std::uint32_t count = kmers.counts[i];
    tail.smallest = min(tail.smallest, count);
    tail.largest = max(tail.largest, count);
    tail.last = i;
    ++tail.kmers;
  });
  const std::uint32_t head = strings.heads[s];
  if (s == 0) {
    tail.is_first = 1;
  } else {
    const std::uint32_t before = strings.heads[s - 1];
    const std::uint32_t shard =
        last_not_above(kmers.shard_begins, kmers.shards, strings.heads[blockIdx.x * kLinkThreads], head);
    tail.is_first = before < kmers.shard_begins[shard] ||
                            kmers.keys.rest(kmers.key[before]) != kmers.keys.rest(kmers.key[head])
                        ? 1
                        : 0;
  }
  tails[s] = tail;
  const std::uint64_t spread = tail.largest < kBigCount
                                   ? tail.largest - tail.smallest
                                   : strings.largest_count(s) - strings.smallest_count(s);
  tails[s].spread_bits = static_cast<std::uint8_t>(groups::bits_of(spread));
}

}  // namespace

template <class Key>
DeviceStrings<Key> KmerStrings<Key>::find(const OrderedKmers<Key>& kmers, std::uint32_t* steps,
                                          std::uint32_t* heads, cudaStream_t stream) {
  DeviceStrings<Key> strings{kmers, steps, heads, nullptr, 0};
  if (kmers.size == 0) return strings;
  make_room(are_heads_, kmers.size, stream);
  make_room(size_, 1, stream);
  fill_bytes(are_heads_.data(), 1, kmers.size, stream);
  const std::uint32_t blocks = (kmers.size - 1) / (kLinkThreads * kLinksEach) + 1;
  link_kmers<Key><<<blocks, kLinkThreads, 0, DriverLock::Shared(stream)>>>(kmers, steps, are_heads_.data());
  check_launch("linking k-mers");
  scan_memory_.run("finding strings", stream, [&](void* memory, std::size_t& bytes, cudaStream_t in) {
    return cub::DeviceSelect::Flagged(memory, bytes, thrust::counting_iterator<std::uint32_t>(0),
                                      are_heads_.data(), heads, size_.data(), std::int64_t{kmers.size}, in);
  });
  copy_small(host_size_.data(), size_.data(), 1, stream);
  check(cudaStreamSynchronize(stream), "finding strings");
  strings.size = host_size_[0];
  make_room(tails_, strings.size, stream);
  strings.tails = tails_.data();
  follow_strings<Key><<<(strings.size - 1) / kLinkThreads + 1, kLinkThreads, 0, DriverLock::Shared(stream)>>>(
      strings, tails_.data());
  check_launch("following strings");
  return strings;
}

template class KmerStrings<Key64>;
template class KmerStrings<Key128>;

}  // namespace warpmer::gpu
