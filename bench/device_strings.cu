// How fast a GPU looks super-k-mers up in strings of groups (src/groups), with what cutting gives lying in
// device memory:
//
//   device_strings INDEX READS [ROUNDS]
//
// Threads look at the first string of each; blocks put together what is not done then. Prints G k-mers/s for
// membership and for counts that are written for each k-mer.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "group_shards.h"
#include "groups/flanked_cut.h"
#include "groups/string_lookup.h"
#include "index/index_file.h"

namespace {

using namespace warpmer;
using namespace warpmer::bench;

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "device_strings: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

template <class T>
T* to_device(const std::vector<T>& host) {
  T* device = nullptr;
  check(cudaMalloc(&device, host.size() * sizeof(T)));
  check(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}

template <class Flanks>
struct Query {
  FlankedSuperKmer<Flanks> super;
  std::uint32_t shard, rest;
  std::uint64_t answers_at;
};

/// Queries of a block, of which each thread looks at the first string of some, and those that
/// are not done then are looked up by full warps.
constexpr int kQueriesPerThread = 8, kThreads = 128, kPerBlock = kQueriesPerThread * kThreads;

template <class Flanks, bool kCounts>
__global__ void __launch_bounds__(kThreads)
    find(const ShardBits* shards, const Query<Flanks>* queries, std::uint64_t n, std::uint32_t* answers,
         unsigned long long* found) {
  __shared__ std::uint32_t left[kQueriesPerThread * kThreads];
  __shared__ std::uint32_t left_size;
  if (threadIdx.x == 0) left_size = 0;
  __syncthreads();
  const std::uint64_t first = blockIdx.x * std::uint64_t{kQueriesPerThread * kThreads};
  std::uint32_t mine = 0;
  Query<Flanks> query;
  const auto note = [&](std::uint32_t at, std::uint32_t number, const StringCounts& counts,
                        std::uint32_t from) {
    if constexpr (kCounts) {
      for (std::uint32_t j = 0; j < number; ++j)
        answers[query.answers_at + at + j] = static_cast<std::uint32_t>(counts[from + j]);
    }
  };
  for (std::uint32_t i = threadIdx.x; i < kQueriesPerThread * kThreads && first + i < n; i += kThreads) {
    query = queries[first + i];
    StringSearch<Flanks> search(shards[query.shard], query.rest, query.super);
    if (!search.is_done()) search.compare_next(note);
    if (search.is_done()) {
      mine += search.answered();
    } else {
      left[atomicAdd(&left_size, 1u)] = i;
    }
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < left_size; i += kThreads) {
    query = queries[first + left[i]];
    mine += find_super_kmer(shards[query.shard], query.rest, query.super, note);
  }
  mine = __reduce_add_sync(~0u, mine);
  if (threadIdx.x % 32 == 0) atomicAdd(found, static_cast<unsigned long long>(mine));
}

template <class Key, class Flanks>
void run(const index::IndexFile& file, const std::string& path, int rounds) {
  const std::uint32_t k = file.params().k;
  const GroupShape shape(k);
  const GroupHash hash(shape.m);
  BuildReport report;
  const Built<Flanks> built =
      build<Key, Flanks>(file, std::max(1u, std::thread::hardware_concurrency()), report);
  std::vector<std::uint64_t> payload;
  std::vector<std::size_t> begins;
  for (const EncodedShard& shard : built.shards) {
    begins.push_back(payload.size());
    payload.insert(payload.end(), shard.payload.begin(), shard.payload.end());
  }
  const std::uint64_t* words = to_device(payload);
  const FlankLengths* lengths = to_device(built.lengths);
  std::vector<ShardBits> views;
  for (std::size_t i = 0; i < built.shards.size(); ++i)
    views.emplace_back(shape, built.shards[i].sizes, words + begins[i], lengths);
  const ShardBits* shards = to_device(views);

  std::vector<Query<Flanks>> queries;
  std::uint64_t kmers = 0;
  FlankedCut<Key, Flanks> cutter(k, file.params().canonical);
  for_each_stretch(path, [&](const std::vector<std::uint8_t>& codes) {
    if (kmers > 400000000) return;
    cutter.cut(codes, [&](const CutSuperKmer<Flanks>& cut) {
      const std::uint32_t id = hash(cut.super.mmer);
      queries.push_back({cut.super, shape.shard_of(id), shape.rest_of(id), kmers});
      kmers += cut.kmers;
    });
  });
  const Query<Flanks>* asked = to_device(queries);
  std::uint32_t* answers = nullptr;
  check(cudaMalloc(&answers, kmers * sizeof(std::uint32_t)));
  check(cudaMemset(answers, 0, kmers * sizeof(std::uint32_t)));
  unsigned long long* found = nullptr;
  check(cudaMalloc(&found, sizeof *found));
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  std::printf("k %u: %zu k-mers in %.1f MB; %zu lookups in %zu super-k-mers\n", k, report.kmers,
              8e-6 * static_cast<double>(payload.size()), kmers, queries.size());
  const auto measure = [&](const char* what, auto kernel) {
    std::vector<float> times;
    for (int round = 0; round <= rounds; ++round) {
      check(cudaMemset(found, 0, sizeof *found));
      check(cudaEventRecord(begin));
      kernel<<<static_cast<unsigned>((queries.size() + kPerBlock - 1) / kPerBlock), kThreads>>>(
          shards, asked, queries.size(), answers, found);
      check(cudaGetLastError());
      check(cudaEventRecord(end));
      check(cudaEventSynchronize(end));
      float ms = 0;
      check(cudaEventElapsedTime(&ms, begin, end));
      if (round > 0) times.push_back(ms);
    }
    std::sort(times.begin(), times.end());
    unsigned long long hits = 0;
    check(cudaMemcpy(&hits, found, sizeof hits, cudaMemcpyDeviceToHost));
    std::printf("  %s: %.1f G k-mers/s, %.2f G super-k-mers/s, %.2f %% found\n", what,
                1e-6 * static_cast<double>(kmers) / times[times.size() / 2],
                1e-6 * static_cast<double>(queries.size()) / times[times.size() / 2],
                100.0 * static_cast<double>(hits) / static_cast<double>(kmers));
  };
  measure("membership", find<Flanks, false>);
  measure("counts", find<Flanks, true>);
  std::vector<std::uint32_t> back(kmers);
  check(cudaMemcpy(back.data(), answers, kmers * sizeof(std::uint32_t), cudaMemcpyDeviceToHost));
  std::uint64_t sum = 0, different = 0;
  for (const std::uint32_t count : back) sum += count;
  for (std::size_t i = 0; i < queries.size(); i += 16) {  // a part of them, on the host
    const Query<Flanks>& query = queries[i];
    find_super_kmer(
        built.views[query.shard], query.rest, query.super,
        [&](std::uint32_t first, std::uint32_t number, const StringCounts& counts, std::uint32_t from) {
          for (std::uint32_t j = 0; j < number; ++j) {
            if (back[query.answers_at + first + j] != static_cast<std::uint32_t>(counts[from + j]))
              ++different;
          }
        });
  }
  std::printf("  sum %zu, %zu differ from the host's\n", sum, different);
  if (different > 0) std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::printf("usage: %s INDEX READS [ROUNDS]\n", argv[0]);
    return 2;
  }
  const index::IndexFile file(argv[1]);
  with_types(file.params().k, [&]<class Key, class Flanks>() {
    run<Key, Flanks>(file, argv[2], argc > 3 ? std::atoi(argv[3]) : 5);
  });
}
