#include "io/hts/bam_source.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "base/error.h"
#include "io/compress/decompressed.h"
#include "io/compress/little_endian.h"
#include "io/hts/bam_encoding.h"

namespace warpmer::io {
namespace {

constexpr std::size_t kNumberBytes = 4;
/// Bytes of a record behind its size and in front of its name.
constexpr std::size_t kFixedBytes = 32;

/// Sets a record's numbers (section 4.2), but for those that say how long its parts are.
void set_fields(std::string_view fixed, bam1_core_t& core) {
  const auto number = [&](std::size_t offset) {
    return static_cast<std::int32_t>(little_endian(fixed, offset, 4));
  };
  core.tid = number(0);
  core.pos = number(4);
  core.qual = static_cast<std::uint8_t>(little_endian(fixed, 9, 1));
  core.bin = static_cast<std::uint16_t>(little_endian(fixed, 10, 2));
  core.flag = static_cast<std::uint16_t>(little_endian(fixed, 14, 2));
  core.mtid = number(20);
  core.mpos = number(24);
  core.isize = number(28);
}

/// The data of a record is memory that htslib reallocates and frees as C does. False if there is none.
bool make_room(bam1_t& record, std::size_t bytes) {
  if (bytes <= record.m_data) return true;
  const std::size_t capacity = bytes + bytes / 4;
  void* const data = std::realloc(record.data, capacity);
  if (data == nullptr) return false;
  record.data = static_cast<std::uint8_t*>(data);
  record.m_data = static_cast<std::uint32_t>(capacity);
  return true;
}

}  // namespace

BamSource::BamSource(std::unique_ptr<file::ByteFile> file, const InputOptions& options, unsigned threads,
                     const std::atomic<bool>& cancelled)
    : AlignmentSource(*file, "BAM", options),
      source_(decompressed(std::move(file), InputContent::bgzf, threads, cancelled)) {}

/// Appends the header's text, and its references as they are in the file, their number first, to whatever of
/// the two is not null.
void BamSource::read_header(std::string* text, std::string* references) {
  std::array<char, 4> magic;
  read_all(magic.data(), magic.size());
  take(read_number(), text);
  references_ = read_number();
  if (references != nullptr) append_little_endian(*references, references_, kNumberBytes);
  for (std::uint32_t i = 0; i < references_; ++i) {
    const std::uint32_t name_bytes = read_number();
    if (references != nullptr) append_little_endian(*references, name_bytes, kNumberBytes);
    take(std::uint64_t{name_bytes} + kNumberBytes, references);  // with the length
  }
  is_at_records_ = true;
}

std::uint32_t BamSource::read_number() {
  std::array<char, kNumberBytes> bytes;
  read_all(bytes.data(), bytes.size());
  return little_endian({bytes.data(), bytes.size()}, 0, kNumberBytes);
}

/// Appends so many bytes to `into`, or passes over them if that is null: of what a damaged number says, no
/// more is ever kept than there is.
void BamSource::take(std::uint64_t bytes, std::string* into) {
  std::array<char, 4096> some;
  while (bytes > 0) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, some.size()));
    read_all(some.data(), count);
    if (into != nullptr) into->append(some.data(), count);
    bytes -= count;
  }
}

std::string BamSource::bam_header(const ProgramLine& program) {
  std::string text, references;
  read_header(&text, &references);
  std::optional<std::string> bytes = encode_bam_header(std::move(text), references, program);
  if (!bytes) fail(kDamagedHeader);
  return *std::move(bytes);
}

bool BamSource::read(bam1_t& record) {
  if (!is_at_records_) read_header(nullptr, nullptr);
  std::array<char, kNumberBytes> size_bytes;
  const std::size_t count = read_up_to(size_bytes.data(), size_bytes.size());
  if (count == 0) return false;
  if (count < size_bytes.size()) fail(kUndecodable);
  const std::uint32_t size = little_endian({size_bytes.data(), size_bytes.size()}, 0, kNumberBytes);
  if (size < kFixedBytes) fail(kUndecodable);
  check_size(size);

  std::array<char, kFixedBytes> fixed_bytes;
  read_all(fixed_bytes.data(), fixed_bytes.size());
  const std::string_view fixed(fixed_bytes.data(), fixed_bytes.size());
  const std::uint32_t name = little_endian(fixed, 8, 1);
  const std::uint32_t cigar_ops = little_endian(fixed, 12, 2);
  const std::uint64_t bases = little_endian(fixed, 16, 4);
  const std::uint64_t parts = name + std::uint64_t{4} * cigar_ops + (bases + 1) / 2 + bases;
  if (name == 0 || parts > size - kFixedBytes) fail(kUndecodable);

  // htslib wants what follows the name where numbers of four bytes may be.
  const std::uint32_t padding = (4 - name % 4) % 4;
  const std::size_t rest = size - kFixedBytes - name;
  if (!make_room(record, name + padding + rest))
    throw ResourceError(shown() + ": no memory for its next record; give warpmer more memory");
  char* const data = reinterpret_cast<char*>(record.data);
  read_all(data, name);
  if (data[name - 1] != '\0') fail(kUndecodable);
  std::memset(data + name, 0, padding);
  read_all(data + name + padding, rest);
  set_fields(fixed, record.core);
  record.core.l_qname = static_cast<std::uint16_t>(name + padding);
  record.core.l_extranul = static_cast<std::uint8_t>(padding);
  record.core.n_cigar = cigar_ops;
  record.core.l_qseq = static_cast<std::int32_t>(bases);
  record.l_data = static_cast<int>(name + padding + rest);
  check(record);
  return true;
}

/// Throws where a record contradicts itself, or the header.
void BamSource::check(const bam1_t& record) const {
  const bam1_core_t& core = record.core;
  const auto is_reference = [&](std::int32_t id) { return id >= -1 && id < std::int64_t{references_}; };
  const bool is_aligned = core.n_cigar > 0 && core.l_qseq > 0 && (core.flag & BAM_FUNMAP) == 0;
  const auto ops = static_cast<int>(core.n_cigar);
  if (!is_reference(core.tid) || !is_reference(core.mtid) ||
      (is_aligned && bam_cigar2qlen(ops, bam_get_cigar(&record)) != core.l_qseq)) {
    fail(kUndecodable);
  }
}

/// Reads `size` bytes, fewer only at the end of the data.
std::size_t BamSource::read_up_to(char* into, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const std::size_t count = source_->read(into + done, size - done);
    if (count == 0) break;
    done += count;
  }
  return done;
}

void BamSource::read_all(char* into, std::size_t size) {
  if (read_up_to(into, size) == size) return;
  fail(is_at_records_ ? kUndecodable : "its header cannot be read; the file is damaged or truncated");
}

}  // namespace warpmer::io
