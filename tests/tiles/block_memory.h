#pragma once
/// The memory of a table whose slots lie in blocks, as the table suite sees it: slots, block after block.

#include <vector>

#include "table/slot_blocks.h"

namespace warpmer::tests {

template <class Key>
std::vector<table::CountBlock<Key>> empty_blocks(std::size_t slots) {
  constexpr std::size_t kInBlock = table::CountBlock<Key>::kSlots;
  std::vector<table::CountBlock<Key>> blocks((slots + kInBlock - 1) / kInBlock);
  for (auto& block : blocks) table::make_empty(block);
  return blocks;
}

/// Puts one key into all slots, with a count of 0.
template <class Key>
void fill_blocks(std::vector<table::CountBlock<Key>>& blocks, Key key) {
  for (auto& block : blocks) {
    for (int i = 0; i < block.kSlots; ++i) block.slots().write(i, {key, 0});
  }
}

template <class Key>
std::vector<table::Slot<Key>> slots_in(std::vector<table::CountBlock<Key>> blocks) {
  std::vector<table::Slot<Key>> slots;
  for (auto& block : blocks) {
    for (int i = 0; i < block.kSlots; ++i) slots.push_back(block.slots().read(i));
  }
  return slots;
}

}  // namespace warpmer::tests
