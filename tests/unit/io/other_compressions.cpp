// zstd, bzip2 and xz: in frames, blocks and streams, cut and damaged; by one thread and by several.

#if __has_include(<zstd.h>) && __has_include(<bzlib.h>) && __has_include(<lzma.h>)

#include <bzlib.h>
#include <lzma.h>
#include <zstd.h>

#include <functional>

#include "io/compress/bzip2_blocks.h"
#include "io/compress/xz_stream.h"
#include "io/compress/zstd_frames.h"
#include "random_text.h"
#include "tier.h"
#include "unit/io/io_fixture.h"

using namespace io_test;
using warpmer::tests::by_tier;
using warpmer::tests::some;

namespace {

std::string zstd(const std::string& text, bool has_size = true, int level = 3) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, has_size ? 1 : 0);
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return out;
}

std::string bzip2(const std::string& text, int level = 9) {
  std::string out(text.size() + text.size() / 50 + 1000, '\0');
  auto size = static_cast<unsigned>(out.size());
  REQUIRE(BZ2_bzBuffToBuffCompress(out.data(), &size, const_cast<char*>(text.data()),
                                   static_cast<unsigned>(text.size()), level, 0, 0) == BZ_OK);
  out.resize(size);
  return out;
}

/// With blocks of `block_bytes` and their sizes; 0: one block.
std::string xz(const std::string& text, std::uint64_t block_bytes = 0) {
  std::string out(
      text.size() + text.size() / 2 + 10'000 + (block_bytes ? text.size() / block_bytes * 200 : 0), '\0');
  lzma_stream stream = LZMA_STREAM_INIT;
  if (block_bytes == 0) {
    REQUIRE(lzma_easy_encoder(&stream, 1, LZMA_CHECK_CRC64) == LZMA_OK);
  } else {
    lzma_mt options = {};
    options.threads = 1;
    options.block_size = block_bytes;
    options.preset = 1;
    options.check = LZMA_CHECK_CRC32;
    REQUIRE(lzma_stream_encoder_mt(&stream, &options) == LZMA_OK);
  }
  stream.next_in = reinterpret_cast<const std::uint8_t*>(text.data());
  stream.avail_in = text.size();
  stream.next_out = reinterpret_cast<std::uint8_t*>(out.data());
  stream.avail_out = out.size();
  while (lzma_code(&stream, LZMA_FINISH) == LZMA_OK) {
  }
  out.resize(stream.total_out);
  lzma_end(&stream);
  return out;
}

std::string skipped_frame(const std::string& content) {
  return "\x5a\x2a\x4d\x18" + little_endian(content.size(), 4) + content;
}

Records sample(unsigned seed, std::size_t count, std::size_t longest) {
  std::mt19937 random(seed);
  return random_records(random, count, longest);
}

/// `pack` of each `bytes` of a text, joined.
std::string in_pieces(const std::string& text, std::size_t bytes,
                      const std::function<std::string(const std::string&)>& pack) {
  std::string out;
  for (std::size_t pos = 0; pos < text.size(); pos += bytes) out += pack(text.substr(pos, bytes));
  return out;
}

/// Reads a file with one thread and with several.
void check_records(const ScratchFolder& folder, const std::string& content, const Records& records) {
  const std::string path = folder.write("packed", content);
  for (const unsigned threads : by_tier<std::vector<unsigned>>({1, 2, 4}, {1, 4})) {
    io::InputOptions options;
    options.threads = threads;
    options.one_caller = threads == 4;
    CAPTURE(threads);
    const Records read = read_all({path}, options);
    CHECK((read == records));
  }
}

struct Packing {
  const char* name;
  std::function<std::string(const std::string&)> pack;
};

/// Those that the program can read.
std::vector<Packing> packings() {
  std::vector<Packing> there;
  if (io::has_zstd()) there.push_back({"zstd", [](const std::string& text) { return zstd(text); }});
  if (io::has_bzip2()) there.push_back({"bzip2", [](const std::string& text) { return bzip2(text); }});
  if (io::has_xz()) there.push_back({"xz", [](const std::string& text) { return xz(text); }});
  return there;
}

}  // namespace

TEST_CASE("io other compressions: whole, in pieces, and empty") {
  const ScratchFolder folder;
  const Records records = sample(31, 500, 300);
  const std::string text = fastq(records);
  for (const Packing& packing : packings()) {
    CAPTURE(packing.name);
    check_records(folder, packing.pack(text), records);
    check_records(folder, in_pieces(text, 777, packing.pack), records);
    check_records(
        folder, packing.pack("") + in_pieces(text, 5000, packing.pack) + packing.pack("") + packing.pack(""),
        records);
    check_records(folder, packing.pack(""), {});
  }
}

TEST_CASE("io other compressions: far more text than the ring of buffers holds") {
  const ScratchFolder folder;
  const Records records = sample(32, 5000, 8000);
  const std::string text = fastq(records);
  REQUIRE(text.size() > 30'000'000);
  if (io::has_zstd()) {
    check_records(folder, zstd(text), records);
    check_records(folder, zstd(text, false), records);
    for (const bool has_size : some<bool>({false, true})) {
      const auto pack = [&](const std::string& part) { return zstd(part, has_size, 1); };
      // Some in a block of the ring, one in several, and small ones before a large one.
      check_records(folder, in_pieces(text, 100'000, pack), records);
      check_records(folder, in_pieces(text, 3'000'000, pack), records);
      check_records(folder,
                    in_pieces(text.substr(0, 5'000'000), 900'000, pack) + zstd(text.substr(5'000'000)),
                    records);
    }
  }
  if (io::has_bzip2()) check_records(folder, bzip2(text, 1), records);
  if (io::has_xz()) check_records(folder, xz(text, 2'000'000), records);
}

TEST_CASE("io other compressions: text that is far larger than its data") {
  const ScratchFolder folder;
  const Records records = {{"a", std::string(by_tier(40'000'000, 15'000'000), 'A')}, {"b", "ACGT"}};
  std::string text = ">a\n" + records[0].bases + "\n>b\nACGT\n";
  io::InputOptions options;
  options.whole_records = true;
  for (const Packing& packing : packings()) {
    CAPTURE(packing.name);
    const Records read = read_all({folder.write("packed", packing.pack(text))}, options);
    CHECK((read == records));
  }
}

TEST_CASE("io other compressions: frames of zstd that are to be skipped") {
  if (!io::has_zstd()) return;
  const ScratchFolder folder;
  const Records records = sample(33, 50, 300);
  const std::string text = fastq(records);
  const std::string skipped = skipped_frame("size");
  const auto with_size = [&](const std::string& part) { return skipped + zstd(part); };
  check_records(folder, in_pieces(text, 1000, with_size), records);
  check_records(folder, zstd(text) + skipped_frame(std::string(1'000'000, 'x')), records);
  check_records(folder, skipped_frame(""), {});
  for (std::size_t size = 4; size < skipped.size(); ++size) {
    CHECK(contains(input_error({folder.write("cut", skipped.substr(0, size))}), "truncated"));
  }
}

TEST_CASE("io other compressions: marks in bzip2 data that are none") {
  if (!io::has_bzip2()) return;
  const ScratchFolder folder;
  // The table of the bytes that a block has is the mark of a block if they are these, and no others from '@'
  // on.
  const std::string name = "BCGIOQSTWZ]^acfgiklo";
  std::mt19937 random(34);
  Records records;
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    const std::string bases = warpmer::tests::random_text(random, 100, "CGT");
    records.push_back({name, bases});
    text.append(">").append(name).append("\n").append(bases).append("\n");
  }
  const std::string packed = bzip2(text, 1);
  int marks = 0;
  std::uint64_t window = 0;
  for (const unsigned char byte : packed) {
    for (int bit = 7; bit >= 0; --bit) {
      window = (window << 1 | (byte >> bit & 1U)) & 0xffffffffffff;
      marks += window == 0x314159265359 ? 1 : 0;
    }
  }
  CHECK(marks == 8);  // of four blocks
  check_records(folder, packed, records);
  check_records(folder, packed + packed.substr(0, 0) + bzip2(""), records);
  std::string damaged = packed;
  damaged[packed.size() / 2] ^= 4;
  CHECK(contains(input_error({folder.write("damaged", damaged)}), "corrupt in stream 1, within the first"));
  CHECK(contains(input_error({folder.write("cut", packed.substr(0, packed.size() - 30))}), "truncated"));
}

TEST_CASE("io other compressions: cut anywhere is an error") {
  const ScratchFolder folder;
  const std::string first = fastq(sample(35, 10, 60));
  const std::string second = fastq(sample(36, 2, 60));
  for (const Packing& packing : packings()) {
    const std::string whole = packing.pack(first), packed = whole + packing.pack(second);
    for (std::size_t size = 6; size < packed.size(); size += by_tier(1, 3)) {
      if (size == whole.size()) continue;  // a file, and nothing behind it
      CAPTURE(packing.name);
      CAPTURE(size);
      const std::string message = input_error({folder.write("cut", packed.substr(0, size))});
      CHECK(contains(message, "the " + std::string(packing.name) + " data is truncated"));
      CHECK(contains(message, "after " + std::to_string(size) + " bytes"));
    }
  }
}

TEST_CASE("io other compressions: no flipped bit goes unseen") {
  const ScratchFolder folder;
  const Records records = sample(37, 4, 60);
  const std::string text = fastq(records);
  for (const Packing& packing : packings()) {
    const std::string whole = packing.pack(text);
    for (std::size_t i = 0; i < whole.size(); i += by_tier(1, 3)) {
      CAPTURE(packing.name);
      CAPTURE(i);
      try {
        const Records read = read_all({folder.write("damaged", flipped(whole, i, 1 << (i % 8)))});
        CHECK((read == records));
      } catch (const warpmer::InputError& error) {
        CHECK(std::string(error.what()).size() > 20);
      }
    }
  }
}

TEST_CASE("io other compressions: damage in the middle of a large file") {
  const ScratchFolder folder;
  const Records records = sample(38, 3000, 3000);
  const std::string text = fastq(records);
  for (const Packing& packing : packings()) {
    CAPTURE(packing.name);
    std::string damaged = packing.pack(text);
    damaged[damaged.size() / 2] ^= 16;
    for (const unsigned threads : {1U, 4U}) {
      io::InputOptions options;
      options.threads = threads;
      CHECK(contains(input_error({folder.write("damaged", damaged)}, options),
                     "the " + std::string(packing.name) + " data is corrupt"));
    }
    if (std::string_view(packing.name) == "zstd") {
      damaged = in_pieces(text, 200'000, packing.pack);
      damaged[damaged.size() / 2] ^= 16;
      CHECK(contains(input_error({folder.write("damaged", damaged)}), "the zstd data is corrupt in frame"));
    }
  }
}

TEST_CASE("io other compressions: what follows the end") {
  const ScratchFolder folder;
  const std::string text = fastq(sample(39, 20, 100));
  for (const Packing& packing : packings()) {
    CAPTURE(packing.name);
    for (const std::string junk : {"junk", "junk that is long enough"}) {
      const std::string message = input_error({folder.write("junk", packing.pack(text) + junk)});
      CHECK(contains(message, std::string("what follows ") + packing.name));
      CHECK(contains(message, "1 is neither another"));
      CHECK(contains(message, "'junk"));
    }
  }
  if (!io::has_xz()) return;
  const std::string zeros(9, '\0');
  CHECK(read_all({folder.write("zeros.xz", xz(text) + zeros + xz(text) + zeros)}).size() == 40);
  CHECK(contains(input_error({folder.write("half.xz", xz(text) + xz(text).substr(0, 5))}), "truncated"));
}

TEST_CASE("io other compressions: errors in the text inside keep their places") {
  const ScratchFolder folder;
  const std::string text = fastq(sample(40, 3, 40)) + "@bad x\nACGT\n+\nIII\n@c\nA\n+\nI\n";
  for (const Packing& packing : packings()) {
    CHECK(contains(input_error({folder.write("bad", packing.pack(text))}),
                   "bad, record 4 ('bad'), line 16: the quality has 3 characters"));
    CHECK(contains(input_error({folder.write("twice", packing.pack(packing.pack(text)))}),
                   "compressed with " + std::string(packing.name)));
  }
}

#endif
