#pragma once
/// Memory that threads share: who finds too little of it waits.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace warpmer {

/// Bytes that are set aside for one purpose, and held for a while. Who comes first gets them first: else one
/// that wants much would wait while many others get the little that they want. Thread-safe. It counts; it
/// allocates nothing.
class ByteRoom {
 public:
  explicit ByteRoom(std::uint64_t bytes) : bytes_(bytes) {}

  /// Holds bytes; waits until others have given back enough. For more than there are, more are set aside from
  /// then on. A thread that holds some waits for no more of them.
  class Held {
   public:
    Held(ByteRoom& room, std::uint64_t bytes) : room_(room), bytes_(bytes) {
      std::unique_lock lock(room_.mutex_);
      room_.set_aside(bytes_);
      const std::uint64_t number = room_.came_++;
      room_.changed_.wait(lock,
                          [&] { return room_.served_ == number && room_.held_ + bytes_ <= room_.bytes_; });
      ++room_.served_;
      room_.held_ += bytes_;
      room_.changed_.notify_all();
    }
    ~Held() {
      const std::lock_guard lock(room_.mutex_);
      room_.held_ -= bytes_;
      room_.changed_.notify_all();
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

   private:
    ByteRoom& room_;
    const std::uint64_t bytes_;
  };

  /// Sets aside so many, if they are more than before.
  void raise(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    set_aside(bytes);
  }
  /// Returns the bytes that are set aside.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_.load(); }
  /// Returns those of them that are held.
  [[nodiscard]] std::uint64_t held() const { return held_.load(); }

 private:
  void set_aside(std::uint64_t bytes) {
    if (bytes <= bytes_) return;
    bytes_ = bytes;
    changed_.notify_all();  // those that wait may have enough now
  }

  std::mutex mutex_;  ///< held to change what follows
  std::atomic<std::uint64_t> bytes_;
  std::atomic<std::uint64_t> held_{0};
  std::uint64_t came_ = 0, served_ = 0;  ///< how many have wanted some, and have got it
  std::condition_variable changed_;
};

}  // namespace warpmer
