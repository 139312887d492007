#include "index/writer/index_writer.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "file/checksum.h"
#include "index/index_layout.h"
#include "index/shard_codec.h"

namespace warpmer::index {
namespace {

/// Larger payloads are not kept to be used again: there are few, and they would hold much memory.
constexpr std::uint64_t kMostSpareBytes = std::uint64_t{4} << 20;

std::uint64_t bytes_of(const std::vector<std::uint64_t>& memory) {
  return memory.capacity() * sizeof(std::uint64_t);
}

/// Returns the parameters of an index that can be written.
const IndexParams& checked(const IndexParams& params) {
  if (const auto fault = layout::params_fault(params))
    throw InternalError("cannot write an index: " + *fault);
  return params;
}

}  // namespace

IndexWriter::IndexWriter(const std::string& path, const IndexParams& params, unsigned writers)
    : params_(checked(params)), most_spares_(writers), places_(params), file_(path, writers) {
  // A disk that is full already is noticed now. A pipe gets nothing before there is a first shard,
  // so that a job which fails on its input leaves it untouched.
  if (!file_.is_ordered()) start_stream();
}

void IndexWriter::start_stream() {
  if (started_) return;
  started_ = true;
  write(0, layout::encode_header(params_));
}

/// Estimates the size of the file, judging by the shards that were put: others are like these, but for the
/// largest one, which may be that of a hot minimizer.
std::uint64_t IndexWriter::expected_bytes() const {
  const std::uint64_t put = bytes_put_;
  const double usual = shards_put_ < 2 ? 0 : static_cast<double>(put - largest_put_) / (shards_put_ - 1);
  const auto payloads = put + static_cast<std::uint64_t>(usual * (params_.shards() - shards_put_));
  // Sizes of shards of strings are packed: to 2 bytes where shards are nearly empty, 4 in a file of 3 MB.
  constexpr std::uint64_t kStringEntryBytes = sizeof(std::uint64_t) + 4;
  const std::uint64_t entry_bytes = layout::has_strings(params_.k) ? kStringEntryBytes : layout::kEntryBytes;
  return payloads + layout::kHeaderBytes + params_.shards() * entry_bytes;
}

void IndexWriter::announce(std::uint32_t first, std::span<const ShardShape> shapes) {
  // What entries become when they are strings is not known beforehand.
  if (layout::has_strings(params_.k)) return;
  std::vector<layout::DirectoryEntry> entries;
  for (std::uint32_t i = 0; i < shapes.size(); ++i)
    entries.push_back(entry_for(first + i, shapes[i], payload_layout(shapes[i], params_.k).words, params_));
  announce_entries(first, entries);
}

void IndexWriter::announce(std::uint32_t first, std::span<const groups::ShardSizes> sizes) {
  std::vector<layout::DirectoryEntry> entries;
  for (std::uint32_t i = 0; i < sizes.size(); ++i) entries.push_back(entry_for(first + i, sizes[i], params_));
  announce_entries(first, entries);
}

void IndexWriter::announce_entries(std::uint32_t first, std::span<const layout::DirectoryEntry> entries) {
  if (file_.is_ordered()) return;
  const std::lock_guard lock(mutex_);
  places_.announce(first, entries);
}

bool IndexWriter::has_offset(std::uint32_t shard) const {
  const std::lock_guard lock(mutex_);
  return places_.is_due(shard);
}

std::vector<std::uint64_t> IndexWriter::take_spare() {
  const std::lock_guard lock(mutex_);
  spares_are_taken_ = true;
  if (spares_.empty()) return {};
  std::vector<std::uint64_t> spare = std::move(spares_.back());
  spares_.pop_back();
  spare_bytes_ -= bytes_of(spare);
  return spare;
}

/// Keeps one for each writer, because a thread that put a shard takes one; and as much as has waited at a
/// time, because so much will wait again: a late shard lets many go at once, whose places in memory are taken
/// next. (The system takes as long to give a fresh page as to fill it.)
void IndexWriter::keep_spares(PlacedShards& shards) {
  if (!spares_are_taken_) return;
  for (auto& payload : shards.payloads) {
    const std::uint64_t bytes = bytes_of(payload);
    if (bytes > kMostSpareBytes) continue;
    if (spares_.size() >= most_spares_ &&
        places_.bytes_waiting() + spare_bytes_ + bytes > places_.most_waiting())
      continue;
    spare_bytes_ += bytes;
    spares_.push_back(std::move(payload));
  }
}

/// Writes what is placed until nothing is left: a late shard makes many ready at once, which all threads that
/// come by share.
void IndexWriter::write_placed(std::unique_lock<std::mutex>& lock) {
  while (places_.has_placed() && !failure_) {
    PlacedShards shards = places_.take_placed();
    write_shards(shards, lock);
    keep_spares(shards);
  }
}

/// Writes a shard that has had its place before it was put.
void IndexWriter::write_due(PreparedShard&& shard, std::unique_lock<std::mutex>& lock) {
  PlacedShards shards{places_.take_due(shard).offset, {}, std::move(shard.source), shard.shard, 0};
  if (!shards.source) shards.payloads.push_back(std::move(shard.payload));
  write_shards(shards, lock);
  keep_spares(shards);
  write_placed(lock);  // what it was announced with may have given others their places
}

/// The lock is held, but for the time that writing takes; unless all is to be written in order, so that
/// there are as many threads at it as come.
void IndexWriter::write_shards(PlacedShards& shards, std::unique_lock<std::mutex>& lock) {
  try {
    start_stream();
    file_.expect(expected_bytes());
    if (!file_.is_ordered()) lock.unlock();
    bytes_written_ += shards.write(file_);
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    if (!failure_) failure_ = std::current_exception();
    throw;
  }
  if (!lock.owns_lock()) lock.lock();
  if (shards.source) places_.set_checksum(shards.shard, shards.checksum);
}

void IndexWriter::put(std::uint32_t shard, FrozenShard&& frozen) {
  PreparedShard prepared = prepare(shard, std::move(frozen), params_);
  bytes_put_ += prepared.bytes();
  std::unique_lock lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  ++shards_put_;
  largest_put_ = std::max(largest_put_, prepared.bytes());
  if (places_.is_due(shard)) return write_due(std::move(prepared), lock);
  places_.put(std::move(prepared));
  write_placed(lock);
}

void IndexWriter::write(std::uint64_t offset, const std::string& bytes) {
  const file::WritePiece piece{bytes.data(), bytes.size()};
  file_.write(offset, {&piece, 1});
  bytes_written_ += bytes.size();
}

void IndexWriter::append_section(std::uint64_t& end, const std::string& bytes, layout::Section& section) {
  section = {end, bytes.size(), file::checksum(bytes.data(), bytes.size())};
  write(end, bytes);
  end += bytes.size();
}

void IndexWriter::finish(const Totals& totals, const Histogram& histogram, const Provenance& provenance) {
  std::unique_lock lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  if (finished_) throw InternalError("an index was finished twice");
  finished_ = true;
  start_stream();
  places_.place_rest();
  write_placed(lock);
  if (const auto fault = layout::totals_fault(totals, histogram, places_.directory())) {
    throw InternalError("cannot write an index: " + *fault);
  }

  file_.expect(0);  // nothing is left but what follows
  layout::Trailer trailer;
  std::uint64_t end = places_.end();
  append_section(end, layout::encode_directory(places_.directory(), params_.k), trailer.directory);
  append_section(end, layout::encode_totals(totals), trailer.totals);
  append_section(end, layout::encode_histogram(histogram), trailer.list);
  append_section(end, layout::encode_provenance(provenance), trailer.provenance);
  trailer.sections_checksum = layout::sections_checksum(layout::encode_header(params_), trailer);
  trailer.file_bytes = end + layout::kTrailerBytes;
  write(end, layout::encode_trailer(layout::kIndexKind, trailer));
  file_.commit();
}

void IndexWriter::adopt_part(const std::string& part) {
  static_assert(std::is_trivially_copyable_v<layout::DirectoryEntry>);
  const std::lock_guard lock(mutex_);
  for (std::size_t at = 0; at < part.size(); at += sizeof(layout::DirectoryEntry)) {
    layout::DirectoryEntry entry;
    std::memcpy(&entry, part.data() + at, sizeof entry);
    places_.adopt(entry);
  }
}

}  // namespace warpmer::index
