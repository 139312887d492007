#include <algorithm>
#include <utility>

#include "kernels/lookup/routed_batch.cuh"
#include "mpi/transposition.h"

namespace warpmer::gpu {

namespace {

constexpr std::uint64_t kRounding = std::uint64_t{64} << 10;  ///< the allocator's
constexpr std::uint64_t kOriginArrays = 4;

/// The memory in which an owner gets its part of a text, and answers.
struct OwnerBuffer {
  OwnerBuffer(std::uint32_t starts, const RunRoom& room)
      : part(most_part_elements(starts, room)), answers(starts) {}

  static std::uint64_t bytes(std::uint32_t starts, const RunRoom& room) {
    return most_part_elements(starts, room) * sizeof(std::uint64_t) + starts * sizeof(std::uint32_t);
  }

  Stream stream;
  DeviceArray<std::uint64_t> part;
  DeviceArray<std::uint32_t> answers;
};

/// The memory on the GPU that asks, from which a text leaves and to which answers come.
struct Origin {
  Origin(std::uint32_t starts, std::uint32_t owners, const RunRoom& room)
      : runs(starts, owners, room),
        parts(most_elements(starts, owners, room)),
        kmers(owners),
        returned(starts),
        begins_there(owners + 1),
        kmers_there(owners) {}

  static std::uint64_t bytes(std::uint32_t starts, std::uint32_t owners, const RunRoom& room) {
    return tiles_of(starts) * TextRuns::bytes_per_tile(room) + TextRuns::bytes_besides(owners) +
           most_elements(starts, owners, room) * sizeof(std::uint64_t) +
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

}  // namespace

std::uint64_t routed_batch_bytes(std::uint32_t starts, std::uint32_t gpus, const RunRoom& room) {
  return Origin::bytes(starts, gpus, room) + kOriginArrays * kRounding +
         gpus * (OwnerBuffer::bytes(starts, room) + 2 * kRounding);
}

/// Carries one text at a time from a GPU to the owners of its k-mers, and answers back.
class RoutedBatches::RoutedBatch {
 public:
  RoutedBatch(const RoutePlan& plan, std::uint32_t asker, const std::uint16_t* owner_of)
      : plan_(plan),
        asker_(asker),
        owner_of_(owner_of),
        origin_(plan.slice_starts, plan.owners(), plan.room),
        transposition_(plan.gpus, plan.route) {
    for (const int gpu : plan.gpus) owner_buffers_.emplace_back(gpu, plan.slice_starts, plan.room);
  }
  RoutedBatch(const RoutedBatch&) = delete;
  RoutedBatch& operator=(const RoutedBatch&) = delete;
  ~RoutedBatch() { settle(); }

  void carry(const PartOwners& owners_of_parts, const char* text, std::uint32_t bytes, std::uint32_t starts,
             std::uint32_t* answers, CutStatus* status, cudaStream_t stream) {
    origin_.over.let_follow(stream);
    const std::uint32_t owners = plan_.owners();
    origin_.runs.cut(text, bytes, starts, plan_.params, {owner_of_, owners}, answers, status, stream);
    if (!plan_.room.is_full()) give_up_left(origin_.runs.text(), plan_.params.k, stream);
    make_parts(origin_.runs.text(), starts, owners, origin_.parts.data(), origin_.kmers.data(), stream);
    copy_to_host(origin_.begins_there.data(), origin_.runs.text().begins, owners + 1, stream);
    copy_to_host(origin_.kmers_there.data(), origin_.kmers.data(), owners, stream);
    origin_.counted.record(stream);
    origin_.counted.wait();
    ask_owners(owners_of_parts, routed_base_elements(starts), stream);
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

  /// There, to the owners' work, and back: from `parts` to `returned`.
  void ask_owners(const PartOwners& owners_of_parts, std::uint32_t base_elements, cudaStream_t stream) {
    const std::uint32_t owners = plan_.owners();
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
      const CurrentDevice current(plan_.gpus[owner]);
      owners_of_parts.answer(owner, {owner_buffers_[owner]->part.data(), base_elements, runs_of(owner)},
                             owner_buffers_[owner]->answers.data(), going[owner].stream);
    }
    transposition_.run(back, sizeof(std::uint32_t), coming);
  }

  const RoutePlan& plan_;
  const std::uint32_t asker_;
  const std::uint16_t* const owner_of_;
  Origin origin_;
  std::vector<OnOneDevice<OwnerBuffer>> owner_buffers_;  ///< by owner
  Transposition transposition_;
};

RoutedBatches::RoutedBatches(const RoutePlan& plan, std::uint32_t asker)
    : plan_(plan), owner_of_(plan.gpus[asker], plan.owner_of.size()) {
  const CurrentDevice current(plan.gpus[asker]);
  const Stream stream;
  copy_to_device(owner_of_->data(), plan.owner_of.data(), plan.owner_of.size(), stream);
  stream.wait();
  std::vector<std::unique_ptr<OnOneDevice<RoutedBatch>>> batches;
  for (std::uint32_t i = 0; i < plan.routed_batches; ++i) {
    batches.push_back(
        std::make_unique<OnOneDevice<RoutedBatch>>(plan.gpus[asker], plan_, asker, owner_of_->data()));
  }
  pool_ = std::make_unique<Pool>(std::move(batches), Pool::Order::first_returned);
}

RoutedBatches::~RoutedBatches() = default;

void RoutedBatches::carry(const PartOwners& owners, const char* text, std::uint32_t bytes,
                          std::uint32_t starts, std::uint32_t* answers, CutStatus* status,
                          cudaStream_t stream) const {
  if (starts == 0) return;
  const auto lease = pool_->take();
  RoutedBatch& routed_batch = **lease;
  try {
    routed_batch.carry(owners, text, bytes, starts, answers, status, stream);
  } catch (...) {
    cudaStreamSynchronize(stream);
    routed_batch.settle();
    throw;
  }
}

}  // namespace warpmer::gpu
