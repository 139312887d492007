#pragma once
/// The transposition of an m x m partition table (mpi/transposition.h), which moves parts between the GPUs of
/// a process (Juenger et al. 2018, section IV-B).

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/memory/device_memory.cuh"
#include "mpi/transposition.h"

namespace warpmer::gpu {

/// The routes that parts may take between two GPUs.
enum class Route {
  direct,  ///< from memory to memory if the two GPUs reach each other, else through the host
  host,    ///< always through pinned host memory
};

/// The order in which a device sends its parts.
enum class SendOrder {
  ring,  ///< mpi::ring_target
  same,  ///< all of them to device 0, then all to device 1; it shows the use of ring order
};

/// Lets a GPU copy to and from another's memory, its pool's memory too. Returns false if the two cannot.
bool reach_memory_of(int other, int ordinal);

/// Moves parts between devices, out of place, any number of times, one after another. Devices wait for each
/// other by events, part by part; the host waits for nothing.
class Transposition {
 public:
  /// CUDA's numbers of the devices. A number may come more than once: then one GPU acts as several.
  explicit Transposition(std::vector<int> ordinals, Route route = Route::direct,
                         SendOrder order = SendOrder::ring);

  /// The arrays and the stream of one device.
  struct Share {
    const void* from;  ///< the device's parts in its memory, by receiver
    void* to;          ///< room in device memory for table.received(device) elements
    // Null where nothing goes or comes but the device's part for itself, which then stays where it is.
    cudaStream_t stream;
    std::size_t part_room =
        0;  ///< elements from the begin of a part to the next one's; 0: no more than it has
  };
  /// Starts to move parts. Earlier work of the streams is done first; in particular, no `to` is written to
  /// before its device's stream has come here. Later work of the streams finds that all parts have arrived,
  /// and may write over `from`. `shares` has one element for each device; all streams are different.
  void run(const mpi::PartitionTable& table, std::size_t element_bytes, const std::vector<Share>& shares);

  /// True when parts of some two devices travel through the host.
  [[nodiscard]] bool goes_through_host() const;

 private:
  enum class Way : unsigned char { local, peer, host };
  /// The events of the parts from one device to another.
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
  std::vector<Event> ready_;               ///< one for each device: its stream has come to the transposition
  std::vector<PinnedArray<char>> staged_;  ///< one for each device: its parts on their way through the host
};

}  // namespace warpmer::gpu
