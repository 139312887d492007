#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "kernels/live/entry_kernels.cuh"
#include "kernels/live/gpu_snapshot.cuh"
#include "kernels/live/paged_kmers.cuh"
#include "kernels/memory/persistent_grid.cuh"
#include "kmer/minimizer.h"

namespace warpmer::gpu {

namespace {

using table::ChildShape;
using table::Slots;

/// One child is worked on while the one before leaves and the next comes.
constexpr std::uint32_t kLiveFrames = 3;
/// The largest child: larger ones would not be quicker through the link.
constexpr std::uint64_t kMostLiveFrame = std::uint64_t{512} << 20;
/// A frame has this share of the memory; as much as two frames is kept for shards that are frozen.
constexpr std::uint64_t kLiveFrameShare = 16, kFreezingFrames = 2;
/// K-mers that wait at least.
constexpr std::uint64_t kLeastWaiting = std::uint64_t{1} << 22;
/// A child's load, with which it is enlarged or halved, and by how much: each k-mer is moved twice for that.
constexpr double kLiveLoad = 0.85, kLiveGrowth = 1.5;
/// Children's sizes may differ by this from the expected, and a halved one takes so much for a while.
constexpr double kUneven = 1.1;
constexpr std::uint64_t kSpareImage = std::uint64_t{4} << 20;
/// Children to begin with, at least.
constexpr std::uint32_t kFirstChildren = 8;
constexpr std::size_t kUpdatesAtOnce = std::size_t{1} << 21;
constexpr std::uint32_t kPagedThreads = 256;

/// Bytes that sorting takes besides, of each k-mer.
constexpr std::uint64_t kScratchOfKmer = 1;
/// Device memory of each k-mer that may wait: in the queue, as an update and as a query, in the order of
/// children. (As many are asked for together as are added: with a quarter of the queries, a fifth more would
/// wait, and questions took three times as long.)
template <class Key>
constexpr std::uint64_t kBytesOfWaiting = KmerQueue<Key>::kBytesOfKmer + kScratchOfKmer +
                                          sizeof(table::Slot<Key>) + sizeof(std::uint32_t) + sizeof(Key) +
                                          2 * sizeof(std::uint32_t);
template <class Key>
constexpr std::uint64_t kFixedOfPaged = KmerQueue<Key>::kFixedBytes + DeviceChildren<Key>::kFixedBytes +
                                        kUpdatesAtOnce*(sizeof(table::Slot<Key>) + sizeof(std::uint32_t));

std::uint64_t frame_bytes_of(std::uint64_t device_bytes) {
  return std::min(device_bytes / kLiveFrameShare, kMostLiveFrame);
}

template <class Key>
std::size_t waiting_of(std::uint64_t device_bytes) {
  const std::uint64_t besides =
      (kLiveFrames + kFreezingFrames) * frame_bytes_of(device_bytes) + kFixedOfPaged<Key>;
  return std::min<std::uint64_t>((device_bytes - besides) / kBytesOfWaiting<Key>, std::uint64_t{1} << 30);
}

template <class Key>
std::uint32_t buckets_of_frame(std::uint64_t frame_bytes) {
  const std::uint64_t stash = ChildShape{0, 0}.template bytes<Key>();
  return static_cast<std::uint32_t>((frame_bytes - stash) / (table::kChildBucket * Slots<Key>::kBytes));
}

template <class Key>
table::PagedTablePlan table_plan(const PagedKmersPlan& plan) {
  table::PagedTablePlan table;
  table.frames = kLiveFrames;
  table.frame_buckets = buckets_of_frame<Key>(frame_bytes_of(plan.device_bytes));
  table.children = 0;  // memory is taken when there is something for it
  table.weights.assign(std::size_t{1} << kShardBits, 0);
  table.most_image_bytes = plan.host_bytes;
  table.load = kLiveLoad;
  table.growth = kLiveGrowth;
  table.batch = waiting_of<Key>(plan.device_bytes);
  if (plan.initial == nullptr) return table;
  const table::ShardPlace<Key> place{plan.kmers.k, plan.shards.first, plan.shards.end, plan.kmers.canonical};
  for (std::uint32_t shard = plan.shards.first; shard < plan.shards.end; ++shard)
    table.weights[place.entry_of(shard)] = plan.initial->kmers(shard);
  return table;
}

/// A child in a frame, as kernels see it that go through its entries (entry_kernels.cuh).
template <class KeyType>
struct ChildScheme {
  using Key = KeyType;
  static constexpr int kLanes = 8;
  using Tile = CudaTile<Key, kLanes, table::kChildBucket / kLanes>;

  std::uint32_t* beside;
  std::uint64_t groups;
  Slots<Key> slots;

  class ChildWorker {
   public:
    __device__ ChildWorker(const ChildScheme& scheme, const Tile& /*tile*/, std::uint32_t /*number*/)
        : slots_(scheme.slots) {}
    template <class Visit>
    __device__ void for_each(std::uint64_t group, Visit&& visit) const {
      for (std::uint32_t i = 0; i < table::kChildBucket; ++i) {
        const table::Slot<Key> slot = slots_.read(group * table::kChildBucket + i);
        if (slot.key != table::kEmptyKey<Key> && slot.count > 0) visit(slot);
      }
    }

   private:
    Slots<Key> slots_;
  };
  using Worker = ChildWorker;
};

/// The entries of a child in its frame. `beside`: counts of what is not in children.
template <class Key>
class ChildEntries : public LaunchedEntries<ChildScheme<Key>, LiveEntries<Key>> {
 public:
  ChildEntries(const table::ChildInFrame<Key>& child, std::uint32_t* beside, KmerParams kmers)
      : LaunchedEntries<ChildScheme<Key>, LiveEntries<Key>>(kmers) {
    this->scheme_ = {beside, child.shape.slots() / table::kChildBucket, child.slots()};
  }
};

template <class Key>
__global__ __launch_bounds__(kPagedThreads) void updates_kernel(const Key* keys, const std::uint32_t* counts,
                                                                std::size_t n, table::Slot<Key>* updates) {
  const std::size_t stride = std::size_t{gridDim.x} * kPagedThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kPagedThreads + threadIdx.x; i < n; i += stride)
    updates[i] = {keys[i], counts[i]};
}

/// Updates are longer than what they say, so that counts go to the host by themselves.
template <class Key>
__global__ __launch_bounds__(kPagedThreads) void counts_kernel(const table::Slot<Key>* updates, std::size_t n,
                                                               std::uint32_t* counts) {
  const std::size_t stride = std::size_t{gridDim.x} * kPagedThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kPagedThreads + threadIdx.x; i < n; i += stride)
    counts[i] = updates[i].count;
}

template <class Key>
void make_updates(const Key* keys, const std::uint32_t* counts, std::size_t n, table::Slot<Key>* updates,
                  cudaStream_t stream) {
  updates_kernel<<<blocks_for<updates_kernel<Key>>(n, kPagedThreads, kPagedThreads), kPagedThreads, 0,
                   DriverLock::Shared(stream)>>>(keys, counts, n, updates);
  check_launch("writing k-mers down");
  check(cudaStreamSynchronize(stream), "writing k-mers down");
}

}  // namespace

template <class Key>
PagedKmers<Key>::PagedKmers(const PagedKmersPlan& plan)
    : kmers_(plan.kmers),
      host_bytes_(plan.host_bytes),
      frame_bytes_(frame_bytes_of(plan.device_bytes)),
      most_of_shard_(ChildShape{buckets_of_frame<Key>(frame_bytes_), 0}.entries_at(kLiveLoad)),
      hash_(plan.kmers.k),
      queue_(waiting_of<Key>(plan.device_bytes), plan.kmers, plan.shards),
      table_(table_plan<Key>(plan),
             table::ShardPlace<Key>{plan.kmers.k, plan.shards.first, plan.shards.end, plan.kmers.canonical}),
      updates_(kUpdatesAtOnce),
      missing_(kUpdatesAtOnce),
      of_shard_(std::size_t{1} << kShardBits),
      waiting_(of_shard_.size()) {
  // Updates are copied with what lies between them, so that it had better be something.
  fill_bytes(updates_.data(), 0, updates_.size(), queue_.stream());
  while (table_.children() < kFirstChildren) table_.add_child();
}

template <class Key>
std::uint64_t PagedKmers<Key>::least_device_bytes() {
  const std::uint64_t waiting = kLeastWaiting * kBytesOfWaiting<Key> + kFixedOfPaged<Key>;
  return waiting * kLiveFrameShare / (kLiveFrameShare - kLiveFrames - kFreezingFrames) + 1;
}

/// However full children are.
template <class Key>
std::uint64_t PagedKmers<Key>::host_bytes_for(std::uint64_t kmers) {
  const auto bytes = static_cast<double>(kmers * Slots<Key>::kBytes);
  return static_cast<std::uint64_t>(bytes * kLiveGrowth / kLiveLoad * kUneven) + kSpareImage;
}

/// Of each child, what it takes now, or, if it has too few slots for what may come, what it may take then.
template <class Key>
std::uint64_t PagedKmers<Key>::needed_host_bytes() const {
  std::uint64_t needed = 0;
  for (const table::ChildRange& range : table_.ranges()) {
    const index::ShardRange shards = shards_of(range);
    std::uint64_t kmers = table_.filled(range.child);
    for (std::uint32_t shard = shards.first; shard < shards.end; ++shard)
      kmers += waiting_[shard] + collected_.of_shard[shard];
    const ChildShape& shape = table_.shape(range.child);
    needed += kmers <= shape.entries_at(kLiveLoad)
                  ? DeviceChildren<Key>::image_bytes(shape.template bytes<Key>(), frame_bytes_)
                  : host_bytes_for(kmers);
  }
  return needed;
}

template <class Key>
auto PagedKmers<Key>::room() const -> LiveRoom {
  if (most_count_ + queue_.size() + collected_.kmers > kMostLiveCount) return LiveRoom::too_many;
  for (std::size_t shard = 0; shard < of_shard_.size(); ++shard) {
    const std::uint64_t more = waiting_[shard] + collected_.of_shard[shard];
    if (more > 0 && of_shard_[shard] + more > most_of_shard_) return LiveRoom::none;
  }
  return needed_host_bytes() > host_bytes_ ? LiveRoom::none : LiveRoom::enough;
}

template <class Key>
void PagedKmers<Key>::commit() {
  queue_.commit();
  beside_ += collected_.beside;
  most_count_ = std::max(most_count_, beside_);
  for (std::size_t shard = 0; shard < waiting_.size(); ++shard) waiting_[shard] += collected_.of_shard[shard];
}

template <class Key>
void PagedKmers<Key>::serve() {
  is_half_done_ = true;
  const ReducedKmers<Key> kmers = queue_.reduce();
  most_count_ += kmers.largest;
  insert(kmers);
  note_children();
  is_half_done_ = false;
}

template <class Key>
void PagedKmers<Key>::insert(const ReducedKmers<Key>& kmers) {
  for (std::size_t at = 0; at < kmers.size; at += updates_.size()) {
    const std::size_t n = std::min(updates_.size(), kmers.size - at);
    make_updates(kmers.keys + at, kmers.counts + at, n, updates_.data(), queue_.stream());
    table_.insert(updates_.data(), n, true);
  }
  table_.flush();
}

/// Learns how many k-mers there are.
template <class Key>
void PagedKmers<Key>::note_children() {
  for (const table::ChildRange& range : table_.ranges()) {
    const index::ShardRange shards = shards_of(range);
    for (std::uint32_t shard = shards.first; shard < shards.end; ++shard) {
      of_shard_[shard] =
          std::min(of_shard_[shard] + std::exchange(waiting_[shard], 0), table_.filled(range.child));
    }
  }
}

template <class Key>
void PagedKmers<Key>::make_room() {
  serve();
  table_.drop_removed();
  note_children();
  backend::Tally tally;
  note_all_counts(tally);
  most_count_ = std::max<std::uint64_t>(beside_, tally.totals().largest_count);
}

template <class Key>
void PagedKmers<Key>::remove(backend::Shortfall& shortfall) {
  queue_.commit();
  if (collected_.beside > 0) {
    const std::uint64_t taken = std::min(beside_, collected_.beside);
    if (taken < collected_.beside) shortfall.note(taken, collected_.beside - taken);
    beside_ -= taken;
  }
  subtract(queue_.reduce(), shortfall);
}

template <class Key>
void PagedKmers<Key>::subtract(const ReducedKmers<Key>& kmers, backend::Shortfall& shortfall) {
  std::vector<std::uint32_t> missing, wanted;
  const cudaStream_t stream = queue_.stream();
  for (std::size_t at = 0; at < kmers.size; at += updates_.size()) {
    const std::size_t n = std::min(updates_.size(), kmers.size - at);
    make_updates(kmers.keys + at, kmers.counts + at, n, updates_.data(), stream);
    table_.subtract(updates_.data(), n);
    counts_kernel<<<blocks_for<counts_kernel<Key>>(n, kPagedThreads, kPagedThreads), kPagedThreads, 0,
                    DriverLock::Shared(stream)>>>(updates_.data(), n, missing_.data());
    check_launch("removing k-mers");
    missing.resize(n);
    wanted.resize(n);
    copy_to_host(missing.data(), missing_.data(), n, stream);
    copy_to_host(wanted.data(), kmers.counts + at, n, stream);
    check(cudaStreamSynchronize(stream), "removing k-mers");
    for (std::size_t i = 0; i < n; ++i) {
      if (missing[i] > 0) shortfall.note(wanted[i] - missing[i], missing[i]);
    }
  }
}

template <class Key>
void PagedKmers<Key>::ask(std::span<PagedQuestion<Key>* const> questions) {
  serve();
  std::size_t size = 0;
  for (PagedQuestion<Key>* const one : questions) {
    const auto beside = static_cast<std::uint32_t>(beside_);
    if (one->batch != nullptr) {
      queue_.place(*one->batch, size, beside);
    } else {
      queue_.place(one->hashes, size, beside);
    }
    size += one->answers.size();
  }
  table_.find(queue_.placed(), size, queue_.found());
  queue_.add_found(size);
  std::size_t at = 0;
  for (PagedQuestion<Key>* const one : questions) {
    queue_.take_answers(at, one->answers);
    at += one->answers.size();
  }
}

template <class Key>
void PagedKmers<Key>::load(const backend::InitialShard<Key>& shard) {
  std::vector<Update> updates;
  for (std::size_t i = 0; i < shard.kmers.size(); ++i) {
    const Key key = hash_(shard.kmers[i]);
    if (key == table::kEmptyKey<Key>) {
      beside_ = shard.counts[i];
    } else {
      updates.push_back({key, shard.counts[i]});
    }
  }
  table_.insert(updates.data(), updates.size(), true);
  of_shard_[shard.number] += updates.size();
  most_count_ = std::max(most_count_, shard.largest);
}

template <class Key>
index::ShardRange PagedKmers<Key>::shards_of(const table::ChildRange& range) const {
  const table::ShardPlace<Key> place = table_.storage().place();
  return {place.shard_at(range.first), place.shard_at(range.end)};
}

template <class Key>
std::vector<index::ShardRange> PagedKmers<Key>::children() {
  serve();
  std::vector<index::ShardRange> all;
  for (const table::ChildRange& range : table_.ranges()) {
    const index::ShardRange shards = shards_of(range);
    if (shards.first < shards.end) all.push_back(shards);
  }
  return all;
}

template <class Key>
std::uint64_t PagedKmers<Key>::freezing_bytes() const {
  return kFreezingFrames * frame_bytes_;
}

template <class Key>
void PagedKmers<Key>::note_all_counts(backend::Tally& tally) {
  for (const index::ShardRange& child : children()) {
    with_child(child.first, [&](const LiveEntries<Key>& entries, cudaStream_t stream) {
      note_counts(entries, stream, tally);
    });
  }
}

/// The k-mer that is beside the children belongs to the one that has its shard.
template <class Key>
std::unique_ptr<LiveEntries<Key>> PagedKmers<Key>::bring(std::uint32_t first_shard, cudaStream_t& stream) {
  const std::vector<table::ChildRange> ranges = table_.ranges();
  const auto range = std::find_if(ranges.begin(), ranges.end(), [&](const table::ChildRange& one) {
    const index::ShardRange shards = shards_of(one);
    return shards.first == first_shard && shards.first < shards.end;
  });
  if (range == ranges.end()) throw InternalError("no child of a paged table begins with a shard");
  const std::uint32_t of_beside =
      table::shard_of_hash(table::kEmptyKey<Key>, kmers_.k, kmers_.canonical, kShardBits);
  const bool has_beside = beside_ > 0 && first_shard <= of_beside && of_beside < shards_of(*range).end;
  const std::array<std::uint32_t, kBesideKeys> beside{has_beside ? static_cast<std::uint32_t>(beside_) : 0,
                                                      0};
  copy_to_device(beside_on_device_.data(), beside.data(), beside.size(), queue_.stream());
  check(cudaStreamSynchronize(queue_.stream()), "bringing a child table");
  const auto brought = table_.bring(range->child);
  stream = table_.storage().stream(brought.frame);
  return std::make_unique<ChildEntries<Key>>(brought.child, beside_on_device_.data(), kmers_);
}

template <class Key>
std::uint64_t PagedKmers<Key>::device_bytes() const {
  return queue_.device_bytes() + table_.storage().device_bytes() + updates_.bytes() + missing_.bytes();
}

template class PagedKmers<Key64>;
template class PagedKmers<Key128>;

}  // namespace warpmer::gpu
