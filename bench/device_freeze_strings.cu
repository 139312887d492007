// How fast a GPU freezes counted k-mers into strings, with what counting leaves lying in device memory:
//
//   device_freeze_strings K GENOME_MBP [ROUNDS [BINS_PER_SHARD]]
//
// K-mers are those of a random genome and of reads of it with errors: 30x, 150 bases, 0.5 %. Bins have ranges
// of groups. Prints G k-mers/s, and what reading the k-mers and writing the payload would take by itself. A
// few shards are compared with those of the host.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cub/device/device_radix_sort.cuh>
#include <utility>
#include <vector>

#include "base/error.h"
#include "groups/group_key.h"
#include "kernels/freeze/quick_place.cuh"
#include "kernels/freeze/string_freeze.cuh"
#include "kernels/memory/scan_memory.cuh"
#include "kernels/warps/sorted_search.cuh"

namespace {

using namespace warpmer;
using namespace warpmer::gpu;

constexpr std::uint32_t kThreads = 256, kReadBases = 150, kShards = 1u << kShardBits;
constexpr double kCoverage = 30, kErrorRate = 0.005;

std::uint32_t blocks(std::uint64_t n) { return static_cast<std::uint32_t>(n / kThreads + 1); }

__host__ __device__ std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}
__device__ std::uint32_t genome_base(std::uint64_t position) {
  return static_cast<std::uint32_t>(mixed(position * 0x9E3779B97F4A7C15u + 99) >> 62);
}
template <class Kmer>
struct Entries {
  Kmer* hashes;
  std::uint32_t* counts;
  unsigned long long* size;

  __device__ void add(Kmer kmer, std::uint32_t k, std::uint32_t count) const {
    const unsigned long long at = atomicAdd(size, 1ull);
    hashes[at] = KmerHash<Kmer>(k)(canonical(kmer, k));
    counts[at] = count;
  }
};

/// The k-mers of a genome: some 24 occurrences each.
template <class Kmer>
__global__ void make_genome(Entries<Kmer> out, std::uint32_t k, std::uint64_t genome) {
  const std::uint64_t at = blockIdx.x * std::uint64_t{kThreads} + threadIdx.x;
  if (at + k > genome) return;
  Kmer kmer = 0;
  for (std::uint32_t i = 0; i < k; ++i) kmer = (kmer << 2) | genome_base(at + i);
  std::uint32_t count = 12;
  for (std::uint64_t random = mixed(at ^ 0x5555); random != 0; random >>= 3) count += random & 1;
  out.add(kmer, k, count);
}

/// The k-mers of reads that have an error in them; they occur once. Each of the three errors that a base can
/// have is in one read or in none, so that no two k-mers are equal.
template <class Kmer>
__global__ void make_errors(Entries<Kmer> out, std::uint32_t k, std::uint64_t genome) {
  const std::uint64_t number = blockIdx.x * std::uint64_t{kThreads} + threadIdx.x;
  const std::uint64_t error = number / k, position = kReadBases + error / 3;
  if (position + kReadBases > genome) return;
  const std::uint64_t random = mixed(error ^ 0xABCDEF0123u);
  if (static_cast<std::uint32_t>(random) >= kCoverage * kErrorRate / 3 * 4294967296.0) return;
  const std::uint64_t read = position - (random >> 40) % kReadBases, at = position - number % k;
  if (at < read || at + k > read + kReadBases) return;
  Kmer kmer = 0;
  for (std::uint32_t i = 0; i < k; ++i) {
    const std::uint32_t base = genome_base(at + i) + (at + i == position ? 1 + error % 3 : 0);
    kmer = (kmer << 2) | (base & 3);
  }
  out.add(kmer, k, 1);
}

/// Finds the bin of each k-mer.
template <class Kmer, class Key>
__global__ void find_bins(const Kmer* hashes, std::uint64_t n, groups::GroupKeys<Key, Key> keys,
                          std::uint32_t bins, std::uint32_t* codes, std::uint32_t* numbers) {
  const std::uint64_t i = blockIdx.x * std::uint64_t{kThreads} + threadIdx.x;
  if (i >= n) return;
  const auto place = QuickPlace<Kmer, Key>(keys, true)(hashes[i]);
  const std::uint32_t in_shard =
      static_cast<std::uint32_t>(std::uint64_t{keys.rest(place.key)} * bins >> keys.shape().rest_bits());
  codes[i] = place.shard * bins + in_shard;
  numbers[i] = static_cast<std::uint32_t>(i);
}

template <class Kmer>
__global__ void gather(const Kmer* hashes, const std::uint32_t* counts, const std::uint32_t* numbers,
                       std::uint64_t n, Kmer* out_hashes, std::uint32_t* out_counts) {
  const std::uint64_t i = blockIdx.x * std::uint64_t{kThreads} + threadIdx.x;
  if (i >= n) return;
  out_hashes[i] = hashes[numbers[i]];
  out_counts[i] = counts[numbers[i]];
}

__global__ void begin_bins(const std::uint32_t* codes, std::uint64_t n, std::uint32_t bins,
                           std::uint64_t* begins, std::uint32_t* sizes) {
  const std::uint32_t bin = blockIdx.x * kThreads + threadIdx.x;
  if (bin >= bins) return;
  const auto all = static_cast<std::uint32_t>(n);
  begins[bin] = lower_bound(codes, 0u, all, bin);
  sizes[bin] = upper_bound(codes, 0u, all, bin) - static_cast<std::uint32_t>(begins[bin]);
}

template <class T>
std::vector<T> to_host(const T* from, std::size_t n, cudaStream_t stream) {
  std::vector<T> host(n);
  copy_to_host(host.data(), from, n, stream);
  check(cudaStreamSynchronize(stream), "copying");
  return host;
}

template <class F>
double median_seconds(int rounds, const Stream& stream, F&& f) {
  std::vector<double> times;
  for (int round = 0; round <= rounds; ++round) times.push_back(f());
  std::sort(times.begin() + 1, times.end());
  return times[1 + (times.size() - 1) / 2];
}
template <class F>
double seconds_of(const Stream& stream, F&& f) {
  stream.wait();
  const auto begin = std::chrono::steady_clock::now();
  f();
  stream.wait();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

template <class Kmer, class Key>
class Bench {
 public:
  Bench(std::uint32_t k, std::uint64_t genome, std::uint32_t bins) : k_(k), bins_(bins), keys_(k) {
    make(genome);
    put_in_bins();
  }

  void run(int rounds) {
    measure_copy(rounds);
    freeze_strings(rounds);
  }

 private:
  void make(std::uint64_t genome) {
    // The mean number of k-mers of a read that an error is in.
    const double in_read = static_cast<double>(k_ * (kReadBases - k_ + 1)) / kReadBases;
    const auto expected = static_cast<std::uint64_t>(static_cast<double>(genome) *
                                                     (1 + 1.01 * kCoverage * kErrorRate * in_read));
    made_hashes_.reserve(expected);
    made_counts_.reserve(expected);
    DeviceArray<unsigned long long> size(1);
    fill_bytes(size.data(), 0, 1, stream_);
    const Entries<Kmer> entries{made_hashes_.data(), made_counts_.data(), size.data()};
    make_genome<<<blocks(genome), kThreads, 0, stream_>>>(entries, k_, genome);
    make_errors<<<blocks(3 * genome * k_), kThreads, 0, stream_>>>(entries, k_, genome);
    check_launch("making k-mers");
    n_ = to_host(size.data(), 1, stream_)[0];
    if (n_ > expected) throw InternalError("there are more k-mers than expected");
  }

  void put_in_bins() {
    DeviceArray<std::uint32_t> codes(n_), numbers(n_), sorted_codes(n_), sorted_numbers(n_);
    find_bins<<<blocks(n_), kThreads, 0, stream_>>>(made_hashes_.data(), n_, keys_, bins_, codes.data(),
                                                    numbers.data());
    ScanMemory memory;
    memory.run("sorting", stream_, [&](void* room, std::size_t& bytes, cudaStream_t in) {
      return cub::DeviceRadixSort::SortPairs(room, bytes, codes.data(), sorted_codes.data(), numbers.data(),
                                             sorted_numbers.data(), n_, 0, 32, in);
    });
    hashes_.reserve(n_);
    counts_.reserve(n_);
    gather<<<blocks(n_), kThreads, 0, stream_>>>(made_hashes_.data(), made_counts_.data(),
                                                 sorted_numbers.data(), n_, hashes_.data(), counts_.data());
    const std::uint32_t bins = kShards * bins_;
    begins_.reserve(bins);
    sizes_.reserve(bins);
    big_size_.reserve(1);
    fill_bytes(big_size_.data(), 0, 1, stream_);
    begin_bins<<<blocks(bins), kThreads, 0, stream_>>>(sorted_codes.data(), n_, bins, begins_.data(),
                                                       sizes_.data());
    check_launch("putting k-mers in bins");
    stream_.wait();
    made_hashes_.reset();
    made_counts_.reset();
  }

  [[nodiscard]] CountedView<Kmer> view() const {
    return {hashes_.data(), counts_.data(), 0, begins_.data(), sizes_.data(), {nullptr, big_size_.data()}};
  }

  void measure_copy(int rounds) {
    DeviceArray<Kmer> other(n_);
    const double seconds = median_seconds(rounds, stream_, [&] {
      return seconds_of(stream_, [&] {
        check(cudaMemcpyAsync(other.data(), hashes_.data(), n_ * sizeof(Kmer), cudaMemcpyDeviceToDevice,
                              stream_),
              "copying");
      });
    });
    bandwidth_ = 2 * static_cast<double>(n_ * sizeof(Kmer)) / seconds;
  }

  void freeze_strings(int rounds) {
    const auto freezer = make_string_freezer<Kmer>(KmerParams{k_, true});
    DeviceArray<Kmer> hashes(n_);
    DeviceArray<std::uint32_t> counts(n_);
    DeviceArray<unsigned long long> output;
    CountedShards<Kmer> shards{view(), 0, kShards, bins_, true, n_};
    shards.counted.keys = hashes.data();
    shards.counted.counts = counts.data();
    std::vector<groups::ShardSizes> sizes;
    std::uint64_t words = 0;
    std::vector<double> measuring;
    const double seconds = median_seconds(rounds, stream_, [&] {
      check(cudaMemcpyAsync(hashes.data(), hashes_.data(), n_ * sizeof(Kmer), cudaMemcpyDeviceToDevice,
                            stream_),
            "copying");
      check(cudaMemcpyAsync(counts.data(), counts_.data(), n_ * 4, cudaMemcpyDeviceToDevice, stream_),
            "copying");
      const double measured = seconds_of(stream_, [&] { sizes = freezer->measure(shards, stream_); });
      words = 0;
      for (const groups::ShardSizes& size : sizes) words += size.words;
      output.reserve(words);
      measuring.push_back(measured);
      return measured + seconds_of(stream_, [&] { freezer->write(output.data(), stream_); });
    });
    report("strings", words, seconds);
    std::printf("    up to the sizes %.2f ms\n", 1e3 * *std::min_element(measuring.begin(), measuring.end()));
    const std::vector<unsigned long long> payloads = to_host(output.data(), words, stream_);
    std::uint64_t first = 0;
    for (std::uint32_t shard = 0; shard < kShards; first += sizes[shard++].words) {
      if (shard % 1000 != 7) continue;
      const groups::EncodedShard expected = on_host(shard);
      if (!(expected.sizes == sizes[shard]) ||
          !std::equal(expected.payload.begin(), expected.payload.end(),
                      payloads.begin() + static_cast<std::ptrdiff_t>(first)))
        throw InternalError("shard " + std::to_string(shard) + " differs from the host's");
    }
  }

  /// Makes a shard by the reference.
  groups::EncodedShard on_host(std::uint32_t shard) {
    const std::vector<std::uint64_t> begins = to_host(begins_.data() + shard * bins_, bins_, stream_);
    const std::vector<std::uint32_t> sizes = to_host(sizes_.data() + shard * bins_, bins_, stream_);
    const KmerHash<Kmer> kmer_hash(k_);
    std::vector<std::pair<Key, std::uint64_t>> entries;
    for (std::uint32_t bin = 0; bin < bins_; ++bin) {
      const auto hashes = to_host(hashes_.data() + begins[bin], sizes[bin], stream_);
      const auto counts = to_host(counts_.data() + begins[bin], sizes[bin], stream_);
      for (std::size_t i = 0; i < hashes.size(); ++i) {
        const auto place = keys_.place(kmer_hash.inverse(hashes[i]), true);
        if (place.shard != shard) throw InternalError("a k-mer is in the wrong bin");
        entries.push_back({place.key, counts[i]});
      }
    }
    std::sort(entries.begin(), entries.end());
    std::vector<Key> keys;
    std::vector<std::uint64_t> counts;
    for (const auto& [key, count] : entries) {
      keys.push_back(key);
      counts.push_back(count);
    }
    return groups::KeyEncoder<Key, Key>(k_).encode(keys, counts);
  }

  void report(const char* what, std::uint64_t words, double seconds) const {
    const double bytes = static_cast<double>(n_ * (sizeof(Kmer) + 4) + 8 * words);
    std::printf(
        "k %u, %.1f M k-mers, %s: %.2f ms, %.2f G k-mers/s, %.3f bytes a k-mer; floor %.2f ms at %.0f GB/s\n",
        k_, 1e-6 * static_cast<double>(n_), what, 1e3 * seconds, 1e-9 * static_cast<double>(n_) / seconds,
        8 * static_cast<double>(words) / static_cast<double>(n_), 1e3 * bytes / bandwidth_,
        1e-9 * bandwidth_);
  }

  std::uint32_t k_, bins_;
  groups::GroupKeys<Key, Key> keys_;
  Stream stream_;
  std::uint64_t n_ = 0;
  double bandwidth_ = 0;
  DeviceArray<Kmer> made_hashes_, hashes_;
  DeviceArray<std::uint32_t> made_counts_, counts_, sizes_, big_size_;
  DeviceArray<std::uint64_t> begins_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::printf("usage: %s K GENOME_MBP [ROUNDS [BINS_PER_SHARD]]\n", argv[0]);
    return 2;
  }
  const auto k = static_cast<std::uint32_t>(std::atoi(argv[1]));
  const auto genome = static_cast<std::uint64_t>(1e6 * std::atof(argv[2]));
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 5;
  const std::uint32_t bins = argc > 4 ? static_cast<std::uint32_t>(std::atoi(argv[4])) : 32;
  try {
    if (k <= kMaxNarrowK) {
      Bench<Key64, Key64>(k, genome, bins).run(rounds);
    } else {
      Bench<Key128, Key128>(k, genome, bins).run(rounds);
    }
  } catch (const Error& error) {
    std::fprintf(stderr, "device_freeze_strings: %s\n", error.what());
    return 1;
  }
  return 0;
}
