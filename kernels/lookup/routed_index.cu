#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/buffer_pool.h"
#include "kernels/lookup/routed_index.cuh"
#include "kernels/lookup/routed_runs.cuh"
#include "kernels/memory/current_device.cuh"
#include "mpi/transposition.h"

namespace warpmer::gpu {

namespace {

constexpr std::uint32_t kMostRoutedBatches = 8;
constexpr std::uint32_t kEnoughRoutedBatches = 4;  ///< that texts are made smaller for
constexpr std::uint32_t kLeastRoutedStarts = 16 * kTileStarts;
constexpr std::uint64_t kRounding = std::uint64_t{64} << 10;  ///< the allocator's
constexpr std::uint64_t kArrays = 4;  ///< number of arrays of an origin, and of a holding

/// A GPU's side of the index.
struct Holding {
  explicit Holding(const std::shared_ptr<const FrozenPayloads>& payloads)
      : shards(payloads), owner_of(payloads->params().shards()) {
    const PinnedArray<std::uint16_t> owners(owner_of.size());
    for (std::uint32_t shard = 0; shard < owners.size(); ++shard)
      owners[shard] = static_cast<std::uint16_t>(payloads->owner_of(shard));
    const Stream stream;
    copy_to_device(owner_of.data(), owners.data(), owners.size(), stream);
    stream.wait();
  }
  FrozenShards shards;
  DeviceArray<std::uint16_t> owner_of;  ///< by shard
};

/// The index that all GPUs hold together.
struct DividedIndex {
  explicit DividedIndex(const std::shared_ptr<const FrozenPayloads>& payloads)
      : params(payloads->params()), gpus(payloads->gpus()) {
    for (const int gpu : gpus) holdings.emplace_back(gpu, payloads);
  }
  [[nodiscard]] std::uint32_t owners() const { return static_cast<std::uint32_t>(gpus.size()); }

  index::IndexParams params;
  std::vector<int> gpus;
  std::vector<OnOneDevice<Holding>> holdings;
};

/// The memory in which an owner gets its part of a text, and answers.
struct OwnerBuffer {
  OwnerBuffer(std::uint32_t starts, const index::IndexParams& params)
      : part(most_part_elements(starts, params)), answers(starts) {}

  static std::uint64_t bytes(std::uint32_t starts, const index::IndexParams& params) {
    return most_part_elements(starts, params) * sizeof(std::uint64_t) + starts * sizeof(std::uint32_t);
  }

  Stream stream;
  DeviceArray<std::uint64_t> part;
  DeviceArray<std::uint32_t> answers;
};

/// The memory on the GPU that asks, from which a text leaves and to which answers come.
struct Origin {
  Origin(std::uint32_t starts, std::uint32_t owners, const index::IndexParams& params)
      : runs(starts, owners, params),
        parts(most_elements(starts, owners, params)),
        kmers(owners),
        returned(starts),
        begins_there(owners + 1),
        kmers_there(owners) {}

  static std::uint64_t bytes(std::uint32_t starts, std::uint32_t owners, const index::IndexParams& params) {
    return tiles_of(starts) * TextRuns::bytes_per_tile(params) + TextRuns::bytes_besides(owners) +
           most_elements(starts, owners, params) * sizeof(std::uint64_t) +
           (starts + owners) * sizeof(std::uint32_t);
  }

  TextRuns runs;
  DeviceArray<std::uint64_t> parts;
  DeviceArray<std::uint32_t> kmers;  ///< number for each part
  DeviceArray<std::uint32_t> returned;
  PinnedArray<std::uint32_t> begins_there, kmers_there;  ///< on the host: runs before each part, k-mers of it
  Event counted;                                         ///< these have come
  Event over;                                            ///< passes when the last text is over
};

/// Carries one text at a time from a GPU to the owners of its k-mers, and answers back.
class RoutedBatch {
 public:
  RoutedBatch(const DividedIndex& index, std::uint32_t asker, std::uint32_t starts, Route route)
      : index_(index),
        asker_(asker),
        origin_(starts, index.owners(), index.params),
        transposition_(index.gpus, route) {
    for (const int gpu : index.gpus) owner_buffers_.emplace_back(gpu, starts, index.params);
  }
  RoutedBatch(const RoutedBatch&) = delete;
  RoutedBatch& operator=(const RoutedBatch&) = delete;
  ~RoutedBatch() { settle(); }

  /// DeviceIndex::look_up.
  void look_up(const char* text, std::uint32_t bytes, std::uint32_t starts, std::uint32_t* answers,
               CutStatus* status, cudaStream_t stream) {
    origin_.over.let_follow(stream);
    const std::uint32_t owners = index_.owners();
    const ShardsByChild by_owner{index_.holdings[asker_]->owner_of.data(), owners};
    origin_.runs.cut(text, bytes, starts, index_.params, by_owner, answers, status, stream);
    give_up_left(origin_.runs.text(), index_.params.k, stream);
    make_parts(origin_.runs.text(), starts, owners, origin_.parts.data(), origin_.kmers.data(), stream);
    copy_to_host(origin_.begins_there.data(), origin_.runs.text().begins, owners + 1, stream);
    copy_to_host(origin_.kmers_there.data(), origin_.kmers.data(), owners, stream);
    origin_.counted.record(stream);
    origin_.counted.wait();
    ask_owners(routed_base_elements(starts), stream);
    std::uint32_t most_runs = 0;
    for (std::uint32_t owner = 0; owner < owners; ++owner) most_runs = std::max(most_runs, runs_of(owner));
    restore_answers(origin_.runs.text(), starts, owners, most_runs, origin_.parts.data(),
                    origin_.kmers.data(), origin_.returned.data(), stream);
    origin_.over.record(stream);
  }

  /// Nothing is under way afterwards, but for what the asker's own stream does.
  void settle() const {
    for (const OnOneDevice<OwnerBuffer>& buffer : owner_buffers_) cudaStreamSynchronize(buffer->stream);
  }

 private:
  /// Returns the number of runs for an owner, of the text whose counts have come.
  [[nodiscard]] std::uint32_t runs_of(std::uint32_t owner) const {
    return origin_.begins_there[owner + 1] - origin_.begins_there[owner];
  }

  /// There, through the shards, and back: from `parts` to `returned`.
  void ask_owners(std::uint32_t base_elements, cudaStream_t stream) {
    const std::uint32_t owners = index_.owners();
    mpi::PartitionTable there(owners), back(owners);
    std::vector<Transposition::Share> going, coming;
    for (std::uint32_t owner = 0; owner < owners; ++owner) {
      there.size(asker_, owner) = base_elements + runs_of(owner);
      back.size(owner, asker_) = origin_.kmers_there[owner];
      const OwnerBuffer& buffer = *owner_buffers_[owner];
      const bool is_asker = owner == asker_;
      going.push_back({is_asker ? origin_.parts.data() : nullptr, buffer.part.data(),
                       is_asker ? stream : static_cast<cudaStream_t>(buffer.stream)});
      coming.push_back({buffer.answers.data(), is_asker ? origin_.returned.data() : nullptr,
                        is_asker ? stream : static_cast<cudaStream_t>(buffer.stream)});
    }
    transposition_.run(there, sizeof(std::uint64_t), going);
    for (std::uint32_t owner = 0; owner < owners; ++owner) {
      const CurrentDevice current(index_.gpus[owner]);
      answer_part({owner_buffers_[owner]->part.data(), base_elements, runs_of(owner)}, index_.params,
                  index_.holdings[owner]->shards.there(), owner_buffers_[owner]->answers.data(),
                  going[owner].stream);
    }
    transposition_.run(back, sizeof(std::uint32_t), coming);
  }

  const DividedIndex& index_;
  const std::uint32_t asker_;
  Origin origin_;
  std::vector<OnOneDevice<OwnerBuffer>> owner_buffers_;  ///< by owner
  Transposition transposition_;
};

/// The index as one GPU asks it.
class RoutedIndex : public DeviceIndex {
 public:
  RoutedIndex(std::shared_ptr<const DividedIndex> index, std::uint32_t asker, const RoutedLookupPlan& plan,
              Route route)
      : index_(std::move(index)),
        routed_batches_(make_routed_batches(*index_, asker, plan, route),
                        RoutedBatches::Order::first_returned) {}

  void look_up(const char* text, std::uint32_t bytes, std::uint32_t starts, std::uint32_t* answers,
               CutStatus* status, cudaStream_t stream) const override {
    if (starts == 0) return;
    const auto lease = routed_batches_.take();
    RoutedBatch& routed_batch = **lease;
    try {
      routed_batch.look_up(text, bytes, starts, answers, status, stream);
    } catch (...) {
      cudaStreamSynchronize(stream);
      routed_batch.settle();
      throw;
    }
  }

 private:
  using RoutedBatches = BufferPool<OnOneDevice<RoutedBatch>>;

  static std::vector<std::unique_ptr<OnOneDevice<RoutedBatch>>> make_routed_batches(
      const DividedIndex& index, std::uint32_t asker, const RoutedLookupPlan& plan, Route route) {
    std::vector<std::unique_ptr<OnOneDevice<RoutedBatch>>> routed_batches;
    for (std::uint32_t i = 0; i < plan.routed_batches; ++i) {
      routed_batches.push_back(std::make_unique<OnOneDevice<RoutedBatch>>(index.gpus[asker], index, asker,
                                                                          plan.slice_starts, route));
    }
    return routed_batches;
  }

  const std::shared_ptr<const DividedIndex> index_;
  mutable RoutedBatches
      routed_batches_;  ///< taken is the one whose last text is over, or the first that will be
};

/// On a GPU, whatever is under way.
std::uint64_t bytes_held(const index::IndexFile& index, std::uint32_t gpus) {
  return frozen_shards_bytes(index, gpus) + index.params().shards() * sizeof(std::uint16_t) +
         kArrays * kRounding;
}

/// On a GPU, which asks, and is asked by all.
std::uint64_t bytes_of_routed_batch(std::uint32_t starts, std::uint32_t gpus,
                                    const index::IndexParams& params) {
  return Origin::bytes(starts, gpus, params) + kArrays * kRounding +
         gpus * (OwnerBuffer::bytes(starts, params) + 2 * kRounding);
}

}  // namespace

std::uint64_t least_routed_memory(const index::IndexFile& index, std::uint32_t gpus) {
  return bytes_held(index, gpus) + 2 * bytes_of_routed_batch(kLeastRoutedStarts, gpus, index.params());
}

RoutedLookupPlan plan_routed_lookup(const index::IndexFile& index, std::uint32_t gpus,
                                    std::uint64_t memory_bytes) {
  const index::IndexParams& params = index.params();
  RoutedLookupPlan plan;
  if (memory_bytes < least_routed_memory(index, gpus)) return plan;
  const std::uint64_t held = bytes_held(index, gpus), room = (memory_bytes - held) / 2;
  plan.slice_starts = kMostRoutedStarts;
  while (plan.slice_starts > kLeastRoutedStarts &&
         bytes_of_routed_batch(plan.slice_starts, gpus, params) * kEnoughRoutedBatches > room)
    plan.slice_starts /= 2;
  const std::uint64_t routed_batch = bytes_of_routed_batch(plan.slice_starts, gpus, params);
  plan.routed_batches =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(room / routed_batch, kMostRoutedBatches));
  plan.bytes = held + plan.routed_batches * routed_batch;
  return plan;
}

std::vector<std::unique_ptr<DeviceIndex>> route_index(const std::shared_ptr<const FrozenPayloads>& payloads,
                                                      const RoutedLookupPlan& plan, Route route) {
  const auto divided = std::make_shared<const DividedIndex>(payloads);
  std::vector<std::unique_ptr<DeviceIndex>> asked;
  for (std::uint32_t asker = 0; asker < divided->owners(); ++asker)
    asked.push_back(std::make_unique<RoutedIndex>(divided, asker, plan, route));
  return asked;
}

}  // namespace warpmer::gpu
