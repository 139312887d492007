#pragma once
/// Jellyfish's text databases (`jellyfish count --text`): a header, and a line `KMER COUNT` for each k-mer.

#include <cstdint>
#include <memory>
#include <string>

#include "file/mapped_input.h"
#include "file/output/buffered_output.h"
#include "formats/jellyfish/jellyfish_header.h"
#include "formats/stream/kmer_stream.h"

namespace warpmer::formats {

/// Reads k-mers in the order of the file, also those with a count of 0.
class JellyfishTextSource final : public KmerSource {
 public:
  /// InputError for files that are no such database; from `read` for lines that are none.
  explicit JellyfishTextSource(std::unique_ptr<file::MappedInput> file);

  std::size_t read(std::span<CountedKmer> out) override;

 private:
  std::unique_ptr<file::MappedInput> file_;
  std::uint64_t at_ = 0;  ///< offset of the next line
};

/// Writes k-mers that come in the order of jellyfish_order.h.
class JellyfishTextSink final : public KmerSink {
 public:
  /// `position_bits` are those of the order, for the header.
  JellyfishTextSink(const std::string& path, const StreamFacts& facts, const JellyfishCall& made_by,
                    std::uint32_t position_bits);

  void encode(std::span<const CountedKmer> kmers, EncodedKmers& to) const override;
  void append(const EncodedKmers& encoded) override { output_.write(encoded.bytes.text()); }
  [[nodiscard]] std::uint32_t position_bits() const override { return position_bits_; }
  void finish() override { output_.finish(); }

 private:
  file::BufferedOutput output_;
  std::uint32_t k_, position_bits_;
};

}  // namespace warpmer::formats
