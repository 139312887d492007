// The entries of an index, unpacked or sorted by several threads and handed on in order.

#include "backend/indexes/entries.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/buffer_pool.h"
#include "base/ordered_stage.h"
#include "base/thread_team.h"
#include "cpu/sets/array_pool.h"
#include "cpu/sets/entry_sorter.h"
#include "cpu/sets/shard_pieces.h"
#include "cpu/sets/sorted_lists.h"
#include "formats/jellyfish/jellyfish_order.h"
#include "formats/yak_order.h"
#include "kmer/kmer.h"
#include "kmer/packed_words.h"

namespace warpmer::cpu {

namespace {

using backend::EncodedVisitor;
using backend::EntryEncoder;
using backend::EntryVisitor;
using backend::PackedEntries;
using formats::CountedKmer;
using formats::EncodedKmers;

/// Entries of a piece, or that are handed on at a time.
constexpr std::size_t kBlockEntries = 8192;
/// Entries that are encoded at a time: they stay in a core's cache.
constexpr std::size_t kEncodedAtOnce = 512;

/// Bytes of encoded entries, with which they are handed on although there are more to come.
constexpr std::size_t kMostEncodedBytes = std::size_t{1} << 20;

/// Empties a result, which goes on, when what is in it has been consumed.
using HandOn = std::function<void()>;

/// Makes results 0 to `size` on all threads, `make(state of a thread, number, result, hand_on)`, and gives
/// each to `consume`, in order.
template <class State, class Result>
void make_in_order(std::uint64_t size, unsigned threads, const std::function<State()>& new_state,
                   const std::function<void(State&, std::uint64_t, Result&, const HandOn&)>& make,
                   const std::function<void(Result&)>& consume) {
  using Lease = typename BufferPool<Result>::Lease;
  BufferPool<Result> results;
  OrderedStage<Lease> in_order(kResultsAhead * threads, [&](const Lease& result) { consume(*result); });
  share_numbers(
      threads, 0, size,
      [&](unsigned /*thread*/, SharedNumbers& numbers) {
        State state = new_state();
        for (std::uint64_t number; numbers.take(number);) {
          Lease result = results.take();
          result->clear();
          make(state, number, *result, [&] {
            Lease part = results.take();
            std::swap(*part, *result);
            result->clear();
            in_order.put_part(number, std::move(part));
          });
          in_order.put(number, std::move(result));
        }
      },
      [&] { in_order.stop(); });
}

/// Calls `add(list, result, hand_on)` for the k-mers of the index, piece by piece, each of about `wanted`.
template <class Key, class Result, class Add>
void visit_in_order_of_file(const index::IndexFile& index, unsigned threads, std::uint64_t wanted, Add&& add,
                            const std::function<void(Result&)>& visit) {
  struct State {
    ShardParts<Key> parts;
    ListBuffer<Key> list;
  };
  const backend::CountBounds all;
  const std::vector<ShardPiece> pieces =
      cut_into_pieces(index.params().shards(), wanted, most_part_bits(index.params()),
                      [&](std::uint32_t shard) { return index.kmers(shard); });
  make_in_order<State, Result>(
      pieces.size(), threads,
      [&] {
        return State{ShardParts<Key>({&index, 1}, {&all, 1}), {}};
      },
      [&](State& state, std::uint64_t number, Result& result, const HandOn& hand_on) {
        read_piece(state.parts, pieces[number], state.list,
                   [&](const ListBuffer<Key>& list) { add(list, result, hand_on); });
      },
      visit);
}

/// Encodes entries 0 to `size`; `entry(i)` is one of them. Hands on what becomes too long.
template <class EntryOf>
void encode_in_steps(std::size_t size, const EntryEncoder& encode, EncodedKmers& to, const HandOn& hand_on,
                     EntryOf&& entry) {
  std::array<CountedKmer, kEncodedAtOnce> some;
  for (std::size_t first = 0; first < size; first += kEncodedAtOnce) {
    const std::size_t n = std::min(kEncodedAtOnce, size - first);
    for (std::size_t i = 0; i < n; ++i) some[i] = entry(first + i);
    if (to.bytes.size() >= kMostEncodedBytes) hand_on();
    encode({some.data(), n}, to);
  }
}

template <class Key>
void encode_in_order_of_file(const index::IndexFile& index, unsigned threads, const EntryEncoder& encode,
                             const EncodedVisitor& visit) {
  visit_in_order_of_file<Key, EncodedKmers>(
      index, threads, kBlockEntries,
      [&](const ListBuffer<Key>& list, EncodedKmers& encoded, const HandOn& hand_on) {
        encode_in_steps(list.size, encode, encoded, hand_on, [&](std::size_t i) {
          return CountedKmer{list.hashes()[i], list.counts()[i]};
        });
      },
      visit);
}

/// Puts lists one behind the other into arrays that others take over.
template <class Key>
class EntryArraysBuilder {
 public:
  /// Makes room for `wanted` entries when it is the first.
  void append(const ListBuffer<Key>& list, std::uint64_t wanted, ArrayPool& pool) {
    reserve(entries_.size + list.size, wanted, pool);
    std::uint64_t* to = entries_.kmers.get() + entries_.size * kWords;
    for (std::size_t i = 0; i < list.size; ++i, to += kWords) write_packed(list.hashes()[i], to);
    std::copy_n(list.counts(), list.size, entries_.counts.get() + entries_.size);
    entries_.size += list.size;
  }
  [[nodiscard]] std::size_t size() const { return entries_.size; }
  PackedEntries take() {
    room_ = 0;
    return std::exchange(entries_, PackedEntries());
  }
  void clear() { take(); }

 private:
  static constexpr std::size_t kWords = kPackedWords<Key>;

  void reserve(std::size_t n, std::uint64_t wanted, ArrayPool& pool) {
    if (n <= room_) return;
    room_ = std::max<std::size_t>({n, wanted, 2 * room_});
    PackedEntries larger{entries_.size, pool.take(room_ * kWords), pool.take(room_)};
    std::copy_n(entries_.kmers.get(), entries_.size * kWords, larger.kmers.get());
    std::copy_n(entries_.counts.get(), entries_.size, larger.counts.get());
    entries_ = std::move(larger);
  }

  PackedEntries entries_;
  std::size_t room_ = 0;
};

template <class Key, class Order>
void encode_sorted(const index::IndexFile& index, std::uint64_t memory_bytes, unsigned threads,
                   const EntryEncoder& encode, const EncodedVisitor& visit, const Order& in_order) {
  using Sorter = EntrySorter<Key, Order>;
  using Ordered = typename Sorter::Ordered;
  const std::uint64_t encoded_bytes = (kResultsAhead + 2) * threads * kMostEncodedBytes;
  const backend::CountBounds all;
  Sorter sorter(index, all, threads, memory_bytes, threads * Sorter::kBytesOfOrderedBin + encoded_bytes,
                in_order);
  for (std::uint32_t first = 0; first < sorter.bins();) {
    const auto range = sorter.gather(first);
    make_in_order<Ordered, EncodedKmers>(
        range.end - range.first, threads, [] { return Ordered(); },
        [&](Ordered& ordered, std::uint64_t number, EncodedKmers& encoded, const HandOn& hand_on) {
          const std::uint32_t bin = range.first + static_cast<std::uint32_t>(number);
          sorter.order(bin, ordered);
          Key last = 0;
          encode_in_steps(ordered.size, encode, encoded, hand_on, [&](std::size_t i) {
            const auto [kmer, count] = sorter.entry(bin, ordered.words.data()[i]);
            // A shard may have a k-mer in a group that is not its own, and in its own.
            if (i > 0 && kmer == last) index::refuse_damaged(index, "a k-mer stands in it twice");
            last = kmer;
            return CountedKmer{kmer, count};
          });
        },
        visit);
    first = range.end;
  }
}

}  // namespace

}  // namespace warpmer::cpu

namespace warpmer::backend {

void for_each_block(const index::IndexFile& index, unsigned threads, const EntryVisitor& visit) {
  using Block = std::vector<formats::CountedKmer>;
  with_key_type(index.params().k, [&]<class Key>(Key) {
    cpu::visit_in_order_of_file<Key, Block>(
        index, threads, cpu::kBlockEntries,
        [](const cpu::ListBuffer<Key>& list, Block& block, const cpu::HandOn& hand_on) {
          if (block.size() >= cpu::kBlockEntries) hand_on();
          for (std::size_t i = 0; i < list.size; ++i) block.push_back({list.hashes()[i], list.counts()[i]});
        },
        [&](const Block& block) {
          if (!block.empty()) visit(block);
        });
  });
}

void for_each_packed(const index::IndexFile& index, unsigned threads, std::uint64_t wanted,
                     const PackedVisitor& visit) {
  const auto pool = std::make_shared<cpu::ArrayPool>(2 * kResultsAhead * threads);
  with_key_type(index.params().k, [&]<class Key>(Key) {
    using Arrays = cpu::EntryArraysBuilder<Key>;
    cpu::visit_in_order_of_file<Key, Arrays>(
        index, threads, wanted,
        [&](const cpu::ListBuffer<Key>& list, Arrays& arrays, const cpu::HandOn& hand_on) {
          if (arrays.size() >= wanted) hand_on();
          arrays.append(list, wanted, *pool);
        },
        [&](Arrays& arrays) {
          if (arrays.size() > 0) visit(arrays.take());
        });
  });
}

void encode_entries(const index::IndexFile& index, formats::KmerOrder order, std::uint64_t memory_bytes,
                    unsigned threads, const EntryEncoder& encode, const EncodedVisitor& visit,
                    std::uint32_t position_bits) {
  const std::uint32_t k = index.params().k;
  with_key_type(k, [&]<class Key>(Key) {
    const auto encode_in = [&](const auto& in_order) {
      cpu::encode_sorted<Key>(index, memory_bytes, threads, encode, visit, in_order);
    };
    switch (order) {
      case formats::KmerOrder::any:
        return cpu::encode_in_order_of_file<Key>(index, threads, encode, visit);
      case formats::KmerOrder::by_kmer:
        return encode_in(cpu::LexicographicOrder<Key>(k));
      case formats::KmerOrder::by_jellyfish:
        if (position_bits == 0) throw InternalError("an order of positions without bits");
        return encode_in(formats::JellyfishOrder<Key>(k, position_bits));
      case formats::KmerOrder::by_yak:
        return encode_in(formats::YakOrder<Key>(k));
    }
  });
}

}  // namespace warpmer::backend
