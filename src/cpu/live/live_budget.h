#pragma once
/// The bytes that a live table holds, and may hold.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>

#include "backend/live/live_table.h"
#include "base/byte_room.h"
#include "base/error.h"
#include "base/memory_text.h"
#include "base/part_of_time.h"
#include "host/limits.h"

namespace warpmer::cpu {

/// The use that memory is wanted for.
enum class LiveUse : std::uint8_t { addition, removal };

/// Thread-safe. A part is set aside for folding, which is how other memory becomes free: at least a
/// sixteenth, and what the largest shard so far takes. Additions leave another part free for removals,
/// which note what they take away until shards are folded: a table that is full can be emptied, unless a
/// shard has come since whose folding takes that part.
class LiveBudget {
 public:
  explicit LiveBudget(std::uint64_t most)
      : most_(most), for_removals_(part_for_removals(most)), folding_(most / 16) {}

  /// Returns the part that additions leave free: a batch is cut there, and at least a shard of it noted.
  static std::uint64_t part_for_removals(std::uint64_t most) {
    constexpr std::uint64_t kEnough = std::uint64_t{4} << 20;
    return std::max(most / 16, std::min(most / 8, kEnough));
  }

  /// Adds bytes if there is room for them.
  [[nodiscard]] bool try_add(std::uint64_t bytes, LiveUse use) {
    const std::uint64_t room = room_for(use);
    std::uint64_t held = held_.load();
    do {
      if (held + bytes > room) return false;
    } while (!held_.compare_exchange_weak(held, held + bytes));
    return true;
  }
  /// True when `bytes` more would find room.
  [[nodiscard]] bool has(std::uint64_t bytes, LiveUse use) const {
    return held_.load() + bytes <= room_for(use);
  }
  /// Adds bytes that are there anyway.
  void add(std::uint64_t bytes) { held_ += bytes; }
  /// Memory freed while others grow is holes, which the allocator keeps: with -m 300M a `watch` of
  /// 5 million k-mers took up to 400 MB. An eighth is less than additions leave free, and giving it back
  /// takes a tenth of the CPU time there; giving back a thirty-second each time took a third. But a batch for
  /// which there is no room frees much each time that it is tried: 8 clients with such batches spent 28 s in
  /// giving it back, and spend 1 s where it takes no more than half of the time (with a tenth of the time,
  /// -m 90M was exceeded by 80 MB).
  void remove(std::uint64_t bytes) {
    const std::uint64_t held = held_ -= bytes, most_kept = most_ / 8;
    if ((kept_ += bytes) < most_kept || held < most_ / 2) return;
    std::call_once(is_short_, host::return_freed_memory_at_once);
    trimming_.try_to_do([&] {
      kept_ = 0;
      host::return_freed_memory();
    });
  }

  /// Sets aside so many bytes for folding. False: that is more than before, and there is no room for it.
  [[nodiscard]] bool set_aside_for_folding(std::uint64_t bytes, LiveUse use) {
    const std::uint64_t now = folding_.bytes();
    if (bytes <= now) return true;
    if (!has(bytes - now, use)) return false;
    folding_.raise(bytes);
    return true;
  }

  [[nodiscard]] std::uint64_t held() const { return held_.load() + folding_.held(); }
  [[nodiscard]] std::uint64_t most() const { return most_; }

  /// Returns the memory to fold in. One that takes more than is set aside gets it alone.
  [[nodiscard]] ByteRoom& folding_room() { return folding_; }

 private:
  [[nodiscard]] std::uint64_t room_for(LiveUse use) const {
    const std::uint64_t others = folding_.bytes() + (use == LiveUse::addition ? for_removals_ : 0);
    return most_ - std::min(most_, others);
  }

  const std::uint64_t most_, for_removals_;
  ByteRoom folding_;  ///< what is set aside
  std::atomic<std::uint64_t> held_{0};
  std::atomic<std::uint64_t> kept_{0};  ///< freed since freed memory was given back to the system
  std::once_flag is_short_;
  PartOfTime trimming_{2};
};

/// Bytes that an owner of memory has told a budget of.
class LiveBytes {
 public:
  LiveBytes() = default;
  LiveBytes(LiveBudget& budget, std::uint64_t bytes) : budget_(&budget), bytes_(bytes) { budget.add(bytes); }
  LiveBytes(LiveBytes&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  LiveBytes& operator=(LiveBytes&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~LiveBytes() {
    if (budget_ != nullptr) budget_->remove(bytes_);
  }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// Says that they are others now.
  void set(std::uint64_t bytes) {
    budget_->add(bytes);
    budget_->remove(std::exchange(bytes_, bytes));
  }
  /// Does so if there is room; else nothing changes.
  [[nodiscard]] bool try_set(std::uint64_t bytes, LiveUse use) {
    if (bytes > bytes_ && !budget_->try_add(bytes - bytes_, use)) return false;
    if (bytes < bytes_) budget_->remove(bytes_ - bytes);
    bytes_ = bytes;
    return true;
  }

 private:
  LiveBudget* budget_ = nullptr;
  std::uint64_t bytes_ = 0;
};

/// Throws the error of a table that has no room for what it takes before anything is in it, for which a plan
/// with `enough` would do. That is what a server leaves of -m, whose eighth is for connections.
[[noreturn]] inline void refuse_live_memory(const backend::LiveTablePlan& plan, std::uint64_t enough) {
  throw ResourceError(fmt::format(
      "a live table of {}-mers takes {} with {} before anything is in it, and {} are left for it; "
      "raise -m by {}{}",
      plan.kmers.k, mebibytes_needed(enough), number_of_threads(plan.threads), mebibytes(plan.memory_bytes),
      mebibytes_needed((enough - plan.memory_bytes) / 7 * 8 + host::kResidentVariation),
      plan.threads > 1 ? " or lower -t" : ""));
}

}  // namespace warpmer::cpu
