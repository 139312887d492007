#include <latch>
#include <thread>

#include "base/error.h"
#include "bench/tables/tile_atomic.h"
#include "bench/tables/tile_probe_counting.h"
#include "bench/tables/word_tile_atomic.h"
#include "bench/tables/word_tile_serial.h"
#include "tiles/block_memory.h"
#include "tiles/schemes.h"
#include "tiles/slab_memory.h"

namespace warpmer {
namespace {
#include "tiles/tile_ops_body.h"

template <class Key>
class HostMemory : public tests::TableMemory<Key> {
 public:
  explicit HostMemory(std::size_t slots) : array_(slots) {}
  [[nodiscard]] table::Slots<Key> slots() override { return array_.slots(); }
  void fill(Key key) override { array_.fill({key, 0}); }
  [[nodiscard]] std::vector<table::Slot<Key>> read() override { return array_.read(); }

 private:
  tests::SlotArray<Key> array_;
};

template <class Key>
class HostSlabMemory : public tests::TableMemory<Key> {
  using Slab = table::CountSlab<Key>;

 public:
  explicit HostSlabMemory(std::size_t slots)
      : slabs_(tests::empty_slabs<Key>(slots)), in_table_(slots / Slab::kSlots) {}
  [[nodiscard]] table::Slots<Key> slots() override {
    return {reinterpret_cast<Key*>(slabs_.data()), nullptr};
  }
  void fill(Key /*key*/) override { throw InternalError("slabs are no plain slots"); }
  [[nodiscard]] std::vector<table::Slot<Key>> read() override { return tests::slots_in(in_table()); }

 private:
  [[nodiscard]] std::vector<Slab> in_table() const {
    return {slabs_.begin(), slabs_.begin() + static_cast<std::ptrdiff_t>(in_table_)};
  }
  std::vector<Slab> slabs_;
  std::size_t in_table_;
};

template <class Key>
class HostBlockMemory : public tests::TableMemory<Key> {
 public:
  explicit HostBlockMemory(std::size_t slots) : blocks_(tests::empty_blocks<Key>(slots)) {}
  [[nodiscard]] table::Slots<Key> slots() override { return blocks_.front().slots(); }
  void fill(Key key) override { tests::fill_blocks(blocks_, key); }
  [[nodiscard]] std::vector<table::Slot<Key>> read() override { return tests::slots_in(blocks_); }

 private:
  std::vector<table::CountBlock<Key>> blocks_;
};

/// Neighbours in the arrays go to different threads.
template <class Case, class Key = typename Case::Key>
void run_at_once(table::Slots<Key> slots, tests::TableShape shape, tests::Operation operation,
                 const Key* keys, const std::uint32_t* n, std::size_t size, tests::Done<Key>* done) {
  constexpr std::size_t kThreads = 4;
  for (int pass = 0; pass < OnTile<Case>::passes(operation); ++pass) {
    std::latch start(kThreads);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([=, &start] {
        start.arrive_and_wait();
        for (std::size_t i = t; i < size; i += kThreads)
          OnTile<Case>::pass(pass, slots, shape, operation, keys + i, n + i, 1, done + i);
      });
    }
    for (auto& thread : threads) thread.join();
  }
}

template <class Case>
constexpr tests::SchemeOnTile<typename Case::Key> kAtomic = OnTile<Case>::describe("atomic",
                                                                                   run_at_once<Case>);
template <class Case>
constexpr tests::SchemeOnTile<typename Case::Key> kSerial = OnTile<Case>::describe("serial");

template <int Width>
using Narrow = table::SerialTile<Key64, Width>;
template <int Width>
using Wide = table::SerialTile<Key128, Width>;
template <int Width>
using Shared = bench::AtomicTile<Width>;
using Probes = bench::ProbeCountingTile<Narrow<16>>;
template <int Width>
using Words = bench::SerialWordTile<Width>;
template <int Width>
using SharedWords = bench::AtomicWordTile<Width>;

using tests::Bcht, tests::BlockWarpDrive, tests::HashedWarpDrive, tests::IcebergBuckets, tests::MegaKv,
    tests::OneSlotCuckoo, tests::ScatteredWarpDrive, tests::OrderedWarpDrive, tests::SlabBuckets;

constexpr tests::SchemeOnTile<Key64> kNarrow[] = {
    kSerial<OrderedWarpDrive<Narrow<1>>>,
    kSerial<OrderedWarpDrive<Narrow<2>>>,
    kSerial<OrderedWarpDrive<Narrow<4>>>,
    kSerial<OrderedWarpDrive<Narrow<8>>>,
    kSerial<OrderedWarpDrive<Narrow<16>>>,
    kSerial<OrderedWarpDrive<Narrow<32>>>,
    kAtomic<OrderedWarpDrive<Shared<1>>>,
    kAtomic<OrderedWarpDrive<Shared<2>>>,
    kAtomic<OrderedWarpDrive<Shared<4>>>,
    kAtomic<OrderedWarpDrive<Shared<8>>>,
    kAtomic<OrderedWarpDrive<Shared<16>>>,
    kAtomic<OrderedWarpDrive<Shared<32>>>,
    kSerial<HashedWarpDrive<Narrow<1>>>,
    kSerial<HashedWarpDrive<Narrow<8>>>,
    kSerial<HashedWarpDrive<Narrow<32>>>,
    kAtomic<HashedWarpDrive<Shared<1>>>,
    kAtomic<HashedWarpDrive<Shared<4>>>,
    kAtomic<HashedWarpDrive<Shared<32>>>,
    kSerial<BlockWarpDrive<Narrow<5>>>,
    kAtomic<BlockWarpDrive<Shared<5>>>,
    kSerial<Bcht<Narrow<16>>>,
    kAtomic<Bcht<Shared<16>>>,
    kSerial<MegaKv<Narrow<8>>>,
    kAtomic<MegaKv<Shared<8>>>,
    kSerial<OneSlotCuckoo<Narrow<1>>>,
    kAtomic<OneSlotCuckoo<Shared<1>>>,
    kSerial<IcebergBuckets<Narrow<16>>>,
    kAtomic<IcebergBuckets<Shared<16>>>,
    kSerial<IcebergBuckets<Narrow<32>>>,
    kAtomic<IcebergBuckets<Shared<32>>>,
    kSerial<SlabBuckets<Narrow<10>>>,
    kSerial<SlabBuckets<Narrow<12>>>,
    kAtomic<SlabBuckets<Shared<10>>>,
    OnTile<OrderedWarpDrive<Probes>>::describe("serial, counts probes"),
    OnTile<HashedWarpDrive<Probes>>::describe("serial, counts probes"),
    OnTile<Bcht<Probes>>::describe("serial, counts probes"),
    OnTile<IcebergBuckets<Probes>>::describe("serial, counts probes"),
    OnTile<SlabBuckets<Probes>>::describe("serial, counts probes"),
};
constexpr tests::SchemeOnTile<table::Key32> kWords[] = {
    kSerial<OrderedWarpDrive<Words<1>>>,
    kAtomic<OrderedWarpDrive<SharedWords<1>>>,
    kSerial<OrderedWarpDrive<Words<4>>>,
    kAtomic<OrderedWarpDrive<SharedWords<4>>>,
    kSerial<OrderedWarpDrive<Words<8>>>,
    kAtomic<OrderedWarpDrive<SharedWords<8>>>,
    kSerial<HashedWarpDrive<Words<1>>>,
    kAtomic<HashedWarpDrive<SharedWords<1>>>,
    kSerial<HashedWarpDrive<Words<2>>>,
    kAtomic<HashedWarpDrive<SharedWords<2>>>,
    kSerial<HashedWarpDrive<Words<4>>>,
    kAtomic<HashedWarpDrive<SharedWords<4>>>,
    kSerial<HashedWarpDrive<Words<8>>>,
    kAtomic<HashedWarpDrive<SharedWords<8>>>,
    kSerial<HashedWarpDrive<Words<16>>>,
    kAtomic<HashedWarpDrive<SharedWords<16>>>,
    kSerial<HashedWarpDrive<Words<32>>>,
    kAtomic<HashedWarpDrive<SharedWords<32>>>,
    kSerial<Bcht<Words<16>>>,
    kAtomic<Bcht<SharedWords<16>>>,
    kSerial<MegaKv<Words<8>>>,
    kAtomic<MegaKv<SharedWords<8>>>,
    kSerial<OneSlotCuckoo<Words<1>>>,
    kAtomic<OneSlotCuckoo<SharedWords<1>>>,
    kSerial<IcebergBuckets<Words<16>>>,
    kAtomic<IcebergBuckets<SharedWords<16>>>,
    kSerial<IcebergBuckets<Words<32>>>,
    kAtomic<IcebergBuckets<SharedWords<32>>>,
    kSerial<ScatteredWarpDrive<Words<1>>>,
    kAtomic<ScatteredWarpDrive<SharedWords<1>>>,
    kSerial<ScatteredWarpDrive<Words<8>>>,
    kAtomic<ScatteredWarpDrive<SharedWords<8>>>,
    kAtomic<ScatteredWarpDrive<SharedWords<32>>>,
    OnTile<Bcht<bench::ProbeCountingTile<Words<16>>>>::describe("serial, counts probes"),
};
constexpr tests::SchemeOnTile<Key128> kWide[] = {
    kSerial<OrderedWarpDrive<Wide<1>>>,
    kSerial<OrderedWarpDrive<Wide<2>>>,
    kSerial<OrderedWarpDrive<Wide<4>>>,
    kSerial<OrderedWarpDrive<Wide<8>>>,
    kSerial<OrderedWarpDrive<Wide<16>>>,
    kSerial<OrderedWarpDrive<Wide<32>>>,
    kSerial<HashedWarpDrive<Wide<4>>>,
    kSerial<HashedWarpDrive<Wide<16>>>,
    kSerial<BlockWarpDrive<Wide<3>>>,
    kSerial<Bcht<Wide<16>>>,
    kSerial<MegaKv<Wide<8>>>,
    kSerial<OneSlotCuckoo<Wide<1>>>,
    kSerial<IcebergBuckets<Wide<16>>>,
    kSerial<IcebergBuckets<Wide<32>>>,
    kSerial<SlabBuckets<Wide<6>>>,
};
}  // namespace

namespace tests {
template <class Key>
std::unique_ptr<TableMemory<Key>> host_memory(std::size_t slots) {
  return std::make_unique<HostMemory<Key>>(slots);
}
template std::unique_ptr<TableMemory<table::Key32>> host_memory(std::size_t);
template std::unique_ptr<TableMemory<Key64>> host_memory(std::size_t);
template std::unique_ptr<TableMemory<Key128>> host_memory(std::size_t);
template <class Key>
std::unique_ptr<TableMemory<Key>> host_slab_memory(std::size_t slots) {
  return std::make_unique<HostSlabMemory<Key>>(slots);
}
template std::unique_ptr<TableMemory<Key64>> host_slab_memory(std::size_t);
template std::unique_ptr<TableMemory<Key128>> host_slab_memory(std::size_t);

template <class Key>
std::unique_ptr<TableMemory<Key>> host_block_memory(std::size_t slots) {
  return std::make_unique<HostBlockMemory<Key>>(slots);
}
template std::unique_ptr<TableMemory<Key64>> host_block_memory(std::size_t);
template std::unique_ptr<TableMemory<Key128>> host_block_memory(std::size_t);

const SchemesOnTiles<Key64> kScalarTiles64{kNarrow, sizeof kNarrow / sizeof *kNarrow};
const SchemesOnTiles<table::Key32> kWordTiles{kWords, sizeof kWords / sizeof *kWords};
const SchemesOnTiles<Key128> kScalarTiles128{kWide, sizeof kWide / sizeof *kWide};
}  // namespace tests
}  // namespace warpmer
