// Frames: what is put comes back, and what is cut short or changed is refused or harmless, without memory for
// what is not there. WARPMER_FUZZ_SECONDS=N changes frames for so long, WARPMER_FUZZ_SEED=N others.
//
// ctest: one thread

#include "serve/protocol.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "kmer/minimizer.h"
#include "random_text.h"
#include "unit/cpu/one_piece.h"

using namespace warpmer;
using namespace warpmer::serve;
using warpmer::tests::random_text;

namespace {

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Returns a batch of pieces with these lengths; the first begins in the middle of a record.
io::Batch batch_of_lengths(const std::vector<std::uint32_t>& lengths, std::mt19937_64& random) {
  io::Batch batch;
  for (const std::uint32_t length : lengths) {
    io::Piece piece;
    piece.record = batch.pieces.size() + 1;
    piece.first_base = batch.pieces.empty() ? 100 : 0;
    batch.text.append(">x\n");
    piece.offset = static_cast<std::uint32_t>(batch.text.size());
    piece.length = length;
    batch.text.append(random_text(random, length, "ACGTN"));
    piece.last = batch.pieces.size() + 1 != lengths.size();
    batch.pieces.push_back(piece);
  }
  return batch;
}

/// Returns what the server makes of a batch's requests.
std::vector<io::Batch> sent(const io::Batch& batch, std::uint32_t k, bool lenient) {
  std::vector<io::Batch> all;
  for_each_request(batch, k, [&](std::span<const SentStretch> stretches) {
    Payload payload;
    put_batch(payload, batch, stretches, lenient);
    CHECK(payload.size() <= kMostRequestBytes);
    io::Batch& taken = all.emplace_back();
    taken.text.append(payload.bytes());
    CHECK(take_batch(taken) == lenient);
    CHECK(taken.pieces.size() == stretches.size());
  });
  return all;
}

Payload some_batch(std::mt19937_64& random) {
  const io::Batch batch = batch_of_lengths({40, 0, 7, 60}, random);
  Payload payload;
  for_each_request(batch, 5, [&](std::span<const SentStretch> stretches) {
    payload.clear();
    put_batch(payload, batch, stretches, random() % 2 == 0);
  });
  return payload;
}

bool is_taken(std::string_view payload, int form, std::uint32_t k) {
  try {
    PayloadReader reader(payload);
    io::Batch batch;
    switch (form) {
      case 0:
        take_hello(payload);
        break;
      case 1:
        take_error(payload);
        break;
      case 2:
        batch.text.append(payload);
        take_batch(batch);
        for (const io::Piece& piece : batch.pieces) {
          CHECK(piece.length <= kMostBases);
          CHECK(std::size_t{piece.offset} + piece.length <= batch.text.size());
        }
        break;
      case 3:
        reader.take<backend::ReadSummary>();
        reader.expect_end();
        break;
      case 4:
        reader.take<backend::Shortfall>();
        reader.expect_end();
        break;
      default:
        take_shard(payload, k);
    }
    return true;
  } catch (const MalformedFrame&) {
    return false;
  }
}

Payload good_payload(int form, std::mt19937_64& random, std::uint32_t k) {
  Payload payload;
  switch (form) {
    case 0:
      put(payload, Hello{.kmers = {31, false}});
      break;
    case 1:
      put(payload, InputError("reads.fq, record 7: no"));
      break;
    case 2:
      return some_batch(random);
    case 3:
      payload.put(backend::ReadSummary{5, 4, 3, 2, 1});
      break;
    case 4:
      payload.put(backend::Shortfall{1, 2, 3, 4});
      break;
    default: {
      SentShard head{.shard = 9, .shape = {}, .sizes = {}, .words = 0};
      if (k > kMaxDenseK) {
        head.sizes = {
            .kmers = 20, .groups = 3, .buckets = 2, .large_groups = 1, .offset_bits = 7, .words = 11};
        head.words = 11;
      }
      put(payload, head);
    }
  }
  return payload;
}

constexpr int kForms = 6;

}  // namespace

TEST_CASE("headers come back; unknown kinds and payloads beyond the limit are refused") {
  char bytes[kHeaderBytes];
  encode({FrameKind::words, 77}, bytes);
  const FrameHead header = decode_header(bytes, 77);
  CHECK(header.kind == FrameKind::words);
  CHECK(header.bytes == 77);
  CHECK(std::string_view(bytes, kHeaderBytes) == std::string_view("\x0f\0\0\0\x4d\0\0\0", 8));
  CHECK_THROWS_AS(decode_header(bytes, 76), MalformedFrame);
  for (const char kind : {'\0', '\x10', '\x7f'}) {
    bytes[0] = kind;
    CHECK_THROWS_AS(decode_header(bytes, 77), MalformedFrame);
  }
}

TEST_CASE("hellos and errors come back, and a hello of another version can be read") {
  Payload payload;
  put(payload, Hello{.kmers = {21, false}});
  const Hello hello = take_hello(payload.bytes());
  CHECK(hello.version == kProtocolVersion);
  CHECK(hello.hash_version == kHashVersion);
  CHECK(hello.kmers.k == 21);
  CHECK(!hello.kmers.canonical);

  std::string later(payload.bytes());
  later[8] = static_cast<char>(kProtocolVersion + 1);
  CHECK(take_hello(later + "and more").version == kProtocolVersion + 1);
  CHECK_THROWS_AS(take_hello(std::string(payload.bytes()) + "and more"), MalformedFrame);

  for (const ErrorKind kind :
       {ErrorKind::usage, ErrorKind::input, ErrorKind::resource, ErrorKind::internal}) {
    Payload sent_error;
    put(sent_error, Error(kind, "what is wrong"));
    const Error error = take_error(sent_error.bytes());
    CHECK(error.kind() == kind);
    CHECK(std::string(error.what()) == "what is wrong");
  }
}

TEST_CASE("a batch comes as its pieces, in as many requests as their bases take") {
  std::mt19937_64 random(7);
  const auto most = static_cast<std::uint32_t>(kMostBases);
  const std::uint32_t k = 31;
  struct Case {
    std::vector<std::uint32_t> lengths;
    std::size_t requests;
  };
  const Case cases[] = {{{}, 0},
                        {{0}, 1},
                        {{100, 0, 30, 31}, 1},
                        {{most}, 1},
                        {{most, 1}, 2},
                        {{most + 1}, 2},
                        {{5, most + 1, 5}, 3},
                        {{3 * most}, 4},
                        {std::vector<std::uint32_t>(kMostPieces + 1, 2), 2}};
  for (const Case& one : cases) {
    for (const bool lenient : {false, true}) {
      const io::Batch batch = batch_of_lengths(one.lengths, random);
      const std::vector<io::Batch> requests = sent(batch, k, lenient);
      CHECK(requests.size() == one.requests);
      // Put together, stretches are the pieces.
      std::size_t at = 0;
      std::string bases;
      bool is_open = false;
      for (const io::Batch& request : requests) {
        for (const io::Piece& piece : request.pieces) {
          REQUIRE(at < batch.pieces.size());
          const io::Piece& whole = batch.pieces[at];
          CHECK((piece.first_base == 0) == (whole.first_base == 0 && !is_open));
          const std::string_view text = request.bases(piece);
          if (is_open) {
            CHECK(bases.ends_with(text.substr(0, k - 1)));
            bases += text.substr(k - 1);
          } else {
            bases = text;
          }
          is_open = bases.size() < whole.length;
          CHECK(piece.last == (!is_open && whole.last));
          if (is_open) continue;
          CHECK(bases == batch.bases(whole));
          ++at;
        }
      }
      CHECK(at == batch.pieces.size());
    }
  }
}

TEST_CASE("what is cut short is refused") {
  std::mt19937_64 random(11);
  for (const std::uint32_t k : {11u, 31u}) {
    for (int form = 0; form < kForms; ++form) {
      const Payload payload = good_payload(form, random, k);
      CHECK(is_taken(payload.bytes(), form, k));
      for (std::size_t bytes = 0; bytes < payload.size(); ++bytes) {
        // An error's sentence may be of any length.
        if (form == 1 && bytes >= 4) break;
        CHECK(!is_taken(payload.bytes().substr(0, bytes), form, k));
      }
    }
  }
}

TEST_CASE("a batch is refused whose numbers do not fit its text") {
  const auto payload_of = [](std::uint32_t lenient, std::uint32_t pieces,
                             const std::vector<std::uint32_t>& lengths, const std::string& places,
                             const std::string& bases) {
    Payload payload;
    payload.put(lenient);
    payload.put(pieces);
    for (const std::uint32_t length : lengths) payload.put(length);
    payload.put_text(places);
    payload.put_text(bases);
    return std::string(payload.bytes());
  };
  CHECK(is_taken(payload_of(1, 2, {3, 2}, "\3\3", "ACGTA"), 2, 31));
  CHECK(!is_taken(payload_of(2, 2, {3, 2}, "\3\3", "ACGTA"), 2, 31));
  CHECK(!is_taken(payload_of(1, 2, {3, 3}, "\3\3", "ACGTA"), 2, 31));
  CHECK(!is_taken(payload_of(1, 2, {3, 1}, "\3\3", "ACGTA"), 2, 31));
  CHECK(!is_taken(payload_of(1, 2, {3, 2}, "\3\4", "ACGTA"), 2, 31));
  CHECK(!is_taken(payload_of(1, 2, {UINT32_MAX, 6}, "\3\3", "ACGTA"), 2, 31));
  CHECK(!is_taken(payload_of(1, UINT32_MAX, {3, 2}, "\3\3", "ACGTA"), 2, 31));
  CHECK(!is_taken(payload_of(1, kMostPieces + 1, std::vector<std::uint32_t>(kMostPieces + 1, 0),
                             std::string(kMostPieces + 1, '\3'), ""),
                  2, 31));
}

TEST_CASE("shards are refused that no index could have") {
  for (const std::uint32_t k : {11u, 31u}) {
    std::mt19937_64 random(5);
    const std::string other(good_payload(5, random, k == 11 ? 31 : 11).bytes());
    CHECK(is_taken(other, 5, k) == (k == 31));  // an empty one is good for both
  }
}

TEST_CASE("changed frames are refused or harmless") {
  const std::uint64_t seconds = number_of("WARPMER_FUZZ_SECONDS", 0);
  std::mt19937_64 random(number_of("WARPMER_FUZZ_SEED", 1));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  for (std::uint64_t round = 0; round < 20000 || std::chrono::steady_clock::now() < end; ++round) {
    const int form = static_cast<int>(random() % kForms);
    const std::uint32_t k = random() % 2 == 0 ? 11 : 31;
    std::string bytes(good_payload(form, random, k).bytes());
    for (std::uint64_t changes = 1 + random() % 4; changes > 0; --changes) {
      switch (random() % 3) {
        case 0:
          bytes[random() % bytes.size()] = static_cast<char>(random() % 4 == 0 ? 0xff : random());
          break;
        case 1:
          bytes.insert(random() % (bytes.size() + 1), 1 + random() % 8, static_cast<char>(random()));
          break;
        default:
          bytes.erase(random() % bytes.size(), random() % 8);
          if (bytes.empty()) bytes = "x";
      }
    }
    is_taken(bytes, form, k);
  }
}
