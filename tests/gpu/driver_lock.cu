// Kernels that wait for each other, the tests' own and NCCL's, are started on several GPUs, whatever other
// threads ask of the driver meanwhile.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "gpu/device.h"
#include "kernels/exchange/nccl.cuh"
#include "kernels/exchange/rank_carrier.cuh"
#include "kernels/memory/driver_lock.cuh"
#include "kernels/memory/held_memory.cuh"
#include "mpi/process_group.h"

namespace {

using namespace warpmer;

/// Each kernel needs more local memory than the one before.
template <int Number>
__global__ void write_locally_kernel(std::uint32_t* sum) {
  constexpr std::uint32_t kSize = (Number + 1) * 64;
  volatile std::uint32_t local[kSize];
#pragma unroll 1
  for (std::uint32_t i = 0; i < kSize; ++i) local[i * 7 % kSize] = i + threadIdx.x;
  *sum = local[*sum % kSize];
}

using Launch = void (*)(std::uint32_t* sum, cudaStream_t stream);
template <int... Numbers>
std::vector<Launch> launches_of(std::integer_sequence<int, Numbers...>) {
  return {+[](std::uint32_t* sum, cudaStream_t stream) {
    write_locally_kernel<Numbers><<<1, 32, 0, gpu::DriverLock::Shared(stream)>>>(sum);
  }...};
}

/// Threads that do over and over what waits for GPUs: pinned memory, and pools, that grow and shrink; and one
/// for each GPU that launches kernels for the first time, until there are no more.
class Disturbance {
 public:
  explicit Disturbance(const std::vector<int>& gpus) {
    for (const int gpu : gpus) {
      for (int i = 0; i < 3; ++i) threads_.emplace_back([this, gpu, i] { disturb(gpu, i); });
      threads_.emplace_back([this, gpu] { load_kernels(gpu); });
    }
  }
  ~Disturbance() {
    is_over_ = true;
    for (auto& thread : threads_) thread.join();
  }
  [[nodiscard]] std::uint64_t times() const { return times_; }
  /// Gives the others time, which otherwise would find the lock taken again and again; not for ever.
  void wait_for_more(std::uint64_t times) const {
    const std::uint64_t wanted = times_ + times;
    for (int i = 0; i < 1000 && times_ < wanted; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

 private:
  void disturb(int gpu, int number) {
    gpu::check(cudaSetDevice(gpu), "choosing a GPU");
    std::mt19937 random(static_cast<unsigned>(17 * gpu + number));
    while (!is_over_) {
      const std::size_t bytes = std::size_t{1} << (12 + random() % 14);
      const gpu::PinnedArray<char> pinned(bytes);
      // A thread has a stream of its own, which is made and unmade with it.
      std::thread([&] {
        gpu::check(cudaSetDevice(gpu), "choosing a GPU");
        const gpu::DeviceArray<char> device(4 * bytes);
        const gpu::Stream stream;
        gpu::copy_to_device(device.data(), pinned.data(), bytes, stream);
        stream.wait();
      }).join();
      if (random() % 8 == 0) gpu::forget_peak();
      ++times_;
    }
  }
  void load_kernels(int gpu) {
    gpu::check(cudaSetDevice(gpu), "choosing a GPU");
    const gpu::Stream stream;
    gpu::DeviceArray<std::uint32_t> sum(1);
    gpu::fill_bytes(sum.data(), 0, 1, stream);
    for (const Launch launch : launches_of(std::make_integer_sequence<int, 32>())) {
      if (is_over_) break;
      launch(sum.data(), stream);
      stream.wait();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      ++times_;
    }
  }

  std::atomic<bool> is_over_{false};
  std::atomic<std::uint64_t> times_{0};
  std::vector<std::thread> threads_;
};

TEST_CASE("while one thread is alone with the driver, others wait for it") {
  gpu::PinnedArray<char> pinned;
  std::atomic<bool> is_there{false};
  std::thread other;
  {
    const gpu::DriverLock::Exclusive alone;
    const gpu::PinnedArray<char> own(1);  // by this thread itself
    other = std::thread([&] {
      pinned.reserve(1);
      is_there = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    CHECK(!is_there);
  }
  other.join();
  CHECK(is_there);
}

/// Nanoseconds of a GPU's clock after which a kernel gives up.
constexpr std::uint64_t kPatience = 3'000'000'000;

__device__ std::uint64_t nanoseconds() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

/// Waits until kernels on the first `gpus` GPUs have come to this round. In host memory, what each has come
/// to, and how often it has not met the others.
__global__ void meet_kernel(volatile std::uint32_t* come_to, std::uint32_t gpus, std::uint32_t gpu,
                            std::uint32_t round, volatile std::uint32_t* missed) {
  come_to[gpu] = round;
  __threadfence_system();
  const std::uint64_t begin = nanoseconds();
  for (std::uint32_t other = 0; other < gpus; ++other) {
    while (come_to[other] < round) {
      if (nanoseconds() - begin < kPatience) continue;
      missed[gpu] = missed[gpu] + 1;
      return;
    }
  }
}

TEST_CASE("kernels that wait for each other are started while other threads wait for their GPUs") {
  constexpr std::uint32_t kRounds = 20;
  const std::vector<int> ordinals = tests::all_gpus();
  if (ordinals.size() < 2) {
    MESSAGE("skipped: one GPU");
    return;
  }
  const gpu::Peers peers(ordinals);
  const std::uint32_t size = peers.size();
  gpu::PinnedArray<std::uint32_t> come_to(size), missed(size);
  std::fill_n(come_to.data(), size, 0);
  std::fill_n(missed.data(), size, 0);
  std::vector<gpu::OnOneDevice<gpu::Stream>> streams;
  for (const int ordinal : ordinals) streams.emplace_back(ordinal);
  const auto meet = [&](std::uint32_t i, std::uint32_t gpus, std::uint32_t round) {
    const gpu::CurrentDevice current(peers.gpu(i));
    meet_kernel<<<1, 1, 0, gpu::DriverLock::Shared(*streams[i])>>>(come_to.data(), gpus, i, round,
                                                                   missed.data());
    gpu::check_launch("meeting");
  };
  // Loaded, as NCCL's are.
  for (std::uint32_t i = 0; i < size; ++i) meet(i, 0, 0);
  for (const auto& stream : streams) stream->wait();
  const Disturbance disturbance(ordinals);
  for (std::uint32_t round = 1; round <= kRounds; ++round) {
    {
      const gpu::DriverLock::Exclusive alone;
      for (std::uint32_t i = 0; i < size; ++i) {
        meet(i, size, round);
        std::this_thread::sleep_for(std::chrono::milliseconds(3));  // for others to come in between
      }
    }
    for (const auto& stream : streams) stream->wait();
    disturbance.wait_for_more(2);
  }
  for (std::uint32_t i = 0; i < size; ++i) CHECK(missed[i] == 0);
  CHECK(disturbance.times() > 20);
}

/// A GPU of the rank: what it sends to each other one, and gets.
struct OneGpu {
  OneGpu(std::uint32_t gpus, std::size_t bytes) : from(gpus * bytes), to(gpus * bytes), got(gpus * bytes) {}
  gpu::Stream stream;
  gpu::Event gone;
  gpu::DeviceArray<char> from, to;
  gpu::PinnedArray<char> got;
};

TEST_CASE("GPUs of one rank send by NCCL while other threads wait for these GPUs") {
  constexpr std::size_t kBytes = 200'000;
  constexpr int kRounds = 300;
  const std::vector<int> ordinals = tests::all_gpus();
  try {
    gpu::NcclLibrary::open();
  } catch (const ResourceError& error) {
    MESSAGE("skipped: ", error.what());
    return;
  }
  if (ordinals.size() < 2) {
    MESSAGE("skipped: one GPU");
    return;
  }
  gpu::Peers peers(ordinals);
  const auto carrier = gpu::make_rank_carrier(peers, mpi::single_process());
  carrier->connect();
  std::vector<gpu::OnOneDevice<OneGpu>> gpus;
  std::vector<cudaStream_t> streams;
  for (const int ordinal : ordinals) {
    gpus.emplace_back(ordinal, peers.size(), kBytes);
    streams.push_back(gpus.back()->stream);
  }
  const Disturbance disturbance(ordinals);
  const auto said_by = [](int round, std::uint32_t sender, std::uint32_t receiver) {
    return static_cast<char>(static_cast<unsigned>(round) * 31 + sender * 7 + receiver);
  };
  for (int round = 0; round < kRounds; ++round) {
    std::vector<gpu::Move> moves;
    for (std::uint32_t i = 0; i < peers.size(); ++i) {
      const gpu::CurrentDevice current(peers.gpu(i));
      for (std::uint32_t j = 0; j < peers.size(); ++j) {
        char* const from = gpus[i]->from.data() + j * kBytes;
        gpu::fill_bytes(from, said_by(round, i, j), kBytes, streams[i]);
        moves.push_back({i, j, from, gpus[j]->to.data() + i * kBytes, kBytes});
      }
    }
    carrier->carry(moves, streams);
    for (std::uint32_t i = 0; i < peers.size(); ++i) {
      const gpu::CurrentDevice current(peers.gpu(i));
      gpu::copy_to_host(gpus[i]->got.data(), gpus[i]->to.data(), gpus[i]->got.size(), streams[i]);
      gpus[i]->gone.record(streams[i]);
    }
    for (const auto& gpu : gpus) carrier->wait(gpu->gone);
    for (std::uint32_t j = 0; j < peers.size(); ++j) {
      for (std::uint32_t i = 0; i < peers.size(); ++i) {
        const char* const got = gpus[j]->got.data() + i * kBytes;
        const char wanted = said_by(round, i, j);
        REQUIRE(std::all_of(got, got + kBytes, [&](char c) { return c == wanted; }));
      }
    }
  }
  CHECK(disturbance.times() > 100);
}

}  // namespace
