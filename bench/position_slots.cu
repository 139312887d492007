// An experiment: what a slot of a counting table in shared memory holds when k-mers are wider than 64 bits.
// Either the k-mer's hash, claimed by a 128-bit compare and swap, or where in its list it first stood (word
// and offset), with a few bits of its hash: then comparing takes the k-mer from its super-k-mer again, and a
// slot has 8 bytes instead of 20. Prints a table. On an H200 positions were slower in every line, by 1.5
// where k-mers are new and by 3 where they repeat.

#include <algorithm>
#include <cstdio>
#include <optional>
#include <vector>

#include "base/error.h"
#include "command_line.h"
#include "kernels/count/expand.cuh"
#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/persistent_grid.cuh"
#include "kernels/warps/tile_cuda.cuh"
#include "table/warpdrive.h"

namespace {

using namespace warpmer;
using namespace warpmer::gpu;

constexpr int kWords = 4;
constexpr std::uint32_t kThreads = 512;
using Word = SuperKmer<kWords>;

struct Shape {
  std::uint32_t k = 55, lists = 20000, words = 256, kmers_per_word = 16;
  std::uint32_t distinct = 2000;  ///< distinct starts of a list, from which its words are drawn
  std::uint32_t slot_bits = 12;
};

struct Result {
  unsigned long long entries, occurrences, checksum;
  std::uint32_t failed;
};

__host__ __device__ std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// Words of lists, each list with a little genome of its own.
__global__ void make_words_kernel(Word* words, Shape shape) {
  const std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x;
  if (i >= std::uint64_t{shape.lists} * shape.words) return;
  const std::uint64_t list = i / shape.words;
  const std::uint64_t start = mixed(i * 2 + 1) % shape.distinct;
  Word word{};
  for (std::uint32_t at = 0; at < shape.k + shape.kmers_per_word - 1; ++at)
    word.word[at / 32] |= (mixed(list << 32 | (start + at)) >> 62) << (2 * (at % 32));
  word.word[kWords - 1] |= std::uint64_t{shape.kmers_per_word - 1} << 58;
  words[i] = word;
}

__device__ void note(Result* result, Key128 hash, std::uint32_t count) {
  atomicAdd(&result->entries, 1ull);
  atomicAdd(&result->occurrences, static_cast<unsigned long long>(count));
  atomicAdd(&result->checksum,
            static_cast<unsigned long long>(mixed(static_cast<std::uint64_t>(hash) ^ count)));
}

/// Slots that hold hashes: a WarpDrive table as kernels/count/bin_counter.cuh has it.
class HashSlots {
 public:
  static constexpr std::uint32_t kSlotBytes = sizeof(Key128) + sizeof(std::uint32_t);
  __device__ HashSlots(char* shared, const Shape& shape, const Word* /*words*/)
      : slots_{reinterpret_cast<Key128*>(shared),
               reinterpret_cast<std::uint32_t*>(shared + (sizeof(Key128) << shape.slot_bits))},
        size_(1u << shape.slot_bits),
        table_(slots_, shape.slot_bits - 1, 2 * shape.k) {}

  __device__ void clear() {
    for (std::uint32_t i = threadIdx.x; i < size_; i += kThreads) {
      slots_.keys[i] = table::kEmptyKey<Key128>;
      slots_.counts[i] = 0;
    }
  }
  __device__ bool insert(Key128 hash, std::uint32_t /*word*/, std::uint32_t /*offset*/) {
    return table_.insert(tile_, hash, 1).placed;
  }
  __device__ bool entry(std::uint32_t slot, Key128& hash, std::uint32_t& count) const {
    hash = slots_.keys[slot];
    count = slots_.counts[slot];
    return hash != table::kEmptyKey<Key128>;
  }

 private:
  using Tile = CudaTile<Key128, 1, 2>;
  table::Slots<Key128> slots_;
  std::uint32_t size_;
  table::WarpDrive<Tile> table_;
  Tile tile_{cg::tiled_partition<1>(cg::this_thread_block())};
};

/// Slots that hold a count (32 bits), bits of the hash (9), a word's number (18) and an offset in it (5).
/// Probed slot by slot, from the place that the hash has.
class PositionSlots {
 public:
  static constexpr std::uint32_t kSlotBytes = sizeof(std::uint64_t);
  __device__ PositionSlots(char* shared, const Shape& shape, const Word* words)
      : slots_(reinterpret_cast<unsigned long long*>(shared)),
        words_(words),
        k_(shape.k),
        bits_(shape.slot_bits),
        hash_(shape.k) {}

  __device__ void clear() {
    for (std::uint32_t i = threadIdx.x; i < 1u << bits_; i += kThreads) slots_[i] = kEmpty;
  }
  __device__ bool insert(Key128 hash, std::uint32_t word, std::uint32_t offset) {
    const auto tag = static_cast<std::uint32_t>(hash) & 0x1FF;
    const std::uint32_t place = tag << 23 | word << 5 | offset;
    std::uint32_t at = static_cast<std::uint32_t>(hash >> (2 * k_ - bits_));
    for (std::uint32_t probe = 0; probe < 1u << bits_; ++probe, at = (at + 1) & ((1u << bits_) - 1)) {
      unsigned long long now = *const_cast<volatile unsigned long long*>(slots_ + at);
      if (now == kEmpty) {
        now = atomicCAS(slots_ + at, kEmpty, std::uint64_t{place} << 32 | 1);
        if (now == kEmpty) return true;
      }
      const auto there = static_cast<std::uint32_t>(now >> 32);
      if (there >> 23 != tag || hash_at(there) != hash) continue;
      atomicAdd(slots_ + at, 1ull);
      return true;
    }
    return false;
  }
  __device__ bool entry(std::uint32_t slot, Key128& hash, std::uint32_t& count) const {
    const std::uint64_t now = slots_[slot];
    if (now == kEmpty) return false;
    hash = hash_at(static_cast<std::uint32_t>(now >> 32));
    count = static_cast<std::uint32_t>(now);
    return true;
  }

 private:
  static constexpr unsigned long long kEmpty = ~0ull;

  __device__ Key128 hash_at(std::uint32_t place) const {
    Word word;
    const auto* from = reinterpret_cast<const uint4*>(words_ + (place >> 5 & 0x3FFFF));
    auto* to = reinterpret_cast<uint4*>(&word);
    to[0] = from[0];
    to[1] = from[1];
    return hash_(SuperKmerReader<Key128, kWords>(word, k_).canonical(place & 31));
  }

  unsigned long long* slots_;
  const Word* words_;
  std::uint32_t k_, bits_;
  KmerHash<Key128> hash_;
};

/// A block counts a list at a time, and writes its entries out.
template <class Table>
__global__ __launch_bounds__(kThreads) void count_kernel(const SegmentView<kWords>* segment, Shape shape,
                                                         Key128* keys, std::uint32_t* counts, Result* result,
                                                         bool check) {
  extern __shared__ __align__(32) char shared[];
  __shared__ ExpandScratch<kWords> scratch[kThreads / 32];
  __shared__ BinLocator<kWords> places;
  __shared__ std::uint32_t size;
  for (std::uint32_t list = blockIdx.x; list < shape.lists; list += gridDim.x) {
    __syncthreads();
    Table table(shared, shape, segment->words + std::uint64_t{list} * shape.words);
    table.clear();
    places.locate(segment, 1, list, 1);
    if (threadIdx.x == 0) size = 0;
    __syncthreads();
    const BinWords<kWords> words(places);
    Expander<Key128, kWords> expander(scratch[threadIdx.x / 32], shape.k, true);
    const std::uint32_t at_once = (words.size() + kThreads / 32 - 1) / (kThreads / 32);  // at most 32
    for (std::uint32_t first = threadIdx.x / 32 * at_once; first < words.size();
         first += kThreads / 32 * at_once) {
      expander.for_each(words, first, min(first + at_once, words.size()),
                        [&](bool there, Key128 hash, std::uint32_t word, std::uint32_t offset) {
                          if (there && !table.insert(hash, word, offset)) result->failed = 1;
                        });
    }
    __syncthreads();
    for (std::uint32_t slot = threadIdx.x; slot < 1u << shape.slot_bits; slot += kThreads) {
      Key128 hash;
      std::uint32_t count;
      if (!table.entry(slot, hash, count)) continue;
      const std::uint64_t at = (std::uint64_t{list} << shape.slot_bits) + atomicAdd(&size, 1u);
      keys[at] = hash;
      counts[at] = count;
      if (check) note(result, hash, count);
    }
  }
}

template <class Table>
void measure(const char* name, const Shape& shape, const SegmentView<kWords>* segment, Key128* keys,
             std::uint32_t* counts) {
  const Stream stream;
  DeviceArray<Result> result(1);
  const std::size_t bytes = std::size_t{Table::kSlotBytes} << shape.slot_bits;
  const std::uint32_t grid = persistent_grid(count_kernel<Table>, kThreads, bytes);
  const Event begin(Event::Kind::timing), end(Event::Kind::timing);
  Result seen{};
  std::vector<double> seconds;
  for (int round = 0; round < 6; ++round) {  // the first one checks
    fill_bytes(result.data(), 0, 1, stream);
    begin.record(stream);
    count_kernel<Table>
        <<<grid, kThreads, bytes, stream>>>(segment, shape, keys, counts, result.data(), round == 0);
    check_launch("counting");
    end.record(stream);
    end.wait();
    if (round == 0) {
      copy_to_host(&seen, result.data(), 1, stream);
      stream.wait();
    } else {
      seconds.push_back(end.seconds_since(begin));
    }
  }
  std::sort(seconds.begin(), seconds.end());
  const double kmers = double{1} * shape.lists * shape.words * shape.kmers_per_word;
  std::printf("| %s | %u | %u | %u | %.2f | %.2f | %.2f | %llu | %016llx%s |\n", name, 1u << shape.slot_bits,
              grid / 132, shape.distinct,
              static_cast<double>(seen.entries) / shape.lists / (1u << shape.slot_bits),
              seconds[seconds.size() / 2] * 1e3, kmers / seconds[seconds.size() / 2] / 1e9, seen.occurrences,
              seen.checksum, seen.failed != 0 ? " FULL" : "");
}

void run(const Shape& shape) {
  const std::uint64_t n = std::uint64_t{shape.lists} * shape.words;
  DeviceArray<Word> words(n);
  make_words_kernel<<<static_cast<std::uint32_t>((n + 255) / 256), 256>>>(words.data(), shape);
  check_launch("making words");
  std::vector<std::uint32_t> offsets;
  for (std::uint32_t list = 0; list <= shape.lists; ++list) offsets.push_back(list * shape.words);
  DeviceArray<std::uint32_t> device_offsets(offsets.size());
  DeviceArray<SegmentView<kWords>> segment(1);
  const SegmentView<kWords> view{words.data(), device_offsets.data()};
  check(cudaMemcpy(device_offsets.data(), offsets.data(), offsets.size() * 4, cudaMemcpyHostToDevice),
        "copying");
  check(cudaMemcpy(segment.data(), &view, sizeof(view), cudaMemcpyHostToDevice), "copying");
  DeviceArray<Key128> keys(std::size_t{shape.lists} << shape.slot_bits);
  DeviceArray<std::uint32_t> counts(keys.size());
  measure<HashSlots>("hash, 20 bytes", shape, segment.data(), keys.data(), counts.data());
  measure<PositionSlots>("position, 8 bytes", shape, segment.data(), keys.data(), counts.data());
}

}  // namespace

int main(int argc, char** argv) {
  Shape shape;
  bench::CommandLine line("Slots for wide k-mers: hashes against positions");
  line.add_option("-k", shape.k, "length of the k-mers", 49, 64);
  line.add_option("--lists", shape.lists, "lists of words");
  line.add_option("--slot-bits", shape.slot_bits, "binary logarithm of the slots of a table", 8, 14);
  if (const std::optional<int> status = line.parse(argc, argv)) return *status;
  try {
    std::printf(
        "| slot | slots | blocks on a multiprocessor | starts of a list | load | ms | G k-mers/s | "
        "occurrences | checksum |\n");
    std::printf("|---|---|---|---|---|---|---|---|---|\n");
    for (const std::uint32_t distinct : {100000u, 2500u, 300u}) {
      shape.distinct = distinct;
      // So that the load is about two thirds at most.
      shape.words = (2u << shape.slot_bits) / 3 / shape.kmers_per_word * (distinct > 10000 ? 1 : 4);
      if (shape.words > kThreads) shape.words = kThreads;
      run(shape);
    }
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
