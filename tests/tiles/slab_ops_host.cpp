#include <atomic>
#include <bit>
#include <latch>
#include <thread>

#include "bench/tables/tile_atomic.h"
#include "bench/tables/tile_probe_counting.h"
#include "table/work_sharing.h"
#include "tiles/slab_cases.h"
#include "tiles/slab_ops.h"
#include "tiles/tile_interleaving.h"

namespace warpmer::tests {
namespace {

constexpr std::uint32_t kThreads = 4;

/// Runs `work(thread)` on threads that start together.
template <class Work>
void on_threads(std::uint32_t threads, Work&& work) {
  std::latch start(threads);
  std::vector<std::thread> team;
  for (std::uint32_t t = 0; t < threads; ++t) {
    team.emplace_back([&, t] {
      start.arrive_and_wait();
      work(t);
    });
  }
  for (auto& thread : team) thread.join();
}

/// Empty units and their bitmaps.
template <class Unit>
struct Arena {
  explicit Arena(std::uint32_t size)
      : units(size), bitmaps(table::slab_blocks_for(size) * table::kBitmapWords) {
    if constexpr (requires(Unit unit) { unit.slots(); }) {
      for (Unit& unit : units) table::make_empty(unit);
    }
    for (std::size_t i = 0; i < bitmaps.size(); ++i) bitmaps[i] = table::bitmap_at_first(size, i);
  }
  [[nodiscard]] std::uint32_t taken() const {
    int set = 0, at_first = 0;
    for (std::size_t i = 0; i < bitmaps.size(); ++i) {
      set += std::popcount(bitmaps[i]);
      at_first += std::popcount(table::bitmap_at_first(units.size(), i));
    }
    return static_cast<std::uint32_t>(set - at_first);
  }
  std::vector<Unit> units;
  std::vector<std::uint32_t> bitmaps;
};

/// Memory for either kind of units.
template <class UnitsType>
class UnitMemory {
  using Unit = typename UnitsType::Unit;

 public:
  UnitMemory(std::uint32_t super_blocks, std::uint32_t units) {
    for (std::uint32_t i = 0; i < super_blocks; ++i) arenas_.push_back(std::make_unique<Arena<Unit>>(units));
  }
  UnitsType units() {
    if constexpr (std::is_same_v<UnitsType, table::ContiguousUnits<Unit>>) {
      return {arenas_[0]->bitmaps.data(), arenas_[0]->units.data(), arenas_[0]->units.size()};
    } else {
      if (super_blocks_.empty())
        for (auto& arena : arenas_) super_blocks_.push_back({arena->bitmaps.data(), arena->units.data()});
      return {super_blocks_.data(), static_cast<std::uint32_t>(arenas_.size()),
              table::slab_blocks_for(arenas_[0]->units.size()), &in_use};
    }
  }
  [[nodiscard]] std::uint32_t taken() const {
    std::uint32_t sum = 0;
    for (const auto& arena : arenas_) sum += arena->taken();
    return sum;
  }
  std::uint32_t in_use = 1;
  table::SlabAllocState state{};

 private:
  std::vector<std::unique_ptr<Arena<Unit>>> arenas_;
  std::vector<typename bench::SuperBlocks<Unit>::SuperBlock> super_blocks_;
};

template <class Case>
class HostSlabTable : public SlabTable {
  using Tile = typename Case::Tile;
  using Table = typename Case::Table;

 public:
  explicit HostSlabTable(SlabShape shape)
      : shape_(shape), bases_(shape.buckets), memory_(shape.super_blocks, shape.units) {
    for (auto& slab : bases_) table::make_empty(slab);
  }
  std::vector<SlabAnswer> run(const std::vector<SlabRequest>& requests) override {
    std::vector<SlabAnswer> answers(requests.size());
    serve(0, 1, requests, answers);
    return answers;
  }
  std::vector<SlabAnswer> run_at_once(const std::vector<SlabRequest>& requests) override {
    std::vector<SlabAnswer> answers(requests.size());
    on_threads(kThreads, [&](std::uint32_t t) { serve(t, kThreads, requests, answers); });
    return answers;
  }
  std::vector<SlabElement> bucket(std::uint32_t number) override {
    std::vector<SlabElement> all;
    table().for_each(Tile{}, number, [&](auto slot) { all.push_back(Case::element(slot)); });
    return all;
  }
  std::uint32_t length(std::uint32_t bucket) override { return table().length(Tile{}, bucket); }
  FlushedSlabs flush() override {
    std::atomic<std::uint32_t> elements = 0, slabs = 0;
    const std::uint32_t threads = Tile::kExclusive ? 1 : kThreads;
    on_threads(threads, [&](std::uint32_t t) {
      for (std::uint32_t b = t; b < shape_.buckets; b += threads) {
        const auto flushed = table().flush(Tile{}, b);
        elements += flushed.elements;
        slabs += flushed.slabs;
      }
    });
    return {elements, slabs};
  }
  std::uint32_t units_taken() override { return memory_.taken(); }

 private:
  Table table() {
    return Table(bases_.data(), typename Case::BucketOf(shape_.buckets, shape_.seed),
                 table::SlabAlloc(units_, &memory_.state));
  }
  void serve(std::uint32_t worker, std::uint32_t workers, const std::vector<SlabRequest>& requests,
             std::vector<SlabAnswer>& answers) {
    const Tile tile{};
    const Table table = this->table();
    table::ResidentBlock resident = table.resident(tile, worker);
    for (std::size_t i = worker; i < requests.size(); i += workers) {
      table::share_work(tile, true, requests[i], answers[i], [&](SlabRequest request) {
        const std::uint64_t began = clock_.fetch_add(1);
        SlabAnswer answer = Case::serve(table, tile, resident, request);
        answer.began = began;
        answer.ended = clock_.fetch_add(1);
        return answer;
      });
    }
  }

  SlabShape shape_;
  std::vector<typename Case::Slab> bases_;
  UnitMemory<typename Case::Units> memory_;
  typename Case::Units units_ = memory_.units();
  std::atomic<std::uint64_t> clock_{0};
};

template <class Tile>
class HostAllocators {
  struct alignas(table::kSlabBytes) Unit {
    std::uint32_t words[32];
  };
  static constexpr Tile kTile{};
  template <class Units>
  class Under : public AllocatorUnderTest {
   public:
    Under(std::uint32_t super_blocks, std::uint32_t units)
        : memory_(super_blocks, units), alloc_(memory_.units(), &memory_.state) {}
    std::vector<std::uint32_t> allocate(std::uint32_t workers, std::uint32_t each) override {
      std::vector<std::uint32_t> all(std::size_t{workers} * each);
      on_threads(workers, [&](std::uint32_t w) {
        table::ResidentBlock resident = alloc_.resident(kTile, w);
        for (std::uint32_t i = 0; i < each; ++i)
          all[std::size_t{w} * each + i] = alloc_.allocate(kTile, resident);
      });
      return all;
    }
    void free(const std::vector<std::uint32_t>& addresses) override {
      const std::uint32_t threads = Tile::kExclusive ? 1 : kThreads;
      on_threads(threads, [&](std::uint32_t w) {
        for (std::size_t i = w; i < addresses.size(); i += threads) alloc_.free(kTile, addresses[i]);
      });
    }
    std::uint64_t churn(std::uint32_t workers, std::uint32_t rounds, std::uint64_t& refused) override {
      std::atomic<std::uint64_t> wrong = 0, none = 0;
      on_threads(workers, [&](std::uint32_t w) {
        table::ResidentBlock resident = alloc_.resident(kTile, w);
        for (std::uint32_t i = 0; i < rounds; ++i) {
          std::vector<std::uint32_t> mine;
          for (std::uint32_t j = 0; j < 1 + (w + i) % 5; ++j) {
            mine.push_back(alloc_.allocate(kTile, resident));
            none += mine.back() == table::kNoSlab ? 1 : 0;
            // Not atomic: a unit that two have, or that comes without what its last owner did, is a race.
            if (mine.back() != table::kNoSlab) alloc_.at(mine.back())->words[i % 32] = w;
          }
          for (const std::uint32_t address : mine) {
            if (address == table::kNoSlab) continue;
            wrong += alloc_.at(address)->words[i % 32] != w ? 1 : 0;
            alloc_.free(kTile, address);
          }
        }
      });
      refused += none;
      return wrong;
    }
    std::uint32_t in_use() override { return memory_.in_use; }

   private:
    UnitMemory<Units> memory_;
    table::SlabAlloc<Units> alloc_;
  };

 public:
  static std::unique_ptr<AllocatorUnderTest> make(std::uint32_t super_blocks, std::uint32_t units) {
    if (super_blocks == 1) return std::make_unique<Under<table::ContiguousUnits<Unit>>>(1u, units);
    return std::make_unique<Under<bench::SuperBlocks<Unit>>>(super_blocks, units);
  }
};

template <template <class, template <class> class> class CaseOf, class Tile>
SlabOnTile describe(const char* name) {
  using Light = CaseOf<Tile, table::ContiguousUnits>;
  using Full = CaseOf<Tile, bench::SuperBlocks>;
  return {.name = name,
          .kind = Light::kKind,
          .slots = Light::Slab::kSlots,
          .is_shared = !Tile::kExclusive,
          .events_per_key = 40,
          .make = [](SlabShape shape) -> std::unique_ptr<SlabTable> {
            if (shape.super_blocks == 1) return std::make_unique<HostSlabTable<Light>>(shape);
            return std::make_unique<HostSlabTable<Full>>(shape);
          }};
}

template <int Width, class Key = Key64>
using Serial = table::SerialTile<Key, Width>;
template <int Width, class Key = Key64>
using Atomic = bench::AtomicTile<Width, Key>;
template <int Width, class Key = Key64>
using Interleaving = InterleavingTile<Atomic<Width, Key>>;

}  // namespace

std::vector<SlabOnTile> host_slab_tables() {
  return {
      describe<SlabCounts, Serial<10>>("64-bit keys with counts, serial"),
      describe<SlabCounts, Serial<6, Key128>>("128-bit keys with counts, serial"),
      describe<SlabCounts, Atomic<10>>("64-bit keys with counts, atomic"),
      describe<SlabCounts, Interleaving<10>>("64-bit keys with counts, interleaving"),
      describe<SlabCounts, bench::ProbeCountingTile<Atomic<10>>>("64-bit keys with counts, counts probes"),
      describe<SlabWords, Serial<15>>("pairs, serial"),
      describe<SlabWords, Atomic<15>>("pairs, atomic"),
      describe<SlabWords, Interleaving<15>>("pairs, interleaving"),
      describe<SlabWords, Serial<30, table::PlainWord>>("32-bit keys, serial"),
      describe<SlabWords, Interleaving<30, table::PlainWord>>("32-bit keys, interleaving")};
}

std::vector<AllocatorOnTile> host_allocators() {
  return {{"serial", 1, HostAllocators<Serial<32, table::PlainWord>>::make},
          {"atomic", 8, HostAllocators<Atomic<32, table::PlainWord>>::make},
          {"interleaving", 8, HostAllocators<Interleaving<32, table::PlainWord>>::make}};
}

}  // namespace warpmer::tests
