#pragma once
/// Buffers, or whatever else is costly to make, that threads take, use and return.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace warpmer {

/// Makes a buffer when one is wanted and none is idle, up to a number, and keeps as many idle ones as it is
/// told. Thread-safe. A pool outlives what was taken of it.
template <class T>
class BufferPool {
  struct Return {
    BufferPool* pool = nullptr;
    void operator()(T* buffer) const noexcept { pool->return_buffer(std::unique_ptr<T>(buffer)); }
  };

 public:
  /// A buffer that returns to its pool at its end.
  using Lease = std::unique_ptr<T, Return>;
  using Make = std::function<std::unique_ptr<T>()>;
  /// Says which of several idle buffers is taken: the one returned last, whose memory is still in caches, or
  /// the one returned first, for buffers that a device works on for a while after they were returned.
  enum class Order : std::uint8_t { last_returned, first_returned };

  explicit BufferPool(
      Make make = [] { return std::make_unique<T>(); }, std::size_t most = SIZE_MAX,
      Order order = Order::last_returned, std::size_t most_idle = SIZE_MAX)
      : make_(std::move(make)), most_(most), most_idle_(most_idle), order_(order) {}
  /// Makes no more than these buffers, all of which are there from the beginning.
  BufferPool(std::vector<std::unique_ptr<T>> buffers, Order order)
      : most_(buffers.size()), order_(order), idle_(std::move(buffers)), made_(most_) {}

  /// Blocks while all buffers that there may be are taken. Throws what making one throws.
  [[nodiscard]] Lease take() {
    std::unique_lock lock(mutex_);
    returned_.wait(lock, [&] { return !idle_.empty() || made_ < most_; });
    if (idle_.empty()) return make_one(lock);
    const auto taken = order_ == Order::last_returned ? idle_.end() - 1 : idle_.begin();
    Lease lease(taken->release(), Return{this});
    idle_.erase(taken);
    return lease;
  }

  /// Takes a buffer for `work`. One that it leaves by an exception ends: it may be half done.
  template <class Work>
  void use(Work&& work) {
    Lease buffer = take();
    try {
      work(*buffer);
    } catch (...) {
      discard(std::move(buffer));
      throw;
    }
  }

  /// Calls `work(buffer)` for each idle buffer; nobody takes or returns one meanwhile.
  template <class Work>
  void for_each_idle(Work&& work) {
    const std::lock_guard lock(mutex_);
    for (const auto& buffer : idle_) work(*buffer);
  }

  /// Ends a buffer that is not fit to be used again, so that another may be made.
  void discard(Lease&& lease) noexcept {
    { const std::unique_ptr<T> ended(lease.release()); }
    forget_one();
  }

 private:
  Lease make_one(std::unique_lock<std::mutex>& lock) {
    idle_.reserve(made_ + 1);  // so that to return a buffer cannot fail
    ++made_;
    lock.unlock();
    try {
      return Lease(make_().release(), Return{this});
    } catch (...) {
      forget_one();
      throw;
    }
  }
  void forget_one() noexcept {
    const std::lock_guard lock(mutex_);
    --made_;
    returned_.notify_one();
  }
  void return_buffer(std::unique_ptr<T> buffer) noexcept {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < most_idle_) {
      idle_.push_back(std::move(buffer));
    } else {
      --made_;  // the caller ends it, without the lock
    }
    returned_.notify_one();
  }

  const Make make_;
  const std::size_t most_, most_idle_ = SIZE_MAX;
  const Order order_;
  std::mutex mutex_;  ///< guards what follows
  std::condition_variable returned_;
  std::vector<std::unique_ptr<T>> idle_;
  std::size_t made_ = 0;  ///< and not ended
};

}  // namespace warpmer
