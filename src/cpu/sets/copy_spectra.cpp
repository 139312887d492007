// How often k-mers of reads stand in assemblies, on the CPU: the k-mers of all indexes side by side, shard by
// shard.

#include "backend/indexes/copy_spectra.h"

#include <array>
#include <cstdint>
#include <vector>

#include "backend/count_bounds.h"
#include "cpu/sets/sample_groups.h"
#include "cpu/sets/sorted_lists.h"
#include "kmer/kmer.h"

namespace warpmer::cpu {

namespace {

using backend::AssemblySpectra;
using backend::CopySpectrum;

/// A histogram that is quick to add to: most counts are small.
class MultiplicityTally {
 public:
  void add(std::uint64_t count) {
    if (count < kSmallCounts) {
      if (small_.empty()) small_.resize(kSmallCounts);
      ++small_[count];
    } else {
      ++large_[count];
    }
  }
  void add_to(index::Histogram& histogram) const {
    for (std::size_t count = 0; count < small_.size(); ++count) {
      if (small_[count] > 0) histogram[count] += small_[count];
    }
    for (const auto& [count, kmers] : large_) histogram[count] += kmers;
  }

 private:
  static constexpr std::size_t kSmallCounts = 1024;
  std::vector<std::uint64_t> small_;
  index::Histogram large_;
};

/// One thread's sums.
class SpectraSums {
 public:
  SpectraSums(std::size_t sources, std::size_t assemblies)
      : sources_(sources),
        assemblies_(assemblies),
        columns_(assemblies > 1 ? assemblies + 1 : assemblies),
        tallies_(sources_ * columns_ * CopySpectrum::kClasses),
        sums_(columns_),
        copies_(columns_) {}

  /// Adds a k-mer with its counts in those inputs that have it; the first of all inputs are sources.
  template <class Key>
  void add(const SampleEntry<Key>* begin, const SampleEntry<Key>* end) {
    counts_.assign(sources_ + assemblies_, 0);
    for (; begin < end; ++begin) counts_[begin->sample] = begin->count;
    const std::uint64_t reads = counts_[0];
    std::size_t owner = 0;
    if (columns_ > assemblies_) copies_.back() = 0;
    for (std::size_t a = 0; a < assemblies_; ++a) {
      copies_[a] = counts_[sources_ + a];
      owner |= copies_[a] > 0 ? std::size_t{1} << a : 0;
      if (columns_ > assemblies_) copies_.back() += copies_[a];
    }
    for (std::size_t c = 0; c < columns_; ++c) {
      if (copies_[c] == 0) continue;
      sums_[c].kmers += copies_[c];
      if (reads > 0) continue;
      sums_[c].missing += copies_[c];
      ++sums_[c].not_in_reads[CopySpectrum::class_of(copies_[c])];
    }
    if (reads > 0) {
      by_owner_[owner].add(reads);
    } else {
      ++missing_by_owner_[owner];
    }
    for (std::size_t s = 0; s < sources_; ++s) {
      if (counts_[s] == 0) continue;
      for (std::size_t c = 0; c < columns_; ++c)
        tally(s, c, CopySpectrum::class_of(copies_[c])).add(counts_[s]);
    }
  }

  void add_to(AssemblySpectra& all) {
    all.spectra.resize(sources_, std::vector<CopySpectrum>(columns_));
    for (std::size_t c = 0; c < columns_; ++c) {
      for (std::size_t s = 0; s < sources_; ++s) {
        for (std::size_t i = 0; i < CopySpectrum::kClasses; ++i)
          tally(s, c, i).add_to(all.spectra[s][c].of_reads[i]);
      }
      CopySpectrum& of_reads = all.spectra.front()[c];
      of_reads.kmers += sums_[c].kmers;
      of_reads.missing += sums_[c].missing;
      for (std::size_t i = 0; i < CopySpectrum::kClasses; ++i)
        of_reads.not_in_reads[i] += sums_[c].not_in_reads[i];
    }
    for (std::size_t owner = 0; owner < by_owner_.size(); ++owner) {
      by_owner_[owner].add_to(all.by_owner[owner]);
      all.missing_by_owner[owner] += missing_by_owner_[owner];
    }
  }

 private:
  MultiplicityTally& tally(std::size_t source, std::size_t column, std::size_t copies) {
    return tallies_[(source * columns_ + column) * CopySpectrum::kClasses + copies];
  }

  std::size_t sources_, assemblies_, columns_;
  std::vector<MultiplicityTally> tallies_;
  std::vector<CopySpectrum> sums_;     ///< of each column, without histograms
  std::vector<std::uint64_t> counts_;  ///< of a k-mer in each input
  std::vector<std::uint64_t> copies_;  ///< and in each column
  std::array<MultiplicityTally, 4> by_owner_;
  std::array<std::uint64_t, 4> missing_by_owner_{};
};

template <class Key>
AssemblySpectra find_spectra(const std::vector<index::IndexFile>& inputs, std::size_t assemblies,
                             const backend::WorkingMemory& memory, backend::JobProgress& progress) {
  const std::vector<backend::CountBounds> all(inputs.size());
  MemoryBudget budget(memory,
                      memory.threads * SampleGroups<Key>::bytes_for(inputs, wanted_entries(inputs.size())));
  std::vector<SpectraSums> sums(memory.threads, SpectraSums(inputs.size() - assemblies, assemblies));
  sum_up_groups<Key>(
      inputs, all, budget, progress, sums, [](SpectraSums&, std::size_t, const ListBuffer<Key>&) {},
      [](SpectraSums& to, const SampleEntry<Key>* begin, const SampleEntry<Key>* end) {
        to.add(begin, end);
      });
  AssemblySpectra spectra;
  for (SpectraSums& each : sums) each.add_to(spectra);
  return spectra;
}

}  // namespace

}  // namespace warpmer::cpu

namespace warpmer::backend {

AssemblySpectra find_assembly_spectra(const std::vector<index::IndexFile>& inputs, std::size_t assemblies,
                                      const WorkingMemory& memory, JobProgress& progress) {
  return with_key_type(inputs.front().params().k, [&]<class Key>(Key) {
    return cpu::find_spectra<Key>(inputs, assemblies, memory, progress);
  });
}

}  // namespace warpmer::backend
