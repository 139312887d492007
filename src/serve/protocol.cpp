#include "serve/protocol.h"

#include <vector>

#include "index/index_layout.h"

namespace warpmer::serve {

namespace {

/// First in a hello.
constexpr std::string_view kMagic = "warpmer\n";
constexpr std::size_t kMostMessageBytes = 16384;

/// The bits of a stretch's place in its record.
constexpr std::uint8_t kBegins = 1, kEnds = 2;

}  // namespace

void encode(const FrameHead& header, char* to) {
  const auto kind = static_cast<std::uint32_t>(header.kind);
  std::memcpy(to, &kind, sizeof kind);
  std::memcpy(to + sizeof kind, &header.bytes, sizeof header.bytes);
}

FrameHead decode_header(const char* bytes, std::size_t most_bytes) {
  PayloadReader reader({bytes, kHeaderBytes});
  const auto kind = reader.take<std::uint32_t>();
  const auto size = reader.take<std::uint32_t>();
  if (kind < static_cast<std::uint32_t>(FrameKind::hello) ||
      kind > static_cast<std::uint32_t>(FrameKind::words) || size > most_bytes)
    throw MalformedFrame{};
  return {static_cast<FrameKind>(kind), size};
}

void put(Payload& to, const Hello& hello) {
  to.put_text(kMagic);
  to.put(hello.version);
  to.put(hello.hash_version);
  to.put(hello.kmers.k);
  to.put<std::uint32_t>(hello.kmers.canonical ? 1 : 0);
}

Hello take_hello(std::string_view payload) {
  PayloadReader reader(payload);
  if (reader.take_text(kMagic.size()) != kMagic) throw MalformedFrame{};
  Hello hello;
  hello.version = reader.take<std::uint32_t>();
  if (hello.version != kProtocolVersion) return hello;
  hello.hash_version = reader.take<std::uint32_t>();
  hello.kmers.k = reader.take<std::uint32_t>();
  hello.kmers.canonical = reader.take<std::uint32_t>() != 0;
  reader.expect_end();
  return hello;
}

void put(Payload& to, const Error& error) {
  to.put(static_cast<std::uint32_t>(error.kind()));
  to.put_text(std::string_view(error.what()).substr(0, kMostMessageBytes));
}

Error take_error(std::string_view payload) {
  PayloadReader reader(payload);
  const auto kind = reader.take<std::uint32_t>();
  if (kind > static_cast<std::uint32_t>(ErrorKind::internal)) throw MalformedFrame{};
  return {static_cast<ErrorKind>(kind), std::string(reader.rest())};
}

void for_each_request(const io::Batch& batch, std::uint32_t k,
                      const std::function<void(std::span<const SentStretch>)>& use) {
  std::vector<SentStretch> stretches;
  std::size_t bases = 0;
  const auto flush = [&] {
    if (!stretches.empty()) use(stretches);
    stretches.clear();
    bases = 0;
  };
  const auto append = [&](const SentStretch& stretch) {
    if (bases + stretch.length > kMostBases || stretches.size() == kMostPieces) flush();
    stretches.push_back(stretch);
    bases += stretch.length;
  };
  for (const io::Piece& piece : batch.pieces) {
    std::uint32_t begin = 0;
    while (piece.length - begin > kMostBases) {
      append({&piece, begin, kMostBases});
      begin += static_cast<std::uint32_t>(kMostBases) - (k - 1);
    }
    append({&piece, begin, piece.length - begin});
  }
  flush();
}

void put_batch(Payload& to, const io::Batch& batch, std::span<const SentStretch> stretches, bool lenient) {
  to.put<std::uint32_t>(lenient ? 1 : 0);
  to.put(static_cast<std::uint32_t>(stretches.size()));
  for (const SentStretch& stretch : stretches) to.put(stretch.length);
  for (const SentStretch& stretch : stretches) {
    to.put(static_cast<std::uint8_t>((stretch.begins_record() ? kBegins : 0) |
                                     (stretch.ends_record() ? kEnds : 0)));
  }
  for (const SentStretch& stretch : stretches)
    to.put_text(batch.bases(*stretch.piece).substr(stretch.begin, stretch.length));
}

bool take_batch(io::Batch& batch) {
  batch.pieces.clear();
  PayloadReader reader({batch.text.data(), batch.text.size()});
  const auto lenient = reader.take<std::uint32_t>();
  const auto number = reader.take<std::uint32_t>();
  if (lenient > 1 || number > kMostPieces) throw MalformedFrame{};
  PayloadReader lengths(reader.take_text(number * sizeof(std::uint32_t)));
  PayloadReader places(reader.take_text(number));
  std::uint64_t record = 0, offset = batch.text.size() - reader.rest().size();
  for (std::uint32_t i = 0; i < number; ++i) {
    const auto length = lengths.take<std::uint32_t>();
    const auto place = places.take<std::uint8_t>();
    if (place > (kBegins | kEnds) || length > kMostBases || length > batch.text.size() - offset)
      throw MalformedFrame{};
    if ((place & kBegins) != 0) ++record;
    io::Piece piece;
    piece.record = record;
    piece.first_base = (place & kBegins) != 0 ? 0 : 1;  // a later one
    piece.offset = static_cast<std::uint32_t>(offset);
    piece.length = length;
    piece.last = (place & kEnds) != 0;
    batch.pieces.push_back(piece);
    offset += length;
  }
  if (offset != batch.text.size()) throw MalformedFrame{};
  return lenient != 0;
}

void put(Payload& to, const SentShard& head) {
  to.put(head.shard);
  to.put(head.shape.entries);
  to.put(head.shape.exceptions);
  to.put(head.shape.bucket_bits);
  to.put(head.shape.count_bits);
  to.put(head.shape.exception_bits);
  to.put(head.sizes.kmers);
  to.put(head.sizes.groups);
  to.put(head.sizes.buckets);
  to.put(head.sizes.large_groups);
  to.put(static_cast<std::uint32_t>(head.sizes.offset_bits));
  to.put(head.sizes.words);
  to.put(head.words);
}

SentShard take_shard(std::string_view payload, std::uint32_t k) {
  PayloadReader reader(payload);
  SentShard head;
  head.shard = reader.take<std::uint32_t>();
  head.shape.entries = reader.take<std::uint64_t>();
  head.shape.exceptions = reader.take<std::uint64_t>();
  head.shape.bucket_bits = reader.take<std::uint8_t>();
  head.shape.count_bits = reader.take<std::uint8_t>();
  head.shape.exception_bits = reader.take<std::uint8_t>();
  head.sizes.kmers = reader.take<std::uint64_t>();
  head.sizes.groups = reader.take<std::uint64_t>();
  head.sizes.buckets = reader.take<std::uint64_t>();
  head.sizes.large_groups = reader.take<std::uint64_t>();
  head.sizes.offset_bits = reader.take<std::uint32_t>();
  head.sizes.words = reader.take<std::uint64_t>();
  head.words = reader.take<std::uint64_t>();
  reader.expect_end();
  namespace layout = index::layout;
  const bool is_good = layout::has_strings(k)
                           ? head.sizes.words == head.words && !layout::sizes_fault(head.sizes).has_value()
                           : !layout::shape_fault(head.shape, k, head.words).has_value();
  if (!is_good) throw MalformedFrame{};
  return head;
}

}  // namespace warpmer::serve
