#include "formats/jellyfish/jellyfish_text.h"

#include <fmt/format.h>

#include <charconv>

#include "formats/jellyfish/jellyfish_order.h"

namespace warpmer::formats {

JellyfishTextSource::JellyfishTextSource(std::unique_ptr<file::MappedInput> file) : file_(std::move(file)) {
  const JellyfishHeader header = read_jellyfish_header(*file_, kJellyfishText);
  facts_ = header.facts;
  at_ = header.bytes;
}

std::size_t JellyfishTextSource::read(std::span<CountedKmer> out) {
  const auto bytes = file_->bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::size_t n = 0;
  for (; n < out.size() && at_ < text.size(); ++n) {
    const std::string_view line = text.substr(at_, text.find('\n', at_) - at_);
    const bool has_kmer = line.size() > facts_.k + 1 && line[facts_.k] == ' ' &&
                          kmer_from_text(line.substr(0, facts_.k), out[n].kmer);
    const char* const end = line.data() + line.size();
    const bool is_whole = at_ + line.size() < text.size();
    if (!has_kmer || !is_whole || std::from_chars(line.data() + facts_.k + 1, end, out[n].count).ptr != end) {
      file_->refuse(fmt::format(
          "this Jellyfish database is cut off or damaged: the line at byte {} is no {}-mer with a count", at_,
          facts_.k));
    }
    at_ += line.size() + 1;
  }
  file_->check_size();
  return n;
}

JellyfishTextSink::JellyfishTextSink(const std::string& path, const StreamFacts& facts,
                                     const JellyfishCall& made_by, std::uint32_t position_bits)
    : output_(path), k_(facts.k), position_bits_(position_bits) {
  output_.write(jellyfish_header(facts, position_bits, 0, kJellyfishText, made_by));
}

void JellyfishTextSink::encode(std::span<const CountedKmer> kmers, EncodedKmers& to) const {
  constexpr std::size_t kDigits = 20;
  char* out = to.bytes.reserve(kmers.size() * (k_ + 1 + kDigits + 1));
  for (const CountedKmer& each : kmers) {
    kmer_to_text(each.kmer, k_, out);
    out[k_] = ' ';
    out = std::to_chars(out + k_ + 1, out + k_ + 1 + kDigits, each.count).ptr;
    *out++ = '\n';
  }
  to.bytes.commit(out);
  to.kmers += kmers.size();
}

}  // namespace warpmer::formats
