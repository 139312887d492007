#pragma once
/// The interface of an allocator in the experiment on SlabAlloc, wherever it lies.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace warpmer::bench {

/// The outcome of all requests.
struct AllocatorAccount {
  std::uint64_t refused = 0;  ///< requests that got no unit
  std::uint64_t shared = 0;   ///< units that were handed out more than once, or do not exist
  std::uint64_t taken = 0;    ///< units whose bits are set
};

/// Returns the account of an allocator that has no bitmaps; `addresses` were handed out, and are in use.
inline AllocatorAccount account_of_addresses(std::vector<void*> addresses, bool in_use) {
  std::sort(addresses.begin(), addresses.end());
  AllocatorAccount account;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (addresses[i] == nullptr) {
      ++account.refused;
    } else if (i > 0 && addresses[i] == addresses[i - 1]) {
      ++account.shared;
    }
  }
  account.taken = in_use ? addresses.size() - account.refused : 0;
  return account;
}

class AllocatorUnderTest {
 public:
  virtual ~AllocatorUnderTest() = default;
  [[nodiscard]] virtual std::size_t units() const = 0;
  [[nodiscard]] virtual std::size_t bytes() const = 0;  ///< bytes of units and bitmaps
  /// Makes `requests` requests, one a lane; the group of the lanes serves them one after another. Addresses
  /// are remembered.
  virtual void allocate(std::size_t requests) = 0;
  /// Gives all units back.
  virtual void free() = 0;
  virtual AllocatorAccount account() = 0;
};

struct AllocatorEntry {
  const char* name;  ///< slaballoc, slaballoc-light, or malloc
  int group;         ///< lanes of a tile
  std::unique_ptr<AllocatorUnderTest> (*make)(std::size_t most_requests);
};

using AllocatorList = std::span<const AllocatorEntry>;

/// The paper's set-up (Ashkiani et al. 2018, section VI): 32 super blocks of 256 memory blocks. If fewer than
/// its 10^6 units are asked for, there are fewer blocks, in the same proportion.
inline constexpr std::uint32_t kSuperBlocks = 32;
inline std::uint32_t blocks_in_super_block(std::size_t most_requests) {
  constexpr std::size_t kPapersRequests = 1'000'000, kPapersBlocks = 256;
  const std::size_t blocks = (most_requests * kPapersBlocks + kPapersRequests - 1) / kPapersRequests;
  return static_cast<std::uint32_t>(blocks < 1 ? 1 : blocks);
}

}  // namespace warpmer::bench
