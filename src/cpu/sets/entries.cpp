// The entries of an index, unpacked or sorted by several threads and handed on in order.

#include "backend/indexes/entries.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <utility>
#include <vector>

#include "base/buffer_pool.h"
#include "base/ordered_stage.h"
#include "base/thread_team.h"
#include "cpu/sets/entry_sorter.h"
#include "cpu/sets/shard_pieces.h"
#include "cpu/sets/sorted_lists.h"
#include "formats/jellyfish/jellyfish_order.h"
#include "formats/yak_order.h"
#include "kmer/kmer.h"

namespace warpmer::cpu {

namespace {

using backend::EntryVisitor;
using formats::CountedKmer;

/// Entries of a piece, or that are visited at a time.
constexpr std::size_t kBlockEntries = 8192;

/// Makes results 0 to `size` on all threads, `make(state of a thread, number, result)`, and gives each to
/// `consume`, in order.
template <class State, class Result>
void make_in_order(std::uint64_t size, unsigned threads, const std::function<State()>& new_state,
                   const std::function<void(State&, std::uint64_t, Result&)>& make,
                   const std::function<void(std::uint64_t, Result&)>& consume) {
  using Lease = typename BufferPool<Result>::Lease;
  BufferPool<Result> results;
  std::uint64_t consumed = 0;
  OrderedStage<Lease> in_order(kResultsAhead * threads,
                               [&](const Lease& result) { consume(consumed++, *result); });
  std::atomic<std::uint64_t> next{0};
  run_team(
      threads,
      [&](unsigned) {
        State state = new_state();
        for (std::uint64_t number; (number = next.fetch_add(1)) < size;) {
          Lease result = results.take();
          make(state, number, *result);
          in_order.put(number, std::move(result));
        }
      },
      [&] {
        next = size;
        in_order.stop();
      });
}

template <class Key>
void visit_in_order_of_file(const index::IndexFile& index, unsigned threads, const EntryVisitor& visit) {
  struct State {
    ShardParts<Key> parts;
    ListBuffer<Key> list;
  };
  using Block = std::vector<CountedKmer>;
  const backend::CountBounds all;
  const std::vector<ShardPiece> pieces =
      cut_into_pieces(index.params().shards(), kBlockEntries, most_part_bits(index.params()),
                      [&](std::uint32_t shard) { return index.kmers(shard); });
  make_in_order<State, Block>(
      pieces.size(), threads,
      [&] {
        return State{ShardParts<Key>({&index, 1}, {&all, 1}), {}};
      },
      [&](State& state, std::uint64_t number, Block& block) {
        block.clear();
        read_piece(state.parts, pieces[number], state.list, [&](const ListBuffer<Key>& list) {
          for (std::size_t i = 0; i < list.size; ++i) block.push_back({list.hashes()[i], list.counts()[i]});
        });
      },
      [&](std::uint64_t, const Block& block) {
        if (!block.empty()) visit(block);
      });
}

template <class Key, class Order>
void visit_sorted(const index::IndexFile& index, std::uint64_t memory_bytes, unsigned threads,
                  const EntryVisitor& visit) {
  using Sorter = EntrySorter<Key, Order>;
  using Ordered = typename Sorter::Ordered;
  struct NoState {};
  const std::uint64_t bins_in_order = (kResultsAhead + 1) * threads;
  const backend::CountBounds all;
  Sorter sorter(index, all, threads, memory_bytes, bins_in_order * Sorter::kBytesOfOrderedBin);
  std::vector<CountedKmer> block(kBlockEntries);
  for (std::uint32_t first = 0; first < sorter.bins();) {
    const auto range = sorter.gather(first);
    make_in_order<NoState, Ordered>(
        range.end - range.first, threads, [] { return NoState{}; },
        [&](NoState&, std::uint64_t number, Ordered& ordered) {
          sorter.order(range.first + static_cast<std::uint32_t>(number), ordered);
        },
        [&](std::uint64_t number, const Ordered& ordered) {
          const std::uint32_t bin = range.first + static_cast<std::uint32_t>(number);
          for (std::size_t i = 0; i < ordered.size; i += kBlockEntries) {
            const std::size_t n = std::min(kBlockEntries, ordered.size - i);
            for (std::size_t j = 0; j < n; ++j) {
              const auto [kmer, count] = sorter.entry(bin, ordered.words.data()[i + j]);
              block[j] = {kmer, count};
            }
            visit({block.data(), n});
          }
        });
    first = range.end;
  }
}

}  // namespace

}  // namespace warpmer::cpu

namespace warpmer::backend {

void for_each_block(const index::IndexFile& index, unsigned threads, const EntryVisitor& visit) {
  with_key_type(index.params().k,
                [&](auto zero) { cpu::visit_in_order_of_file<decltype(zero)>(index, threads, visit); });
}

void for_each_block_sorted(const index::IndexFile& index, formats::KmerOrder order,
                           std::uint64_t memory_bytes, unsigned threads, const EntryVisitor& visit) {
  with_key_type(index.params().k, [&]<class Key>(Key) {
    if (order == formats::KmerOrder::by_jellyfish) {
      cpu::visit_sorted<Key, formats::JellyfishOrder<Key>>(index, memory_bytes, threads, visit);
    } else if (order == formats::KmerOrder::by_yak) {
      cpu::visit_sorted<Key, formats::YakOrder<Key>>(index, memory_bytes, threads, visit);
    } else {
      cpu::visit_sorted<Key, cpu::LexicographicOrder<Key>>(index, memory_bytes, threads, visit);
    }
  });
}

}  // namespace warpmer::backend
