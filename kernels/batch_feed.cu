#include <chrono>

#include "batch_feed.cuh"
#include "joined_text.cuh"

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

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

std::uint64_t BatchFeed::add(io::Batch& batch) {
  Slot& slot = slots_[turn_];
  turn_ ^= 1;
  const std::uint64_t kmers = complete(slot);
  std::swap(slot.batch, batch);
  if (slot.batch.is_fastq) {
    slot.bytes = PlainFastq::joined_bytes(bounded(slot.batch, slot.batch.fastq().size()));
  } else {
    join(slot);
  }
  if (slot.bytes > 0) send(slot);
  return kmers;
}

std::uint64_t BatchFeed::finish() {
  std::uint64_t kmers = 0;
  for (unsigned i = 0; i < 2; ++i, turn_ ^= 1) kmers += complete(slots_[turn_]);
  return kmers;
}

void BatchFeed::join(Slot& slot) {
  const auto start = std::chrono::steady_clock::now();
  slot.bytes = bounded(slot.batch, joined_bytes(slot.batch));
  slot.joined.reserve(slot.bytes);
  gpu::join(slot.batch, {}, 0, slot.bytes, slot.joined.data());
  join_seconds_ += seconds_since(start);
}

void BatchFeed::copy_joined(Slot& slot) {
  slot.copy_begin.record(copies_);
  copy_to_device(slot.text.data(), slot.joined.data(), slot.bytes, copies_);
  slot.copy_end.record(copies_);
  copied_bytes_ += slot.bytes;
}

void BatchFeed::copy_fastq(Slot& slot) {
  const std::string_view fastq = slot.batch.fastq();
  const auto bytes = static_cast<std::uint32_t>(fastq.size());
  slot.fastq.reserve(text_room(bytes));
  slot.records.reserve(bytes);
  slot.copy_begin.record(copies_);
  copy_to_device(slot.fastq.data(), fastq.data(), bytes, copies_);
  slot.copy_end.record(copies_);
  copied_bytes_ += bytes;
  slot.records.find(slot.fastq.data(), bytes, lowest_quality_, slot.text.data(), copies_);
  copy_to_host(slot.found.data(), slot.records.findings(), 1, copies_);
}

void BatchFeed::send(Slot& slot) {
  slot.text.reserve(text_room(slot.bytes));
  for (auto& left : slot.left) left.reserve(tiles_of(slot.bytes));
  if (slot.batch.is_fastq) {
    copy_fastq(slot);
  } else {
    copy_joined(slot);
  }
  slot.ready.record(copies_);
  const std::lock_guard lock(*shared_.mutex);
  check(cudaStreamWaitEvent(shared_.counter->stream(), slot.ready), "ordering streams");
  enqueue(slot, nullptr, tiles_of(slot.bytes), slot.left[0].data());
  slot.busy = true;
}

/// Under the lock.
void BatchFeed::enqueue(Slot& slot, const std::uint32_t* tiles, std::uint32_t tile_count,
                        std::uint32_t* left) {
  const cudaStream_t stream = shared_.counter->stream();
  reset_status(slot.status.data(), stream);
  shared_.counter->add(slot.text.data(), slot.bytes, tiles, tile_count, left, slot.status.data());
  copy_to_host(slot.result.data(), slot.status.data(), 1, stream);
  slot.done.record(stream);
}

void BatchFeed::note_records(const Slot& slot) {
  find_seconds_ += slot.ready.seconds_since(slot.copy_end);
  const FastqFindings& found = slot.found[0];
  if (found.odd > 0 || found.lines % 4 != 0) throw io::NotPlainFastq();
  found_.records += found.lines / 4;
  found_.bases += found.bases;
}

/// Of FASTQ text nobody here knows which record that is: reading it again tells.
void BatchFeed::throw_bad_base(const Slot& slot, std::uint32_t offset) const {
  if (slot.batch.is_fastq) throw io::NotPlainFastq();
  gpu::throw_bad_base(slot.batch, offset);
}

std::uint64_t BatchFeed::complete(Slot& slot) {
  if (!slot.busy) return 0;
  slot.done.wait();
  slot.busy = false;
  copy_seconds_ += slot.copy_end.seconds_since(slot.copy_begin);
  if (slot.batch.is_fastq) note_records(slot);
  const CutStatus status = slot.result[0];
  if (status.first_invalid != UINT32_MAX && !lenient_) throw_bad_base(slot, status.first_invalid);
  if (status.tiles_left > 0) return status.kmers + cut_rest(slot);
  if (shared_.counter->wants_room(status.fullest)) {
    const std::lock_guard lock(*shared_.mutex);
    shared_.counter->make_room();
  }
  return status.kmers;
}

/// Cuts the tiles that found no room, as often as it takes.
std::uint64_t BatchFeed::cut_rest(Slot& slot) {
  std::uint64_t kmers = 0;
  std::uint32_t first = 0, tiles = slot.result[0].tiles_left;  // the part of `left[0]` that is to be cut
  bool alone = false;
  while (tiles > 0) {
    {
      const std::lock_guard lock(*shared_.mutex);
      shared_.counter->make_room();
      enqueue(slot, slot.left[0].data() + first, alone ? 1 : tiles, slot.left[1].data());
    }
    slot.done.wait();
    const CutStatus status = slot.result[0];
    kmers += status.kmers;
    if (alone) {
      first += 1 - status.tiles_left;
      tiles -= 1 - status.tiles_left;
      alone = false;
      continue;
    }
    // Tiles that each took what the other needs could do so for ever: one at a time has all the room.
    alone = status.tiles_left == tiles;
    std::swap(slot.left[0], slot.left[1]);
    first = 0;
    tiles = status.tiles_left;
  }
  return kmers;
}

}  // namespace warpmer::gpu
