// Plain gzip by its parts: inflaters, members, starts of blocks, guessed windows; and the stream of chunks
// that stands on them, worked on in order and out of order.

#include "io/compress/gzip_stream.h"

#include <sys/mman.h>

#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <thread>

#include "file/input_error.h"
#include "io/compress/deflate_blocks.h"
#include "io/compress/deflate_window.h"
#include "io/compress/gzip_members.h"
#include "random_text.h"
#include "tier.h"
#include "unit/io/io_fixture.h"

using namespace io_test;

namespace {

const std::atomic<bool> kNeverCancelled = false;

/// FASTQ of `bytes` bytes or some more, with binned qualities: what compresses as sequencing data does.
std::string reads_text(unsigned seed, std::size_t bytes) {
  std::mt19937 random(seed);
  const std::string genome = warpmer::tests::random_text(random, 20'000);
  std::string text;
  for (std::size_t number = 0; text.size() < bytes; ++number) {
    text += "@run.1:" + std::to_string(1000 + number) + ":" + std::to_string(random() % 5000) + "\n";
    text += genome.substr(random() % (genome.size() - 150), 150) + "\n+\n";
    text += warpmer::tests::random_text(random, 150, "FFFFFFFF:,#F") + '\n';
  }
  return text;
}

/// The text of a gzip file, decompressed by so many threads; 0: by the readers.
std::unique_ptr<io::ReadAhead> read_ahead(std::unique_ptr<warpmer::file::ByteFile> file, unsigned threads,
                                          unsigned readers = 1) {
  auto stream = std::make_unique<io::GzipStream>(std::move(file), std::max(threads, 1U));
  return std::make_unique<io::ReadAhead>(std::move(stream), threads, kNeverCancelled, readers);
}

/// Appends all that a block has.
void append_text(io::GzipStream& stream, io::TextBlock& block, std::string& text) {
  for (bool is_there = true; is_there;) {
    is_there = stream.hand_over(block);
    text.append(block.text.get(), block.text_size);
  }
}

/// Returns the text to which a file decompresses, when one thread works on the stream, chunk by chunk.
std::string text_in_order(const std::string& path, unsigned threads, io::InflaterMaker make) {
  io::GzipStream stream(std::make_unique<warpmer::file::ByteFile>(path, path, kNeverCancelled), threads,
                        make);
  io::TextBlock block;
  block.text.reset(new char[stream.text_capacity()]);
  std::string text;
  std::uint64_t disk_bytes = 0;
  while (stream.load(block)) {
    block.is_handed_over = false;
    stream.work(block);
    disk_bytes += block.disk_bytes;
    append_text(stream, block, text);
  }
  CHECK(disk_bytes == std::filesystem::file_size(path));
  return text;
}

struct OutOfOrder {
  std::string text;
  std::uint64_t chunks = 0;
  std::uint64_t guessed = 0;
};

/// The same with every chunk but the first worked on, by a thread of its own, before the first is.
/// Chunks before a wrong one must be right: `expected` is what the text begins with.
OutOfOrder text_out_of_order(const std::string& path, io::InflaterMaker make,
                             const std::string& expected = "") {
  io::GzipStream stream(std::make_unique<warpmer::file::ByteFile>(path, path, kNeverCancelled), 4, make);
  std::vector<io::TextBlock> blocks;
  for (bool is_there = true; is_there;) {
    io::TextBlock& block = blocks.emplace_back();
    block.text.reset(new char[stream.text_capacity()]);
    block.is_urgent = true;
    is_there = stream.load(block);
  }
  blocks.pop_back();
  std::vector<std::exception_ptr> errors(blocks.size());
  const auto work = [&](std::size_t i) {
    try {
      stream.work(blocks[i]);
    } catch (...) {
      errors[i] = std::current_exception();
    }
  };
  std::vector<std::thread> threads(blocks.size());
  for (std::size_t i = blocks.size(); i-- > 1;) threads[i] = std::thread(work, i);
  work(0);
  OutOfOrder result;
  result.chunks = blocks.size();
  std::exception_ptr first_error;
  try {
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (i > 0) threads[i].join();
      if (errors[i]) std::rethrow_exception(errors[i]);
      append_text(stream, blocks[i], result.text);
    }
  } catch (...) {
    first_error = std::current_exception();
    stream.stop();
    if (!expected.empty()) CHECK((result.text == expected.substr(0, result.text.size())));
  }
  for (std::thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
  if (first_error) std::rethrow_exception(first_error);
  result.guessed = stream.speculative_chunks();
  return result;
}

constexpr io::InflaterMaker kMakers[] = {io::make_inflater, io::make_zlib_inflater};

/// Decompresses all members of `data`, input and output in steps of the given sizes.
std::string decode_in_steps(io::InflaterMaker make, const std::string& data, std::size_t input_step,
                            std::size_t output_step) {
  io::GzipMembers members(make);
  std::string text, member;
  std::string output(output_step, '\0');
  for (std::size_t pos = 0; pos < data.size();) {
    std::span<const char> input(data.data() + pos, std::min(input_step, data.size() - pos));
    std::span<char> room(output);
    const auto status = members.decode(input, room);
    REQUIRE(status != io::GzipMembers::Status::corrupt);
    REQUIRE(status != io::GzipMembers::Status::junk);
    member.append(output, 0, output_step - room.size());
    pos = static_cast<std::size_t>(input.data() - data.data());
    if (status != io::GzipMembers::Status::end_of_member) continue;
    CHECK(members.trailer().size == member.size());
    CHECK(members.trailer().crc == io::gzip_crc(0, member));
    text += std::exchange(member, "");
  }
  CHECK(members.is_between());
  return text;
}

/// The bits at which blocks with codes of their own start in a raw deflate stream, but for the first and the
/// last, as zlib knows them.
std::vector<std::uint64_t> block_starts(const std::string& data) {
  z_stream stream = {};
  REQUIRE(inflateInit2(&stream, -MAX_WBITS) == Z_OK);
  std::string text(4 << 20, '\0');
  stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<unsigned>(data.size());
  stream.next_out = reinterpret_cast<unsigned char*>(text.data());
  stream.avail_out = static_cast<unsigned>(text.size());
  std::vector<std::uint64_t> starts;
  while (::inflate(&stream, Z_BLOCK) == Z_OK) {
    constexpr int kAtBlock = 128, kUnusedBits = 7;
    if ((stream.data_type & kAtBlock) == 0) continue;
    const std::uint64_t bit = 8 * stream.total_in - (stream.data_type & kUnusedBits);
    const auto byte = [&](std::uint64_t place) { return static_cast<unsigned char>(data[place]); };
    const unsigned header = (byte(bit / 8) | byte(bit / 8 + 1) << 8) >> bit % 8 & 7;
    if (header == 4 && bit > 0) starts.push_back(bit);
  }
  inflateEnd(&stream);
  return starts;
}

}  // namespace

TEST_CASE("io gzip stream: members and buffers of any size") {
  std::mt19937 random(20);
  for (int round = 0; round < 30; ++round) {
    std::string text, data;
    for (unsigned member = 0; member < 1 + random() % 4; ++member) {
      const std::string part = random_bases(random, random() % 5000) + std::string(random() % 3000, 'A');
      text += part;
      data += deflate(part, static_cast<int>(random() % 10));
    }
    for (const io::InflaterMaker make : kMakers) {
      CHECK(decode_in_steps(make, data, 1 + random() % 50, 100'000) == text);
      CHECK(decode_in_steps(make, data, data.size(), 100'000) == text);
      CHECK(decode_in_steps(make, data, 1000, 1 + random() % 100) == text);
    }
  }
}

TEST_CASE("io gzip stream: headers with every field, and with wrong ones") {
  const std::string text = reads_text(1, 2000);
  const std::string plain = deflate(text);
  for (unsigned flags = 0; flags < 256; ++flags) {
    std::string header = plain.substr(0, 10);
    header[3] = static_cast<char>(flags);
    if ((flags & 4) != 0) header += std::string("\x05\0extra", 7);
    if ((flags & 8) != 0) header += std::string("name\0", 5);
    if ((flags & 16) != 0) header += std::string("comment\0", 8);
    if ((flags & 2) != 0) header += little_endian(io::gzip_crc(0, header) & 0xffff, 2);
    const std::string data = header + plain.substr(10);
    CAPTURE(flags);
    if ((flags & 0xe0) == 0) {
      CHECK(decode_in_steps(io::make_inflater, data, 3, 4000) == text);
      if ((flags & 2) == 0) continue;
    }
    // A reserved flag, or a header with a wrong checksum.
    std::string wrong = data;
    if ((flags & 0xe0) == 0) wrong[4] = static_cast<char>(wrong[4] ^ 1);
    std::span<const char> input(wrong);
    std::string room(4000, '\0');
    std::span<char> output(room);
    CHECK(io::GzipMembers(io::make_inflater).decode(input, output) == io::GzipMembers::Status::corrupt);
  }
}

TEST_CASE("io gzip stream: starts of blocks are found, all of them and no others") {
  for (const int level : {1, 6}) {
    const std::string data = deflate(reads_text(2, 1'500'000), level, -MAX_WBITS) + std::string(400, '\0');
    const std::vector<std::uint64_t> starts = block_starts(data);
    REQUIRE(starts.size() > 5);
    std::vector<std::uint64_t> found;
    std::uint64_t begin = 1;
    while (const auto block = io::find_block(data, begin, 8 * data.size())) {
      found.push_back(*block);
      begin = *block + 1;
    }
    CHECK(found == starts);
    // The bounds count, to the bit.
    CHECK(io::find_block(data, starts[3], starts[3] + 1) == starts[3]);
    CHECK(io::find_block(data, starts[3] + 1, starts[4]) == std::nullopt);
  }
  CHECK(io::find_block("", 0, 1000) == std::nullopt);
  CHECK(io::find_block(std::string(io::kBlockHeaderBytes, '\4'), 0, 1000) == std::nullopt);
}

TEST_CASE("io gzip stream: two guesses tell where in the window a byte came from") {
  std::mt19937 random(3);
  const std::string_view first_guess = io::DeflateWindow::first_guess();
  const std::string_view second_guess = io::DeflateWindow::second_guess();
  for (const std::size_t known :
       {std::size_t{0}, std::size_t{1}, std::size_t{1000}, io::DeflateWindow::kSize}) {
    std::string before(known, '\0');
    for (char& c : before) c = static_cast<char>(random());
    io::DeflateWindow window;
    window.append("what was before and is cleared");
    window.clear();
    for (std::size_t pos = 0; pos < known; pos += 7) window.append(std::string_view(before).substr(pos, 7));
    CHECK(window.text() == before);
    // Every place of the window, and every byte, which stands for itself.
    std::string first(first_guess.substr(first_guess.size() - known));
    std::string second(second_guess.substr(second_guess.size() - known));
    for (int byte = 0; byte < 256; ++byte)
      first += static_cast<char>(byte), second += static_cast<char>(byte);
    std::string text = first;
    CHECK(window.resolve(text.data(), second.data(), text.size()));
    CHECK(text.substr(0, known) == before);
    CHECK(text.substr(known) == first.substr(known));
    if (known == io::DeflateWindow::kSize) continue;
    const std::size_t unknown = first_guess.size() - known - 1;
    text = first_guess[unknown];
    CHECK_FALSE(window.resolve(text.data(), second_guess.data() + unknown, 1));
  }
}

TEST_CASE("io gzip stream: the same text in order, out of order, and with both inflaters") {
  const ScratchFolder folder;
  const std::string reads = reads_text(4, warpmer::tests::by_tier<std::size_t>(2'500'000, 1'500'000));
  std::mt19937 random(4);
  std::string noise(600'000, '\0');
  for (char& c : noise) c = static_cast<char>(random());
  std::string members, lanes;
  for (std::size_t pos = 0; pos < reads.size(); pos += 333'333)
    members += deflate(reads.substr(pos, 333'333));
  lanes = deflate(reads.substr(0, 777'777), 4) + deflate(reads.substr(777'777), 1);
  const struct {
    const char* what;
    std::string text, data;
    bool is_guessed;
  } cases[] = {
      {"level 1", reads, deflate(reads, 1), true},
      {"level 6", reads, deflate(reads), true},
      {"two members", reads, lanes, true},
      {"many members", reads, members, true},
      {"bases alone", random_bases(random, 1'500'000), "", true},
      {"zeros after it", reads, deflate(reads, 2) + std::string(700'000, '\0'), true},
      // Text of a chunk that is far larger than a block.
      {"much of one letter", std::string(8'000'000, 'N'), "", false},
      {"one letter among reads", reads + std::string(6'000'000, 'N') + reads, "", true},
      {"noise, stored", noise, deflate(noise, 0), false},
      {"nothing", "", deflate(""), false},
      {"little", "ACGT\n", deflate("ACGT\n"), false},
  };
  for (const auto& each : cases) {
    CAPTURE(each.what);
    const std::string path = folder.write("x.gz", each.data.empty() ? deflate(each.text, 1) : each.data);
    for (const io::InflaterMaker make : kMakers) {
      CHECK((text_in_order(path, 1, make) == each.text));
      CHECK((text_in_order(path, 4, make) == each.text));
      const OutOfOrder result = text_out_of_order(path, make);
      CHECK((result.text == each.text));
      CHECK(result.guessed <= result.chunks);
      CHECK((result.guessed > 0) == each.is_guessed);
    }
  }
}

TEST_CASE("io gzip stream: what looks like a block and is none misleads nobody") {
  // A gzip file within stored blocks has all that a block needs, but is text.
  const ScratchFolder folder;
  const std::string reads = reads_text(5, 2'000'000);
  const std::string inner = deflate(reads, 6, -MAX_WBITS);
  const std::string text = reads + inner + reads;
  const std::string path = folder.write("x.gz", deflate(reads, 1) + deflate(inner, 0) + deflate(reads, 1));
  for (const io::InflaterMaker make : kMakers) {
    CHECK((text_in_order(path, 4, make) == text));
    const OutOfOrder result = text_out_of_order(path, make);
    CHECK((result.text == text));
    CHECK(result.guessed > 0);
    CHECK(result.guessed + 3 < result.chunks);
  }
}

TEST_CASE("io gzip stream: damage is found out of order, too") {
  const ScratchFolder folder;
  const std::string text = reads_text(6, 3'000'000);
  const std::string data = deflate(text.substr(0, 1'000'000), 1) + deflate(text.substr(1'000'000), 1);
  std::mt19937 random(6);
  for (int round = 0; round < warpmer::tests::by_tier(40, 10); ++round) {
    std::string damaged = data;
    const std::size_t place = 10 + random() % (data.size() - 10);
    damaged[place] = static_cast<char>(damaged[place] ^ (1 << random() % 8));
    CAPTURE(place);
    const std::string path = folder.write("x.gz", damaged);
    for (const io::InflaterMaker make : kMakers) {
      try {
        // Only the fields of the second header that say nothing about the text may change without harm.
        const std::string read = text_out_of_order(path, make).text;
        CHECK((read == text));
      } catch (const warpmer::InputError& error) {
        CHECK(contains(error.what(), "x.gz"));
        CHECK((contains(error.what(), "corrupt in member") || contains(error.what(), "truncated") ||
               contains(error.what(), "what follows gzip member")));
      }
    }
  }
}

TEST_CASE("io gzip stream: a file that ends too soon is found out of order, too") {
  const ScratchFolder folder;
  const std::string text = reads_text(7, 3'000'000);
  const std::string data = deflate(text, 1);
  std::mt19937 random(7);
  for (int round = 0; round < warpmer::tests::by_tier(30, 6); ++round) {
    const std::string path = folder.write("x.gz", data.substr(0, 20 + random() % (data.size() - 20)));
    for (const io::InflaterMaker make : kMakers) {
      const std::string message = refusal<warpmer::InputError>([&] { text_out_of_order(path, make, text); });
      CHECK(contains(message, "truncated: the file ends inside member 1"));
    }
  }
}

TEST_CASE("io gzip stream: a reader may leave at any time") {
  const ScratchFolder folder;
  const std::string text = reads_text(8, 3'000'000) + std::string(8'000'000, 'N');
  const std::string path = folder.write("x.gz", deflate(text, 1));
  for (const std::size_t taken : {std::size_t{0}, std::size_t{1}, text.size() / 9, text.size() / 2}) {
    for (const unsigned threads : {0U, 1U, 4U}) {
      const auto reader =
          read_ahead(std::make_unique<warpmer::file::ByteFile>(path, path, kNeverCancelled), threads);
      std::string read(taken, '\0');
      for (std::size_t done = 0; done < taken;) done += reader->read(read.data() + done, taken - done);
      CHECK((read == text.substr(0, taken)));
    }
  }
}

TEST_CASE("io gzip stream: decompressed by those who borrow the texts") {
  const ScratchFolder folder;
  // In the middle, chunks of many texts each.
  const std::string half = reads_text(10, 2'000'000);
  const std::string text = half + std::string(8'000'000, 'N') + half;
  const std::string path = folder.write("x.gz", deflate(text, 1) + deflate(half, 1));
  for (const unsigned readers : {1U, 2U, 5U}) {
    const auto stream =
        read_ahead(std::make_unique<warpmer::file::ByteFile>(path, path, kNeverCancelled), 0, readers);
    std::mutex mutex;
    std::map<std::uint64_t, std::string> texts;
    const auto work = [&] {
      for (io::BlockLease lease = stream->borrow(); !lease.is_end; lease = stream->borrow()) {
        {
          const std::lock_guard lock(mutex);
          CHECK_FALSE(lease.error);
          CHECK(texts.emplace(lease.number, std::string(lease.text, lease.size)).second);
        }
        stream->give_back(lease);
      }
    };
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < readers; ++t) threads.emplace_back(work);
    for (std::thread& thread : threads) thread.join();
    std::string read;
    for (const auto& [number, each] : texts) read += each;
    CHECK((read == text + half));
    CHECK(texts.size() > text.size() / (std::size_t{1} << 20));
  }
}

TEST_CASE("io gzip stream: readers that decompress end when the job is cancelled") {
  const ScratchFolder folder;
  const std::string text = reads_text(11, 4'000'000);
  const std::string path = folder.write("x.gz", deflate(text, 1));
  std::atomic<bool> cancelled = false;
  const auto stream = std::make_unique<io::ReadAhead>(
      std::make_unique<io::GzipStream>(std::make_unique<warpmer::file::ByteFile>(path, path, cancelled), 1),
      0, cancelled, 3);
  std::atomic<int> ended = 0;
  const auto work = [&] {
    try {
      while (true) {
        const io::BlockLease lease = stream->borrow();
        if (lease.error) std::rethrow_exception(lease.error);
        if (lease.is_end || lease.number <= 1) break;  // two keep what they have
        stream->give_back(lease);
        if (lease.number == 3) cancelled = true;
      }
    } catch (const warpmer::file::Cancelled&) {
      ++ended;
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(3);
  for (int t = 0; t < 3; ++t) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  CHECK(ended == 1);
}

namespace {

/// Deflate data, bit by bit.
struct BitString {
  std::string bytes;
  unsigned used = 8;  ///< bits of the last byte

  void put(unsigned value, unsigned count) {
    for (unsigned i = 0; i < count; ++i, ++used) {
      if (used == 8) bytes += '\0', used = 0;
      bytes.back() = static_cast<char>(bytes.back() | (value >> i & 1) << used);
    }
  }
};

}  // namespace

TEST_CASE("io gzip stream: a final block does not take the mark of an end for its own") {
  // Fixed codes, in the last block: 5 bits of a literal, and what is put there is the rest of it and the end.
  const auto ends = [](io::InflaterMaker make, bool is_final) {
    BitString data;
    data.put(is_final ? 1 : 0, 1);
    data.put(1, 2);
    for (int i = 0; i < 6; ++i) data.put(0b10001110, 8);  // 'A' is 01110001, from the highest bit
    data.put(0b01110, 5);
    REQUIRE(data.bytes.size() == 7);
    REQUIRE(data.used == 8);
    io::GzipMembers members(make);
    members.enter({}, 0, 0);
    std::string room(io::GzipMembers::kEndText, '\0');
    std::span<char> output(room);
    std::span<const char> input(data.bytes);
    REQUIRE(members.decode(input, output) == io::GzipMembers::Status::going_on);
    REQUIRE(room.substr(0, 6) == "AAAAAA");
    std::string more(io::GzipMembers::kEndText, '\0');
    std::span<char> rest(more);
    return members.ends_block(0, 0, rest);
  };
  for (const io::InflaterMaker make : kMakers) {
    CHECK_FALSE(ends(make, true));
    CHECK_FALSE(ends(make, false));
  }
}

namespace {

/// Memory with `data`, behind which nothing can be read, as it is mapped and not in its file: /proc/self/mem,
/// from there on, cannot be read, either.
class EndsUnreadable {
 public:
  explicit EndsUnreadable(const std::string& data)
      : size_((data.size() / kPage + 1) * kPage), descriptor_(::memfd_create("test", 0)) {
    REQUIRE(descriptor_ >= 0);
    REQUIRE(::ftruncate(descriptor_, static_cast<off_t>(size_)) == 0);
    memory_ = ::mmap(nullptr, size_ + kPage, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    REQUIRE(memory_ != MAP_FAILED);
    begin_ = static_cast<char*>(memory_) + size_ - data.size();
    std::memcpy(begin_, data.data(), data.size());
  }
  ~EndsUnreadable() {
    ::munmap(memory_, size_ + kPage);
    ::close(descriptor_);
  }
  EndsUnreadable(const EndsUnreadable&) = delete;
  EndsUnreadable& operator=(const EndsUnreadable&) = delete;

  [[nodiscard]] std::unique_ptr<warpmer::file::ByteFile> file() const {
    auto file = std::make_unique<warpmer::file::ByteFile>("/proc/self/mem", "a broken disk", kNeverCancelled);
    const auto begin = reinterpret_cast<std::uintptr_t>(begin_);
    file->restrict_to(begin, begin + size_ + kPage);
    return file;
  }

 private:
  static constexpr std::size_t kPage = 4096;

  std::size_t size_;
  int descriptor_;
  void* memory_ = nullptr;
  char* begin_ = nullptr;
};

}  // namespace

TEST_CASE("io gzip stream: what comes before a place that cannot be read is there") {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1000}, std::size_t{2'000'000}}) {
    const std::string text = reads_text(9, bytes);
    const EndsUnreadable disk(bytes == 0 ? "" : deflate(text, 1));
    for (const unsigned threads : {0U, 1U, 4U}) {
      const auto reader = read_ahead(disk.file(), threads);
      std::string read, step(100'000, '\0');
      const std::string message = refusal<warpmer::InputError>([&] {
        while (const std::size_t count = reader->read(step.data(), step.size())) read.append(step, 0, count);
      });
      CHECK((read == text));
      CHECK(contains(message, "a broken disk: cannot be read any further, after "));
    }
  }
}

TEST_CASE("io gzip stream: endless empty members come in several texts") {
  const ScratchFolder folder;
  std::string data;
  for (int i = 0; i < 10'000; ++i) data += deflate("");
  const std::string path = folder.write("x.gz", data + deflate("ACGT\n"));
  for (const unsigned threads : {0U, 1U, 4U}) {
    const auto reader =
        read_ahead(std::make_unique<warpmer::file::ByteFile>(path, path, kNeverCancelled), threads);
    std::string text;
    std::size_t texts = 0;
    for (io::BlockLease lease = reader->borrow(); !lease.is_end; lease = reader->borrow()) {
      REQUIRE(!lease.error);
      text.append(lease.text, lease.size);
      ++texts;
      reader->give_back(lease);
    }
    CHECK(text == "ACGT\n");
    CHECK(texts >= 9);  // 1024 members in each, at most
    CHECK(texts < 100);
  }
}
