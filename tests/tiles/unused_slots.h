#pragma once
/// Slots of a table that is never filled.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "table/tile.h"
#include "table/word_slots.h"

namespace warpmer::tests {

/// Memory of slots for a scheme that is only asked where keys would be.
template <class Key>
class UnusedSlots {
 public:
  explicit UnusedSlots(std::size_t slots)
      : memory_(new std::uint64_t[slots * table::Slots<Key>::kBytes / sizeof(std::uint64_t) + 1]),
        slots_(table::Slots<Key>::in(memory_.get(), slots)) {}
  [[nodiscard]] table::Slots<Key> slots() const { return slots_; }

 private:
  std::unique_ptr<std::uint64_t[]> memory_;
  table::Slots<Key> slots_;
};

}  // namespace warpmer::tests
