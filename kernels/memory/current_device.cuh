#pragma once
/// The GPU that a thread works on, if it works on several.

#include <cuda_runtime.h>

#include <memory>
#include <utility>

#include "kernels/memory/cuda_error.cuh"

namespace warpmer::gpu {

/// Returns CUDA's number of the current device.
inline int current_gpu() {
  int ordinal = 0;
  check(cudaGetDevice(&ordinal), "asking for the device");
  return ordinal;
}

/// Says whether this process has a context on a device, which takes some of its memory until the process
/// ends; true where the driver does not know.
[[nodiscard]] bool has_context(int ordinal) noexcept;

/// Makes a device current that was so before. One without a context, on which the thread has made nothing,
/// does not become current: that would make one, on a GPU that nobody asked for.
void make_current_again(int ordinal) noexcept;

/// Makes a device current in this thread; its destructor makes the earlier one current again.
class CurrentDevice {
 public:
  explicit CurrentDevice(int ordinal) : before_(current_gpu()) {
    check(cudaSetDevice(ordinal), "choosing a GPU");
  }
  ~CurrentDevice() { make_current_again(before_); }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int before_;
};

/// Holds an object with memory, streams or events of one device. This device is current while the object is
/// made and while it is destroyed.
template <class T>
class OnOneDevice {
 public:
  template <class... Arguments>
  explicit OnOneDevice(int ordinal, Arguments&&... arguments) : ordinal_(ordinal) {
    const CurrentDevice current(ordinal);
    object_ = std::make_unique<T>(std::forward<Arguments>(arguments)...);
  }
  ~OnOneDevice() {
    if (object_ == nullptr) return;
    int before = 0;
    cudaGetDevice(&before);
    cudaSetDevice(ordinal_);
    object_.reset();
    make_current_again(before);
  }
  OnOneDevice(OnOneDevice&&) noexcept = default;
  OnOneDevice& operator=(OnOneDevice&&) = delete;

  [[nodiscard]] int ordinal() const { return ordinal_; }
  T& operator*() const { return *object_; }
  T* operator->() const { return object_.get(); }

 private:
  int ordinal_;
  std::unique_ptr<T> object_;
};

}  // namespace warpmer::gpu
