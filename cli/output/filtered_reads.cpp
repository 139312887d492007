#include "cli/output/filtered_reads.h"

#include "cli/output/read_output.h"
#include "file/input_error.h"
#include "io/hts/bam_record.h"
#include "io/text/quality.h"

namespace warpmer::cli {
namespace {

io::BamRecord record_of(const io::Batch& batch, const io::Piece& piece) {
  const std::string_view text(batch.text.data(), batch.text.size());
  return io::BamRecord(text.substr(piece.companion_offset));
}

[[noreturn]] void fail_aligned(const io::Batch& batch, const io::Piece& piece) {
  file::fail_at(
      {batch.file, piece.record, batch.name(piece)},
      "the read is aligned, and its alignment would not fit what --trim or --mask leave of it; give the "
      "reads as they were before (`samtools fastq`, `samtools reset`)");
}

}  // namespace

FilterTotals& FilterTotals::operator+=(const FilterTotals& other) noexcept {
  reads += other.reads;
  reads_kept += other.reads_kept;
  bases += other.bases;
  bases_kept += other.bases_kept;
  bases_masked += other.bases_masked;
  has_kmers = has_kmers || other.has_kmers;
  return *this;
}

KeptReads GroupFilter::filter(const io::ReadGroup& group) {
  KeptReads kept;
  judge(group.first, first_, kept.totals);
  const std::size_t reads = group.first.pieces.size();
  switch (plan_.pairing) {
    case io::Pairing::single:
      for (std::size_t i = 0; i < reads; ++i) {
        if (first_.verdicts[i].passes != plan_.invert) append(first_, i, kept.text[0], kept.totals);
      }
      break;
    case io::Pairing::interleaved:
      for (std::size_t i = 0; i < reads; i += 2) {
        if (!is_pair_kept(first_.verdicts[i], first_.verdicts[i + 1])) continue;
        append(first_, i, kept.text[0], kept.totals);
        append(first_, i + 1, kept.text[plan_.two_outputs ? 1 : 0], kept.totals);
      }
      break;
    case io::Pairing::two_files:
      judge(group.second, second_, kept.totals);
      for (std::size_t i = 0; i < reads; ++i) {
        if (!is_pair_kept(first_.verdicts[i], second_.verdicts[i])) continue;
        append(first_, i, kept.text[0], kept.totals);
        append(second_, i, kept.text[plan_.two_outputs ? 1 : 0], kept.totals);
      }
      break;
  }
  return kept;
}

bool GroupFilter::is_pair_kept(const Verdict& a, const Verdict& b) const {
  const bool passes = plan_.needs_both ? a.passes && b.passes : a.passes || b.passes;
  return passes != plan_.invert;
}

void GroupFilter::judge(const io::Batch& batch, Judged& judged, FilterTotals& totals) {
  judged.batch = &batch;
  const std::size_t reads = batch.pieces.size();
  judged.verdicts.resize(reads);
  if (plan_.needs_counts()) {
    lookup_.profile(batch, judged.profile);
    has_kmers_ = has_kmers_ || judged.profile.has_kmers();
    for (std::size_t i = 0; i < reads; ++i) judged.verdicts[i] = judge_counts(judged, i);
  } else {
    lookup_.summarise(batch, judged.summary);
    for (std::size_t i = 0; i < reads; ++i) {
      const backend::ReadSummary& read = judged.summary.pieces[i];
      has_kmers_ = has_kmers_ || read.kmers > 0;
      judged.verdicts[i] = {plan_.rule.passes({read.kmers, read.found}), {0, batch.pieces[i].length}};
    }
  }
  totals.has_kmers = has_kmers_;
  totals.reads += reads;
  for (const io::Piece& piece : batch.pieces) totals.bases += piece.length;
}

GroupFilter::Verdict GroupFilter::judge_counts(const Judged& judged, std::size_t read) {
  const io::Batch& batch = *judged.batch;
  const io::Piece& piece = batch.pieces[read];
  const std::span<const std::uint64_t> counts = counts_of(judged, read);
  Verdict verdict{plan_.rule.passes(jobs::count_found(counts, plan_.rule)), {0, piece.length}};
  if (plan_.trim) {
    verdict.range = jobs::covered_range(counts, plan_.k, plan_.rule);
    verdict.passes = verdict.passes && verdict.range.length >= plan_.min_length;
  }
  if ((plan_.trim || plan_.mask) && batch.bam_header && record_of(batch, piece).is_aligned())
    fail_aligned(batch, piece);
  return verdict;
}

std::span<const std::uint64_t> GroupFilter::counts_of(const Judged& judged, std::size_t read) {
  const std::span<std::uint64_t> counts = judged.profile.exact(read, counts_);
  if (plan_.min_base_quality) break_at_low_quality(*judged.batch, judged.batch->pieces[read], counts);
  return counts;
}

void GroupFilter::break_at_low_quality(const io::Batch& batch, const io::Piece& piece,
                                       std::span<std::uint64_t> counts) const {
  if (batch.bam_header) {
    const io::BamRecord record = record_of(batch, piece);
    if (piece.length == 0 || record.quality(0) == io::BamRecord::kNoQuality) return;
    jobs::break_at_low_quality(
        counts, plan_.k, [&](std::size_t base) { return record.quality(base) < *plan_.min_base_quality; });
  } else if (batch.is_fastq(piece)) {
    const char lowest = io::lowest_unmasked(plan_.min_base_quality);
    const std::string_view quality = batch.quality(piece);
    jobs::break_at_low_quality(counts, plan_.k, [&](std::size_t base) { return quality[base] < lowest; });
  }
}

void GroupFilter::append(Judged& judged, std::size_t read, std::string& to, FilterTotals& totals) {
  const io::Batch& batch = *judged.batch;
  const io::Piece& piece = batch.pieces[read];
  const jobs::BaseRange& range = judged.verdicts[read].range;
  ++totals.reads_kept;
  totals.bases_kept += range.length;
  if (plan_.names_only) {
    to.append(batch.name(piece)).append(1, '\n');
    return;
  }
  KeptBases kept{batch.bases(piece).substr(range.first, range.length), range.first,
                 range.length == piece.length};
  if (plan_.mask) {
    // No k-mer that is found begins before the range.
    const auto counts = counts_of(judged, read).subspan(range.first);
    masked_.assign(kept.bases);
    const std::size_t masked = jobs::mask_uncovered(counts, plan_.k, plan_.rule, masked_);
    kept.bases = masked_;
    kept.is_whole = kept.is_whole && masked == 0;
    totals.bases_masked += masked;
  }
  // A mate of which nothing is left: an empty read would stop many a program.
  if (plan_.trim && range.length == 0 && !batch.bam_header) kept = {"N", piece.length, false};
  append_read(batch, piece, kept, to);
}

}  // namespace warpmer::cli
