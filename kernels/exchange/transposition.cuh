#pragma once
/// Parts change devices: the transposition of an m x m partition table (mpi/transposition.h) between the
/// GPUs of a process (Juenger et al. 2018, section IV-B).

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/memory/device_memory.cuh"
#include "mpi/transposition.h"

namespace warpmer::gpu {

/// How parts may travel between two GPUs.
enum class Route {
  direct,  ///< from memory to memory where the two GPUs reach each other, through the host else
  host,    ///< through pinned host memory always
};

/// In which order a device sends its parts.
enum class SendOrder {
  ring,  ///< mpi::ring_target
  same,  ///< all of them to device 0, then all to device 1: to show what ring order is good for
};

/// Lets a GPU copy to and from another's memory, that of its pool too. False: the two cannot.
bool reach_memory_of(int other, int ordinal);

/// Moves parts between devices, out of place, any number of times, one after another. Devices wait for each
/// other by events, part by part; the host waits for nothing.
class Transposition {
 public:
  /// CUDA's numbers of the devices. A number may come more than once: then one GPU acts as several.
  explicit Transposition(std::vector<int> ordinals, Route route = Route::direct,
                         SendOrder order = SendOrder::ring);

  /// A device's side of it.
  struct Share {
    const void* from;  ///< in device memory: its parts, by receiver
    void* to;          ///< in device memory, room for table.received(device) elements
    cudaStream_t stream;
  };
  /// Starts to move parts. What the streams did before is done first, also in that no `to` is written to
  /// before its device's stream has come here; what they do next finds all parts arrived, and may write over
  /// `from`. `shares` has one for each device, all streams different.
  void run(const mpi::PartitionTable& table, std::size_t element_bytes, const std::vector<Share>& shares);

  /// Whether parts of some two devices travel through the host.
  [[nodiscard]] bool goes_through_host() const;

 private:
  enum class Way : unsigned char { local, peer, host };
  /// Of the parts from one device to another.
  struct Link {
    Way way = Way::local;
    Event sent;     ///< in the sender's stream
    Event fetched;  ///< in the receiver's stream, of a part that came through the host
    Link(Way way_, int sender, int receiver);
  };

  [[nodiscard]] std::uint32_t devices() const { return static_cast<std::uint32_t>(ordinals_.size()); }
  Link& link(std::uint32_t sender, std::uint32_t receiver) { return links_[sender * devices() + receiver]; }
  [[nodiscard]] Way way_between(std::uint32_t sender, std::uint32_t receiver, Route route) const;
  void make_room(const mpi::PartitionTable& table, std::size_t element_bytes);
  void send(const mpi::PartitionTable& table, std::size_t element_bytes, std::uint32_t sender,
            std::uint32_t receiver, const std::vector<Share>& shares);
  void fetch(const mpi::PartitionTable& table, std::size_t element_bytes, std::uint32_t sender,
             std::uint32_t receiver, const std::vector<Share>& shares);

  std::vector<int> ordinals_;
  SendOrder order_;
  std::vector<Link> links_;                ///< row by row
  std::vector<Event> ready_;               ///< of each device: its stream has come to the transposition
  std::vector<PinnedArray<char>> staged_;  ///< of each device: its parts on their way through the host
};

}  // namespace warpmer::gpu
