// The live table that k asks for, in the tables that the plan asks for.

#include "backend/live/live_table.h"

#include <memory>
#include <string>

#include "backend/index_params.h"
#include "base/error.h"
#include "cpu/live/change_table.h"
#include "cpu/live/dense_live_table.h"
#include "cpu/live/sharded_live_table.h"
#include "cpu/tables/slab_table.h"
#include "cpu/tables/window_table.h"
#include "groups/flanked_word.h"
#include "kmer/minimizer.h"

namespace warpmer::cpu {

namespace {

template <class Memory>
std::unique_ptr<ChangeTable<typename Memory::Table::Key>> make_changes(const Kernels& kernels,
                                                                       std::uint32_t k) {
  return std::make_unique<SchemeChanges<Memory>>(live_kernels<typename Memory::Table>(kernels), k);
}

}  // namespace

template <class Key>
std::unique_ptr<ChangeTable<Key>> make_change_table(const Kernels& kernels, backend::LiveScheme scheme,
                                                    std::uint32_t k) {
  if (scheme == backend::LiveScheme::slab) return make_changes<SlabMemory<Key>>(kernels, k);
  return make_changes<WindowMemory<Key>>(kernels, k);
}
template std::unique_ptr<ChangeTable<Key64>> make_change_table(const Kernels&, backend::LiveScheme,
                                                               std::uint32_t);
template std::unique_ptr<ChangeTable<Key128>> make_change_table(const Kernels&, backend::LiveScheme,
                                                                std::uint32_t);

std::string describe_live(backend::LiveScheme scheme) {
  switch (scheme) {
    case backend::LiveScheme::slab:
      return "slab hashes in front of strings";
    case backend::LiveScheme::warpdrive:
      return "WarpDrive tables in front of strings";
    default:
      return "WarpDrive tables in front of strings, which are faster on CPUs than slab hashes";
  }
}

}  // namespace warpmer::cpu

namespace warpmer::backend {

std::unique_ptr<LiveTable> make_cpu_live_table(const LiveTablePlan& plan) {
  if (plan.base != nullptr) {
    check_params(*plan.base);
    if (plan.base->totals().largest_count > cpu::kMostLiveCount) {
      throw InputError(plan.base->path() +
                       " has a k-mer with a count of 2^62 or more, which a live table cannot hold");
    }
  }
  if (plan.kmers.k <= kMaxDenseK) return cpu::make_dense_live_table(plan);
  return groups::with_flanked_words(plan.kmers.k, [&]<int Words>() -> std::unique_ptr<LiveTable> {
    if constexpr (Words == 2) {
      if (plan.kmers.k <= kMaxNarrowK) return std::make_unique<cpu::ShardedLiveTable<Key64, Words>>(plan);
    }
    return std::make_unique<cpu::ShardedLiveTable<Key128, Words>>(plan);
  });
}

}  // namespace warpmer::backend
