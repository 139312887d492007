// The k-mers of reads by their copies in an assembly, on the CPU.

#include "backend/indexes/copy_session.h"

#include <atomic>
#include <deque>

#include "backend/tally.h"
#include "cpu/sets/sample_groups.h"
#include "cpu/sets/sorted_lists.h"

namespace warpmer::cpu {

namespace {

/// All counts of both.
const std::array<backend::CountBounds, 2> kAllCopies{};

/// One thread's part of a job.
template <class Key>
class CopyWorker {
 public:
  CopyWorker(const std::vector<index::IndexFile>& inputs, MemoryBudget& budget)
      : parts_(inputs, kAllCopies),
        groups_(ShardKeys<Key>(inputs.front().params()).bits()),
        budget_(budget) {}

  void add(std::uint32_t shard) {
    parts_.open(shard);
    for (std::uint64_t part = 0; part < parts_.parts(); ++part) {
      groups_.read(parts_, part, [&](std::size_t, const ListBuffer<Key>&) { account(); });
      account();
      groups_.for_each([&](const Entry* begin, const Entry* end) { add_kmer(begin, end); });
    }
    parts_.close();
  }

  /// Adds its sums to those of all threads.
  void add_to(std::array<backend::Tally, backend::CopySpectrum::kClasses>& tallies,
              backend::CopySpectrum& sums) const {
    for (std::size_t i = 0; i < tallies.size(); ++i) {
      tallies[i].merge(tallies_[i]);
      sums.not_in_reads[i] += sums_.not_in_reads[i];
    }
    sums.kmers += sums_.kmers;
    sums.missing += sums_.missing;
  }

 private:
  using Entry = SampleEntry<Key>;

  void add_kmer(const Entry* begin, const Entry* end) {
    const bool is_in_reads = begin->sample == 0;
    const std::uint64_t copies = end[-1].sample == 1 ? end[-1].count : 0;
    sums_.kmers += copies;
    if (is_in_reads) {
      tallies_[backend::CopySpectrum::class_of(copies)].note(begin->count, 1);
    } else {
      sums_.missing += copies;
      ++sums_.not_in_reads[backend::CopySpectrum::class_of(copies)];
    }
  }

  void account() { budget_.change(held_, groups_.bytes()); }

  ShardParts<Key> parts_;
  SampleGroups<Key> groups_;
  MemoryBudget& budget_;
  std::uint64_t held_ = 0;
  std::array<backend::Tally, backend::CopySpectrum::kClasses> tallies_;
  backend::CopySpectrum sums_{};
};

template <class Key>
class CopyCounter : public backend::CopySession {
 public:
  CopyCounter(const std::vector<index::IndexFile>& inputs, const backend::WorkingMemory& memory)
      : shards_(inputs.front().params().shards()),
        budget_(memory, memory.threads * SampleGroups<Key>::bytes_for(
                                             most_entries_in_part(inputs, wanted_entries(inputs.size())))) {
    for (unsigned t = 0; t < memory.threads; ++t) workers_.emplace_back(inputs, budget_);
  }

  void finish(unsigned thread, const std::function<void()>& shard_done) override {
    for (std::uint32_t shard; (shard = next_shard_.fetch_add(1)) < shards_; shard_done())
      workers_[thread].add(shard);
  }
  void cancel() noexcept override { next_shard_ = shards_; }

  [[nodiscard]] backend::CopySpectrum take_sums() override {
    std::array<backend::Tally, backend::CopySpectrum::kClasses> tallies;
    backend::CopySpectrum sums{};
    for (const CopyWorker<Key>& worker : workers_) worker.add_to(tallies, sums);
    for (std::size_t i = 0; i < tallies.size(); ++i) sums.of_reads[i] = tallies[i].histogram();
    return sums;
  }

 private:
  const std::uint32_t shards_;
  MemoryBudget budget_;
  std::deque<CopyWorker<Key>> workers_;
  std::atomic<std::uint32_t> next_shard_{0};
};

}  // namespace

}  // namespace warpmer::cpu

namespace warpmer::backend {

std::unique_ptr<CopySession> make_cpu_copy_session(const std::vector<index::IndexFile>& inputs,
                                                   const WorkingMemory& memory) {
  if (inputs.front().params().k <= kMaxNarrowK)
    return std::make_unique<cpu::CopyCounter<Key64>>(inputs, memory);
  return std::make_unique<cpu::CopyCounter<Key128>>(inputs, memory);
}

}  // namespace warpmer::backend
