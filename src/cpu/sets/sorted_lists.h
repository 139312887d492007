#pragma once
/// Working memory of merges, and the part of an index that a merge looks at: one shard's entries in a range
/// of hashes, unpacked.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/indexes/index_set.h"
#include "backend/indexes/set_session.h"
#include "base/error.h"
#include "base/memory_text.h"
#include "base/thread_team.h"
#include "cpu/count/sorted_merge.h"
#include "cpu/memory/scratch.h"
#include "cpu/sets/shard_keys.h"
#include "cpu/sets/shard_pieces.h"
#include "index/index_file.h"
#include "index/shard_codec.h"

namespace warpmer::cpu {

/// Entries that are merged at a time, of all inputs together: they stay in a core's second-level cache.
inline constexpr std::uint64_t kPartEntries = std::uint64_t{1} << 14;
/// Fewer of each input than this cost more to find than to merge.
inline constexpr std::uint64_t kLeastPartEntries = 64;

/// Returns how many entries of all inputs a part is to have, about.
inline std::uint64_t wanted_entries(std::size_t inputs) {
  return std::max(kPartEntries, kLeastPartEntries * inputs);
}

/// Returns the number of top bits of keys by which a shard can be divided.
inline std::uint32_t most_part_bits(const index::IndexParams& params) {
  return ShardKeys<Key128>(params).most_part_bits();
}

/// Returns the number of entries of a shard in all inputs.
inline std::uint64_t entries_in(std::span<const index::IndexFile> inputs, std::uint32_t shard) {
  std::uint64_t entries = 0;
  for (const auto& input : inputs) entries += input.kmers(shard);
  return entries;
}

/// True when a shard of an input has so many k-mers of one minimizer that they have a record of their own.
inline bool has_large_groups(std::span<const index::IndexFile> inputs, std::uint32_t shard) {
  return std::ranges::any_of(
      inputs, [&](const index::IndexFile& input) { return input.sizes(shard).large_groups > 0; });
}

/// Returns the number of entries of all inputs in one part, at most, where about `wanted` are in each: keys
/// are spread evenly, but each of a few may be in all inputs, and those of a large group are in one part.
inline std::uint64_t most_entries_in_part(std::span<const index::IndexFile> inputs, std::uint64_t wanted) {
  std::uint64_t most = 0, most_with_large = 0;
  for (std::uint32_t shard = 0; shard < inputs.front().params().shards(); ++shard) {
    const std::uint64_t entries = entries_in(inputs, shard);
    most = std::max(most, entries);
    if (has_large_groups(inputs, shard)) most_with_large = std::max(most_with_large, entries);
  }
  constexpr std::uint64_t kMoreKeys = 128;
  return std::max(most_with_large, std::min(most, 2 * wanted + kMoreKeys * inputs.size()));
}

/// The bytes that all threads of a job hold together, at most.
class MemoryBudget {
 public:
  /// Threads will never hold more than `enough` bytes, whatever is in the shards: refusals name a cap for
  /// that. ResourceError for memory that leaves nothing to work in.
  MemoryBudget(const backend::WorkingMemory& memory, std::uint64_t enough)
      : most_(memory.bytes()),
        advice_(fmt::format("{} would do; {}", mebibytes_needed(memory.cap_for(enough)),
                            memory_advice(memory.threads))) {
    if (most_ == 0) {
      throw ResourceError(fmt::format("-m {} is too little for {} and {} input{}: {}", mebibytes(memory.cap),
                                      number_of_threads(memory.threads), memory.inputs,
                                      memory.inputs == 1 ? "" : "s", advice_));
    }
  }
  /// To be called when a thread that held `before` is about to hold `now`. ResourceError when that is too
  /// much.
  void change(std::uint64_t& before, std::uint64_t now) {
    const std::uint64_t all = held_.fetch_add(now - before) + (now - before);
    const bool grows = now > before;
    before = now;
    if (grows && all > most_) {
      throw ResourceError(fmt::format("-m leaves {} for working, and the shards at hand take {}: {}",
                                      mebibytes(most_), mebibytes_needed(all), advice_));
    }
  }

 private:
  const std::uint64_t most_;
  const std::string advice_;
  std::atomic<std::uint64_t> held_{0};
};

/// A sorted list with its memory.
template <class Key>
class ListBuffer {
 public:
  /// Returns what a list takes with room for `n` entries.
  static std::uint64_t bytes_for(std::uint64_t n, bool with_samples) {
    return std::bit_ceil(n + 1) *
           (sizeof(Key) + sizeof(std::uint64_t) + (with_samples ? sizeof(std::uint32_t) : 0));
  }
  /// Makes room for `n` entries behind the first `kept`, and what a merge writes past the end.
  void reserve(std::size_t n, std::size_t kept, bool with_samples) {
    hashes_.grow(kept + n + 1, kept);
    counts_.grow(kept + n + 1, kept);
    if (with_samples) samples_.grow(kept + n + 1, kept);
  }
  /// Makes `n` entries more, to be written: returns where their hashes and their counts go.
  std::pair<Key*, std::uint64_t*> extend(std::size_t n) {
    reserve(n, size, false);
    const std::size_t first = std::exchange(size, size + n);
    return {hashes() + first, counts() + first};
  }
  [[nodiscard]] Key* hashes() const { return hashes_.data(); }
  [[nodiscard]] std::uint64_t* counts() const { return counts_.data(); }
  [[nodiscard]] std::uint32_t* samples() const { return samples_.data(); }
  [[nodiscard]] SortedList<Key> list(bool with_samples = false) const {
    return {hashes(), counts(), with_samples ? samples() : nullptr, size};
  }
  /// Returns where a merge appends.
  [[nodiscard]] MergeTarget<Key> target(bool with_samples = false) const {
    return {hashes() + size, counts() + size, with_samples ? samples() + size : nullptr};
  }
  /// Says of all hashes that `number` inputs have them.
  void set_samples(std::uint32_t number) {
    samples_.get(size + 1);
    std::fill_n(samples(), size, number);
  }
  void empty() { size = 0; }
  [[nodiscard]] std::uint64_t bytes() const { return hashes_.bytes() + counts_.bytes() + samples_.bytes(); }
  void clear() {
    hashes_.clear();
    counts_.clear();
    samples_.clear();
    empty();
  }

  std::size_t size = 0;

 private:
  Scratch<Key> hashes_;
  Scratch<std::uint64_t> counts_;
  Scratch<std::uint32_t> samples_;
};

/// Keeps entries with counts in such bounds.
template <class Key>
void keep_within(const backend::CountBounds& bounds, ListBuffer<Key>& list) {
  list.size = backend::move_kept(list.hashes(), list.counts(), list.size,
                                 [&](std::uint64_t count) { return bounds.contains(count); });
}

/// The entries of one shard in several indexes, given out part by part.
template <class Key>
class ShardParts {
 public:
  ShardParts(std::span<const index::IndexFile> inputs, std::span<const backend::CountBounds> bounds)
      : inputs_(inputs), bounds_(bounds), keys_(inputs.front().params()), decoder_(keys_) {}

  /// Checks the shard in all inputs. InputError for one that is damaged.
  void open(std::uint32_t shard) {
    open(shard,
         part_bits_of(entries_in(inputs_, shard), wanted_entries(inputs_.size()), keys_.most_part_bits()));
  }
  /// Does the same in 2^part_bits parts, at most one for each hash.
  void open(std::uint32_t shard, std::uint32_t part_bits) {
    shard_ = shard;
    part_bits_ = part_bits;
    gives_pages_back_ = entries_in(inputs_, shard) * sizeof(Key) > backend::kMappedBytesOfThread;
    views_.clear();
    strings_.clear();
    for (const auto& input : inputs_) {
      if (keys_.are_of_groups()) {
        strings_.push_back(input.strings(shard));
      } else {
        views_.push_back(input.shard(shard));
      }
      if (gives_pages_back_) input.release(shard);
    }
  }
  /// Tells the kernel that the shard's pages are not needed any more.
  void close() const {
    for (const auto& input : inputs_) input.release(shard_);
  }

  [[nodiscard]] std::uint64_t parts() const { return std::uint64_t{1} << part_bits_; }
  [[nodiscard]] std::size_t inputs() const { return inputs_.size(); }
  /// There are 2^part_bits parts.
  [[nodiscard]] std::uint32_t part_bits() const { return part_bits_; }

  /// Unpacks what input `i` has in a part, and keeps the counts within its bounds. Calls `grows` when there
  /// is room for a large group, before it is written to.
  template <class Grows>
  void read(std::size_t i, std::uint64_t part, ListBuffer<Key>& out, Grows&& grows) {
    out.empty();
    if (keys_.are_of_groups()) {
      decoder_.append(strings_[i], part, part_bits_, [&](std::size_t n) {
        const auto room = out.extend(n);
        if (n > kPartEntries) grows();
        return room;
      });
    } else {
      read_entries(i, part, out);
    }
    finish_reading(i, out);
  }
  /// Does the same with k-mers in the place of their keys, and calls `visit(list)`: once, or for each
  /// kPartEntries or so of a part that has many more, as one with a large group may.
  template <class Visit>
  void visit_kmers(std::size_t i, std::uint64_t part, ListBuffer<Key>& list, Visit&& visit) {
    list.empty();
    const auto hand_on = [&] {
      finish_reading(i, list);
      visit(list);
      list.empty();
    };
    if (keys_.are_of_groups()) {
      decoder_.append_kmers(strings_[i], shard_, part, part_bits_, kPartEntries, [&](std::size_t n) {
        if (list.size > kPartEntries) hand_on();
        return list.extend(n);
      });
    } else {
      read_entries(i, part, list);
      for (std::size_t e = 0; e < list.size; ++e) list.hashes()[e] = keys_.kmer(shard_, list.hashes()[e]);
    }
    hand_on();
  }

 private:
  void read_entries(std::size_t i, std::uint64_t part, ListBuffer<Key>& out) const {
    const index::ShardReader reader(views_[i], inputs_.front().params().k);
    out.reserve(reader.most_in_part(part, part_bits_), 0, false);
    index::for_each_entry_in_part(inputs_[i], shard_, reader, part, part_bits_,
                                  [&](Key64 hash, std::uint64_t count) {
                                    out.hashes()[out.size] = hash;
                                    out.counts()[out.size++] = count;
                                  });
  }
  void finish_reading(std::size_t i, ListBuffer<Key>& list) const {
    if (!bounds_[i].contains_all()) keep_within(bounds_[i], list);
    if (gives_pages_back_) inputs_[i].release(shard_);
  }
  std::span<const index::IndexFile> inputs_;
  std::span<const backend::CountBounds> bounds_;
  ShardKeys<Key> keys_;
  StringDecoder<Key> decoder_;
  std::vector<index::ShardView> views_;     ///< shards of entries
  std::vector<groups::ShardBits> strings_;  ///< or of strings
  std::uint32_t shard_ = 0;
  std::uint32_t part_bits_ = 0;
  bool gives_pages_back_ = false;
};

/// Unpacks what the only input has in a piece, shard by shard, and calls `visit(list)` for the k-mers of
/// each, in one list or several.
template <class Key, class Visit>
void read_piece(ShardParts<Key>& parts, const ShardPiece& piece, ListBuffer<Key>& list, Visit&& visit) {
  for (std::uint32_t shard = piece.first_shard; shard < piece.first_shard + piece.shards; ++shard) {
    parts.open(shard, piece.part_bits);
    parts.visit_kmers(0, piece.part, list, visit);
    parts.close();
  }
}

/// Calls `visit(thread, shard, list)` for the k-mers of all parts of all shards with counts in bounds, which
/// it may change, on several threads. A thread always has the same ones, in the same order.
template <class Key, class Visit>
void visit_kmers_of_shards(const index::IndexFile& index, const backend::CountBounds& bounds,
                           unsigned threads, Visit&& visit) {
  std::atomic<bool> failed{false};
  const std::uint32_t shards = index.params().shards();
  run_team(
      threads,
      [&](unsigned thread) {
        ShardParts<Key> parts({&index, 1}, {&bounds, 1});
        ListBuffer<Key> list;
        for (std::uint32_t shard = thread; shard < shards && !failed; shard += threads) {
          parts.open(shard);
          for (std::uint64_t part = 0; part < parts.parts(); ++part)
            parts.visit_kmers(0, part, list, [&](ListBuffer<Key>& some) { visit(thread, shard, some); });
          parts.close();
        }
      },
      [&] { failed = true; });
}

}  // namespace warpmer::cpu
