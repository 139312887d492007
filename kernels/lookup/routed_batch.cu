#include <algorithm>
#include <utility>

#include "kernels/lookup/routed_batch.cuh"
#include "kernels/memory/host_fence.cuh"
#include "kernels/memory/small_copy.cuh"
#include "mpi/transposition.h"

namespace warpmer::gpu {

namespace {

constexpr std::uint64_t kOriginArrays = 4, kOwnerArrays = 2;

/// The memory in which an owner gets its part of a text, and answers.
struct OwnerBuffer {
  OwnerBuffer(std::uint32_t starts, std::uint32_t most_runs)
      : part(RoutedText::part_elements(starts, most_runs)), answers(starts) {}

  static std::uint64_t bytes(std::uint32_t starts, std::uint32_t most_runs) {
    return RoutedText::part_elements(starts, most_runs) * sizeof(std::uint64_t) +
           starts * sizeof(std::uint32_t) + kOwnerArrays * kArrayRounding;
  }

  Stream stream;
  DeviceArray<std::uint64_t> part;
  DeviceArray<std::uint32_t> answers;
};

/// The memory on the GPU that asks, from which a text leaves and to which answers come.
struct Origin {
  Origin(std::uint32_t starts, std::uint32_t owners, std::uint32_t most_runs)
      : text(starts, owners, most_runs), returned(starts), sizes(owners) {}

  static std::uint64_t bytes(std::uint32_t starts, std::uint32_t owners, std::uint32_t most_runs) {
    return RoutedText::bytes(starts, owners, most_runs) + starts * sizeof(std::uint32_t) +
           kOriginArrays * kArrayRounding;
  }

  RoutedText text;
  DeviceArray<std::uint32_t> returned;
  PinnedArray<PartSize> sizes;  ///< on the host, by owner
  HostFence counted;            ///< these have come
  Event over;                   ///< passes when the last text is over
};

}  // namespace

std::uint64_t routed_batch_bytes(std::uint32_t starts, std::uint32_t gpus, std::uint32_t most_runs) {
  return Origin::bytes(starts, gpus, most_runs) + gpus * OwnerBuffer::bytes(starts, most_runs);
}

/// Carries one text at a time from a GPU to the owners of its k-mers, and answers back.
class RoutedBatches::RoutedBatch {
 public:
  RoutedBatch(const RoutePlan& plan, std::uint32_t asker, const std::uint16_t* owner_of)
      : plan_(plan),
        asker_(asker),
        owner_of_(owner_of),
        origin_(plan.slice_starts, plan.owners(), plan.most_runs),
        transposition_(plan.gpus, plan.route) {
    for (const int gpu : plan.gpus) owner_buffers_.emplace_back(gpu, plan.slice_starts, plan.most_runs);
  }
  RoutedBatch(const RoutedBatch&) = delete;
  RoutedBatch& operator=(const RoutedBatch&) = delete;
  ~RoutedBatch() { settle(); }

  void carry(const PartOwners& owners, const char* text, std::uint32_t bytes, std::uint32_t starts,
             std::uint32_t* answers, CutStatus* status, cudaStream_t stream) {
    origin_.over.let_follow(stream);
    origin_.text.cut(text, bytes, starts, plan_.params, owner_of_, answers, status, stream);
    const TextParts& parts = origin_.text.parts();
    copy_small(origin_.sizes.data(), parts.sizes, parts.owners, stream);
    origin_.counted.record(stream);
    origin_.counted.wait();
    std::uint32_t most_runs = 0;
    for (std::uint32_t owner = 0; owner < parts.owners; ++owner) {
      std::uint32_t& runs = origin_.sizes[owner].runs;
      runs = std::min(runs, parts.most_runs());
      most_runs = std::max(most_runs, runs);
    }
    ask_owners(owners, parts, stream);
    origin_.text.restore_answers(most_runs, origin_.returned.data(), stream);
    origin_.over.record(stream);
  }

  /// Nothing is under way afterwards, but for what the asker's own stream does.
  void settle() const {
    for (const OnOneDevice<OwnerBuffer>& buffer : owner_buffers_) cudaStreamSynchronize(buffer->stream);
  }

 private:
  /// There, to the owners' work, and back. The asker finds its own part where it was cut, and leaves its own
  /// answers where all come to.
  void ask_owners(const PartOwners& owners, const TextParts& parts, cudaStream_t stream) {
    mpi::PartitionTable there(parts.owners), back(parts.owners);
    std::vector<Transposition::Share> going, coming;
    for (std::uint32_t owner = 0; owner < parts.owners; ++owner) {
      there.size(asker_, owner) = parts.base_elements + origin_.sizes[owner].runs;
      back.size(owner, asker_) = origin_.sizes[owner].kmers;
      const OwnerBuffer& buffer = *owner_buffers_[owner];
      if (owner == asker_) {
        going.push_back({parts.elements, nullptr, stream, parts.room_elements});
        coming.push_back({nullptr, origin_.returned.data(), stream});
      } else {
        going.push_back({nullptr, buffer.part.data(), buffer.stream});
        coming.push_back({buffer.answers.data(), nullptr, buffer.stream});
      }
    }
    transposition_.run(there, sizeof(std::uint64_t), going);
    for (std::uint32_t owner = 0; owner < parts.owners; ++owner) {
      const CurrentDevice current(plan_.gpus[owner]);
      const OwnerBuffer& buffer = *owner_buffers_[owner];
      const bool is_asker = owner == asker_;
      const RoutedPart part{is_asker ? parts.part(owner) : buffer.part.data(), parts.base_elements,
                            origin_.sizes[owner].runs};
      owners.answer(
          owner, part,
          is_asker ? origin_.returned.data() + back.receive_offset(owner, asker_) : buffer.answers.data(),
          going[owner].stream);
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
