#include "index/writer/shard_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace warpmer::index {

void ShardPlaces::announce(std::uint32_t first, std::span<const layout::DirectoryEntry> entries) {
  for (const layout::DirectoryEntry& entry : entries) {
    const std::uint32_t shard = first++;
    if (shard < next_ || waiting_.contains(shard) || !expected_.emplace(shard, entry).second)
      throw InternalError(fmt::format("shard {} was announced twice, or after it was put", shard));
  }
  place_leading();
}

void ShardPlaces::put(PreparedShard&& shard) {
  const std::uint32_t number = shard.shard;
  if (number < next_ || waiting_.contains(number))
    throw InternalError(fmt::format("shard {} was put twice, or after the end", number));
  expected_.erase(number);
  bytes_waiting_ += shard.held_bytes();
  most_waiting_ = std::max(most_waiting_, bytes_waiting_.load());
  waiting_.emplace(number, std::move(shard));
  place_leading();
}

layout::DirectoryEntry& ShardPlaces::take_due(const PreparedShard& shard) {
  layout::DirectoryEntry& entry = directory_[shard.shard];
  if (due_.erase(shard.shard) == 0 || shard.entry.shape != entry.shape || shard.entry.sizes != entry.sizes)
    throw InternalError(fmt::format("shard {} is not what was announced", shard.shard));
  entry.checksum = shard.entry.checksum;
  return entry;
}

void ShardPlaces::adopt(const layout::DirectoryEntry& entry) {
  const bool is_empty = entry.payload_words == 0;
  if (next_ == directory_.size() || !waiting_.empty() || (!is_empty && entry.offset != end_))
    throw InternalError(fmt::format("a part of an index does not begin with shard {}", next_.load()));
  directory_[next_++] = entry;
  end_ += entry.payload_words * sizeof(std::uint64_t);
}

void ShardPlaces::place_rest() {
  while (next_ < directory_.size()) {
    place_leading();
    if (next_ < directory_.size()) place(prepare(next_, {}, params_));
  }
  if (!due_.empty()) throw InternalError(fmt::format("shard {} was announced and never put", *due_.begin()));
}

/// Gives the next shard its place, and returns that.
std::uint64_t ShardPlaces::take_place(layout::DirectoryEntry entry) {
  entry.offset = end_;
  end_ += entry.payload_words * sizeof(std::uint64_t);
  directory_[next_++] = entry;
  note_change();
  return entry.offset;
}

void ShardPlaces::place(PreparedShard&& shard) {
  shard.entry.offset = take_place(shard.entry);
  if (shard.bytes() > 0) placed_.push_back(std::move(shard));
}

/// Places the shards whose predecessors all have their places.
void ShardPlaces::place_leading() {
  for (;;) {
    if (!waiting_.empty() && waiting_.begin()->first == next_.load()) {
      place(std::move(waiting_.begin()->second));
      waiting_.erase(waiting_.begin());
    } else if (!expected_.empty() && expected_.begin()->first == next_.load()) {
      due_.insert(next_);
      take_place(expected_.begin()->second);
      expected_.erase(expected_.begin());
    } else {
      return;
    }
  }
}

PlacedShards ShardPlaces::take_placed() {
  PlacedShards first;
  first.offset = placed_.front().entry.offset;
  if (placed_.front().source) {
    first.source = std::move(placed_.front().source);
    first.shard = placed_.front().shard;
    placed_.pop_front();
    return first;
  }
  std::uint64_t bytes = 0;
  while (!placed_.empty() && !placed_.front().source &&
         placed_.front().entry.offset == first.offset + bytes) {
    if (bytes > 0 && bytes + placed_.front().bytes() > kPlacedBytes) break;
    bytes += placed_.front().bytes();
    first.payloads.push_back(std::move(placed_.front().payload));
    placed_.pop_front();
  }
  bytes_waiting_ -= bytes;
  note_change();
  return first;
}

void ShardPlaces::note_change() noexcept {
  ++changes_;
  changes_.notify_all();
}

void ShardPlaces::wait_for_place(std::uint32_t shard, std::uint64_t most_bytes) const {
  while (true) {
    const std::uint32_t seen = changes_;  // first: a change while the rest is looked at is not missed
    if (is_waiting_cancelled_ || shard < next_ || bytes_waiting_ <= most_bytes) return;
    changes_.wait(seen);
  }
}

void ShardPlaces::cancel_waiting() noexcept {
  is_waiting_cancelled_ = true;
  note_change();
}

}  // namespace warpmer::index
