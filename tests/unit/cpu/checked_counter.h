#pragma once
/// A table in which a shard is counted, and beside it a map of its expected contents.

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "cpu/count/hash_counter.h"

template <class Key>
class CheckedCounter {
 public:
  /// The table is empty, and need not have been made yet.
  explicit CheckedCounter(warpmer::cpu::HashCounter<Key>& table) : table_(table) {}

  void add(Key key, std::uint32_t weight) {
    keys_.push_back(key);
    weights_.push_back(weight);
    expected_[key] += weight;
    if (keys_.size() == 3000) pass_on();
  }

  void check() {
    pass_on();
    warpmer::cpu::ShardArrays<Key> arrays;
    const warpmer::cpu::HashList<Key> list = table_.list(arrays, carries_);
    std::map<Key, std::uint64_t> counted = carries_;
    for (std::size_t i = 0; i < list.size; ++i) counted[list.keys[i]] += list.weights[i];
    CHECK((counted == expected_));
    expected_.clear();
    carries_.clear();
  }

 private:
  void pass_on() {
    std::uint32_t all = 0;
    for (const std::uint32_t weight : weights_) all |= weight;
    table_.insert({keys_.data(), weights_.data(), keys_.size(), all}, carries_);
    keys_.clear();
    weights_.clear();
  }

  warpmer::cpu::HashCounter<Key>& table_;
  std::map<Key, std::uint64_t> expected_;
  warpmer::cpu::Carries<Key> carries_;
  std::vector<Key> keys_;
  std::vector<std::uint32_t> weights_;
};

template <class Key>
Key random_key(std::mt19937_64& random) {
  if constexpr (sizeof(Key) == 16) {
    return Key{random()} << 64 | random();
  } else {
    return random();
  }
}
