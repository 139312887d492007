#include "io/blocks/read_ahead.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/thread_without_signals.h"
#include "file/input_error.h"

namespace warpmer::io {
namespace {

/// Counts the threads that are in a place.
class Presence {
 public:
  explicit Presence(std::atomic<unsigned>& count) : count_(count) { ++count_; }
  ~Presence() { --count_; }
  Presence(const Presence&) = delete;
  Presence& operator=(const Presence&) = delete;

 private:
  std::atomic<unsigned>& count_;
};

}  // namespace

ReadAhead::ReadAhead(std::unique_ptr<TextBlockLoader> loader, unsigned threads,
                     const std::atomic<bool>& cancelled, unsigned readers)
    : loader_(std::move(loader)), cancelled_(cancelled), ring_(ring_size(threads, readers)) {
  threads_.reserve(threads);
  try {
    for (unsigned i = 0; i < threads; ++i)
      threads_.push_back(start_thread_without_signals([this] { run(); }));
  } catch (...) {
    // Fewer threads do it too; without any there is no reader.
    if (threads_.empty()) throw;
  }
}

ReadAhead::~ReadAhead() {
  {
    // With the lock, so that no thread is between its look at the flag and its sleep.
    const std::lock_guard<std::mutex> guard(ring_mutex_);
    stopping_ = true;
  }
  is_free_.notify_all();
  loader_->stop();
  for (std::thread& thread : threads_) thread.join();
}

void ReadAhead::run() {
  while (!stopping() && produce()) {
  }
}

/// Takes one block through load and work; false when there is nothing left to do.
bool ReadAhead::produce() {
  std::unique_lock<std::mutex> loading(load_mutex_);
  if (is_loaded_to_end_) return false;
  const std::uint64_t number = next_to_load_;
  RingSlot& slot = ring_[number % ring_.size()];
  if (!claim(slot)) return false;
  bool is_used = true;
  try {
    if (!slot.block.text) slot.block.text.reset(new char[loader_->text_capacity()]);
    slot.block.text_size = 0;
    slot.block.has_more = false;
    slot.block.disk_bytes = 0;
    slot.block.is_handed_over = false;
    is_used = loader_->load(slot.block);
    if (!is_used) is_loaded_to_end_ = true;
    next_to_load_ = number + 1;
    loading.unlock();
    if (is_used) loader_->work(slot.block);
  } catch (...) {
    slot.error = std::current_exception();
    slot.block.text_size = 0;
    is_loaded_to_end_ = true;
  }
  if (loading.owns_lock()) loading.unlock();
  {
    const std::lock_guard<std::mutex> guard(ring_mutex_);
    if (is_used) {
      slot.state = SlotState::ready;
      ++ready_count_;
      open_ = slot.block.has_more ? number : kNone;
    } else {
      end_ = number;
    }
  }
  is_ready_.notify_one();
  return is_used;
}

/// Waits until the slot is empty and marks it as being filled; false if there is no more need to.
bool ReadAhead::claim(RingSlot& slot) {
  std::unique_lock<std::mutex> lock(ring_mutex_);
  while (slot.state != SlotState::empty && !stopping()) is_free_.wait_for(lock, file::kCancelCheck);
  slot.state = SlotState::filling;
  slot.block.is_urgent = ready_count_ < ring_.size() / 2;
  return !stopping();
}

/// Takes one block through load and work. To be called under the lock, which is given up meanwhile.
void ReadAhead::produce_as_reader(std::unique_lock<std::mutex>& lock) {
  is_reader_producing_ = true;
  lock.unlock();
  produce();
  lock.lock();
  is_reader_producing_ = false;
}

/// Returns the slot that comes next, filled; null at the end of the stream.
ReadAhead::RingSlot* ReadAhead::await_ready() {
  RingSlot& slot = ring_[next_to_read_ % ring_.size()];
  std::unique_lock<std::mutex> lock(ring_mutex_);
  while (slot.state != SlotState::ready && next_to_read_ < end_) {
    if (cancelled_.load()) throw file::Cancelled{};
    if (threads_.empty() && !is_reader_producing_) {
      produce_as_reader(lock);
    } else {
      is_ready_.wait_for(lock, file::kCancelCheck);
    }
  }
  return slot.state == SlotState::ready ? &slot : nullptr;
}

/// Waits until the text of the block that is being read is given back, whose place the next one takes.
void ReadAhead::await_return() {
  const RingSlot& slot = ring_[next_to_read_ % ring_.size()];
  std::unique_lock<std::mutex> lock(ring_mutex_);
  while (slot.state == SlotState::lent) {
    if (cancelled_.load()) throw file::Cancelled{};
    is_returned_.wait_for(lock, file::kCancelCheck);
  }
}

/// Makes the slot's text, or the next of its texts, ready.
void ReadAhead::lend(RingSlot& slot, BlockLease& lease) {
  if (slot.error) std::rethrow_exception(slot.error);
  const bool is_first = !is_in_block_;
  is_in_block_ = loader_->hand_over(slot.block);
  lease.text = slot.block.text.get();
  lease.size = slot.block.text_size;
  lease.disk_bytes = is_first ? slot.block.disk_bytes : 0;
  lease.slot = next_to_read_ % ring_.size();
  const std::lock_guard<std::mutex> guard(ring_mutex_);
  slot.state = SlotState::lent;
  slot.has_more = is_in_block_;
  if (is_first) --ready_count_;
  if (!is_in_block_ && open_ == next_to_read_) open_ = kNone;
}

BlockLease ReadAhead::borrow() {
  const Presence presence(borrowing_);
  if (threads_.empty()) {
    // Not behind a block that has more: its rest is decompressed when that is borrowed.
    std::unique_lock<std::mutex> lock(ring_mutex_);
    while (!is_reader_producing_ && ready_count_ < borrowing_ && open_ == kNone && !is_loaded_to_end_ &&
           !stopping())
      produce_as_reader(lock);
  }
  const std::lock_guard<std::mutex> guard(borrow_mutex_);
  BlockLease lease;
  lease.number = next_text_;
  lease.error = failure_;
  lease.is_end = false;
  if (lease.error) return lease;
  if (is_in_block_) await_return();
  RingSlot* const slot = await_ready();
  lease.is_end = slot == nullptr;
  if (lease.is_end) return lease;
  try {
    lend(*slot, lease);
    ++next_text_;
    if (!is_in_block_) ++next_to_read_;
  } catch (...) {
    lease.error = failure_ = std::current_exception();
  }
  return lease;
}

/// Gives the block's place to the one that is to be read a round of the ring later, unless it has more.
void ReadAhead::give_back(const BlockLease& lease) {
  if (lease.is_end || lease.error) return;
  bool has_more = false;
  {
    const std::lock_guard<std::mutex> guard(ring_mutex_);
    RingSlot& slot = ring_[lease.slot];
    has_more = slot.has_more;
    slot.state = has_more ? SlotState::ready : SlotState::empty;
  }
  (has_more ? is_returned_ : is_free_).notify_one();
}

void ReadAhead::copy(const BlockLease& lease, std::size_t begin, std::span<char> into) {
  std::memcpy(into.data(), lease.text + begin, into.size());
}

std::size_t ReadAhead::read(char* into, std::size_t size) {
  while (reading_.size == 0) {
    if (std::exchange(is_reading_, false)) {
      disk_bytes_ += reading_.disk_bytes;
      give_back(reading_);
    }
    reading_ = borrow();
    if (reading_.error) std::rethrow_exception(reading_.error);
    if (reading_.is_end) return 0;
    is_reading_ = true;
  }
  const std::size_t count = std::min(size, reading_.size);
  const std::uint64_t disk_bytes = reading_.disk_bytes * count / reading_.size;
  reading_.disk_bytes -= disk_bytes;
  disk_bytes_ += disk_bytes;
  std::memcpy(into, reading_.text, count);
  reading_.text += count;
  reading_.size -= count;
  return count;
}

}  // namespace warpmer::io
