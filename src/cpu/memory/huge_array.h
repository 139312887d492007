#pragma once
/// Large arrays that are written all over.

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/memory_text.h"
#include "system/huge_pages.h"

namespace warpmer::cpu {

/// `size` elements, all zero bytes. ResourceError without memory.
template <class T>
class HugeArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  HugeArray() = default;
  explicit HugeArray(std::size_t size) : bytes_(size * sizeof(T)) {
    if (size == 0) return;
    data_ = reinterpret_cast<T*>(system::map_huge_pages(bytes_));
    if (data_ == nullptr) {
      throw ResourceError("the system has no " + mebibytes_needed(bytes_) + " of memory for k-mers (" +
                          std::strerror(errno) + "); lower -m or free memory");
    }
  }
  ~HugeArray() {
    if (data_ != nullptr) system::unmap_huge_pages(data_, bytes_);
  }
  HugeArray(HugeArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  HugeArray& operator=(HugeArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  [[nodiscard]] T* data() const { return data_; }

 private:
  T* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace warpmer::cpu
