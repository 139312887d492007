#include "cli/output/asked_reads.h"

namespace warpmer::cli {

void AskedReads::add(const io::Batch& batch, const backend::Profile& profile) {
  // Only until there is one: reads without any are few, and no work goes into the others.
  add(batch, has_kmers_.load(std::memory_order_relaxed) || profile.has_kmers());
}

void AskedReads::add(const io::Batch& batch, bool has_kmers) {
  std::uint64_t records = 0, bases = 0;
  for (const io::Piece& piece : batch.pieces) {
    records += piece.last ? 1 : 0;
    bases += piece.length;
  }
  add(backend::ReadTotals{records, bases, has_kmers ? 1u : 0u});
}

void AskedReads::add(const backend::ReadTotals& read) {
  records_.fetch_add(read.records, std::memory_order_relaxed);
  bases_.fetch_add(read.bases, std::memory_order_relaxed);
  if (read.kmers > 0) has_kmers_.store(true, std::memory_order_relaxed);
}

void AskedReads::clear() {
  records_ = 0;
  bases_ = 0;
  has_kmers_ = false;
}

backend::ReadTotals AskedReads::totals() const { return {records_, bases_, has_kmers_ ? 1u : 0u}; }

}  // namespace warpmer::cli
