// SlabAlloc on the CPU: threads allocate side by side. And malloc, to compare.

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "tables/host_threads.h"
#include "tables/host_units.h"
#include "tables/table_lists.h"
#include "tables/tile_atomic.h"

namespace warpmer::bench {
namespace {

struct alignas(table::kSlabBytes) Unit {
  std::uint32_t words[table::kSlabBytes / sizeof(std::uint32_t)];
};

template <class Units>
class HostAllocator : public AllocatorUnderTest {
  using Tile = AtomicTile<table::kBitmapWords, table::PlainWord>;

 public:
  explicit HostAllocator(std::size_t most_requests)
      : units_(std::uint64_t{kSuperBlocks} * blocks_in_super_block(most_requests) * table::kUnitsPerBlock) {}

  [[nodiscard]] std::size_t units() const override { return units_.shape().units(); }
  [[nodiscard]] std::size_t bytes() const override { return units_.bytes(); }
  void allocate(std::size_t requests) override {
    addresses_.resize(requests);
    const auto alloc = units_.alloc();
    std::atomic<std::uint32_t> workers{0};
    on_host_threads(requests, [&](std::size_t first, std::size_t end) {
      const Tile tile;
      table::ResidentBlock resident = alloc.resident(tile, workers++);
      for (std::size_t i = first; i < end; ++i) addresses_[i] = alloc.allocate(tile, resident);
    });
  }
  void free() override {
    const auto alloc = units_.alloc();
    for_each_on_host_threads(addresses_.size(), [&](std::size_t i) {
      if (addresses_[i] != table::kNoSlab) alloc.free(Tile(), addresses_[i]);
    });
  }
  AllocatorAccount account() override {
    AllocatorAccount account;
    const auto alloc = units_.alloc();
    std::vector<bool> seen(units());
    for (const table::SlabAddress address : addresses_) {
      if (address == table::kNoSlab) {
        ++account.refused;
        continue;
      }
      const auto number = static_cast<std::size_t>(alloc.at(address) - units_.all().data());
      if (number >= seen.size() || seen[number]) {
        ++account.shared;
      } else {
        seen[number] = true;
      }
    }
    account.taken = units_.taken();
    return account;
  }

 private:
  HostUnits<Units> units_;
  std::vector<table::SlabAddress> addresses_;
};

/// The C library's, which the paper has in kernels.
class HostMalloc : public AllocatorUnderTest {
 public:
  explicit HostMalloc(std::size_t most_requests) : most_requests_(most_requests) {}
  ~HostMalloc() override { free(); }

  [[nodiscard]] std::size_t units() const override { return most_requests_; }
  [[nodiscard]] std::size_t bytes() const override { return most_requests_ * sizeof(Unit); }
  void allocate(std::size_t requests) override {
    addresses_.resize(requests);
    for_each_on_host_threads(requests, [&](std::size_t i) { addresses_[i] = std::malloc(sizeof(Unit)); });
    in_use_ = true;
  }
  void free() override {
    if (!in_use_) return;
    for_each_on_host_threads(addresses_.size(), [&](std::size_t i) { std::free(addresses_[i]); });
    in_use_ = false;
  }
  AllocatorAccount account() override { return account_of_addresses(addresses_, in_use_); }

 private:
  std::size_t most_requests_;
  std::vector<void*> addresses_;
  bool in_use_ = false;
};

template <class Units>
std::unique_ptr<AllocatorUnderTest> make(std::size_t most_requests) {
  return std::make_unique<HostAllocator<Units>>(most_requests);
}

constexpr AllocatorEntry kAllocators[] = {
    {"slaballoc", 1, make<SuperBlocks<Unit>>},
    {"slaballoc-light", 1, make<table::ContiguousUnits<Unit>>},
    {"malloc", 1,
     [](std::size_t most) -> std::unique_ptr<AllocatorUnderTest> {
       return std::make_unique<HostMalloc>(most);
     }},
};

}  // namespace

const AllocatorList kHostAllocators = kAllocators;

}  // namespace warpmer::bench
