#pragma once
/// Owners of what a GPU hands out and takes back: memory, streams, events. Owners are movable and free what
/// they hold; everything works on the current device.

#include <cuda_runtime.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include "kernels/memory/cuda_error.cuh"
#include "kernels/memory/driver_lock.cuh"

namespace warpmer::gpu {

/// Returns the stream in which the memory of the current device is taken and given back. It is never unmade:
/// a thread that ends while its cudaStreamPerThread has frees under way makes the driver unmake that stream,
/// which then may wait for ever for a worker of the driver that waits for this thread (driver 580.159.04).
cudaStream_t memory_stream();

/// The most that the allocator adds to an array on a device.
inline constexpr std::uint64_t kArrayRounding = std::uint64_t{64} << 10;

namespace detail {

/// An array that `Memory` allocates and frees.
template <class T, class Memory>
class Array {
 public:
  Array() = default;
  explicit Array(std::size_t size) : size_(size) {
    if (size > 0) data_ = static_cast<T*>(Memory::allocate(size * sizeof(T)));
  }
  ~Array() { reset(); }
  Array(Array&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Array& operator=(Array&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t bytes() const { return size_ * sizeof(T); }
  [[nodiscard]] T& operator[](std::size_t i) const { return data_[i]; }  ///< host memory only

  void reset() {
    if (data_ != nullptr) Memory::free(data_);
    data_ = nullptr;
    size_ = 0;
  }
  /// Makes room for `size` elements; the contents are lost when it grows.
  void reserve(std::size_t size) {
    if (size <= size_) return;
    reset();
    *this = Array(size);
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Returns the pool of the current device.
inline cudaMemPool_t current_pool() {
  int device = 0;
  cudaMemPool_t pool{};
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetDefaultMemPool(&pool, device), "asking for the memory pool");
  return pool;
}

/// Memory from the device's pool. The pool keeps memory that is given back, so that allocating again costs
/// next to nothing. Memory can be used in any stream; before it is freed, all work on it must be over.
struct OnDevice {
  static void* allocate(std::size_t bytes) {
    keep_freed_memory();
    void* memory = nullptr;
    check(cudaMallocAsync(&memory, bytes, DriverLock::Shared(memory_stream())), "allocating device memory");
    check(cudaStreamSynchronize(memory_stream()), "allocating device memory");
    return memory;
  }
  static void free(void* memory) { cudaFreeAsync(memory, DriverLock::Shared(memory_stream())); }

 private:
  static void keep_freed_memory() {
    std::uint64_t threshold = UINT64_MAX;
    check(cudaMemPoolSetAttribute(current_pool(), cudaMemPoolAttrReleaseThreshold, &threshold),
          "setting up the memory pool");
  }
};

/// Throws the ResourceError for host memory that cannot be pinned.
[[noreturn]] void throw_no_pages(std::size_t bytes);

/// Pages of the host that the GPU can copy from and to by itself.
struct Pinned {
  static void* allocate(std::size_t bytes) {
    const DriverLock::Shared use;
    void* memory = nullptr;
    const cudaError_t status = cudaMallocHost(&memory, bytes);
    if (status == cudaErrorMemoryAllocation) throw_no_pages(bytes);  // it has the name of the GPU's
    check(status, "allocating pinned host memory");
    return memory;
  }
  static void free(void* memory) {
    const DriverLock::Shared use;
    cudaFreeHost(memory);
  }
};

}  // namespace detail

/// Returns the bytes of the current device's memory that can be had: free memory, and memory that was given
/// back to its pool, by an earlier job of this process for example.
inline std::uint64_t available_bytes() {
  // After this, memory that was given back a moment ago has arrived.
  check(cudaStreamSynchronize(memory_stream()), "asking for free memory");
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for free memory");
  std::uint64_t reserved = 0, used = 0;
  const cudaMemPool_t pool = detail::current_pool();
  check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved),
        "asking the memory pool");
  check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used), "asking the memory pool");
  return free + (reserved > used ? reserved - used : 0);
}

/// Returns the part of it that one job takes unasked: some is left for the runtime, and for others that start
/// on the same GPU.
inline std::uint64_t usable_bytes() { return available_bytes() / 16 * 15; }

/// Returns an amount of memory, as text for messages.
inline std::string megabytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }
inline std::string megabytes_up(std::uint64_t bytes) { return megabytes(bytes + (1u << 20) - 1); }

template <class T>
using DeviceArray = detail::Array<T, detail::OnDevice>;
template <class T>
using PinnedArray = detail::Array<T, detail::Pinned>;

class Stream {
 public:
  enum class Priority { usual, high };
  /// Makes a stream. Of kernels that wait for room on the device, those of high priority get it first.
  explicit Stream(Priority priority = Priority::usual) {
    const DriverLock::Shared use;
    int least = 0, greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "creating a stream");
    check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking,
                                       priority == Priority::high ? greatest : least),
          "creating a stream");
  }
  ~Stream() {
    if (stream_ == nullptr) return;
    const DriverLock::Shared use;
    cudaStreamDestroy(stream_);
  }
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&&) = delete;
  operator cudaStream_t() const { return stream_; }
  void wait() const { check(cudaStreamSynchronize(stream_), "waiting for the GPU"); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// A mark in a stream. `timing` events can be subtracted. A thread waits for `polled` events without
/// sleeping; for others it sleeps after a while. Waking up may take longer than the work that it waits for.
class Event {
 public:
  enum class Kind : unsigned {
    ordering = cudaEventDisableTiming | cudaEventBlockingSync,
    polled = cudaEventDisableTiming,
    timing = cudaEventBlockingSync
  };
  explicit Event(Kind kind = Kind::ordering) {
    const DriverLock::Shared use;
    check(cudaEventCreateWithFlags(&event_, static_cast<unsigned>(kind)), "creating an event");
  }
  ~Event() {
    if (event_ == nullptr) return;
    const DriverLock::Shared use;
    cudaEventDestroy(event_);
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&&) = delete;
  operator cudaEvent_t() const { return event_; }
  void record(cudaStream_t stream) const {
    check(cudaEventRecord(event_, DriverLock::Shared(stream)), "marking a stream");
  }
  /// Makes all work that is enqueued in `stream`, of this GPU or another, from now on come after the mark. An
  /// event that was never recorded has no mark.
  void let_follow(cudaStream_t stream) const {
    check(cudaStreamWaitEvent(DriverLock::Shared(stream), event_), "ordering streams");
  }
  void wait() const {
    const auto start = std::chrono::steady_clock::now();
    while (!has_passed()) {
      if (std::chrono::steady_clock::now() - start > kAwake)
        return check(cudaEventSynchronize(event_), "waiting for the GPU");
      std::this_thread::yield();
    }
  }
  [[nodiscard]] bool has_passed() const {
    const cudaError_t state = cudaEventQuery(event_);
    if (state == cudaErrorNotReady) {
      cudaGetLastError();  // or the next launch would seem to have failed
      return false;
    }
    check(state, "asking the GPU");
    return true;
  }
  /// Returns the time between two timing events that have passed.
  [[nodiscard]] float seconds_since(const Event& earlier) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, earlier.event_, event_), "reading the GPU's clock");
    return milliseconds / 1000;
  }

 private:
  static constexpr std::chrono::microseconds kAwake{200};

  cudaEvent_t event_ = nullptr;
};

template <class T>
void copy_to_device(T* to, const T* from, std::size_t n, cudaStream_t stream) {
  check(cudaMemcpyAsync(to, from, n * sizeof(T), cudaMemcpyHostToDevice, DriverLock::Shared(stream)),
        "copying to the GPU");
}
template <class T>
void copy_to_host(T* to, const T* from, std::size_t n, cudaStream_t stream) {
  check(cudaMemcpyAsync(to, from, n * sizeof(T), cudaMemcpyDeviceToHost, DriverLock::Shared(stream)),
        "copying from the GPU");
}
/// Copies between two places that may each be on a GPU or in host memory.
template <class T>
void copy_anywhere(T* to, const T* from, std::size_t n, cudaStream_t stream, const char* doing) {
  check(cudaMemcpyAsync(to, from, n * sizeof(T), cudaMemcpyDefault, DriverLock::Shared(stream)), doing);
}
template <class T>
void fill_bytes(T* at, int value, std::size_t n, cudaStream_t stream) {
  check(cudaMemsetAsync(at, value, n * sizeof(T), DriverLock::Shared(stream)), "filling device memory");
}

}  // namespace warpmer::gpu
