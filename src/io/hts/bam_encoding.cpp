#include "io/hts/bam_encoding.h"

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "io/compress/little_endian.h"

namespace warpmer::io {
namespace {

/// A CIGAR of more operations does not fit its field, and goes into the tag CG (section 4.2.2).
constexpr std::uint32_t kMostCigarOps = 0xffff;

std::string_view bytes_of(const void* data, std::size_t size) {
  return {static_cast<const char*>(data), size};
}

void append_number(PaddedText& to, std::int64_t value) {
  append_little_endian(to, static_cast<std::uint64_t>(value), 4);
}

constexpr std::string_view kNoMemory = "no memory for the header of a BAM file; give warpmer more memory";

using Header = std::unique_ptr<sam_hdr_t, DestroyBamHeader>;

/// Adds the line to `header`.
std::optional<std::string> encode(sam_hdr_t& header, std::string_view references,
                                  const ProgramLine& program) {
  std::string command_line = program.command_line;
  std::replace_if(
      command_line.begin(), command_line.end(), [](unsigned char c) { return c < ' '; }, ' ');
  if (sam_hdr_add_pg(&header, program.name.c_str(), "VN", program.version.c_str(), "CL", command_line.c_str(),
                     nullptr) != 0) {
    return std::nullopt;
  }
  const std::string_view text(sam_hdr_str(&header), sam_hdr_length(&header));
  std::string bytes;
  bytes.reserve(8 + text.size() + references.size());
  bytes.append("BAM\x01", 4);
  append_little_endian(bytes, text.size(), 4);
  bytes += text;
  bytes += references;
  return bytes;
}

}  // namespace

std::optional<std::string> encode_bam_header(const sam_hdr_t& header, const ProgramLine& program) {
  const Header copy(sam_hdr_dup(&header));
  if (!copy) throw ResourceError(std::string(kNoMemory));
  std::string references;
  const int count = sam_hdr_nref(copy.get());
  append_little_endian(references, static_cast<std::uint64_t>(count), 4);
  for (int i = 0; i < count; ++i) {
    const std::string_view name = sam_hdr_tid2name(copy.get(), i);
    append_little_endian(references, name.size() + 1, 4);
    references.append(name).append(1, '\0');
    append_little_endian(
        references,
        static_cast<std::uint64_t>(std::min<hts_pos_t>(sam_hdr_tid2len(copy.get(), i), UINT32_MAX)), 4);
  }
  return encode(*copy, references, program);
}

std::optional<std::string> encode_bam_header(std::string text, std::string_view references,
                                             const ProgramLine& program) {
  // Bytes behind a zero are not text.
  const Header header(sam_hdr_parse(std::min(text.find('\0'), text.size()), text.c_str()));
  std::string().swap(text);  // that of a large assembly is not kept twice
  return header ? encode(*header, references, program) : std::nullopt;
}

void append_bam_record(const bam1_t& record, PaddedText& to) {
  const bam1_core_t& core = record.core;
  const std::string_view name = bam_get_qname(&record);
  const auto length = static_cast<std::size_t>(core.l_qseq);
  const std::string_view cigar = bytes_of(bam_get_cigar(&record), std::size_t{4} * core.n_cigar);
  const auto tags = static_cast<std::size_t>(bam_get_l_aux(&record));
  const bool is_long = core.n_cigar > kMostCigarOps;
  const std::size_t cigar_bytes = is_long ? 2 * 4 + 8 + cigar.size() : cigar.size();

  append_little_endian(to, 32 + name.size() + 1 + cigar_bytes + (length + 1) / 2 + length + tags, 4);
  append_number(to, core.tid);
  append_number(to, core.pos);
  append_little_endian(to, name.size() + 1, 1);
  append_little_endian(to, core.qual, 1);
  append_little_endian(to, core.bin, 2);
  append_little_endian(to, is_long ? 2 : core.n_cigar, 2);
  append_little_endian(to, core.flag, 2);
  append_little_endian(to, length, 4);
  append_number(to, core.mtid);
  append_number(to, core.mpos);
  append_number(to, core.isize);
  to.append(name);
  to.append({"\0", 1});
  if (is_long) {
    append_little_endian(to, length << BAM_CIGAR_SHIFT | BAM_CSOFT_CLIP, 4);
    const hts_pos_t span = bam_cigar2rlen(static_cast<int>(core.n_cigar), bam_get_cigar(&record));
    append_little_endian(to, static_cast<std::uint64_t>(span) << BAM_CIGAR_SHIFT | BAM_CREF_SKIP, 4);
  } else {
    to.append(cigar);
  }
  to.append(bytes_of(bam_get_seq(&record), (length + 1) / 2));
  to.append(bytes_of(bam_get_qual(&record), length));
  to.append(bytes_of(bam_get_aux(&record), tags));
  if (is_long) {
    to.append("CGBI");
    append_little_endian(to, core.n_cigar, 4);
    to.append(cigar);
  }
}

}  // namespace warpmer::io
