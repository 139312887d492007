#pragma once
/// The changes of a shard since its strings were made: a hash table of k-mers.
///
/// A **change** is one number: twice a count, and 1 more if that is the k-mer's whole count, whatever the
/// strings have. Else it comes on top of what the strings have. So adding to a k-mer is adding to its change,
/// nothing has to be looked up, and a change of 0 is none. Only what is taken away has to be looked up in the
/// strings first, and then makes the count whole.

#include <cstddef>
#include <cstdint>
#include <utility>

#include "cpu/count/hash_counter.h"
#include "cpu/simd/kernels.h"
#include "cpu/tables/table_counter.h"
#include "kmer/hash.h"

namespace warpmer::cpu {

// The two keys that no table takes are hashes of no key of a k-mer: those have fewer bits.
static_assert(KmerHash<Key64>(32).inverse(table::kEmptyKey<Key64>) >> 57 != 0);
static_assert(KmerHash<Key128>(64).inverse(table::kEmptyKey<Key128>) >> 122 != 0);

/// Counts and changes stay below this.
inline constexpr std::uint64_t kMostLiveCount = UINT64_MAX >> 2;

constexpr std::uint64_t whole_change(std::uint64_t count) { return 2 * count + 1; }
constexpr bool is_whole(std::uint64_t change) { return change % 2 != 0; }
/// Returns the count of a k-mer of which the strings have `in_strings()`.
template <class InStrings>
constexpr std::uint64_t count_after(std::uint64_t change, InStrings&& in_strings) {
  return change / 2 + (is_whole(change) ? 0 : in_strings());
}

/// Keys are hashes of keys of groups. `find`, `size` and `for_each_part` may be called by several threads at
/// a time, the rest by one alone.
template <class Key>
class ChangeTable {
 public:
  virtual ~ChangeTable() = default;

  /// Returns the number of keys, about: those that were not there twice may be counted twice.
  [[nodiscard]] virtual std::size_t size() const = 0;
  /// True when so many keys more are sure to find room.
  [[nodiscard]] virtual bool has_room(std::size_t more) const = 0;
  /// Returns what it takes with room for so many keys more, while it is being made and then.
  [[nodiscard]] virtual std::uint64_t bytes_with(std::size_t more) const = 0;
  [[nodiscard]] virtual std::uint64_t memory_bytes() const = 0;
  /// Builds it anew with room for so many keys more.
  virtual void make_room(std::size_t more) = 0;

  /// Adds the weights of a list, for which there is room, to changes. `lists` is memory to work in.
  virtual void add(const HashList<Key>& list, TableLists<Key>& lists) = 0;
  /// Sets a change from what it is now.
  virtual void set(Key key, std::uint64_t was, std::uint64_t now, TableLists<Key>& lists) = 0;
  virtual void find(const Key* keys, std::size_t n, std::uint32_t* low, std::uint64_t* changes) const = 0;

  /// Appends all keys to a list, with the lowest 32 bits of their changes, and calls `more(key, rest)` for
  /// those of which that is not all. The list has room for `listed()` more.
  virtual void list(HashList<Key>& list, Carries<Key>& rests) const = 0;
  [[nodiscard]] virtual std::size_t listed() const = 0;
};

/// `Memory` lays out tables of one scheme: `room_for(keys)`, `bytes_for(keys)`, `lay_out(table, keys)`,
/// `bytes()`.
template <class Memory>
class SchemeChanges : public ChangeTable<typename Memory::Table::Key> {
 public:
  using Table = typename Memory::Table;
  using Key = typename Table::Key;

  /// Keys have 2k bits.
  SchemeChanges(const TableKernels<Table>& kernels, std::uint32_t k) : kernels_(kernels) {
    table_.key_bits = 2 * k;
  }

  [[nodiscard]] std::size_t size() const override { return table_.size; }
  [[nodiscard]] bool has_room(std::size_t more) const override {
    return table_.size + more <= room_ && !has_overflow_;
  }
  [[nodiscard]] std::uint64_t bytes_with(std::size_t more) const override {
    return Memory::bytes_for(keys_with(more));
  }
  [[nodiscard]] std::uint64_t memory_bytes() const override { return memory_.bytes(); }

  void make_room(std::size_t more) override {
    for (std::size_t keys = keys_with(more);; keys *= 2) {
      Table fresh{};
      Memory memory;
      TableLists<Key> lists;
      lists.give_to(fresh);
      fresh.key_bits = table_.key_bits;
      memory.lay_out(fresh, keys);
      // The kernels look for room for many at a time; here it is known that what comes has room.
      fresh.limit = Memory::room_for(keys) + kInsertKeys;
      if (table_.size > 0 && !kernels_.rehash(table_, fresh)) continue;
      table_ = fresh;
      memory_ = std::move(memory);
      room_ = Memory::room_for(keys);
      has_overflow_ = false;
      for (const auto& [key, rest] : std::exchange(rests_, {})) {
        const std::uint32_t low = slot_of(key);
        set(key, low, low + rest, lists);
      }
      return;
    }
  }

  void add(const HashList<Key>& list, TableLists<Key>& lists) override {
    lists.give_to(table_);
    for (std::size_t done = 0; (done = kernels_.insert(table_, list, done)) < list.size;) settle();
    settle();
  }
  void set(Key key, std::uint64_t was, std::uint64_t now, TableLists<Key>& lists) override {
    lists.give_to(table_);
    std::uint32_t more = static_cast<std::uint32_t>(now - was);  // which may wrap
    const HashList<Key> one{&key, &more, 1, more};
    if (more != 0) kernels_.insert(table_, one, 0);
    has_overflow_ = has_overflow_ || table_.overflow_size > 0;
    const bool is_in_slot = rests_.empty() && table_.overflow_size == 0 && now <= UINT32_MAX;
    table_.carries_size = table_.overflow_size = 0;
    if (is_in_slot) return;
    const std::uint64_t rest = now - slot_of(key);
    if (rest != 0) {
      rests_[key] = rest;
    } else {
      rests_.erase(key);
    }
  }
  void find(const Key* keys, std::size_t n, std::uint32_t* low, std::uint64_t* changes) const override {
    kernels_.find(table_, keys, n, low);
    for (std::size_t i = 0; i < n; ++i) changes[i] = low[i];
    if (rests_.empty()) return;
    for (std::size_t i = 0; i < n; ++i) {
      if (const auto rest = rests_.find(keys[i]); rest != rests_.end()) changes[i] += rest->second;
    }
  }

  [[nodiscard]] std::size_t listed() const override { return table_.size + rests_.size(); }
  void list(HashList<Key>& list, Carries<Key>& rests) const override {
    kernels_.list(table_, list);
    for (const auto& [key, rest] : rests_) {
      rests[key] += rest;
      // Its slot may not be known for one, if it has none, or a slab hash takes it for free.
      list.keys[list.size] = key;
      list.weights[list.size++] = 0;
    }
  }

 private:
  [[nodiscard]] std::size_t keys_with(std::size_t more) const { return table_.size + rests_.size() + more; }
  [[nodiscard]] std::uint32_t slot_of(Key key) const {
    std::uint32_t low = 0;
    kernels_.find(table_, &key, 1, &low);
    return low;
  }

  /// Keeps what slots could not hold.
  void settle() {
    for (std::size_t i = 0; i < table_.carries_size; ++i) rests_[table_.carries[i]] += std::uint64_t{1} << 32;
    for (std::size_t i = 0; i < table_.overflow_size; ++i)
      rests_[table_.overflow[i]] += table_.overflow_counts[i];
    has_overflow_ = has_overflow_ || table_.overflow_size > 0;
    table_.carries_size = table_.overflow_size = 0;
  }

  const TableKernels<Table>& kernels_;
  Table table_{};
  Memory memory_;
  std::size_t room_ = 0;       ///< keys that it may have
  Carries<Key> rests_;         ///< parts of changes that are not in slots
  bool has_overflow_ = false;  ///< a key found no slot
};

}  // namespace warpmer::cpu
