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

/// Orders small groups, and runs of large ones.
template <class Key>
__global__ __launch_bounds__(kRankThreads) void order_runs(
    const __grid_constant__ GroupedStrings<Key> grouped, std::uint32_t* order) {
  const std::uint32_t s = blockIdx.x * kRankThreads + threadIdx.x;
  if (s >= grouped.strings.size) return;
  const std::uint32_t group = grouped.group_of(s), group_begin = grouped.group_begins[group];
  const std::uint32_t begin = s - (s - group_begin) % kRun;
  const std::uint32_t end = min(begin + kRun, grouped.group_begins[group + 1]);
  std::uint32_t rank = 0;
  if (end - begin > 1) {
    const StringRank<Key> mine(grouped.strings, s);
    for (std::uint32_t other = begin; other < end; ++other)
      rank += other != s && mine.is_behind(other) ? 1 : 0;
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
