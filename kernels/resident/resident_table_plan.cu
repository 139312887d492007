#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "kernels/count/counted.cuh"
#include "kernels/resident/device_children.cuh"
#include "kernels/resident/resident_table.cuh"
#include "kernels/resident/resident_table_plan.cuh"
#include "kernels/upload/frozen_shards.cuh"
#include "kernels/upload/shard_uploader.cuh"

namespace warpmer::gpu {

namespace {

using table::ChildShape;
using table::Slots;

/// One child is worked on while the one before leaves and the next comes.
constexpr std::uint32_t kFrames = 3;
/// Shares of the device's memory: one for each frame, and for the part that is out in the end; one for
/// updates that wait; one for counted k-mers, or two for a shard that has so many; and one for the index that
/// comes, before that.
constexpr std::uint64_t kFrameShare = 8, kBatchShare = 4, kCountedShare = 8, kMostCountedShare = 4,
                        kRingShare = 8;
/// Larger children would not be quicker through the link. But the largest shard, which has to be in one
/// child, may become so many times as large.
constexpr std::uint64_t kMostFrameBytes = std::uint64_t{128} << 20, kShardGrowth = 4;
/// The share of the host's memory that copying the index to the device may take.
constexpr std::uint64_t kUploadShare = 8;
/// A child's load, with which it is enlarged or halved, and by how much. To build it anew costs as much as to
/// add to it twice; free slots cost every time.
constexpr double kLoad = 0.85, kGrowth = 1.25;

/// The sizes that an index needs.
struct IndexLoad {
  std::vector<std::uint64_t> weights;  ///< entries of a child's place, `PagedTablePlan::weights`
  std::uint64_t most_entries = 0;      ///< entries of its largest shard
  std::uint64_t most_words = 0;        ///< words of the largest of all shards
};

template <class Key>
IndexLoad load_of(const index::IndexFile& index, const BinRange& bins) {
  const table::ShardPlace<Key> place{index.params().k, bins.first_shard(), bins.end_shard(),
                                     index.params().canonical};
  IndexLoad load;
  load.weights.assign(std::size_t{1} << kShardBits, 0);
  for (std::uint32_t shard = bins.first_shard(); shard < bins.end_shard(); ++shard) {
    const std::uint64_t entries = index.kmers(shard);
    load.weights[place.entry_of(shard)] = entries;
    load.most_entries = std::max(load.most_entries, entries);
  }
  const std::vector<std::uint64_t> words = shard_words(index);
  load.most_words = *std::max_element(words.begin(), words.end());
  return load;
}

/// Returns the host memory of the children with which a table begins.
template <class Key>
std::uint64_t image_bytes_of(const table::PagedTablePlan& plan) {
  table::ChildDirectory directory(table::ShardPlace<Key>::kBits);
  std::uint32_t number = 1;
  directory.divide(plan.weights, plan.most_at_first(), [&] { return number++; });
  const std::size_t frame = ChildShape{plan.frame_buckets, 0}.template bytes<Key>();
  std::uint64_t bytes = 0;
  for (const table::ChildRange& range : directory.ranges()) {
    const ChildShape shape{plan.buckets_at_first(range), 0};
    bytes += DeviceChildren<Key>::image_bytes(shape.template bytes<Key>(), frame);
  }
  return bytes;
}

[[noreturn]] void throw_too_little(const index::IndexFile& index, const std::string& of_what,
                                   std::uint64_t needed, std::uint64_t available, const std::string& option) {
  throw ResourceError("keeping " + index.path() + " alive takes " + megabytes_up(needed) + " of " + of_what +
                      " beside what counting takes, and " + megabytes(available) + " are for it; raise " +
                      option + ", or leave --paged out");
}

template <class Key>
ResidentTablePlan plan_of(const index::IndexFile& index, const BinRange& bins, std::uint64_t device_bytes,
                          std::uint64_t host_bytes) {
  const IndexLoad load = load_of<Key>(index, bins);
  const std::uint32_t least_buckets = ChildShape::buckets_for(load.most_entries, kLoad / kGrowth);
  const std::uint64_t least_frame = ChildShape{least_buckets, 0}.template bytes<Key>();
  const std::uint64_t part_bytes = ShardUploader::most_part_words(load.most_words) * sizeof(std::uint64_t);
  const std::uint64_t fixed = CountedBins<Key>::run_bytes(0, bins.bins()) + ResidentTable<Key>::kFixedBytes;
  const std::uint64_t least_device = fixed + std::max(least_frame * kFrameShare, part_bytes * kRingShare);
  if (least_device > device_bytes)
    throw_too_little(index, "the GPU's memory", least_device, device_bytes, "--device-memory");
  const std::uint64_t shared = device_bytes - fixed;

  ResidentTablePlan plan;
  plan.ring_words = shared / kRingShare / sizeof(std::uint64_t);
  const std::uint64_t of_uploader = ShardUploader::bytes_of_thread(load.most_words);
  plan.uploaders = static_cast<unsigned>(
      std::clamp<std::uint64_t>(host_bytes / kUploadShare / of_uploader, 1, upload_threads(plan.ring_words)));
  const std::uint64_t copying = plan.uploaders * of_uploader;

  plan.table.frames = kFrames;
  plan.table.children = 0;  // each gets as much memory as it takes
  plan.table.weights = load.weights;
  plan.table.load = kLoad;
  plan.table.growth = kGrowth;
  const std::uint64_t frame =
      std::min(shared / kFrameShare, std::max(kMostFrameBytes, kShardGrowth * least_frame));
  const std::uint64_t stash = ChildShape{0, 0}.template bytes<Key>();
  plan.table.frame_buckets =
      static_cast<std::uint32_t>((frame - stash) / (table::kChildBucket * Slots<Key>::kBytes));
  const std::uint64_t images = image_bytes_of<Key>(plan.table);
  if (copying + images > host_bytes)
    throw_too_little(index, "host memory", copying + images, host_bytes, "-m");
  plan.table.most_image_bytes = host_bytes - copying;
  plan.table.batch = shared / kBatchShare / DeviceChildren<Key>::kBytesOfUpdate;
  plan.counted = shared / kCountedShare / ResidentTable<Key>::kCountedBytes;
  plan.most_counted = shared / kMostCountedShare / ResidentTable<Key>::kCountedBytes;
  return plan;
}

}  // namespace

ResidentTablePlan plan_resident_table(const index::IndexFile& index, const BinRange& bins,
                                      std::uint64_t device_bytes, std::uint64_t host_bytes) {
  return with_key_type(index.params().k,
                       [&]<class Key>(Key) { return plan_of<Key>(index, bins, device_bytes, host_bytes); });
}

}  // namespace warpmer::gpu
