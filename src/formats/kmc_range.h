#pragma once
/// K-mers of a KMC database in lexicographic order, a range of them at a time.

#include <memory>

#include "formats/kmc_database.h"
#include "formats/stream/kmer_stream.h"

namespace warpmer::formats {

/// Reads a range of either form in lexicographic order; a range may be read while others are. The source
/// gives InputError, too, where the k-mers of a bin are not in order.
///
/// The bins of KMC2, some hundreds, have a few k-mers each of what is sorted at a time. All of these are put
/// into about as many buckets by their values, and what few are in a bucket is sorted.
std::unique_ptr<KmerSource> open_kmc_range(std::shared_ptr<const KmcSource> database, const KmerRange& range);

}  // namespace warpmer::formats
