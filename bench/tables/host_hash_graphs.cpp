// HashGraphs on the CPU.

#include <cstdint>
#include <memory>
#include <vector>

#include "tables/hash_graph_tables.h"
#include "tables/host_hash_graph.h"
#include "tables/host_threads.h"
#include "tables/table_lists.h"

namespace warpmer::bench {
namespace {

class HostHashGraph : public TableUnderTest {
  using Graph = HashGraph<Key32, std::uint32_t>;

 public:
  HostHashGraph(const HashGraphKind& kind, const TablePlan& plan)
      : kind_(kind),
        buckets_(table::buckets_for(plan.most_pairs, plan.load)),
        keys_(plan.most_pairs),
        values_(plan.most_pairs),
        matches_(plan.most_pairs) {}

  [[nodiscard]] std::size_t slots() const override { return buckets_; }
  [[nodiscard]] std::size_t bytes() const override {
    return (std::size_t{buckets_} + 1) * sizeof(Graph::Offset) +
           graph_.entries * (sizeof(Key32) + sizeof(std::uint32_t));
  }
  void clear(std::uint32_t seed) override {
    seed_ = seed;
    graph_ = build(nullptr, nullptr, 0);
  }
  void prepare(const Insertions& job) override {
    for_each_on_host_threads(job.size, [&](std::size_t i) {
      keys_[i] = table::key_of(job.pairs[i]);
      values_[i] = table::count_of(job.pairs[i]);
    });
  }
  void insert(const Insertions& job) override {
    distinct_ = job.distinct;
    graph_ = build(keys_.data(), values_.data(), job.size);
  }
  bool finish() override { return true; }
  void find(const Lookups& job) override {
    for_each_on_host_threads(job.size, [&](std::size_t i) { matches_[i] = {}; });
    if (kind_.probes_new) {
      const Graph queries = build(job.keys, nullptr, job.size);
      probe_new(graph_.view(), queries.view(), host_threads(),
                [&](unsigned, table::EntryRange asked, table::EntryRange found) {
                  for (std::uint64_t q = asked.first; q < asked.last; ++q)
                    matches_[queries.values[q]].add(found);
                });
    } else {
      probe_standard(graph_.view(), job.keys, job.size, host_threads(),
                     [&](unsigned, std::size_t i, table::EntryRange found) { matches_[i].add(found); });
    }
  }
  void collect(const Lookups& job) override {
    for (std::size_t i = 0; i < job.size; ++i) {
      job.answers[i] =
          answer_of_matches(matches_[i].first, matches_[i].count, distinct_, graph_.values.get());
    }
  }

 private:
  struct Matches {
    std::uint32_t first = 0, count = 0;
    void add(table::EntryRange found) {
      if (count == 0) first = static_cast<std::uint32_t>(found.first);
      count += static_cast<std::uint32_t>(found.size());
    }
  };

  [[nodiscard]] Graph build(const Key32* keys, const std::uint32_t* values, std::size_t n) const {
    return build_hash_graph(keys, values, n, table::HashedBucket<Key32>(buckets_, seed_),
                            {kind_.version, kind_.grouped, host_threads(), kind_.bins});
  }

  HashGraphKind kind_;
  std::uint32_t buckets_;
  std::uint32_t seed_ = 0;
  bool distinct_ = true;
  std::vector<Key32> keys_;
  std::vector<std::uint32_t> values_;
  std::vector<Matches> matches_;
  Graph graph_ = build(nullptr, nullptr, 0);
};

template <int kNumber>
constexpr TableEntry entry() {
  return {hash_graph_configuration(kHashGraphKinds[kNumber]),
          [](const TablePlan& plan) -> std::unique_ptr<TableUnderTest> {
            return std::make_unique<HostHashGraph>(kHashGraphKinds[kNumber], plan);
          }};
}

constexpr TableEntry kHashGraphsTables[] = {entry<0>(), entry<1>(), entry<2>(), entry<3>(), entry<4>(),
                                            entry<5>(), entry<6>(), entry<7>(), entry<8>(), entry<9>()};

}  // namespace

const TableList kHostHashGraphs = kHashGraphsTables;

}  // namespace warpmer::bench
