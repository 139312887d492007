// Tests finding the parts of CRAM that take memory, without decoding them. Containers are written here, byte
// by byte, as the specification has them.

#include "io/hts/cram_watch.h"

#include "io/compress/inflater.h"
#include "io/compress/little_endian.h"
#include "io/hts/cram_memory.h"
#include "unit/io/io_fixture.h"

using namespace io_test;

namespace {

/// Numbers of variable length, as CRAMv3 has them in section 2.3.
std::string itf8(std::int32_t signed_value) {
  const auto value = static_cast<std::uint32_t>(signed_value);
  const auto byte = [](std::uint32_t bits) { return std::string(1, static_cast<char>(bits & 0xff)); };
  if (value < 1u << 7) return byte(value);
  if (value < 1u << 14) return byte(0x80 | value >> 8) + byte(value);
  if (value < 1u << 21) return byte(0xc0 | value >> 16) + byte(value >> 8) + byte(value);
  if (value < 1u << 28) return byte(0xe0 | value >> 24) + byte(value >> 16) + byte(value >> 8) + byte(value);
  return byte(0xf0 | value >> 28) + byte(value >> 20) + byte(value >> 12) + byte(value >> 4) +
         byte(value & 0xf);
}
std::string ltf8(std::uint64_t value) {
  unsigned more = 0;
  while (more < 8 && value >= std::uint64_t{1} << (7 + 7 * more)) ++more;
  std::string bytes;
  for (unsigned i = 0; i < more; ++i) bytes.insert(bytes.begin(), static_cast<char>(value >> (8 * i)));
  const unsigned ones = 0xff00u >> more & 0xff;
  return static_cast<char>(ones | (more < 7 ? value >> (8 * more) : 0)) + bytes;
}

std::string checksum_of(const std::string& bytes) { return little_endian(io::gzip_crc(0, bytes), 4); }

std::string block_of(char method, char kind, const std::string& data, std::int32_t text_bytes) {
  return std::string{method, kind} + itf8(0) + itf8(static_cast<std::int32_t>(data.size())) +
         itf8(text_bytes) + data;
}

/// A block, behind which there is its checksum.
std::string whole(const std::string& block, char version) {
  return version == 3 ? block + checksum_of(block) : block;
}

struct Container {
  std::int32_t reference = -1;
  std::int32_t records = 0;
  std::uint64_t bases = 0;
  std::int32_t slices = 1;
  std::string block = {};           ///< the first one
  std::size_t more = 0;             ///< bytes in another one
  std::int32_t missing_blocks = 0;  ///< that the container says it has, too
};

std::string encode(const Container& container, char version) {
  std::string body = whole(container.block, version);
  if (container.more > 0) body += whole(block_of(2, 4, std::string(container.more, 'x'), 300'000), version);
  std::string bytes = little_endian(body.size(), 4) + itf8(container.reference) + itf8(1) + itf8(100) +
                      itf8(container.records) +
                      (version == 3 ? ltf8(std::uint64_t{1} << 40) : itf8(1 << 20)) + ltf8(container.bases) +
                      itf8((container.more > 0 ? 2 : 1) + container.missing_blocks) + itf8(container.slices);
  for (std::int32_t i = 0; i < container.slices; ++i) bytes += itf8(300 * i);
  if (version == 3) bytes += checksum_of(bytes);
  return bytes + body;
}

std::string definition(char version) {
  return std::string("CRAM") + version + std::string(1, '\0') + std::string(20, 'i');
}

/// A compression header whose map has such entries.
std::string compression(const std::string& entries, std::int32_t count, char method = 0) {
  const std::string data = itf8(static_cast<std::int32_t>(entries.size())) + itf8(count) + entries;
  return block_of(method, 1, data, static_cast<std::int32_t>(data.size()));
}

const std::string kOther = std::string("RN\1", 3) + "SM12345" + "TD" + itf8(300) + std::string(300, 't');
const std::string kWithout = compression(kOther + std::string("RR\0", 3), 4);
const std::string kWith = compression(kOther + "RR\1", 4);
const std::string kSilent = compression(kOther, 3);
const std::string kCompressed = compression(kOther + std::string("RR\0", 3), 4, 1);

Container file_header() { return {0, 0, 0, 1, block_of(1, 0, "compressed", 123'456'789), 0}; }

}  // namespace

TEST_CASE("io cram watch: sizes of headers and slices, however the bytes come") {
  for (const char version : {'\2', '\3'}) {
    std::string file = definition(version) + encode(file_header(), version);
    for (const Container& container :
         {Container{-1, 1000, 5'000'000, 1, kWith, 0}, Container{-1, 20'000, 300'000'000, 10, kWith, 10'000},
          Container{-1, 7, 0x4'1234'5678, 1'000, kWith, 70'000},
          Container{-1, 0, 0, 0, block_of(0, 1, "end", 3), 0}}) {
      file += encode(container, version);
    }
    for (const std::size_t step : {1, 7, 4096, 100'000}) {
      CAPTURE(step);
      io::CramWatch watch("file");
      for (std::size_t at = 0; at < file.size(); at += step)
        watch.see(std::string_view(file).substr(at, step));
      CHECK(watch.containers() == 5);
      CHECK(watch.size().header_bytes == 123'456'789);
      CHECK(watch.size().slice_bases == 30'000'000 + 2'000 * io::CramSize::kRecordBases);
      CHECK_FALSE(watch.size().needs_reference);  // nothing is aligned
    }
  }
}

TEST_CASE("io cram watch: what needs a reference") {
  struct Case {
    std::int32_t reference;
    const std::string& block;
    bool needs;
  };
  for (const Case& one : {Case{5, kWith, true}, Case{-2, kWith, true}, Case{5, kSilent, true},
                          Case{5, kCompressed, true}, Case{5, kWithout, false}, Case{-2, kWithout, false}}) {
    const std::string file = definition(3) + encode(file_header(), 3) +
                             encode({one.reference, 10, 1000, 1, one.block, 50}, 3) +
                             encode({-1, 10, 1000, 1, kWith, 50}, 3);
    io::CramWatch watch("file");
    for (const char byte : file) watch.see({&byte, 1});
    CHECK(watch.containers() == 3);
    CHECK(watch.records() == 20);
    CHECK(watch.size().needs_reference == one.needs);
  }
}

TEST_CASE("io cram watch: what cannot be is said") {
  const auto error_of = [](const std::string& bytes) {
    return refusal<warpmer::InputError>([&] { io::CramWatch("file").see(bytes); });
  };
  CHECK(contains(error_of(definition(4)), "it is of version 4"));
  CHECK(contains(error_of(definition(1)), "it is of version 1"));
  const std::string start = definition(3) + encode(file_header(), 3);
  CHECK(error_of(start).empty());
  CHECK(contains(error_of(start + little_endian(0xffffffff, 4) + std::string(100, '\0')), "impossible size"));
  CHECK(contains(error_of(start + encode({-1, -1, 10, 1, kWith, 0}, 3)), "impossible size"));
  CHECK(
      contains(error_of(start + encode({-1, 1, std::uint64_t{1} << 61, 1, kWith, 0}, 3)), "impossible size"));
  std::string damaged = start + encode({-1, 10, 1000, 1, kWith, 0}, 3);
  damaged[start.size() + 6] ^= 1;
  CHECK(contains(error_of(damaged), "damaged: the header of a container"));
  // Whose slices are more than there can be.
  const std::string endless = little_endian(1'000'000, 4) + itf8(-1) + itf8(0) + itf8(0) + itf8(1) + ltf8(0) +
                              ltf8(1) + itf8(1) + itf8(0x7fffffff);
  CHECK(contains(error_of(start + endless + std::string(3 << 20, 'x')), "no container"));
}

TEST_CASE("io cram watch: each block of a container has its checksum") {
  const std::string start = definition(3) + encode(file_header(), 3);
  const Container blocks{5, 10, 1000, 1, kWithout, 5000};
  const std::string end = encode({-1, 0, 0, 0, block_of(0, 1, "end", 3), 0}, 3);
  std::string file = start + encode(blocks, 3);
  const std::size_t body_bytes = io::little_endian(file, start.size(), 4), first = file.size() - body_bytes;
  file += end;
  const auto see = [&](const std::string& bytes, std::size_t step) {
    io::CramWatch watch("file");
    for (std::size_t at = 0; at < bytes.size(); at += step)
      watch.see(std::string_view(bytes).substr(at, step));
    CHECK(watch.is_within_container() == (bytes.size() < file.size()));
    return watch.containers();
  };
  const std::vector<std::size_t> steps{7, 4096, 100'000};
  for (const std::size_t step : steps) CHECK(see(file, step) == 3);
  for (const std::size_t cut :
       {std::size_t{1}, end.size() - 1, end.size() + 1, end.size() + 4000, file.size() - 5}) {
    CAPTURE(cut);
    (void)see(file.substr(0, file.size() - cut), 4096);
  }
  for (std::size_t at = first; at < first + body_bytes; ++at) {
    CAPTURE(at);
    const std::string damaged = flipped(file, at, 1 << at % 8);
    CHECK_THROWS_WITH_AS((void)see(damaged, steps[at % 3]), doctest::Contains("damaged: a block of "),
                         warpmer::InputError);
  }
}

TEST_CASE("io cram watch: a container ends where it says, whatever the number of its blocks") {
  const std::string file = definition(3) + encode(file_header(), 3) +
                           encode({5, 10, 1000, 1, kWithout, 5000, 3}, 3) +
                           encode({5, 7, 1000, 1, kWithout, 50}, 3);
  io::CramWatch watch("file");
  watch.see(file);
  CHECK(watch.containers() == 3);
  CHECK(watch.records() == 17);
  CHECK_FALSE(watch.is_within_container());
}

TEST_CASE("io cram watch: the first block of version 2 may have more bytes than its container has") {
  std::string start = encode(file_header(), 2);
  start[0] = static_cast<char>(start[0] - 2);
  const std::string file = definition(2) + start + encode({5, 10, 1000, 1, kWithout, 50}, 2);
  for (const std::size_t step : {std::size_t{1}, file.size()}) {
    io::CramWatch watch("file");
    for (std::size_t at = 0; at < file.size(); at += step) watch.see(std::string_view(file).substr(at, step));
    CHECK(watch.containers() == 2);
    CHECK(watch.records() == 10);
    CHECK_FALSE(watch.is_within_container());
  }
}

TEST_CASE("io cram watch: nothing follows the end") {
  for (const char version : {'\2', '\3'}) {
    CAPTURE(version);
    const std::string body = whole(block_of(0, 1, std::string("\1\0\1\0\1\0", 6), 6), version);
    const std::string header = little_endian(body.size(), 4) + itf8(-1) + itf8(0x454f46) + itf8(0) + itf8(0) +
                               (version == 3 ? ltf8(0) : itf8(0)) + ltf8(0) + itf8(1) + itf8(0);
    std::string end = header;
    if (version == 3) end += checksum_of(header);
    end += body;
    const std::string file = definition(version) + encode(file_header(), version) +
                             encode({-1, 10, 1000, 1, kWith, 50}, version) + end;
    io::CramWatch watch("file");
    for (const char byte : file) watch.see({&byte, 1});
    watch.see(end);
    CHECK(watch.containers() == 4);
    for (const auto& [follows, advice] :
         std::map<std::string, std::string>{{file, "not the end of the file, but 'CRAM"},
                                            {"x", "'x'; the file is damaged, or something was"}}) {
      io::CramWatch other = watch;
      CHECK_THROWS_WITH_AS(other.see(follows), doctest::Contains(advice.c_str()), warpmer::InputError);
    }
  }
}

TEST_CASE("io cram memory: what is foreseen of a file") {
  const ScratchFolder folder;
  const std::string usual = definition(3) + encode(file_header(), 3) + encode({-1, 10, 1000, 1, kWith, 9}, 3);
  const std::string large =
      definition(3) + encode(file_header(), 3) + encode({-1, 0, 50'000'000, 1, kWith, 9}, 3);
  const auto needs_of = [](const std::string& path, const std::string& reference = "") {
    return io::look_at_cram({path, path, 0, true}, reference);
  };
  const auto needs = needs_of(folder.write("usual", usual));
  REQUIRE(needs);
  CHECK(needs->size.slice_bases == io::kUsualSliceBases);
  CHECK(needs->bytes(1) < needs->bytes(2));
  CHECK(needs_of(folder.write("large", large))->size.slice_bases == 50'000'000);
  const std::string fasta = folder.write("one.fa", ">1\n" + std::string(1'000'000, 'A') + "\n");
  CHECK(needs_of(folder.write("usual", usual), fasta)->bytes(1) >= needs->bytes(1) + 2'000'000);
  CHECK_FALSE(needs_of(folder.write("text", "CRA")));
  CHECK_FALSE(needs_of(folder / "none"));
  CHECK_FALSE(io::look_at_cram({folder.write("usual", usual), "a pipe", 0, false}, ""));
}
