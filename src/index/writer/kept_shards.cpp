#include "index/writer/kept_shards.h"

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "base/error.h"

namespace warpmer::index {
namespace {

/// Number of shards for which the kernel is asked ahead to read the file back.
constexpr int kShardsAhead = 8;

}  // namespace

KeptShards::KeptShards(std::string directory, std::uint64_t most_bytes)
    : directory_(std::move(directory)), most_bytes_(most_bytes) {}

void KeptShards::put(PreparedShard&& prepared) {
  const std::uint32_t shard = prepared.shard;
  std::unique_lock lock(mutex_);
  if (!known_.insert(shard).second) throw InternalError(fmt::format("shard {} was put twice", shard));
  // One that is larger than all that is allowed must not wait for ever.
  changed_.wait(lock, [&] {
    return failure_ || in_writing_bytes_ == 0 ||
           memory_bytes_ + in_writing_bytes_ + prepared.held_bytes() <= most_bytes_;
  });
  if (failure_) throw ResourceError(*failure_);
  memory_bytes_ += prepared.held_bytes();
  in_memory_.emplace(shard, std::move(prepared));
  // Half of it may be written while the other half fills.
  if (memory_bytes_ <= most_bytes_ / 2) return;
  try {
    spill(lock);
  } catch (const std::exception& error) {
    if (!lock.owns_lock()) lock.lock();
    failure_ = error.what();
    changed_.notify_all();
    throw;
  }
}

/// Takes the shards that are in memory and have no source.
KeptShards::Batch KeptShards::take_for_file() {
  Batch batch;
  for (auto& [shard, prepared] : in_memory_) {
    if (!prepared.source) batch.push_back(std::move(prepared));
  }
  std::erase_if(in_memory_, [](const auto& each) { return !each.second.source; });
  return batch;
}

/// Writes what is in memory; `lock` is held, but for the time that takes.
void KeptShards::spill(std::unique_lock<std::mutex>& lock) {
  if (!file_) {
    file_ = std::make_unique<file::SpillFile>(directory_);
    file_->leave_cache();
  }
  Batch batch = take_for_file();
  const std::uint64_t bytes = std::exchange(memory_bytes_, 0);
  in_writing_bytes_ += bytes;
  lock.unlock();
  std::uint64_t offset = file_->allocate(bytes);
  write(batch, offset);
  for (PreparedShard& each : batch) {
    each.entry.offset = offset;
    offset += each.bytes();
    each.payload = std::vector<std::uint64_t>();  // free before others fill as much again
  }
  lock.lock();
  for (const PreparedShard& each : batch) in_file_.emplace(each.shard, each.entry);
  in_writing_bytes_ -= bytes;
  changed_.notify_all();
}

void KeptShards::write(const Batch& batch, std::uint64_t offset) {
  std::vector<file::WritePiece> pieces;
  pieces.reserve(batch.size());
  for (const PreparedShard& each : batch) pieces.push_back({each.payload.data(), each.bytes()});
  file_->write(offset, pieces);
}

void KeptShards::take_all(const std::function<void(PreparedShard&&)>& take) {
  const std::lock_guard lock(mutex_);
  // The kernel is always asked for this many shards ahead of the one that is read.
  auto ahead = in_file_.cbegin();
  for (int i = 0; i < kShardsAhead && ahead != in_file_.cend(); ++i) will_need((ahead++)->second);
  while (!in_memory_.empty() || !in_file_.empty()) {
    const auto kept = in_memory_.begin();
    const auto spilled = in_file_.begin();
    if (spilled == in_file_.end() || (kept != in_memory_.end() && kept->first < spilled->first)) {
      auto next = in_memory_.extract(kept);
      take(std::move(next.mapped()));
      continue;
    }
    if (ahead != in_file_.cend()) will_need((ahead++)->second);
    take(bring_back(spilled->first, spilled->second));
    in_file_.erase(spilled);
  }
  memory_bytes_ = 0;
}

void KeptShards::will_need(const layout::DirectoryEntry& entry) const {
  file_->will_need(entry.offset, entry.payload_words * sizeof(std::uint64_t));
}

PreparedShard KeptShards::bring_back(std::uint32_t shard, const layout::DirectoryEntry& entry) const {
  PreparedShard prepared{shard, entry, std::vector<std::uint64_t>(entry.payload_words), nullptr};
  file_->read({entry.offset, prepared.bytes(), entry.checksum}, prepared.payload.data());
  file_->give_up(entry.offset, prepared.bytes());
  prepared.entry.offset = 0;
  return prepared;
}

std::uint64_t KeptShards::bytes_spilled() {
  const std::lock_guard lock(mutex_);
  return file_ ? file_->bytes_written() : 0;
}

}  // namespace warpmer::index
