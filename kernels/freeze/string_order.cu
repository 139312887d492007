// Each string finds its rank in its group by comparing; those of a large group do so in runs of 64, which are
// then merged in passes.

#include "kernels/freeze/string_order.cuh"

namespace warpmer::gpu {

namespace {

constexpr std::uint32_t kRankThreads = 256;
constexpr std::uint32_t kRun = groups::kMostInlineStrings;

/// A string beside others of its group: groups::is_before.
template <class Key>
class StringRank {
 public:
  __device__ StringRank(const DeviceStrings<Key>& strings, std::uint32_t string)
      : strings_(strings), string_(string), tail_(strings.tails[string]), ends_(strings.ends(string)) {}

  /// True when string `other` comes first.
  [[nodiscard]] __device__ bool is_behind(std::uint32_t other) const {
    const StringTail tail = strings_.tails[other];
    if (tail.largest != tail_.largest) return tail.largest > tail_.largest;
    if (tail.largest == kBigCount) {
      const std::uint64_t a = strings_.largest_count(other), b = strings_.largest_count(string_);
      if (a != b) return a > b;
    }
    const StringEnds<Key> ends = strings_.ends(other);
    if (ends.left_bases != ends_.left_bases) return ends.left_bases > ends_.left_bases;
    if (ends.right_bases != ends_.right_bases) return ends.right_bases > ends_.right_bases;
    if (ends.left != ends_.left) return ends.left < ends_.left;
    return ends.right < ends_.right;
  }

 private:
  const DeviceStrings<Key>& strings_;
  std::uint32_t string_;
  StringTail tail_;
  StringEnds<Key> ends_;
};

/// Returns a number that decides nearly always which of two strings of a group comes first: that of the
/// smaller one. Equal ones decide nothing.
template <class Key>
__device__ std::uint64_t rank_number(const DeviceStrings<Key>& strings, std::uint32_t s) {
  constexpr std::uint32_t kLeftBits = 19, kRightBasesBits = 7;
  const StringTail tail = strings.tails[s];
  if (tail.largest == kBigCount) return 0;
  const std::uint32_t n = strings.kmers.flank_bases();
  const Key head = strings.kmers.key[strings.heads[s]];
  const std::uint32_t left_bases = strings.kmers.keys.layer(head);
  const std::uint32_t right_bases = n - left_bases + tail.kmers - 1;
  // The first bases on the left; behind them are others, which do not count here.
  const Key left = left_bases == 0 ? Key{0} : strings.kmers.keys.flanks(head) >> (2 * (n - left_bases));
  const std::uint32_t first = 2 * left_bases < kLeftBits
                                  ? static_cast<std::uint32_t>(left) << (kLeftBits - 2 * left_bases)
                                  : static_cast<std::uint32_t>(left >> (2 * left_bases - kLeftBits));
  return std::uint64_t{~tail.largest} << 32 | (63 - left_bases) << (kLeftBits + kRightBasesBits) |
         (127 - right_bases) << kLeftBits | first;
}

/// Orders small groups, and runs of large ones. All of a run are within kRun - 1 places of each of its
/// strings.
template <class Key>
__global__ __launch_bounds__(kRankThreads) void order_runs(
    const __grid_constant__ GroupedStrings<Key> grouped, std::uint32_t* order) {
  __shared__ std::uint64_t rank_numbers[kRankThreads + 2 * (kRun - 1)];
  const std::uint32_t size = grouped.strings.size, block_begin = blockIdx.x * kRankThreads;
  const std::uint32_t near_begin = block_begin - min(block_begin, kRun - 1);
  const std::uint32_t near_end = min(block_begin + kRankThreads + kRun - 1, size);
  for (std::uint32_t i = near_begin + threadIdx.x; i < near_end; i += kRankThreads) {
    const std::uint32_t group = grouped.group_of(i);
    const bool is_alone =
        (i == 0 || grouped.group_of(i - 1) != group) && (i + 1 == size || grouped.group_of(i + 1) != group);
    if (!is_alone) rank_numbers[i - near_begin] = rank_number(grouped.strings, i);
  }
  __syncthreads();
  const std::uint32_t s = block_begin + threadIdx.x;
  if (s >= size) return;
  const std::uint32_t group = grouped.group_of(s), group_begin = grouped.group_begins[group];
  const std::uint32_t begin = s - (s - group_begin) % kRun;
  const std::uint32_t end = min(begin + kRun, grouped.group_begins[group + 1]);
  const std::uint64_t mine = rank_numbers[s - near_begin];
  std::uint32_t rank = 0;
  for (std::uint32_t other = begin; other < end; ++other) {
    if (other == s) continue;
    const std::uint64_t its = rank_numbers[other - near_begin];
    const bool is_behind = its == mine ? StringRank<Key>(grouped.strings, s).is_behind(other) : its < mine;
    rank += is_behind ? 1 : 0;
  }
  order[begin + rank] = s;
}

/// Merges runs of `width` strings in pairs.
template <class Key>
__global__ __launch_bounds__(kRankThreads) void merge_runs(
    const __grid_constant__ GroupedStrings<Key> grouped, std::uint32_t width, const std::uint32_t* from,
    std::uint32_t* to) {
  const std::uint32_t at = blockIdx.x * kRankThreads + threadIdx.x;
  if (at >= grouped.strings.size) return;
  const std::uint32_t group = grouped.group_of(at), s = from[at];
  const std::uint32_t group_begin = grouped.group_begins[group], group_end = grouped.group_begins[group + 1];
  if (group_end - group_begin <= width) {
    to[at] = s;
    return;
  }
  const std::uint32_t run = (at - group_begin) / width;
  const auto begin_of = [&](std::uint32_t r) {
    return group_begin +
           static_cast<std::uint32_t>(min(std::uint64_t{r} * width, std::uint64_t{group_end - group_begin}));
  };
  const StringRank<Key> mine(grouped.strings, s);
  std::uint32_t low = begin_of(run ^ 1), high = begin_of((run ^ 1) + 1);
  const std::uint32_t other_begin = low;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (mine.is_behind(from[middle])) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  to[begin_of(run & ~1u) + (at - begin_of(run)) + (low - other_begin)] = s;
}

}  // namespace

template <class Key>
const std::uint32_t* StringOrder<Key>::order(const GroupedStrings<Key>& grouped, std::uint32_t most_strings,
                                             cudaStream_t stream) {
  const std::uint32_t n = grouped.strings.size, blocks = n / kRankThreads + 1;
  make_room(strings_[0], n, stream);
  if (most_strings > kRun) make_room(strings_[1], n, stream);
  order_runs<Key><<<blocks, kRankThreads, 0, DriverLock::Shared(stream)>>>(grouped, strings_[0].data());
  std::uint32_t now = 0;
  for (std::uint64_t width = kRun; width < most_strings; width *= 2, now ^= 1) {
    merge_runs<Key><<<blocks, kRankThreads, 0, DriverLock::Shared(stream)>>>(
        grouped, static_cast<std::uint32_t>(width), strings_[now].data(), strings_[now ^ 1].data());
  }
  check_launch("putting strings in order");
  return strings_[now].data();
}

template class StringOrder<Key64>;
template class StringOrder<Key128>;

}  // namespace warpmer::gpu
