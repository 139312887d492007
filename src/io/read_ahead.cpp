#include "io/read_ahead.h"

#include <algorithm>
#include <cstring>

#include "io/input_error.h"
#include "io/quiet_thread.h"

namespace warpmer::io {
ReadAhead::ReadAhead(std::unique_ptr<PortionLoader> loader, unsigned threads,
                     const std::atomic<bool>& cancelled)
    : loader_(std::move(loader)), cancelled_(cancelled), ring_(ring_size(threads)) {
  threads_.reserve(threads);
  try {
    for (unsigned i = 0; i < threads; ++i) threads_.push_back(start_quiet_thread([this] { run(); }));
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

/// Takes one portion through load and work; false when there is nothing left to do.
bool ReadAhead::produce() {
  std::unique_lock<std::mutex> loading(load_mutex_);
  if (is_loaded_to_end_) return false;
  const std::uint64_t number = next_to_load_;
  Slot& slot = ring_[number % ring_.size()];
  if (!claim(slot)) return false;
  bool is_used = true;
  try {
    if (!slot.portion.text) slot.portion.text.reset(new char[loader_->text_capacity()]);
    slot.portion.text_size = 0;
    slot.portion.disk_bytes = 0;
    slot.portion.is_handed_over = false;
    is_used = loader_->load(slot.portion);
    if (!is_used) is_loaded_to_end_ = true;
    next_to_load_ = number + 1;
    loading.unlock();
    if (is_used) loader_->work(slot.portion);
  } catch (...) {
    slot.error = std::current_exception();
    slot.portion.text_size = 0;
    is_loaded_to_end_ = true;
  }
  if (loading.owns_lock()) loading.unlock();
  {
    const std::lock_guard<std::mutex> guard(ring_mutex_);
    if (is_used) {
      slot.state = SlotState::ready;
      ++ready_count_;
    } else {
      end_ = number;
    }
  }
  is_ready_.notify_one();
  return is_used;
}

/// Waits until the slot is empty and marks it as being filled; false if there is no more need to.
bool ReadAhead::claim(Slot& slot) {
  std::unique_lock<std::mutex> lock(ring_mutex_);
  while (slot.state != SlotState::empty && !stopping()) is_free_.wait_for(lock, kCancelCheck);
  slot.state = SlotState::filling;
  slot.portion.is_urgent = ready_count_ < ring_.size() / 2;
  return !stopping();
}

/// The slot that comes next, filled; null at the end of the stream.
ReadAhead::Slot* ReadAhead::await_ready() {
  Slot& slot = ring_[next_to_read_ % ring_.size()];
  std::unique_lock<std::mutex> lock(ring_mutex_);
  while (slot.state != SlotState::ready && next_to_read_ < end_) {
    if (cancelled_.load()) throw Cancelled{};
    is_ready_.wait_for(lock, kCancelCheck);
  }
  return slot.state == SlotState::ready ? &slot : nullptr;
}

/// Comes to the next portion; false at the end of the stream.
bool ReadAhead::begin_portion() {
  Slot* slot = await_ready();
  if (slot == nullptr) return false;
  if (slot->error) std::rethrow_exception(slot->error);
  reading_ = &slot->portion;
  disk_bytes_ += reading_->disk_bytes;
  return true;
}

/// Gives the portion's place to the one that is to be read a round of the ring later.
void ReadAhead::end_portion() {
  reading_ = nullptr;
  {
    const std::lock_guard<std::mutex> guard(ring_mutex_);
    ring_[next_to_read_++ % ring_.size()].state = SlotState::empty;
    --ready_count_;
  }
  is_free_.notify_one();
}

std::size_t ReadAhead::read(char* into, std::size_t size) {
  while (reading_ == nullptr || read_in_portion_ == reading_->text_size) {
    if (reading_ == nullptr && !begin_portion()) return 0;
    read_in_portion_ = 0;
    if (!loader_->hand_over(*reading_)) end_portion();
  }
  const std::size_t count = std::min(size, reading_->text_size - read_in_portion_);
  std::memcpy(into, reading_->text.get() + read_in_portion_, count);
  read_in_portion_ += count;
  return count;
}

}  // namespace warpmer::io
