#include "cli/personalities/changed_reads.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "cli/personalities/named_jobs.h"
#include "file/output/buffered_output.h"
#include "io/input_set.h"

namespace warpmer::cli {
namespace {

bool are_alike(char a, char b) { return std::toupper(a) == std::toupper(b); }

/// A FASTA file without names, a line for each sequence.
class ReadsFile {
 public:
  ReadsFile(const std::string& path, const SequenceChange& change) : output_(path), change_(change) {}

  /// Writes the next piece of a sequence, which has no base of the piece before.
  void write(std::string_view bases, std::uint64_t first_base, bool is_last) {
    if (first_base == 0) {
      output_.write(">\n");
      before_ = '\n';
      to_ignore_ = change_.ignored_bases;
    }
    if (change_.is_compressed) bases = compressed(bases);
    const std::uint64_t ignored = std::min<std::uint64_t>(bases.size(), to_ignore_);
    to_ignore_ -= ignored;
    output_.write(bases.substr(ignored));
    if (is_last) output_.write("\n");
  }
  void finish() { output_.finish(); }

 private:
  std::string_view compressed(std::string_view bases) {
    compressed_.clear();
    for (const char base : bases) {
      if (!are_alike(base, before_)) compressed_ += base;
      before_ = base;
    }
    return compressed_;
  }

  file::BufferedOutput output_;
  const SequenceChange change_;
  char before_ = '\n';           ///< the base before, if there is one
  std::uint64_t to_ignore_ = 0;  ///< more bases of this sequence
  std::string compressed_;
};

}  // namespace

void write_changed_reads(const std::vector<std::string>& inputs, const SequenceChange& change,
                         const host::Resources& resources, const std::string& path) {
  ReadsFile reads(path, change);
  io::InputSet input(inputs, sequences_in_order(0, resources));
  io::Batch batch;
  while (input.next(batch)) {
    for (const io::Piece& piece : batch.pieces) reads.write(batch.bases(piece), piece.first_base, piece.last);
  }
  reads.finish();
}

void write_kmers_as_reads(std::span<const std::unique_ptr<formats::KmerSource>> sources,
                          const SequenceChange& change, const std::string& path) {
  ReadsFile reads(path, change);
  for (const auto& source : sources) {
    std::string text(source->facts().k, '\0');
    formats::for_each_kmer(*source, [&](const formats::CountedKmer& each) {
      kmer_to_text(each.kmer, source->facts().k, text.data());
      reads.write(text, 0, true);
    });
  }
  reads.finish();
}

}  // namespace warpmer::cli
