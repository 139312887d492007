#pragma once
/// The transposition of an m x m partition table: every one of m devices has split what it holds into m
/// parts, one for each device that owns some, and hands them over (WarpDrive, Juenger et al. 2018, section
/// IV-B). The places where parts begin on both sides follow from the table alone; moving them is left to
/// others.

#include <cstdint>
#include <vector>

namespace warpmer::mpi {

/// Returns the device that a device sends to in a step, 0 <= step < devices: in ring order, itself last, so
/// that in no step two devices send to the same one. (Were all to walk the devices in the same order, each
/// would get half the link.)
constexpr std::uint32_t ring_target(std::uint32_t device, std::uint32_t step, std::uint32_t devices) {
  return (device + step + 1) % devices;
}
/// Returns the device that a device receives from in that step: the other end of `ring_target`.
constexpr std::uint32_t ring_source(std::uint32_t device, std::uint32_t step, std::uint32_t devices) {
  return (device + devices - 1 - step) % devices;
}

/// Sizes of parts, in elements of any kind.
class PartitionTable {
 public:
  explicit PartitionTable(std::uint32_t devices) : devices_(devices), sizes_(devices * devices, 0) {}

  [[nodiscard]] std::uint32_t devices() const { return devices_; }
  [[nodiscard]] std::uint64_t& size(std::uint32_t sender, std::uint32_t receiver) {
    return sizes_[sender * devices_ + receiver];
  }
  [[nodiscard]] std::uint64_t size(std::uint32_t sender, std::uint32_t receiver) const {
    return sizes_[sender * devices_ + receiver];
  }

  /// Returns where a part begins in what its sender has split: an exclusive scan of a row.
  [[nodiscard]] std::uint64_t send_offset(std::uint32_t sender, std::uint32_t receiver) const {
    std::uint64_t offset = 0;
    for (std::uint32_t before = 0; before < receiver; ++before) offset += size(sender, before);
    return offset;
  }
  /// Returns where a part goes in what its receiver gets: an exclusive scan of a column.
  [[nodiscard]] std::uint64_t receive_offset(std::uint32_t sender, std::uint32_t receiver) const {
    std::uint64_t offset = 0;
    for (std::uint32_t before = 0; before < sender; ++before) offset += size(before, receiver);
    return offset;
  }
  [[nodiscard]] std::uint64_t sent(std::uint32_t sender) const { return send_offset(sender, devices_); }
  [[nodiscard]] std::uint64_t received(std::uint32_t receiver) const {
    return receive_offset(devices_, receiver);
  }

  /// Returns the table of the way back: every part goes to where it came from. The parts that a device has
  /// received lie as if it had split them so, and come to lie as their senders had split them.
  [[nodiscard]] PartitionTable transposed() const {
    PartitionTable back(devices_);
    for (std::uint32_t sender = 0; sender < devices_; ++sender) {
      for (std::uint32_t receiver = 0; receiver < devices_; ++receiver)
        back.size(receiver, sender) = size(sender, receiver);
    }
    return back;
  }

 private:
  std::uint32_t devices_;
  std::vector<std::uint64_t> sizes_;  ///< row by row
};

}  // namespace warpmer::mpi
