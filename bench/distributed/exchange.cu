// Transpositions of parts that are all of the same size, and nothing else.

#include <vector>

#include "distributed/experiments.h"
#include "distributed/launch.cuh"
#include "host/gpus.h"
#include "kernels/exchange/transposition.cuh"
#include "kernels/memory/current_device.cuh"

namespace warpmer::bench {
namespace {

/// Word `i` of what one device sends another.
WARPMER_HD std::uint64_t word_of_part(std::uint64_t sender, std::uint64_t receiver, std::uint64_t i) {
  return mix64(sender << 56 | receiver << 48 | i);
}

struct WriteWord {
  std::uint64_t sender, receiver;
  std::uint64_t* words;
  __device__ void operator()(std::size_t i) const { words[i] = word_of_part(sender, receiver, i); }
};

struct CheckWord {
  std::uint64_t sender, receiver;
  const std::uint64_t* words;
  unsigned long long* wrong;
  __device__ void operator()(std::size_t i) const {
    if (words[i] != word_of_part(sender, receiver, i)) atomicAdd(wrong, 1ull);
  }
};

/// The arrays that a device sends and gets: a part for each device, its own included, which stays empty.
struct Side {
  explicit Side(std::size_t words) : from(words), to(words), wrong(1) {}
  gpu::Stream stream;
  gpu::DeviceArray<std::uint64_t> from, to;
  gpu::DeviceArray<unsigned long long> wrong;
  gpu::Event begin{gpu::Event::Kind::timing}, end{gpu::Event::Kind::timing};
};

class Exchange {
 public:
  Exchange(const ExchangeSetting& setting, std::size_t words, gpu::SendOrder order)
      : setting_(setting),
        words_(words),
        transposition_(setting.ordinals, setting.through_host ? gpu::Route::host : gpu::Route::direct, order),
        table_(static_cast<std::uint32_t>(setting.ordinals.size())) {
    const std::uint32_t devices = table_.devices();
    sides_.reserve(devices);
    for (std::uint32_t device = 0; device < devices; ++device) {
      sides_.emplace_back(setting.ordinals[device], words * devices);
      shares_.push_back({sides_[device]->from.data(), sides_[device]->to.data(), sides_[device]->stream});
      for (std::uint32_t other = 0; other < devices; ++other)
        table_.size(device, other) = device == other ? 0 : words;
    }
  }

  ExchangeResult run(bool in_ring_order) {
    fill();
    transposition_.run(table_, sizeof(std::uint64_t), shares_);  // once to warm up
    for_each([](Side& side, std::uint32_t) { side.stream.wait(); });
    for_each([](Side& side, std::uint32_t) {
      gpu::fill_bytes(side.to.data(), 0xA5, side.to.size(), side.stream);
      side.stream.wait();
    });
    for_each([](Side& side, std::uint32_t) { side.begin.record(side.stream); });
    for (std::uint32_t round = 0; round < setting_.rounds; ++round)
      transposition_.run(table_, sizeof(std::uint64_t), shares_);
    for_each([](Side& side, std::uint32_t) { side.end.record(side.stream); });
    double seconds = 0;
    for_each([&](Side& side, std::uint32_t) {
      side.stream.wait();
      seconds = std::max<double>(seconds, side.end.seconds_since(side.begin));
    });
    return {words_ * sizeof(std::uint64_t), in_ring_order, transposition_.goes_through_host(),
            seconds / setting_.rounds, count_wrong()};
  }

 private:
  template <class Work>
  void for_each(Work&& work) {
    for (std::uint32_t device = 0; device < table_.devices(); ++device) {
      const gpu::CurrentDevice current(setting_.ordinals[device]);
      work(*sides_[device], device);
    }
  }

  void fill() {
    for_each([&](Side& side, std::uint32_t device) {
      for (std::uint32_t other = 0; other < table_.devices(); ++other) {
        for_each_number("making words", table_.size(device, other),
                        WriteWord{device, other, side.from.data() + table_.send_offset(device, other)},
                        side.stream);
      }
    });
  }
  std::uint64_t count_wrong() {
    std::uint64_t all = 0;
    for_each([&](Side& side, std::uint32_t device) {
      gpu::fill_bytes(side.wrong.data(), 0, 1, side.stream);
      for (std::uint32_t other = 0; other < table_.devices(); ++other) {
        for_each_number("checking words", table_.size(other, device),
                        CheckWord{other, device, side.to.data() + table_.receive_offset(other, device),
                                  side.wrong.data()},
                        side.stream);
      }
      unsigned long long wrong = 0;
      gpu::copy_to_host(&wrong, side.wrong.data(), 1, side.stream);
      side.stream.wait();
      all += wrong;
    });
    return all;
  }

  const ExchangeSetting& setting_;
  std::size_t words_;
  gpu::Transposition transposition_;
  mpi::PartitionTable table_;
  std::vector<gpu::OnOneDevice<Side>> sides_;
  std::vector<gpu::Transposition::Share> shares_;
};

}  // namespace

void run_exchanges(const ExchangeSetting& setting, const std::function<void(const ExchangeResult&)>& keep) {
  for (const std::size_t bytes : setting.part_bytes) {
    for (const bool in_ring_order : {true, false}) {
      const auto order = in_ring_order ? gpu::SendOrder::ring : gpu::SendOrder::same;
      keep(Exchange(setting, bytes / sizeof(std::uint64_t), order).run(in_ring_order));
    }
  }
}

Ordinals usable_gpus() {
  Ordinals ordinals;
  for (const host::Gpu& gpu : host::survey_gpus().gpus) {
    if (gpu.problem.empty()) ordinals.push_back(gpu.ordinal);
  }
  return ordinals;
}

std::string gpu_name(int ordinal) {
  cudaDeviceProp properties{};
  gpu::check(cudaGetDeviceProperties(&properties, ordinal), "asking for the device");
  return properties.name;
}

}  // namespace warpmer::bench
