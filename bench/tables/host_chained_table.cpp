// The chained table on the CPU: threads share it.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "tables/chained_table.h"
#include "tables/host_threads.h"
#include "tables/table_lists.h"

namespace warpmer::bench {
namespace {

struct HostAtomics {
  static std::uint32_t load(std::uint32_t* at) {
    return std::atomic_ref(*at).load(std::memory_order_acquire);
  }
  static ChainNode load(ChainNode* at) {
    return {std::atomic_ref(at->element).load(std::memory_order_relaxed), at->next};
  }
  static std::uint32_t compare_and_swap(std::uint32_t* at, std::uint32_t expected, std::uint32_t desired) {
    std::atomic_ref(*at).compare_exchange_strong(expected, desired, std::memory_order_acq_rel,
                                                 std::memory_order_acquire);
    return expected;
  }
  static std::uint64_t exchange(std::uint64_t* at, std::uint64_t desired) {
    return std::atomic_ref(*at).exchange(desired, std::memory_order_relaxed);
  }
};

class HostChainedTable : public TableUnderTest {
 public:
  explicit HostChainedTable(const TablePlan& plan)
      : heads_(table::buckets_for(plan.distinct, plan.load)),
        nodes_(plan.most_pairs),
        supply_(plan.most_pairs) {}

  [[nodiscard]] std::size_t slots() const override { return heads_.size(); }
  [[nodiscard]] std::size_t bytes() const override {
    return heads_.size() * sizeof(std::uint32_t) + supply_.used() * sizeof(ChainNode);
  }
  void clear(std::uint32_t seed) override {
    seed_ = seed;
    std::fill(heads_.begin(), heads_.end(), kNoNode);
    supply_.clear();
  }
  void insert(const Insertions& job) override {
    const auto table = this->table();
    const std::uint32_t nodes = supply_.take(job.size);
    for_each_on_host_threads(
        job.size, [&](std::size_t i) { table.replace(job.pairs[i], nodes + static_cast<std::uint32_t>(i)); });
  }
  bool finish() override { return true; }
  void find(const Lookups& job) override {
    const auto table = this->table();
    for_each_on_host_threads(job.size, [&](std::size_t i) { job.answers[i] = table.find(job.keys[i]); });
  }
  void serve(const Operations& job) override {
    const auto table = this->table();
    const std::uint32_t nodes = supply_.take(job.size);
    for_each_on_host_threads(job.size, [&](std::size_t i) {
      job.answers[i] = table.serve(job.operations[i], nodes + static_cast<std::uint32_t>(i));
    });
  }

 private:
  using Table = ChainedTable<HostAtomics>;

  Table table() {
    return {heads_.data(), Table::BucketOf(static_cast<std::uint32_t>(heads_.size()), seed_), nodes_.data()};
  }

  std::vector<std::uint32_t> heads_;
  std::vector<ChainNode> nodes_;
  NodeSupply supply_;
  std::uint32_t seed_ = 0;
};

constexpr TableEntry kChainedTables[] = {
    {kChainedConfiguration, [](const TablePlan& plan) -> std::unique_ptr<TableUnderTest> {
       return std::make_unique<HostChainedTable>(plan);
     }}};

}  // namespace

const TableList kHostChainedTables = kChainedTables;

}  // namespace warpmer::bench
