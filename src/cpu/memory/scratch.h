#pragma once
/// Working memory that is reused from shard to shard.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace warpmer::cpu {

/// Memory that is not initialised and only grows.
template <class T>
class Scratch {
 public:
  /// Returns room for `n` elements; what was there is lost when it grows.
  T* get(std::size_t n) {
    if (n > capacity_) {
      clear();
      const std::size_t capacity = capacity_for(n);
      data_.reset(static_cast<T*>(::operator new[](capacity * sizeof(T), kAlignment)));
      capacity_ = capacity;
    }
    return data_.get();
  }
  /// Returns room for `n` elements, of which the first `kept` stay.
  T* grow(std::size_t n, std::size_t kept) {
    if (n > capacity_) {
      Scratch larger;
      std::copy_n(data(), kept, larger.get(n));
      swap(larger);
    }
    return data_.get();
  }
  [[nodiscard]] T* data() const { return data_.get(); }
  /// Returns what room for `n` elements takes.
  [[nodiscard]] static std::uint64_t bytes_for(std::size_t n) { return capacity_for(n) * sizeof(T); }
  [[nodiscard]] std::uint64_t bytes() const { return capacity_ * sizeof(T); }
  /// Gives the memory back.
  void clear() {
    data_.reset();
    capacity_ = 0;
  }
  void swap(Scratch& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(capacity_, other.capacity_);
  }

 private:
  static std::size_t capacity_for(std::size_t n) { return std::bit_ceil(n); }

  static constexpr std::align_val_t kAlignment{std::max<std::size_t>(64, alignof(T))};
  struct DeleteElements {
    void operator()(T* p) const { ::operator delete[](p, kAlignment); }
  };
  std::unique_ptr<T[], DeleteElements> data_;
  std::size_t capacity_ = 0;
};

}  // namespace warpmer::cpu
