#pragma once
/// The common parts of the tests of `io`: files to read, and reading them back record by record.

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "io/fastx/plain_text.h"
#include "io/input_set.h"
#include "random_fastq.h"
#include "random_text.h"
#include "refusal.h"
#include "scratch_folder.h"
#include "unit/source_tree.h"

namespace io_test {

namespace io = warpmer::io;
using warpmer::tests::fastq;
using warpmer::tests::flipped;
using warpmer::tests::refusal;
using warpmer::tests::ScratchFolder;

/// A record put together again from its pieces.
struct Record {
  std::string name;
  std::string bases;
  bool operator==(const Record&) const = default;
};
inline std::ostream& operator<<(std::ostream& out, const Record& record) {
  return out << record.name << ':' << record.bases.substr(0, 60);
}
using Records = std::vector<Record>;

/// Adds the pieces of a batch to the records of its file; checks that they fit together.
inline void collect(const io::Batch& batch, std::uint32_t overlap, std::map<std::uint64_t, Record>& records,
                    std::map<std::uint64_t, bool>& complete) {
  for (const io::Piece& piece : batch.pieces) {
    Record& record = records[piece.record];
    const std::string_view bases = batch.bases(piece);
    REQUIRE(piece.offset + piece.length <= batch.text.size());
    if (piece.first_base == 0) {
      REQUIRE(record.bases.empty());
      record.name = batch.name(piece);
      record.bases = bases;
    } else {
      // Every later piece repeats exactly the overlap.
      REQUIRE(record.name == batch.name(piece));
      REQUIRE(piece.first_base + overlap == record.bases.size());
      REQUIRE(std::string_view(record.bases).substr(piece.first_base) == bases.substr(0, overlap));
      record.bases += bases.substr(overlap);
    }
    REQUIRE(!complete[piece.record]);
    complete[piece.record] = piece.last;
  }
}

/// Reads everything with one thread, and returns the records of all files in the order in which they were
/// read.
inline Records read_all(const std::vector<std::string>& paths, const io::InputOptions& options = {}) {
  io::InputSet inputs(paths, options);
  io::Batch batch;
  std::vector<std::string> files;
  std::map<std::string, std::map<std::uint64_t, Record>> records;
  std::map<std::string, std::map<std::uint64_t, bool>> complete;
  while (inputs.next(batch)) {
    if (!records.contains(batch.file)) files.push_back(batch.file);
    collect(batch, options.overlap_bases, records[batch.file], complete[batch.file]);
  }
  Records all;
  for (const std::string& file : files) {
    for (const auto& [ordinal, record] : records[file]) {
      REQUIRE(complete[file][ordinal]);
      all.push_back(record);
    }
  }
  CHECK(inputs.records() == all.size());
  CHECK_FALSE(inputs.next(batch));
  return all;
}

/// Reads everything by several threads, as text where that can be, and calls `take` for one batch at a time.
/// Returns true when text was refused.
template <class Take>
bool read_as_text(io::InputSet& inputs, unsigned threads, const Take& take) {
  std::mutex mutex;
  bool refused = false;
  inputs.enable_raw_text(io::heap_for_text());
  const auto work = [&] {
    try {
      for (io::Batch batch; inputs.next(batch);) {
        const std::lock_guard lock(mutex);
        take(batch);
      }
    } catch (const io::RawTextRefused&) {
      const std::lock_guard lock(mutex);
      refused = true;
    }
  };
  std::vector<std::thread> team;
  for (unsigned t = 0; t < threads; ++t) team.emplace_back(work);
  for (std::thread& thread : team) thread.join();
  return refused;
}

/// Returns the message of the InputError that reading throws; empty if it throws none.
inline std::string input_error(const std::vector<std::string>& paths, const io::InputOptions& options = {}) {
  return refusal<warpmer::InputError>([&] { read_all(paths, options); });
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Returns one gzip member or, with `window_bits` negative, one raw deflate stream.
inline std::string deflate(const std::string& text, int level = 6, int window_bits = 16 + MAX_WBITS) {
  z_stream stream = {};
  REQUIRE(deflateInit2(&stream, level, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<unsigned>(text.size());
  stream.next_out = reinterpret_cast<unsigned char*>(out.data());
  stream.avail_out = static_cast<unsigned>(out.size());
  REQUIRE(::deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string little_endian(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}

inline std::string bgzf_block(const std::string& text) {
  const std::string deflated = deflate(text, 6, -MAX_WBITS);
  const auto crc =
      ::crc32(0, reinterpret_cast<const unsigned char*>(text.data()), static_cast<unsigned>(text.size()));
  const std::string head("\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0", 16);
  return head + little_endian(deflated.size() + 25, 2) + deflated + little_endian(crc, 4) +
         little_endian(text.size(), 4);
}

/// Returns BGZF in blocks of `block_bytes` of text, with the end marker.
inline std::string bgzf(const std::string& text, std::size_t block_bytes = 60000) {
  std::string out;
  for (std::size_t pos = 0; pos < text.size(); pos += block_bytes)
    out += bgzf_block(text.substr(pos, block_bytes));
  return out + bgzf_block("");
}

inline std::string random_bases(std::mt19937& random, std::size_t length) {
  return warpmer::tests::random_text(random, length, "ACGTacgtNn");
}

/// Returns `text` in lines of `width`, each with `line_end`; with width 0, in one line.
inline std::string wrapped(const std::string& text, std::size_t width, const std::string& line_end) {
  if (width == 0 || text.empty()) return text + line_end;
  std::string out;
  for (std::size_t pos = 0; pos < text.size(); pos += width) out += text.substr(pos, width) + line_end;
  return out;
}

inline std::string fastq(const Records& records) {
  std::string text;
  for (const Record& r : records)
    text += "@" + r.name + " x\n" + r.bases + "\n+\n" + std::string(r.bases.size(), 'I') + "\n";
  return text;
}

/// Returns records of random length with random names.
inline Records random_records(std::mt19937& random, std::size_t count, std::size_t longest) {
  Records records;
  for (std::size_t i = 0; i < count; ++i) {
    records.push_back({"read" + std::to_string(i) + "/" + std::to_string(random() % 100),
                       random_bases(random, random() % (longest + 1))});
  }
  return records;
}

/// Returns the records as text of every kind that is allowed, mixed at random.
inline std::string random_text(std::mt19937& random, const Records& records) {
  std::string text;
  const auto maybe = [&](unsigned n) { return random() % n == 0; };
  const std::string line_end = maybe(2) ? "\n" : "\r\n";
  const bool is_simple = maybe(3);
  for (const Record& r : records) {
    const std::string comment = maybe(2) ? "" : maybe(2) ? " some comment > @" : "\tlength=7";
    const std::size_t width = is_simple || maybe(2) ? 0 : 1 + random() % 80;
    if (!is_simple && maybe(2)) {
      text.append(1, '>').append(r.name).append(comment).append(line_end);
      if (!r.bases.empty() || maybe(2)) text += wrapped(r.bases, width, line_end);
    } else {
      std::string quality(r.bases.size(), 'I');
      for (char& q : quality) q = static_cast<char>('!' + random() % 94);
      text.append(1, '@').append(r.name).append(comment).append(line_end);
      text.append(wrapped(r.bases, width, line_end)).append(1, '+');
      text.append(maybe(3) ? r.name + comment : maybe(3) ? r.name : "").append(line_end);
      text.append(wrapped(quality, width, line_end));
    }
    if (!is_simple && maybe(4)) text += line_end;
  }
  if (maybe(2)) {
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  }
  return text;
}

/// Returns the folder of real data, or an empty path if there is none.
inline std::filesystem::path shared_folder() {
  if (const char* const named = std::getenv("WARPMER_SHARED")) return named;
  const std::filesystem::path beside = std::filesystem::path(source_tree()) / ".." / "shared";
  return std::filesystem::exists(beside / "data" / "MANIFEST.tsv") ? beside : std::filesystem::path();
}

}  // namespace io_test
