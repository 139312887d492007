#pragma once
/// Finding out early, without looking k-mers up, which parts of reads may have k-mers of an index.

#include <functional>
#include <memory>

#include "index/index_file.h"
#include "io/text/batch.h"

namespace warpmer::backend {

/// Has scratch memory, and is used by one thread at a time.
class KmerSieve {
 public:
  virtual ~KmerSieve() = default;
  /// Puts the stretches of a batch that may have such k-mers in the place of what is in `passed`. Returns the
  /// number of k-mers that were looked at. InputError for characters that are no nucleotide code, unless
  /// lenient.
  virtual std::uint64_t sift(const io::Batch& batch, io::Batch& passed) = 0;
};

using MakeSieve = std::function<std::unique_ptr<KmerSieve>()>;

/// Returns what makes sieves that share a bitmap of the minimizers in an index. They make none for k of up to
/// kMaxDenseK: there are no minimizers.
MakeSieve cpu_sieves(const index::IndexFile& index, bool is_lenient);

}  // namespace warpmer::backend
