#pragma once
/// Counts on the device for k <= 12, in an array of 4^k counters.

#include <cstdint>
#include <vector>

#include "kernels/count/kmer_counter.cuh"
#include "kernels/memory/device_memory.cuh"

namespace warpmer::gpu {

class DenseCounter : public KmerCounter {
 public:
  explicit DenseCounter(std::uint32_t k);

  /// Returns the device memory that the counter holds.
  static constexpr std::uint64_t device_bytes(std::uint32_t k) {
    return (std::uint64_t{1} << (2 * k)) * sizeof(unsigned long long);
  }

  [[nodiscard]] cudaStream_t stream() const override { return stream_; }
  void add(const char* text, std::uint32_t bytes, const std::uint32_t* tiles, std::uint32_t tile_count,
           std::uint32_t* left, CutStatus* status) override;
  void make_room() override {}
  [[nodiscard]] bool wants_room(std::uint32_t) const override { return false; }

  /// Returns the occurrences of every k-mer as read, by its number. Waits for the device.
  [[nodiscard]] std::vector<std::uint64_t> counts() const;

 private:
  std::uint32_t k_;
  Stream stream_;
  DeviceArray<unsigned long long> counts_;
};

}  // namespace warpmer::gpu
