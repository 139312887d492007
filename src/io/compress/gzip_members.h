#pragma once
/// The parts that gzip puts around deflate data (RFC 1952): members with a header and a trailer, one after
/// another.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "io/compress/inflater.h"

namespace warpmer::io {

/// Returns the size on disk of the BGZF block whose header has these extra fields; nothing if it is none.
std::optional<std::size_t> bgzf_size_in(std::string_view extra_fields);

/// The fields before a member's deflate data, byte by byte.
class GzipHeader {
 public:
  enum class HeaderStatus { going_on, complete, corrupt };

  void start() noexcept { *this = {}; }
  HeaderStatus take(char byte);
  /// True for the header of a BGZF block, when it is complete.
  [[nodiscard]] bool is_of_bgzf() const { return bgzf_size_in(extra_).has_value(); }

 private:
  enum class Field { fixed, extra_size, extra, name, comment, crc, none };

  void enter(Field field);
  HeaderStatus take_fixed(unsigned char byte);

  Field field_ = Field::fixed;
  unsigned flags_ = 0;
  std::uint32_t place_ = 0;  ///< in the field
  std::uint32_t value_ = 0;  ///< the part read so far of a number that is being read
  std::uint32_t extra_size_ = 0;
  std::string extra_;
  std::uint32_t crc_ = 0;  ///< checksum of all that was taken
};

enum class MemberKind : std::uint8_t {
  plain,
  bgzf,
  unknown,  ///< its header was not read
};

/// The trailer of a member: what its text must be like.
struct GzipTrailer {
  std::uint32_t crc = 0;
  std::uint32_t size = 0;  ///< size of the text, modulo 2^32
  MemberKind kind = MemberKind::unknown;
};

/// Decompresses gzip members one after another, from pieces of any size to pieces of any size. Leaves it to
/// the caller to compare the text with the trailers: that can wait, and be done by others.
class GzipMembers {
 public:
  enum class Status {
    going_on,       ///< input is used up, or output is full
    end_of_member,  ///< the end that `trailer` tells of; there may be more input
    corrupt,
    junk,  ///< after a member there is something else, at the front of input; zero bytes may follow the last
  };

  explicit GzipMembers(InflaterMaker make, bool is_first = true)
      : inflater_(make()), probe_(make()), is_first_(is_first) {}

  /// Makes ready for data that starts with a block inside a member (see DeflateInflater::start).
  void enter(std::string_view window, unsigned bits, unsigned bit_count);
  /// Decompresses from the front of `input` to the front of `output`, and moves both on. Before `input` there
  /// must be the last bytes of the piece before (see DeflateInflater::kTakesBack).
  Status decode(std::span<const char>& input, std::span<char>& output);
  /// True when a block starts at bit `bit` of the byte `last`, the next of the input, behind a block that is
  /// not the last of its member; text that is left before it comes to the front of `output`, which must have
  /// room for kEndText bytes. Changes nothing if not.
  bool ends_block(unsigned char last, unsigned bit, std::span<char>& output);
  /// More than what a symbol that is begun (48 bits at most) and 7 bits more stand for, 258 bytes for every
  /// two.
  static constexpr std::size_t kEndText = std::size_t{8} << 10;

  [[nodiscard]] const GzipTrailer& trailer() const noexcept { return trailer_; }
  /// True when the input could end here.
  [[nodiscard]] bool is_between() const noexcept {
    return phase_ == Phase::between || phase_ == Phase::padding;
  }

 private:
  enum class Phase { between, padding, header, data, trailer };

  Status begin_member(std::span<const char>& input);
  Status read_header(std::span<const char>& input);
  Status read_trailer(std::span<const char>& input);

  std::unique_ptr<DeflateInflater> inflater_;
  std::unique_ptr<DeflateInflater> probe_;  ///< looks what comes without going there
  Phase phase_ = Phase::between;
  GzipHeader header_;
  MemberKind kind_ = MemberKind::unknown;
  std::string trailer_bytes_;
  GzipTrailer trailer_;
  bool is_first_;  ///< member, which has not begun
};

/// Returns the beginning of a gzip file's text, at most so many bytes, by the beginning of the file: as far
/// as it is sound.
std::string gzip_start(std::string_view start, std::size_t most);

}  // namespace warpmer::io
