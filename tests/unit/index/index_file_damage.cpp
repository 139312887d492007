// ctest: one thread

#include <doctest/doctest.h>

#include <functional>

#include "base/error.h"
#include "index/index_layout.h"
#include "unit/index/index_file_common.h"

using namespace warpmer;
using namespace warpmer::file;
using namespace warpmer::index;
using namespace warpmer::index::test;

namespace {

/// Opens an index and looks at all its shards by `look`; the message of the InputError, if there was one.
template <class Look>
std::string refusal_by(const std::string& path, Look&& look) {
  return refusal<InputError>([&] {
    const IndexFile file(path);
    for (std::uint32_t i = 0; i < file.params().shards(); ++i) look(file, i);
  });
}

/// Returns the fault that is found, which is the same whether shards are mapped or copied.
std::string refusal_of(const std::string& path) {
  auto mapped = refusal_by(path, [](const IndexFile& file, std::uint32_t i) { (void)file.shard(i); });
  const auto copied =
      refusal_by(path, [](const IndexFile& file, std::uint32_t i) { (void)copy_of(file, i); });
  CHECK(mapped == copied);
  return mapped;
}

std::string refusal_of_bytes(const ScratchFolder& scratch, const std::string& bytes) {
  write_bytes(scratch / "bad.wmi", bytes);
  return refusal_of(scratch / "bad.wmi");
}

/// The parts of a file, to be bent before they are put together with correct checksums.
struct Parts {
  IndexParams params;
  std::vector<layout::DirectoryEntry> directory;
  std::string payloads;
  Totals totals;
  Histogram histogram;
  std::string directory_bytes, totals_bytes, histogram_bytes, provenance_bytes;  ///< used when not empty
  std::function<void(layout::Trailer&)> bend_trailer = [](layout::Trailer&) {};

  explicit Parts(const Sample& sample)
      : params(sample.params), totals(sample.totals), histogram(sample.histogram) {
    for (const FrozenShard& shard : sample.shards) {
      const std::size_t bytes = shard.payload.size() * 8;
      directory.push_back({layout::kHeaderBytes + payloads.size(), shard.payload.size(), shard.shape,
                           file::checksum(shard.payload.data(), bytes)});
      payloads.append(reinterpret_cast<const char*>(shard.payload.data()), bytes);
    }
  }

  [[nodiscard]] std::string assemble() const {
    layout::Trailer trailer;
    const std::string header = layout::encode_header(params);
    std::string file = header + payloads;
    const auto add = [&](const std::string& given, const std::string& made, layout::Section& section) {
      const std::string& bytes = given.empty() ? made : given;
      section = {file.size(), bytes.size(), file::checksum(bytes.data(), bytes.size())};
      file += bytes;
    };
    add(directory_bytes, layout::encode_directory(directory, params.k), trailer.directory);
    add(totals_bytes, layout::encode_totals(totals), trailer.totals);
    add(histogram_bytes, layout::encode_histogram(histogram), trailer.list);
    add(provenance_bytes, layout::encode_provenance(sample_provenance()), trailer.provenance);
    trailer.file_bytes = file.size() + layout::kTrailerBytes;
    bend_trailer(trailer);
    trailer.sections_checksum = layout::sections_checksum(header, trailer);
    return file + layout::encode_trailer(layout::kIndexKind, trailer);
  }
};

/// The same shard with another payload, its checksum in order.
void replace_payload(Parts& parts, std::size_t shard, std::vector<std::uint64_t> payload) {
  layout::DirectoryEntry& entry = parts.directory[shard];
  REQUIRE(payload.size() == entry.payload_words);
  const auto* bytes = reinterpret_cast<const char*>(payload.data());
  parts.payloads.replace(entry.offset - layout::kHeaderBytes, payload.size() * 8, bytes, payload.size() * 8);
  entry.checksum = file::checksum(bytes, payload.size() * 8);
}

}  // namespace

TEST_CASE("index damage: a flipped bit anywhere is noticed") {
  const ScratchFolder scratch;
  write_sample(make_sample(11, 2, 20), scratch / "a.wmi");
  CHECK(refusal_of(scratch / "a.wmi").empty());
  std::string bytes = read_bytes(scratch / "a.wmi");
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    const auto flip = static_cast<char>(1 << (bit % 8));
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ flip);
    const std::string message = refusal_of_bytes(scratch, bytes);
    CHECK_MESSAGE(says(message, scratch / "bad.wmi' is "), "bit ", bit, ": ", message);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ flip);
  }
}

TEST_CASE("index damage: cut anywhere, or longer than it was") {
  const ScratchFolder scratch;
  write_sample(make_sample(11, 2, 20), scratch / "a.wmi");
  const std::string bytes = read_bytes(scratch / "a.wmi");
  CHECK(says(refusal_of_bytes(scratch, ""), "is empty"));
  for (std::size_t length = 1; length < bytes.size(); ++length) {
    const std::string message = refusal_of_bytes(scratch, bytes.substr(0, length));
    CHECK_MESSAGE(says(message, "truncated"), "length ", length, ": ", message);
  }
  for (const std::string& tail :
       {std::string("x"), std::string(1, '\0'), std::string("\n"), std::string(5000, 'y'), bytes,
        bytes.substr(bytes.size() - layout::kTrailerBytes)}) {
    CHECK(!refusal_of_bytes(scratch, bytes + tail).empty());
  }
  CHECK(!refusal_of_bytes(scratch, bytes.substr(1)).empty());
  CHECK(!refusal_of_bytes(scratch, bytes.substr(0, 64) + bytes.substr(72)).empty());
}

TEST_CASE("index damage: what is no index says so") {
  const ScratchFolder scratch;
  CHECK(says(refusal_of_bytes(scratch, ">seq\nACGT\n"), "is not a warpmer index"));
  CHECK(says(refusal_of_bytes(scratch, std::string(10000, '\0')), "is not a warpmer index"));
  CHECK(says(refusal_of_bytes(scratch, "\x89WM"), "truncated"));
  CHECK(says(refusal_of(scratch.path()), "is a directory"));
  CHECK(says(refusal_of(scratch / "missing.wmi"), "cannot be opened"));
  // Sent through a tool that changes line ends.
  write_sample(make_sample(11, 0, 20), scratch / "a.wmi");
  std::string bytes = read_bytes(scratch / "a.wmi");
  bytes.erase(bytes.find('\r'), 1);
  CHECK(says(refusal_of_bytes(scratch, bytes), "is not a warpmer index"));
}

TEST_CASE("index damage: other versions are named") {
  const ScratchFolder scratch;
  Parts parts(make_sample(11, 2, 20));
  CHECK(refusal_of_bytes(scratch, parts.assemble()).empty());
  std::string future = parts.assemble();
  future[8] = 7;
  CHECK(says(refusal_of_bytes(scratch, future),
             "is an index of format version 7; this warpmer reads version 2"));
  parts.params.hash_version = 9;
  CHECK(says(refusal_of_bytes(scratch, parts.assemble()), "hash functions of version 9"));
}

TEST_CASE("index damage: a payload is looked at when it is asked for") {
  const ScratchFolder scratch;
  const Sample sample = make_sample(11, 2, 20);
  Parts parts(sample);
  parts.payloads[parts.directory[1].offset - layout::kHeaderBytes + 3] ^= 4;
  write_bytes(scratch / "a.wmi", parts.assemble());
  const IndexFile file(scratch / "a.wmi");
  CHECK(same_shard(file.shard(0), sample.shards[0]));
  for (int again = 0; again < 2; ++again) {
    CHECK_THROWS_WITH_AS((void)file.shard(1), doctest::Contains("shard 1 (bytes"), InputError);
  }
  CHECK(same_shard(file.shard(3), sample.shards[3]));
}

TEST_CASE("index damage: a file that shrinks while it is open") {
  const ScratchFolder scratch;
  const Sample sample = make_sample(12, 2, 5000);
  write_sample(sample, scratch / "a.wmi");
  const IndexFile file(scratch / "a.wmi");
  CHECK(same_shard(file.shard(0), sample.shards[0]));
  std::filesystem::resize_file(scratch / "a.wmi", 100);
  CHECK_THROWS_WITH_AS((void)file.shard(3), doctest::Contains("has become shorter"), InputError);
  CHECK_THROWS_WITH_AS((void)copy_of(file, 3), doctest::Contains("has become shorter"), InputError);
}

TEST_CASE("index damage: sections and shards must fit together, whatever their checksums say") {
  const ScratchFolder scratch;
  const Sample sample = make_sample(11, 2, 20);
  const auto bent = [&](const std::function<void(Parts&)>& bend) {
    Parts parts(sample);
    bend(parts);
    return refusal_of_bytes(scratch, parts.assemble());
  };
  using Trailer = layout::Trailer;
  const std::vector<std::function<void(Trailer&)>> trailers{
      [](Trailer& t) { t.directory.offset = UINT64_MAX - 7; },
      [](Trailer& t) { t.directory.offset -= 8; },
      [](Trailer& t) { t.directory.offset = 0; },
      [](Trailer& t) { t.directory.bytes += layout::kEntryBytes; },
      [](Trailer& t) { t.totals.offset += 8; },
      [](Trailer& t) { t.totals.bytes -= 8; },
      [](Trailer& t) { t.list.bytes = UINT64_MAX; },
      [](Trailer& t) { t.list.bytes = 0; },
      [](Trailer& t) { t.provenance.offset = 64; },
      [](Trailer& t) { t.provenance.bytes += 1; },
      [](Trailer& t) { t.provenance.bytes = UINT64_MAX - t.provenance.offset + 1; },
      [](Trailer& t) { t.file_bytes += 1; },
  };
  for (std::size_t i = 0; i < trailers.size(); ++i) {
    const std::string message = bent([&](Parts& parts) { parts.bend_trailer = trailers[i]; });
    CHECK_MESSAGE(says(message, "is damaged"), "trailer ", i, ": ", message);
  }
  using Entry = layout::DirectoryEntry;
  const std::vector<std::function<void(Entry&)>> entries{
      [](Entry& e) { e.offset += 8; },
      [](Entry& e) { e.offset = 0; },
      [](Entry& e) { e.payload_words += 1; },
      [](Entry& e) { e.payload_words = UINT64_MAX; },
      [](Entry& e) { e.payload_words = 0; },
      [](Entry& e) { e.shape.entries += 64; },
      [](Entry& e) { e.shape.entries = UINT64_MAX; },
      [](Entry& e) { e.shape.entries = 0; },
      [](Entry& e) { e.shape.exceptions = e.shape.entries + 1; },
      [](Entry& e) { e.shape.exceptions = UINT64_MAX; },
      [](Entry& e) { e.shape.bucket_bits = 23; },
      [](Entry& e) { e.shape.bucket_bits = 255; },
      [](Entry& e) { e.shape.count_bits = 0; },
      [](Entry& e) { e.shape.count_bits = 65; },
      [](Entry& e) { e.shape.count_bits = 64; },
      [](Entry& e) { e.shape.exception_bits = 65; },
      [](Entry& e) { e.shape.exception_bits = e.shape.exceptions == 0 ? 1 : 0; },
  };
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (const std::size_t shard : {0u, 1u, 3u}) {
      const std::string message = bent([&](Parts& parts) { entries[i](parts.directory[shard]); });
      CHECK_MESSAGE(says(message, "is damaged"), "entry ", i, " of shard ", shard, ": ", message);
    }
  }
}

TEST_CASE("index damage: totals, histogram, provenance and reserved bytes") {
  const ScratchFolder scratch;
  const Sample sample = make_sample(11, 2, 20);
  const std::vector<std::function<void(Parts&)>> bends{
      [](Parts& p) { ++p.totals.stored_distinct; },
      [](Parts& p) { ++p.totals.stored_kmers; },
      [](Parts& p) { ++p.totals.largest_count; },
      [](Parts& p) { ++p.histogram.begin()->second; },
      [](Parts& p) { p.histogram.erase(p.histogram.begin()); },
      [](Parts& p) { p.histogram[UINT64_MAX] = UINT64_MAX; },
      [](Parts& p) { p.histogram[0] = 1; },
      [](Parts& p) { p.histogram[p.totals.largest_count + 1] = 0; },
      [](Parts& p) { p.histogram_bytes = layout::encode_histogram(p.histogram) + std::string(16, '\0'); },
      [](Parts& p) {
        p.histogram_bytes = layout::encode_histogram(p.histogram);
        std::swap_ranges(p.histogram_bytes.begin() + 8, p.histogram_bytes.begin() + 24,
                         p.histogram_bytes.begin() + 24);
      },
      [](Parts& p) { p.histogram_bytes = std::string(8, '\xff'); },
      [](Parts& p) {
        p.directory_bytes = layout::encode_directory(p.directory, p.params.k);
        p.directory_bytes[39] = 1;
      },
      [](Parts& p) { p.provenance_bytes = std::string(24, '\xff'); },
      [](Parts& p) { p.provenance_bytes = std::string(16, '\0') + std::string(8, '\x10'); },
      [](Parts& p) { p.provenance_bytes = std::string(17, '\0'); },
      [](Parts& p) { p.provenance_bytes = layout::encode_provenance({}) + std::string(8, '\0'); },
      [](Parts& p) {
        p.provenance_bytes = layout::encode_provenance({"1", "", {}});
        p.provenance_bytes[9] = 1;
      },
      [](Parts& p) { p.params.k = 0; },
      [](Parts& p) { p.params.k = 65; },
      [](Parts& p) { p.params.shard_bits = 25; },
      [](Parts& p) { p.params.shard_bits = 1; },
      [](Parts& p) { p.params.minimizer_length = 12; },
  };
  for (std::size_t i = 0; i < bends.size(); ++i) {
    Parts parts(sample);
    bends[i](parts);
    const std::string message = refusal_of_bytes(scratch, parts.assemble());
    CHECK_MESSAGE(says(message, "is damaged"), "bend ", i, ": ", message);
  }
  // The header's reserved bytes, with a checksum that agrees.
  std::string bytes = Parts(sample).assemble();
  bytes[50] = 1;
  const std::uint64_t sum = file::checksum(bytes.data(), layout::kHeaderBytes - 8);
  bytes.replace(layout::kHeaderBytes - 8, 8, reinterpret_cast<const char*>(&sum), 8);
  CHECK(says(refusal_of_bytes(scratch, bytes), "unused bytes of its header"));
}

TEST_CASE("index damage: a payload that would lead a lookup astray") {
  const ScratchFolder scratch;
  // k = 5: 10-bit hashes, 2 bucket bits; offsets 5 x 2 bits, entries 3 x (8 + 1) bits, exceptions 2 x (2 +
  // 3).
  Sample sample;
  sample.params = {.k = 5, .canonical = true, .minimizer_length = 5, .shard_bits = 0};
  sample.shards.push_back(freeze({{3, 1}, {300, 5}, {900, 4}}, 5, 2, 1));
  sample.totals.stored_kmers = 10;
  sample.totals.stored_distinct = 3;
  sample.totals.largest_count = 5;
  sample.histogram = {{1, 1}, {4, 1}, {5, 1}};
  const std::vector<std::uint64_t> good = sample.shards[0].payload;
  REQUIRE(good.size() == 3);
  REQUIRE(good[0] == 0b11'10'10'01'00);
  REQUIRE(good[2] == 0b10'100'01'101);
  const auto with_word = [&](std::size_t word, std::uint64_t value) {
    Parts parts(sample);
    std::vector<std::uint64_t> payload = good;
    payload[word] = value;
    replace_payload(parts, 0, payload);
    return refusal_of_bytes(scratch, parts.assemble());
  };
  CHECK(with_word(0, good[0]).empty());
  CHECK(says(with_word(0, 0b11'10'01'10'00), "offsets"));  // falls
  CHECK(says(with_word(0, 0b11'10'10'01'01), "offsets"));  // does not begin at 0
  CHECK(says(with_word(0, 0b10'10'10'01'00), "offsets"));  // does not end at `entries`
  CHECK(says(with_word(0, good[0] | 1 << 10), "unused bits"));
  CHECK(says(with_word(1, good[1] | 1 << 27), "unused bits"));
  CHECK(says(with_word(2, good[2] | 1 << 10), "unused bits"));
  CHECK(says(with_word(2, 0b11'100'01'101), "large counts"));  // there is no entry 3
  CHECK(says(with_word(2, 0b01'100'01'101), "large counts"));  // twice the same
}
