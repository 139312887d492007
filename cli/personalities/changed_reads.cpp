#include "cli/personalities/changed_reads.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "cli/personalities/named_jobs.h"
#include "file/output/buffered_output.h"
#include "io/input_set.h"

namespace warpmer::cli {
namespace {

/// A FASTA file without names, a line for each sequence.
class ReadsFile {
 public:
  ReadsFile(const std::string& path, const ChangeBases& change) : output_(path), change_(change) {}

  void write(std::string_view bases) {
    changed_.assign(bases);
    change_(changed_);
    output_.write(">\n");
    output_.write(changed_);
    output_.write("\n");
  }
  void finish() { output_.finish(); }

 private:
  file::BufferedOutput output_;
  const ChangeBases& change_;
  std::string changed_;
};

}  // namespace

void compress_homopolymers(std::string& bases) {
  const auto alike = [](char a, char b) { return std::toupper(a) == std::toupper(b); };
  bases.erase(std::unique(bases.begin(), bases.end(), alike), bases.end());
}

void write_changed_reads(const std::vector<std::string>& inputs, const ChangeBases& change,
                         const std::string& path) {
  ReadsFile reads(path, change);
  io::InputSet input(inputs, whole_sequences());
  io::Batch batch;
  while (input.next(batch)) {
    for (const io::Piece& piece : batch.pieces) reads.write(batch.bases(piece));
  }
  reads.finish();
}

void write_kmers_as_reads(std::span<const std::unique_ptr<formats::KmerSource>> sources,
                          const ChangeBases& change, const std::string& path) {
  ReadsFile reads(path, change);
  for (const auto& source : sources) {
    std::string text(source->facts().k, '\0');
    formats::for_each_kmer(*source, [&](const formats::CountedKmer& each) {
      kmer_to_text(each.kmer, source->facts().k, text.data());
      reads.write(text);
    });
  }
  reads.finish();
}

}  // namespace warpmer::cli
