// Tests what filtering needs of inputs: headers, qualities and BAM records, whole sequences, and reads in
// pairs.

#include "io/read_pairs.h"

#include <chrono>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>

#include "base/thread_team.h"
#include "io/compress/bgzf_writer.h"
#include "io/hts/bam_record.h"
#include "unit/io/io_fixture.h"

using namespace io_test;

namespace {

/// A read as FASTQ, or as FASTA if it has no quality.
struct Read {
  std::string header;
  std::string bases;
  std::string quality;
  bool operator==(const Read&) const = default;
};
using Reads = std::vector<Read>;

void add_reads(const io::Batch& batch, Reads& reads) {
  for (const io::Piece& piece : batch.pieces) {
    CHECK(piece.last);
    CHECK(piece.first_base == 0);
    REQUIRE(batch.header(piece).starts_with(batch.name(piece)));
    reads.push_back({std::string(batch.header(piece)), std::string(batch.bases(piece)),
                     std::string(batch.quality(piece))});
  }
}

Reads random_reads(std::mt19937& random, std::size_t count, std::size_t longest,
                   const std::string& mate = "") {
  Reads reads;
  for (std::size_t i = 0; i < count; ++i) {
    Read read{"r" + std::to_string(i) + mate + (random() % 2 == 0 ? "" : " comment\twith  blanks"),
              random_bases(random, random() % (longest + 1)), ""};
    for (std::size_t j = 0; j < read.bases.size(); ++j)
      read.quality += static_cast<char>('!' + random() % 94);
    reads.push_back(read);
  }
  return reads;
}

/// In records of one line or several, with either line end; reads without quality as FASTA.
std::string text_of(std::mt19937& random, const Reads& reads) {
  std::string text;
  for (const Read& read : reads) {
    const std::string end = random() % 4 == 0 ? "\r\n" : "\n";
    const std::size_t width = random() % 3 == 0 ? 1 + random() % 50 : 0;
    const bool is_fasta = read.quality.empty() && !read.bases.empty();
    text += (is_fasta ? ">" : "@") + read.header + end + wrapped(read.bases, width, end);
    if (!is_fasta)
      text += "+" + (random() % 3 == 0 ? read.header : "") + end + wrapped(read.quality, width, end);
    if (random() % 10 == 0) text += end;
  }
  return text;
}

struct Groups {
  Reads first, second;
  std::size_t number = 0;
};

Groups read_groups(const std::vector<std::string>& first, const std::vector<std::string>& second,
                   io::Pairing pairing, std::size_t batch_bytes) {
  io::InputOptions options;
  options.batch_bytes = batch_bytes;
  options.overlap_bases = 20;
  io::ReadPairs pairs(first, second, pairing, options);
  Groups groups;
  io::ReadGroup group;
  std::uint64_t input_bytes = 0;
  while (pairs.next(group)) {
    input_bytes += group.input_bytes();
    CHECK(group.ordinal == groups.number++);
    if (pairing == io::Pairing::two_files) CHECK(group.first.pieces.size() == group.second.pieces.size());
    if (pairing == io::Pairing::interleaved) CHECK(group.first.pieces.size() % 2 == 0);
    add_reads(group.first, groups.first);
    add_reads(group.second, groups.second);
  }
  CHECK(input_bytes == pairs.alike_bytes());
  return groups;
}

std::string pairing_error(const std::vector<std::string>& first, const std::vector<std::string>& second,
                          io::Pairing pairing, std::size_t batch_bytes) {
  return refusal<warpmer::InputError>([&] { read_groups(first, second, pairing, batch_bytes); });
}

constexpr std::size_t kBatchBytes[] = {1, 2000, 1 << 20};

}  // namespace

TEST_CASE("io reads: header and quality come with whole sequences, whatever the batch") {
  std::mt19937 random(1);
  const ScratchFolder folder;
  for (int round = 0; round < 20; ++round) {
    Reads reads = random_reads(random, 60, round % 2 == 0 ? 200 : 3000);
    for (Read& read : reads) {
      if (random() % 3 == 0) read.quality.clear();
    }
    const std::string path = folder.write("reads", text_of(random, reads));
    for (const std::size_t bytes : kBatchBytes) {
      CHECK(read_groups({path}, {}, io::Pairing::single, bytes).first == reads);
    }
  }
}

TEST_CASE("io reads: a header longer than a batch, and one at the end of the file") {
  const ScratchFolder folder;
  const std::string header = "a " + std::string(5000, 'x');
  const Reads reads = {{header, std::string(3000, 'A'), ""}, {"b c", "", ""}};
  const std::string path = folder.write("reads", ">" + header + "\n" + std::string(3000, 'A') + "\n>b c");
  for (const std::size_t bytes : kBatchBytes) {
    CHECK(read_groups({path}, {}, io::Pairing::single, bytes).first == reads);
  }
}

TEST_CASE("io reads: names of mates") {
  CHECK(io::are_mate_names("a", "a"));
  CHECK(io::are_mate_names("a/1", "a/2"));
  CHECK(io::are_mate_names("SRR1.7.1", "SRR1.7.2"));
  CHECK(io::are_mate_names("a:1", "a:2"));
  CHECK_FALSE(io::are_mate_names("a/2", "a/1"));
  CHECK_FALSE(io::are_mate_names("a1", "a2"));
  CHECK_FALSE(io::are_mate_names("a/1", "b/2"));
  CHECK_FALSE(io::are_mate_names("a/1", "a"));
  CHECK_FALSE(io::are_mate_names("1", "2"));
  CHECK_FALSE(io::are_mate_names("a/3", "a/4"));
}

TEST_CASE("io reads: pairs stay pairs, in order, whatever the batches") {
  std::mt19937 random(2);
  const ScratchFolder folder;
  for (int round = 0; round < 10; ++round) {
    const Reads first = random_reads(random, 100, 100, "/1");
    const Reads second = random_reads(random, 100, round % 2 == 0 ? 100 : 900, "/2");
    Reads both;
    for (std::size_t i = 0; i < first.size(); ++i) both.insert(both.end(), {first[i], second[i]});
    const auto a = first.begin() + 37, b = second.begin() + 64;
    const std::vector<std::string> first_files = {folder.write("1a", text_of(random, {first.begin(), a})),
                                                  folder.write("1b", text_of(random, {a, first.end()}))};
    const std::vector<std::string> second_files = {folder.write("2a", text_of(random, {second.begin(), b})),
                                                   folder.write("2b", text_of(random, {b, second.end()}))};
    const std::string together = folder.write("both", text_of(random, both));
    for (const std::size_t bytes : kBatchBytes) {
      CAPTURE(bytes);
      const Groups groups = read_groups(first_files, second_files, io::Pairing::two_files, bytes);
      CHECK(groups.first == first);
      CHECK(groups.second == second);
      CHECK(groups.number > (bytes == kBatchBytes[2] ? 2 : 4));
      CHECK(read_groups({together}, {}, io::Pairing::interleaved, bytes).first == both);
    }
  }
}

namespace {

/// Reads with several threads, each of which may be slow now and then. Returns what they got, in order.
Groups read_side_by_side(const std::vector<std::string>& first, const std::vector<std::string>& second,
                         io::Pairing pairing, bool one_caller) {
  constexpr unsigned kThreads = 4;
  io::InputOptions options;
  options.batch_bytes = 4096;
  options.threads = kThreads;
  options.one_caller = one_caller;
  io::ReadPairs pairs(first, second, pairing, options);
  std::mutex mutex;
  std::map<std::uint64_t, Groups> by_ordinal;
  const auto read = [&](unsigned thread) {
    std::mt19937 random(thread);
    io::ReadGroup group;
    while (pairs.next(group)) {
      const std::lock_guard lock(mutex);
      Groups& here = by_ordinal[group.ordinal];
      add_reads(group.first, here.first);
      add_reads(group.second, here.second);
      if (pairing == io::Pairing::two_files) CHECK(here.first.size() == here.second.size());
      if (random() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  };
  warpmer::run_team(kThreads, read, [&] { pairs.cancel(); });
  Groups all;
  for (auto& [ordinal, groups] : by_ordinal) {
    CHECK(ordinal == all.number++);
    std::ranges::move(groups.first, std::back_inserter(all.first));
    std::ranges::move(groups.second, std::back_inserter(all.second));
  }
  return all;
}

std::string fastq_of(const Reads& reads) {
  std::string text;
  for (const Read& read : reads)
    text += "@" + read.header + "\n" + read.bases + "\n+\n" + read.quality + "\n";
  return text;
}

}  // namespace

TEST_CASE("io reads: several threads read side by side, and pairs stay pairs, in order") {
  std::mt19937 random(5);
  const ScratchFolder folder;
  const Reads first = random_reads(random, 3000, 100, "/1");
  const Reads second = random_reads(random, 3000, 300, "/2");
  Reads both;
  for (std::size_t i = 0; i < first.size(); ++i) both.insert(both.end(), {first[i], second[i]});
  const auto a = first.begin() + 1700;
  const std::vector<std::string> first_files = {folder.write("1a", fastq_of({first.begin(), a})),
                                                folder.write("1b", fastq_of({a, first.end()}))};
  const std::vector<std::string> second_files = {folder.write("2", fastq_of(second))};
  const std::string together = folder.write("both", fastq_of(both));
  const std::string packed = folder.write("both.gz", deflate(fastq_of(both)));
  std::size_t number_of_groups = 0;
  for (int round = 0; round < 6; ++round) {
    const bool one_caller = round % 2 == 0;
    CAPTURE(one_caller);
    const Groups two = read_side_by_side(first_files, second_files, io::Pairing::two_files, one_caller);
    CHECK((two.first == first && two.second == second));
    if (one_caller) {
      CHECK((number_of_groups == 0 || two.number == number_of_groups));
      number_of_groups = two.number;
    }
    for (const std::string& file : {together, packed}) {
      CHECK(read_side_by_side({file}, {}, io::Pairing::interleaved, one_caller).first == both);
      CHECK(read_side_by_side({file}, {}, io::Pairing::single, one_caller).first == both);
    }
  }
}

TEST_CASE("io reads: what several threads find wrong is the same") {
  std::mt19937 random(6);
  const ScratchFolder folder;
  const Reads first = random_reads(random, 3000, 100, "/1");
  Reads second = random_reads(random, 3000, 100, "/2");
  const std::string one = folder.write("one", fastq_of(first));
  second.erase(second.begin() + 2000);
  const std::string lacking = folder.write("gap", fastq_of(second));
  const std::string damaged = folder.write(
      "bad", fastq_of({first.begin(), first.begin() + 1000}) + "@r\nACGT\nno plus\n" + fastq_of(first));
  const auto error = [&](const std::vector<std::string>& files, const std::vector<std::string>& mates,
                         io::Pairing pairing) {
    return refusal<warpmer::InputError>([&] { read_side_by_side(files, mates, pairing, false); });
  };
  for (int round = 0; round < 10; ++round) {
    CHECK(contains(error({one}, {lacking}, io::Pairing::two_files),
                   "one, record 2001 ('r2000/1'): its mate should be record 2001 of " + lacking));
    CHECK(contains(error({one}, {damaged}, io::Pairing::two_files), "bad, record 1001"));
    CHECK(contains(error({damaged}, {}, io::Pairing::single), "bad, record 1001"));
  }
}

TEST_CASE("io reads: what is no pair is named") {
  std::mt19937 random(3);
  const ScratchFolder folder;
  const Reads first = random_reads(random, 50, 100, "/1");
  const Reads second = random_reads(random, 50, 100, "/2");
  Reads short_one(second.begin(), second.end() - 1), gap = second;
  gap.erase(gap.begin() + 20);
  Reads odd;
  for (std::size_t i = 0; i < first.size(); ++i) odd.insert(odd.end(), {first[i], second[i]});
  odd.pop_back();
  const std::string one = folder.write("one", text_of(random, first));
  const std::string shorter = folder.write("short", text_of(random, short_one));
  const std::string lacking = folder.write("gap", text_of(random, gap));
  const std::string interleaved = folder.write("odd", text_of(random, odd));
  for (const std::size_t bytes : kBatchBytes) {
    CAPTURE(bytes);
    const auto error = [&](const std::string& second_file) {
      return pairing_error({one}, {second_file}, io::Pairing::two_files, bytes);
    };
    CHECK(contains(error(shorter), "one, record 50 ('r49/1'): this read has no mate: " + shorter));
    CHECK(contains(error(lacking), "one, record 21 ('r20/1'): its mate should be record 21 of " + lacking));
    CHECK(contains(pairing_error({interleaved, one}, {}, io::Pairing::interleaved, bytes),
                   "odd, record 99 ('r49/1'): this last read has no mate"));
    CHECK(contains(pairing_error({one}, {}, io::Pairing::interleaved, bytes), "record 1 ('r0/1'): its mate"));
  }
}

namespace {

/// A record that is not aligned, with one tag: codes of two bases a byte, given as hex digits.
std::string bam_record(const std::string& codes, const std::string& qualities, unsigned flag,
                       const std::string& tags) {
  std::string body = little_endian(0xffffffff, 4) + little_endian(0xffffffff, 4) + little_endian(2, 1) +
                     little_endian(0, 1) + little_endian(4680, 2) + little_endian(0, 2) +
                     little_endian(flag, 2) + little_endian(qualities.size(), 4) +
                     little_endian(0xffffffff, 4) + little_endian(0xffffffff, 4) + little_endian(0, 4) +
                     std::string("r\0", 2);
  body += codes + qualities + tags;
  return little_endian(body.size(), 4) + body;
}

}  // namespace

TEST_CASE("io reads: a BAM record with fewer bases, as it was sequenced or turned around") {
  const std::string kept = std::string("XSs\x01\x02", 5) + std::string("XZZab\0", 6);
  const std::string tags = std::string("OQZhij\0", 7) + std::string("XSs\x01\x02", 5) +
                           std::string("MLBC\x02\0\0\0\x05\x06", 10) + std::string("XZZab\0", 6);
  // ACGTR, that is 1 2 4 8 5
  const std::string forward = bam_record("\x12\x48\x50", "\x01\x02\x03\x04\x05", 4, tags);
  std::string out = "before";
  const std::string file = forward + "what follows";
  const io::BamRecord record(file);
  CHECK(record.bytes() == forward);
  CHECK(record.length() == 5);
  CHECK(record.quality(1) == 2);
  CHECK_FALSE(record.is_aligned());
  CHECK(record.append_with_bases("CNT", 1, out));
  CHECK(out == "before" + bam_record("\x2f\x80", "\x02\x03\x04", 4, kept));

  // As sequenced it is YACGT, and CGT of it is stored as ACG.
  const std::string backward = bam_record("\x12\x48\x50", "\x01\x02\x03\x04\x05", 4 | 16, tags);
  const io::BamRecord turned(backward);
  CHECK(turned.quality(0) == 5);
  out.clear();
  CHECK(turned.append_with_bases("CGT", 2, out));
  CHECK(out == bam_record("\x12\x40", "\x01\x02\x03", 4 | 16, kept));
  out.clear();
  CHECK(turned.append_with_bases("", 0, out));
  CHECK(out == bam_record("", "", 4 | 16, kept));

  for (const std::string& bad : {std::string("X"), std::string("XXi\1"), std::string("XX?\1"),
                                 std::string("XZZab"), std::string("XBBi\xff\xff\xff\x7f")}) {
    const std::string damaged = bam_record("\x12", "\x01\x02", 4, bad);
    CHECK_FALSE(io::BamRecord(damaged).append_with_bases("A", 0, out));
  }
}

TEST_CASE("io reads: BGZF that was written is read again") {
  std::mt19937 random(4);
  const ScratchFolder folder;
  const Records records = random_records(random, 3000, 200);
  const std::string text = fastq(records);
  for (const int level : {0, 1, 6}) {
    std::string written;
    const std::string_view view = text;
    for (std::size_t begin = 0; begin < text.size(); begin += 200000) {
      io::append_bgzf(view.substr(begin, 200000), level, written);
    }
    io::append_bgzf("", level, written);
    written += io::kBgzfEnd;
    CHECK((level == 0) == (written.size() > text.size()));
    CHECK(read_all({folder.write("reads", written)}) == records);
  }
}
