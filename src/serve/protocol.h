#pragma once
/// The protocol of a server of a live table and its clients: frames, each a header of 8 bytes and a payload.
/// Numbers are little-endian, and stand in the order of their struct. A client sends a hello and then
/// requests, one after the other; each is answered by one frame or several, or by an error. docs/serve.md has
/// the order that is promised.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "backend/lookup/read_summary.h"
#include "backend/update_session.h"
#include "base/error.h"
#include "index/frozen_shard.h"
#include "index/index_file.h"
#include "io/text/batch.h"
#include "kmer/kmer.h"

namespace warpmer::serve {

static_assert(std::endian::native == std::endian::little, "numbers are sent as they are in memory");

/// Goes up whenever frames change. Hellos and errors never do: they say that versions differ.
inline constexpr std::uint32_t kProtocolVersion = 3;

enum class FrameKind : std::uint32_t {
  hello = 1,  ///< of both sides
  error,      ///< an answer to anything: the kind of the Error, and its sentence
  // Requests.
  find,     ///< k-mers, k characters each
  profile,  ///< a batch, as are those that follow
  summarise,
  add,
  remove,
  totals,    ///< nothing, as those that follow
  tally,     ///< answered by rows, and then by totals
  snapshot,  ///< answered by shards, each followed by its words, and then like a tally
  // Answers.
  answer,
  wide_answer,  ///< to `profile`, where counts have 64 bits
  rows,         ///< of a histogram
  shard,
  words,
};

/// The most that a request has: more is cut into several (`for_each_request`).
inline constexpr std::size_t kMostBases = std::size_t{1} << 20;
inline constexpr std::size_t kMostPieces = std::size_t{1} << 15;
inline constexpr std::size_t kMostKmers = std::size_t{1} << 14;
/// The largest payload of a request, and of an answer.
inline constexpr std::size_t kMostRequestBytes = std::size_t{2} << 20;
inline constexpr std::size_t kMostAnswerBytes = kMostBases * sizeof(std::uint64_t);
/// Words and rows of a frame, of which as many follow as it takes.
inline constexpr std::size_t kMostWords = std::size_t{1} << 17;
inline constexpr std::size_t kMostRows = std::size_t{1} << 16;

/// Thrown for what is no frame that could come here. Ends the connection; caught on both sides.
struct MalformedFrame {};

struct FrameHead {
  FrameKind kind = FrameKind::error;
  std::uint32_t bytes = 0;  ///< of the payload
};
inline constexpr std::size_t kHeaderBytes = 8;
void encode(const FrameHead& header, char* to);
/// MalformedFrame for an unknown kind, and for more than `most_bytes`.
FrameHead decode_header(const char* bytes, std::size_t most_bytes);

/// A payload that is made.
class Payload {
 public:
  void clear() { bytes_.clear(); }
  void reserve(std::size_t bytes) { bytes_.reserve(bytes); }
  /// A number, or a struct of numbers, in the order of its members.
  template <class Numbers>
  void put(const Numbers& numbers) {
    static_assert(std::has_unique_object_representations_v<Numbers>, "bytes between members would be sent");
    bytes_.append(reinterpret_cast<const char*>(&numbers), sizeof numbers);
  }
  void put_text(std::string_view text) { bytes_.append(text); }
  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] std::size_t capacity() const { return bytes_.capacity(); }

 private:
  std::string bytes_;
};

/// A payload that has come. MalformedFrame where it is too short for what is taken.
class PayloadReader {
 public:
  explicit PayloadReader(std::string_view bytes) : bytes_(bytes) {}
  template <class Numbers>
  Numbers take() {
    static_assert(std::has_unique_object_representations_v<Numbers>);
    Numbers numbers;
    std::memcpy(&numbers, take_text(sizeof numbers).data(), sizeof numbers);
    return numbers;
  }
  std::string_view take_text(std::size_t bytes) {
    if (bytes > bytes_.size()) throw MalformedFrame{};
    const std::string_view text = bytes_.substr(0, bytes);
    bytes_.remove_prefix(bytes);
    return text;
  }
  [[nodiscard]] std::string_view rest() const { return bytes_; }
  void expect_end() const {
    if (!bytes_.empty()) throw MalformedFrame{};
  }

 private:
  std::string_view bytes_;
};

/// Greeting of a client; the server says, too, which k-mers it has.
struct Hello {
  std::uint32_t version = kProtocolVersion;
  std::uint32_t hash_version = kHashVersion;
  KmerParams kmers = {.k = 0, .canonical = true};
};
void put(Payload& to, const Hello& hello);
/// Takes what all versions have in common. MalformedFrame where it is no hello.
Hello take_hello(std::string_view payload);

void put(Payload& to, const Error& error);
/// Returns the error that came. MalformedFrame where it is none.
Error take_error(std::string_view payload);

/// A stretch of a piece, as long as a request may have it.
struct SentStretch {
  const io::Piece* piece = nullptr;
  std::uint32_t begin = 0;  ///< in the piece
  std::uint32_t length = 0;

  [[nodiscard]] bool begins_record() const { return begin == 0 && piece->first_base == 0; }
  [[nodiscard]] bool ends_record() const { return begin + length == piece->length && piece->last; }
};
/// Cuts a batch into what one request has, in its order. Of stretches of one piece each repeats the last
/// k - 1 bases of the one before.
void for_each_request(const io::Batch& batch, std::uint32_t k,
                      const std::function<void(std::span<const SentStretch>)>& use);
void put_batch(Payload& to, const io::Batch& batch, std::span<const SentStretch> stretches, bool lenient);
/// Finds the pieces of the batch whose text is a payload; returns whether it is lenient. Records are numbered
/// from 1. MalformedFrame where it is no batch.
bool take_batch(io::Batch& batch);

/// A shard without its words.
struct SentShard {
  std::uint32_t shard = 0;
  index::ShardShape shape;
  groups::ShardSizes sizes;
  std::uint64_t words = 0;  ///< that follow
};
void put(Payload& to, const SentShard& head);
/// MalformedFrame where a shard of an index of this k has no such sizes.
SentShard take_shard(std::string_view payload, std::uint32_t k);

}  // namespace warpmer::serve
