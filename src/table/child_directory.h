#pragma once
/// Finds the child table that a key belongs to. The top bits of its place (table/child_items.h), a hash, name
/// an entry of a directory, an entry names a child; several entries may name the same one. A child that is
/// too full is halved, alone: by one more bit of the place (extendible hashing: Fagin, Nievergelt, Pippenger,
/// Strong 1979).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"
#include "kmer/platform.h"
#include "table/child_items.h"

namespace warpmer::table {

/// The directory as code that serves operations reads it, on the host or on a device.
template <class Key>
struct ChildDirectoryView {
  const std::uint32_t* children = nullptr;  ///< 2^bits; null: every key belongs to the child that is asked
  std::uint32_t bits = 0;
  typename ChildItems<Key>::Place place{};

  [[nodiscard]] WARPMER_HD std::uint32_t child_of(Key key) const {
    return children[bits == 0 ? 0 : place(key) >> (32 - bits)];
  }
  [[nodiscard]] WARPMER_HD bool belongs(Key key, std::uint32_t child) const {
    return children == nullptr || child_of(key) == child;
  }
};

/// A child with what belongs to it: the entries [first, end) of a directory that is as large as it may be.
struct ChildRange {
  std::uint32_t child, first, end;
};

/// The error of a paged table that has no room for something.
struct PagedTableFull : ResourceError {
  enum class Reason : std::uint8_t {
    memory,       ///< memory of the host, for children
    one_place,    ///< in a child whose keys all have the same place
    unbuildable,  ///< no hash function has a slot for each key of a child
  };
  PagedTableFull(Reason why, const ChildRange& whose, const std::string& message)
      : ResourceError(message), reason(why), range(whose) {}

  Reason reason;
  ChildRange range;  ///< range of the child; of no use for `memory`
};

class ChildDirectory {
 public:
  static constexpr std::uint32_t kMostBits = HashPlace<Key32>::kBits;

  /// One child, number 0, that everything belongs to. `most_bits`: 2^that entries at most; kMostBits at most.
  explicit ChildDirectory(std::uint32_t most_bits = kMostBits)
      : most_bits_(std::min(most_bits, kMostBits)), entries_{0} {}

  [[nodiscard]] const std::vector<std::uint32_t>& entries() const { return entries_; }
  [[nodiscard]] std::uint32_t bits() const { return bits_; }
  [[nodiscard]] std::uint32_t most_bits() const { return most_bits_; }

  /// Returns all children, in the order of what belongs to them.
  [[nodiscard]] std::vector<ChildRange> ranges() const {
    const std::uint32_t scale = most_bits_ - bits_;
    std::vector<ChildRange> all;
    for (std::uint32_t i = 0; i < entries_.size(); ++i) {
      if (all.empty() || all.back().child != entries_[i]) all.push_back({entries_[i], i << scale, 0});
      all.back().end = (i + 1) << scale;
    }
    return all;
  }
  [[nodiscard]] ChildRange range(std::uint32_t child) const {
    const ItemRange mine = range_of(child);
    const std::uint32_t scale = most_bits_ - bits_;
    return {child, static_cast<std::uint32_t>(mine.first << scale),
            static_cast<std::uint32_t>((mine.first + mine.size) << scale)};
  }
  /// Returns the number of entries that name a child.
  [[nodiscard]] std::size_t share_of(std::uint32_t child) const {
    return static_cast<std::size_t>(std::count(entries_.begin(), entries_.end(), child));
  }

  /// Gives one half of what belongs to `child` to `other`, which has nothing. False: its keys' places agree
  /// in as many bits as a directory has.
  [[nodiscard]] bool split(std::uint32_t child, std::uint32_t other) {
    ItemRange mine = range_of(child);
    if (mine.size == 1) {
      if (bits_ == most_bits_) return false;
      double_entries();
      mine = range_of(child);
    }
    for (std::size_t i = mine.first + mine.size / 2; i < mine.first + mine.size; ++i) entries_[i] = other;
    return true;
  }
  /// Halves children, the first of which has everything, until none has more than `most` of what comes, or
  /// what it has is in one place. `weights`: how much comes to each of 2^most_bits places. `open`: returns
  /// the number of a child that has nothing.
  template <class Open>
  void divide(const std::vector<std::uint64_t>& weights, std::uint64_t most, Open&& open) {
    std::vector<std::uint32_t> to_do{entries_.front()};
    while (!to_do.empty()) {
      const std::uint32_t child = to_do.back();
      const auto first = weights.begin() + range(child).first, end = weights.begin() + range(child).end;
      const auto empty = std::count(first, end, std::uint64_t{0});
      if (std::accumulate(first, end, std::uint64_t{0}) <= most || end - first - empty <= 1) {
        to_do.pop_back();
        continue;
      }
      to_do.push_back(open());
      if (!split(child, to_do.back()))
        throw InternalError("a directory was to be divided further than it can");
    }
  }

 private:
  /// A child's entries are neighbours, as many as a power of two, and aligned to that.
  struct ItemRange {
    std::size_t first, size;
  };
  [[nodiscard]] ItemRange range_of(std::uint32_t child) const {
    std::size_t first = 0;
    while (first < entries_.size() && entries_[first] != child) ++first;
    std::size_t end = first;
    while (end < entries_.size() && entries_[end] == child) ++end;
    if (first == end) throw InternalError("a child that nothing belongs to");
    return {first, end - first};
  }
  void double_entries() {
    std::vector<std::uint32_t> twice;
    twice.reserve(2 * entries_.size());
    for (const std::uint32_t child : entries_) twice.insert(twice.end(), {child, child});
    entries_.swap(twice);
    ++bits_;
  }

  std::uint32_t most_bits_;
  std::vector<std::uint32_t> entries_;
  std::uint32_t bits_ = 0;
};

}  // namespace warpmer::table
