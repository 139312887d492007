#include <latch>
#include <thread>

#include "table/tile_atomic.h"
#include "table/warpdrive.h"
#include "tiles/tile_ops.h"

namespace warpmer {
namespace {
#include "tiles/tile_ops_body.h"

template <class Key>
class HostMemory : public tests::TableMemory<Key> {
 public:
  explicit HostMemory(std::size_t slots) : keys_(slots, table::kEmptyKey<Key>), counts_(slots, 0) {}
  [[nodiscard]] table::Slots<Key> slots() override { return {keys_.data(), counts_.data()}; }
  void fill(Key key) override { keys_.assign(keys_.size(), key); }
  [[nodiscard]] std::vector<Key> keys() const override { return keys_; }
  [[nodiscard]] std::vector<std::uint32_t> counts() const override { return counts_; }

 private:
  std::vector<Key> keys_;
  std::vector<std::uint32_t> counts_;
};

/// Neighbours in the arrays go to different threads.
template <class T>
void insert_at_once(table::Slots<Key64> slots, tests::TableShape shape, const Key64* keys,
                    const std::uint32_t* n, std::size_t size, table::Insertion* done) {
  constexpr std::size_t kThreads = 4;
  std::latch start(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([=, &start] {
      start.arrive_and_wait();
      for (std::size_t i = t; i < size; i += kThreads)
        OnTile<T>::insert(slots, shape, keys + i, n + i, 1, done + i);
    });
  }
  for (auto& thread : threads) thread.join();
}

template <int Width>
constexpr tests::SchemeOnTile<Key64> kAtomic =
    OnTile<table::AtomicTile<Width>>::describe("atomic", insert_at_once<table::AtomicTile<Width>>);

constexpr tests::SchemeOnTile<Key64> kNarrow[] = {
    OnTile<table::SerialTile<Key64, 1>>::describe("serial"),
    OnTile<table::SerialTile<Key64, 2>>::describe("serial"),
    OnTile<table::SerialTile<Key64, 4>>::describe("serial"),
    OnTile<table::SerialTile<Key64, 8>>::describe("serial"),
    OnTile<table::SerialTile<Key64, 16>>::describe("serial"),
    OnTile<table::SerialTile<Key64, 32>>::describe("serial"),
    kAtomic<1>,
    kAtomic<2>,
    kAtomic<4>,
    kAtomic<8>,
    kAtomic<16>,
    kAtomic<32>,
};
constexpr tests::SchemeOnTile<Key128> kWide[] = {
    OnTile<table::SerialTile<Key128, 1>>::describe("serial"),
    OnTile<table::SerialTile<Key128, 2>>::describe("serial"),
    OnTile<table::SerialTile<Key128, 4>>::describe("serial"),
    OnTile<table::SerialTile<Key128, 8>>::describe("serial"),
    OnTile<table::SerialTile<Key128, 16>>::describe("serial"),
    OnTile<table::SerialTile<Key128, 32>>::describe("serial"),
};
}  // namespace

namespace tests {
template <class Key>
std::unique_ptr<TableMemory<Key>> host_memory(std::size_t slots) {
  return std::make_unique<HostMemory<Key>>(slots);
}
template std::unique_ptr<TableMemory<Key64>> host_memory(std::size_t);
template std::unique_ptr<TableMemory<Key128>> host_memory(std::size_t);

const SchemesOnTiles<Key64> kScalarTiles64{kNarrow, sizeof kNarrow / sizeof *kNarrow};
const SchemesOnTiles<Key128> kScalarTiles128{kWide, sizeof kWide / sizeof *kWide};
}  // namespace tests
}  // namespace warpmer
