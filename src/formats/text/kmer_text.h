#pragma once
/// K-mers with counts as text: a line `KMER<TAB>COUNT` for each, or a FASTA record `>COUNT`.

#include <cstdint>
#include <string>
#include <string_view>

#include "formats/stream/kmer_stream.h"
#include "formats/text/text_file.h"
#include "io/text/line_reader.h"

namespace warpmer::formats {

enum class TextForm {
  tsv,    ///< a k-mer, a tab (or a space, as Jellyfish has it), its count
  fasta,  ///< `>COUNT`, and the k-mer on a line of its own
};

/// Reads either form, plain or compressed with gzip or BGZF; which one, the first character says. Characters
/// may be of either case, U is T. Lines are those of io/text/line_reader.h: empty ones and comments ('#') are
/// skipped, blanks around what stands in one are of no matter. A k-mer is given as it is in the text.
class TextSource final : public KmerSource {
 public:
  /// "-" is standard input. `canonical` is what the text does not say. InputError for what cannot be read,
  /// and for a text without any k-mer, from which k would follow.
  TextSource(const std::string& path, bool canonical, unsigned threads);

  std::size_t read(std::span<CountedKmer> out) override;

 private:
  bool next_record(std::string_view& kmer, std::uint64_t& count);
  /// Returns the form that the first line is of.
  [[nodiscard]] TextForm form_of(std::string_view line) const;
  [[nodiscard]] std::uint64_t parse_count(std::string_view text) const;
  [[nodiscard]] Key128 parse_kmer(std::string_view text) const;

  bool is_stream_;  ///< nobody has looked at what is in it
  io::LineReader lines_;
  TextForm form_ = TextForm::tsv;
  bool is_form_known_ = false;
  CountedKmer first_{};  ///< read ahead, to know k
  bool has_first_ = false;
};

class TextSink final : public KmerSink {
 public:
  /// "-" is standard output. `threads`: for compression, where the name asks for it.
  TextSink(const std::string& path, TextForm form, const StreamFacts& facts, unsigned threads)
      : output_(path, threads), form_(form), k_(facts.k), so_far_{0, facts.distinct} {}

  void encode(std::span<const CountedKmer> kmers, EncodedKmers& to) const override;
  void append(const EncodedKmers& encoded) override;
  void finish() override { output_.finish(); }

 private:
  TextFile output_;
  TextForm form_;
  std::uint32_t k_;
  Progress so_far_;  ///< progress in k-mers
};

}  // namespace warpmer::formats
