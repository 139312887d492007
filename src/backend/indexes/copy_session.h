#pragma once
/// The k-mers of reads by their copies in an assembly: Merqury's spectra-cn (Rhie, Walenz, Koren, Phillippy
/// 2020).

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "backend/indexes/index_set.h"
#include "index/index_file.h"

namespace warpmer::backend {

struct CopySpectrum {
  /// The last class has all k-mers of more copies than the one before, which has those of 4; the first has
  /// those that the assembly lacks.
  static constexpr std::size_t kClasses = 6;
  static std::size_t class_of(std::uint64_t copies) {
    return static_cast<std::size_t>(std::min<std::uint64_t>(copies, kClasses - 1));
  }

  std::array<index::Histogram, kClasses> of_reads;   ///< distinct k-mers by their count in the reads
  std::array<std::uint64_t, kClasses> not_in_reads;  ///< distinct k-mers of the assembly that the reads lack
  std::uint64_t kmers = 0;                           ///< of the assembly, each as often as it occurs
  std::uint64_t missing = 0;                         ///< those of them that the reads lack

  /// Returns how many distinct k-mers the assembly has of those that the reads have at least so often.
  [[nodiscard]] std::uint64_t found(std::uint64_t least_count) const {
    std::uint64_t sum = 0;
    for (std::size_t copies = 1; copies < kClasses; ++copies) {
      const index::Histogram& kmers_of = of_reads[copies];
      for (auto at = kmers_of.lower_bound(least_count); at != kmers_of.end(); ++at) sum += at->second;
    }
    return sum;
  }
};

/// Goes through two indexes shard by shard.
class CopySession {
 public:
  virtual ~CopySession() = default;
  /// The three do what those of CompareSession do.
  virtual void finish(unsigned thread, const std::function<void()>& shard_done) = 0;
  virtual void cancel() noexcept = 0;
  [[nodiscard]] virtual CopySpectrum take_sums() = 0;
};

/// Makes a session on the CPU (src/cpu), within that memory. `inputs`, which must live as long, are the
/// reads' index and the assembly's, of the same parameters. ResourceError for memory that leaves nothing to
/// work in.
std::unique_ptr<CopySession> make_cpu_copy_session(const std::vector<index::IndexFile>& inputs,
                                                   const WorkingMemory& memory);

}  // namespace warpmer::backend
