#include <utility>

#include "base/clock.h"
#include "kernels/session/batch_feed.cuh"
#include "kernels/text/joined_text.cuh"

namespace warpmer::gpu {

namespace {

/// Offsets on the device are 32-bit.
constexpr std::uint64_t kMostBytes = (std::uint64_t{1} << 32) - (std::uint64_t{1} << 20);

std::uint32_t bounded(const io::Batch& batch, std::uint64_t bytes) {
  if (bytes > kMostBytes) {
    throw ResourceError("a sequence of " + std::to_string(bytes) + " characters in " + batch.file +
                        " is longer than the GPU takes at once; use --device cpu");
  }
  return static_cast<std::uint32_t>(bytes);
}

}  // namespace

std::uint64_t BatchFeed::add(io::Batch& batch) {
  const std::uint64_t kmers = complete();
  std::swap(batch_, batch);
  if (batch_.is_raw_text()) {
    const std::uint32_t bytes = bounded(batch_, batch_.raw_text().size());
    bytes_ = is_fasta() ? PlainFasta::joined_bytes(bytes) : PlainFastq::joined_bytes(bytes);
  } else {
    join();
  }
  if (bytes_ > 0) send();
  return kmers;
}

void BatchFeed::join() {
  const auto start = Clock::now();
  bytes_ = bounded(batch_, joined_bytes(batch_));
  joined_.reserve(bytes_);
  gpu::join(batch_, {}, 0, bytes_, joined_.data());
  join_seconds_ += seconds_since(start);
}

void BatchFeed::copy_joined() {
  copy_begin_.record(copies_);
  copy_to_device(text_.data(), joined_.data(), bytes_, copies_);
  copy_end_.record(copies_);
  copied_bytes_ += bytes_;
}

void BatchFeed::copy_raw_text() {
  const std::string_view raw = batch_.raw_text();
  const auto bytes = static_cast<std::uint32_t>(raw.size());
  raw_text_.reserve(text_room(bytes));
  copy_begin_.record(copies_);
  copy_to_device(raw_text_.data(), raw.data(), bytes, copies_);
  copy_end_.record(copies_);
  copied_bytes_ += bytes;
  if (is_fasta()) {
    fasta_.reserve(bytes);
    fasta_.find(raw_text_.data(), bytes, text_.data(), copies_);
    copy_to_host(findings_.data(), fasta_.findings(), 1, copies_);
  } else {
    fastq_.reserve(bytes);
    fastq_.find(raw_text_.data(), bytes, lowest_quality_, text_.data(), copies_);
    copy_to_host(findings_.data(), fastq_.findings(), 1, copies_);
  }
}

void BatchFeed::send() {
  text_.reserve(text_room(bytes_));
  for (auto& left : left_) left.reserve(tiles_of(bytes_));
  if (batch_.is_raw_text()) {
    copy_raw_text();
  } else {
    copy_joined();
  }
  reset_status(status_.data(), copies_);
  ready_.record(copies_);
  busy_ = true;
  shared_.add(*this);
}

void BatchFeed::run(KmerCounter& counter) {
  ready_.let_follow(counter.stream());
  cut(nullptr, tiles_of(bytes_), left_[0].data());
}

/// Only the thread that has the counter calls this.
void BatchFeed::cut(const std::uint32_t* tiles, std::uint32_t tile_count, std::uint32_t* left) {
  KmerCounter& counter = shared_.resource();
  const cudaStream_t stream = counter.stream();
  rooms_before_ = shared_.rooms_made();
  counter.add(text_.data(), bytes_, tiles, tile_count, left, status_.data());
  copy_to_host(result_.data(), status_.data(), 1, stream);
  done_.record(stream);
}

void BatchFeed::note_records() {
  find_seconds_ += ready_.seconds_since(copy_end_);
  const TextFindings& found = findings_[0];
  if (found.odd > 0) throw io::RawTextRefused();
  found_.records += found.records;
  found_.bases += found.bases - batch_.raw_overlap;
}

/// In undecoded file text, or in a part of a file, the record is not known here: reading it again tells.
void BatchFeed::throw_bad_base(std::uint32_t offset) const {
  if (batch_.is_raw_text() || batch_.is_of_part) throw io::RawTextRefused();
  gpu::throw_bad_base(batch_, offset);
}

std::uint64_t BatchFeed::complete() {
  if (!std::exchange(busy_, false)) return 0;
  shared_.wait_for(*this);
  done_.wait();
  copy_seconds_ += copy_end_.seconds_since(copy_begin_);
  if (batch_.is_raw_text()) note_records();
  const CutStatus status = result_[0];
  if (status.first_invalid != UINT32_MAX && !lenient_) throw_bad_base(status.first_invalid);
  if (status.tiles_left > 0) return status.kmers + cut_rest();
  if (shared_.resource().wants_room(status.fullest)) shared_.alone([&] { shared_.make_room(rooms_before_); });
  return status.kmers;
}

/// Cuts the tiles that found no room, as often as it takes.
std::uint64_t BatchFeed::cut_rest() {
  std::uint64_t kmers = 0;
  std::uint32_t first = 0, tiles = result_[0].tiles_left;  // the part of `left[0]` that is to be cut
  bool alone = false;
  while (tiles > 0) {
    shared_.alone([&] {
      shared_.make_room(rooms_before_);
      reset_status(status_.data(), shared_.resource().stream());
      cut(left_[0].data() + first, alone ? 1 : tiles, left_[1].data());
    });
    done_.wait();
    const CutStatus status = result_[0];
    kmers += status.kmers;
    if (alone) {
      first += 1 - status.tiles_left;
      tiles -= 1 - status.tiles_left;
      alone = false;
      continue;
    }
    // Tiles that each took what the other needs could do so for ever: one at a time has all the room.
    alone = status.tiles_left == tiles;
    std::swap(left_[0], left_[1]);
    first = 0;
    tiles = status.tiles_left;
  }
  return kmers;
}

}  // namespace warpmer::gpu
