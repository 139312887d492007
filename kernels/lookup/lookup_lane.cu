#include <algorithm>

#include "kernels/lookup/lookup_lane.cuh"

namespace warpmer::gpu {

static_assert(kNoKmerAnswer == backend::Profile::kNarrowNoKmer &&
              kLargeCountAnswer == backend::Profile::kLargeCount);

LookupLane::BatchSlot::BatchSlot(const LaneShape& shape)
    : joined(shape.slice_bytes()),
      own_text(shape.is_cut_once ? 0 : text_room(shape.slice_bytes())),
      answers(shape.answer_room()),
      text(shape.is_cut_once ? reinterpret_cast<char*>(answers.data()) + shape.text_begin()
                             : own_text.data()) {
  // The bytes behind a text do not matter, but tools that look for reads of it cannot know.
  fill_bytes(text, 0, text_room(shape.slice_bytes()), stream);
}

LookupLane::LookupLane(const DeviceIndex& index, const LaneShape& shape, std::uint32_t k, bool lenient)
    : index_(index), shape_(shape), k_(k), lenient_(lenient) {
  slots_.reserve(shape.slots);
  for (unsigned i = 0; i < shape.slots; ++i) slots_.emplace_back(shape);
}

void LookupLane::take_memory() {
  for (BatchSlot& slot : slots_) slot.results.reserve(shape_.slice_starts);
}

bool LookupLane::profile(const io::Batch& batch, backend::Profile& out) {
  bool has_large = false;
  try {
    const std::uint64_t bytes = joined_bytes(batch);
    JoinedPiece piece;
    for (std::uint64_t begin = 0; begin < bytes; begin += shape_.slice_starts) {
      piece.go_to(batch, begin);
      BatchSlot& slot = next_slot();
      has_large = take_answers(slot, batch, out) || has_large;
      const auto starts =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(shape_.slice_starts, bytes - begin));
      const auto reach = static_cast<std::uint32_t>(std::min<std::uint64_t>(starts + k_ - 1, bytes - begin));
      slot.slice = {piece, begin, starts, reach};
      send_answers(slot, batch);
    }
    for (unsigned i = 0; i < shape_.slots; ++i)
      has_large = take_answers(next_slot(), batch, out) || has_large;
  } catch (...) {
    drain();
    throw;
  }
  return has_large;
}

bool LookupLane::summarise(const io::Batch& batch, std::vector<backend::ReadSummary>& out) {
  try {
    out.resize(batch.pieces.size());
    bool all = true;
    for (JoinedPiece piece; all && piece.number < batch.pieces.size();) {
      BatchSlot& slot = next_slot();
      all = take_sums(slot, batch, out);
      slot.slice = slice_of_reads(batch, piece);
      all = all && slot.slice.reads > 0;
      if (all) send_sums(slot, batch);
      piece.number += slot.slice.reads;
      piece.at += slot.slice.bytes;
    }
    for (unsigned i = 0; i < shape_.slots; ++i) all = take_sums(next_slot(), batch, out) && all;
    return all;
  } catch (...) {
    drain();
    throw;
  }
}

/// Returns the slice of as many reads as there is room for, from the first on.
LookupLane::TextSlice LookupLane::slice_of_reads(const io::Batch& batch, const JoinedPiece& first) const {
  TextSlice slice{first, first.at, 0, 0};
  for (std::size_t i = first.number; i < batch.pieces.size() && slice.reads < shape_.slice_reads; ++i) {
    const std::uint64_t bytes = std::uint64_t{slice.bytes} + batch.pieces[i].length + 1;
    if (bytes > shape_.slice_starts) break;
    slice.bytes = static_cast<std::uint32_t>(bytes);
    ++slice.reads;
  }
  slice.starts = slice.bytes;
  return slice;
}

void LookupLane::look_up(BatchSlot& slot, const io::Batch& batch) {
  const TextSlice& slice = slot.slice;
  join(batch, slice.piece, slice.begin, slice.bytes, slot.joined.data());
  copy_to_device(slot.text, slot.joined.data(), slice.bytes, slot.stream);
  reset_status(slot.status.data(), slot.stream);
  index_.look_up(slot.text, slice.bytes, slice.starts, slot.answers.data(), slot.status.data(), slot.stream);
}

void LookupLane::send_answers(BatchSlot& slot, const io::Batch& batch) {
  slot.results.reserve(shape_.slice_starts);
  look_up(slot, batch);
  copy_to_host(slot.results.data(), slot.answers.data(), slot.slice.starts, slot.stream);
  end(slot);
}

void LookupLane::send_sums(BatchSlot& slot, const io::Batch& batch) {
  slot.joined_begins.reserve(shape_.slice_reads + 1);
  slot.begins.reserve(shape_.slice_reads + 1);
  slot.sums.reserve(shape_.slice_reads);
  slot.result_sums.reserve(shape_.slice_reads);
  look_up(slot, batch);
  const std::uint32_t reads = slot.slice.reads;
  std::uint32_t begin = 0;
  for (std::uint32_t i = 0; i < reads; ++i) {
    slot.joined_begins[i] = begin;
    begin += batch.pieces[slot.slice.piece.number + i].length + 1;
  }
  slot.joined_begins[reads] = begin;
  copy_to_device(slot.begins.data(), slot.joined_begins.data(), reads + 1, slot.stream);
  sum_up(slot.answers.data(), slot.begins.data(), reads, k_, slot.sums.data(), slot.stream);
  copy_to_host(slot.result_sums.data(), slot.sums.data(), reads, slot.stream);
  end(slot);
}

void LookupLane::end(BatchSlot& slot) {
  copy_to_host(slot.result.data(), slot.status.data(), 1, slot.stream);
  slot.done.record(slot.stream);
  slot.busy = true;
}

/// Waits for the slice that is under way. Returns false if there is none.
bool LookupLane::wait(BatchSlot& slot, const io::Batch& batch) const {
  if (!slot.busy) return false;
  slot.done.wait();
  slot.busy = false;
  const std::uint32_t first_invalid = slot.result[0].first_invalid;
  if (first_invalid != UINT32_MAX && !lenient_) throw_bad_base(batch, slot.slice.begin + first_invalid);
  return true;
}

/// Returns whether a count was too large.
bool LookupLane::take_answers(BatchSlot& slot, const io::Batch& batch, backend::Profile& out) const {
  if (!wait(slot, batch)) return false;
  bool has_large = false;
  const std::uint64_t begin = slot.slice.begin, end = begin + slot.slice.starts;
  for (JoinedPiece piece = slot.slice.piece; piece.number < batch.pieces.size() && piece.at < end;
       piece.go_to_next(batch)) {
    const std::size_t place = out.first[piece.number];
    const std::uint64_t from = std::max(piece.at, begin);
    const std::uint64_t to = std::min(piece.at + (out.first[piece.number + 1] - place), end);
    if (from >= to) continue;
    const std::uint32_t* answers = slot.results.data() + (from - begin);
    std::uint32_t* const counts = out.counts.data() + place + (from - piece.at);
    std::uint32_t large = 0;
    for (std::size_t i = 0; i < to - from; ++i) {
      counts[i] = answers[i];
      large |= answers[i] == kLargeCountAnswer ? 1u : 0u;
    }
    has_large = has_large || large != 0;
  }
  return has_large;
}

/// Returns false if a count was too large.
bool LookupLane::take_sums(BatchSlot& slot, const io::Batch& batch,
                           std::vector<backend::ReadSummary>& out) const {
  if (!wait(slot, batch)) return true;
  bool are_all_known = true;
  for (std::uint32_t i = 0; i < slot.slice.reads; ++i) {
    const ReadSums& read = slot.result_sums[i];
    are_all_known = are_all_known && read.largest != kLargeCountAnswer;
    out[slot.slice.piece.number + i] = {read.kmers, read.found, read.smallest, read.median, read.largest};
  }
  return are_all_known;
}

/// Nothing is under way afterwards, whatever went wrong.
void LookupLane::drain() noexcept {
  for (BatchSlot& slot : slots_) {
    cudaStreamSynchronize(slot.stream);
    slot.busy = false;
  }
}

}  // namespace warpmer::gpu
