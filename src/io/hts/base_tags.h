#pragma once
/// Tags of SAM that say something about each base of a read: what becomes of them when bases change.

#include <cstddef>
#include <string>
#include <string_view>

namespace warpmer::io {

/// The bases that remain: `count` of `length`, those from position `first` of the read as it was sequenced.
/// Some of them may have become N.
struct RemainingBases {
  std::size_t length = 0;
  std::size_t first = 0;
  std::size_t count = 0;
};

/// Appends those of a BAM record's tags that are right for the bases that remain. Cut to them are the
/// kinetics of PacBio (fi, fp, ip, pw; and ri, rp, whose first value is that of the last base). Left out are
///
/// - what depends on bases that may have become N: base modifications (MM, ML, MN; Mm, Ml), original
///   qualities (OQ, BQ), second bases and colours (E2, U2, CS, CQ);
/// - where fewer bases remain: the moves of Nanopore (mv), whose length is that of the signal, and each array
///   or string of a tag that SAMtags does not reserve when it has as many values as the read had bases.
///
/// False when a tag is damaged.
[[nodiscard]] bool append_tags(std::string_view tags, const RemainingBases& bases, std::string& to);

/// Does the same for the header line of a FASTA or FASTQ record, in which `samtools fastq -T` and basecallers
/// put tags as SAM writes them, each behind a tab. What would be cut is left out.
void append_header(std::string_view header, const RemainingBases& bases, std::string& to);

}  // namespace warpmer::io
