#pragma once
/// Which child table a key belongs to. A hash's top bits name an entry of a directory, an entry names a
/// child; several entries may name the same one. A child that is too full is halved, alone: by one more bit
/// of the hash (extendible hashing: Fagin, Nievergelt, Pippenger, Strong 1979).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/error.h"
#include "core/platform.h"
#include "table/hash_family.h"

namespace warpmer::table {

/// The directory as whoever serves operations reads it, on the host or on a device.
template <class Key>
struct ChildDirectoryView {
  const std::uint32_t* children = nullptr;  ///< 2^bits; null: every key belongs to whoever is asked
  std::uint32_t bits = 0;

  /// Of a seed that no child uses, so that where a key lies in its child has nothing to do with which it is.
  [[nodiscard]] WARPMER_HD static constexpr std::uint32_t hash(Key key) {
    return HashFamily<Key>::hash(HashFamily<Key>(0x57A2F15Bu).mix(key), 0);
  }
  [[nodiscard]] WARPMER_HD std::uint32_t child_of(Key key) const {
    return children[bits == 0 ? 0 : hash(key) >> (32 - bits)];
  }
  [[nodiscard]] WARPMER_HD bool belongs(Key key, std::uint32_t child) const {
    return children == nullptr || child_of(key) == child;
  }
};

class ChildDirectory {
 public:
  static constexpr std::uint32_t kMostBits = 20;
  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// One child, number 0, that everything belongs to.
  ChildDirectory() : entries_{0} {}

  [[nodiscard]] const std::vector<std::uint32_t>& entries() const { return entries_; }
  [[nodiscard]] std::uint32_t bits() const { return bits_; }

  /// How many entries name a child.
  [[nodiscard]] std::size_t share_of(std::uint32_t child) const {
    return static_cast<std::size_t>(std::count(entries_.begin(), entries_.end(), child));
  }

  /// Gives one half of what belongs to `child` to `other`, which has nothing. False: its keys' hashes agree
  /// in as many bits as a directory has.
  [[nodiscard]] bool split(std::uint32_t child, std::uint32_t other) {
    Range mine = range_of(child);
    if (mine.size == 1) {
      if (bits_ == kMostBits) return false;
      double_entries();
      mine = range_of(child);
    }
    for (std::size_t i = mine.first + mine.size / 2; i < mine.first + mine.size; ++i) entries_[i] = other;
    return true;
  }
  /// The child that `child` can take over from, because both are halves of one range; kNone: there is none.
  [[nodiscard]] std::uint32_t sibling(std::uint32_t child) const {
    const Range mine = range_of(child);
    if (mine.size == entries_.size()) return kNone;
    const std::size_t first = mine.first ^ mine.size;
    const std::uint32_t other = entries_[first];
    return range_of(other).size == mine.size ? other : kNone;
  }
  /// What belonged to its sibling `other` belongs to `child` from now on.
  void merge(std::uint32_t child, std::uint32_t other) {
    if (sibling(child) != other) throw InternalError("children that are no siblings were to be merged");
    const Range theirs = range_of(other);
    for (std::size_t i = theirs.first; i < theirs.first + theirs.size; ++i) entries_[i] = child;
  }

 private:
  /// A child's entries are neighbours, as many as a power of two, and aligned to that.
  struct Range {
    std::size_t first, size;
  };
  [[nodiscard]] Range range_of(std::uint32_t child) const {
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

  std::vector<std::uint32_t> entries_;
  std::uint32_t bits_ = 0;
};

}  // namespace warpmer::table
