#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "file/output_file.h"
#include "index/index_file.h"
#include "index/index_layout.h"
#include "index/kept_shards.h"
#include "index/shard_codec.h"
#include "index/shard_transcoder.h"

namespace warpmer::index {
namespace {

/// Consecutive shards with their place in the file; or one that has a source.
struct Run {
  std::uint64_t offset = 0;
  std::vector<std::vector<std::uint64_t>> payloads;
  std::shared_ptr<const PayloadSource> source;
  std::uint32_t shard = 0;     ///< the one with the source
  std::uint64_t checksum = 0;  ///< checksum of what has come from there
};

/// Small shards are written together, about so many bytes at a time.
constexpr std::uint64_t kRunBytes = std::uint64_t{1} << 20;

/// Larger payloads are not kept to be used again: there are few, and they would hold much memory.
constexpr std::uint64_t kMostSpareBytes = std::uint64_t{4} << 20;

std::uint64_t bytes_of(const std::vector<std::uint64_t>& memory) {
  return memory.capacity() * sizeof(std::uint64_t);
}

}  // namespace

struct IndexWriter::Impl {
  Impl(const std::string& path, const IndexParams& given, unsigned writers);
  Impl(const std::string& path, const IndexParams& given, const PartOfIndex& part);

  void put(std::uint32_t shard, FrozenShard&& frozen);
  void announce(std::uint32_t first, std::span<const layout::DirectoryEntry> entries);
  void finish(const Totals& totals, const Histogram& histogram, const Provenance& provenance);

  std::string write_part(std::uint64_t bytes_before);
  void adopt_part(const std::string& part);
  void take_part(const std::function<void(std::uint32_t, FrozenShard&&)>& take);

  void check_number(std::uint32_t shard) const;
  layout::DirectoryEntry entry_for(std::uint32_t shard, const ShardShape& shape, std::uint64_t words) const;
  layout::DirectoryEntry entry_for(std::uint32_t shard, const groups::ShardSizes& sizes) const;
  PreparedShard prepare(std::uint32_t shard, FrozenShard&& frozen) const;
  std::uint64_t take_place(layout::DirectoryEntry entry);
  void place(PreparedShard&& shard);
  void place_leading();
  Run take_run();
  void write_placed(std::unique_lock<std::mutex>& lock);
  void write_due(PreparedShard&& shard, std::unique_lock<std::mutex>& lock);
  void write_run(Run& run, std::unique_lock<std::mutex>& lock);
  void write_source(Run& run);
  void write_payloads(const Run& run);
  void keep_spares(Run& run);
  void write(std::uint64_t offset, std::span<const file::WritePiece> pieces);
  void append_section(const std::string& bytes, layout::Section& section);
  void start_stream();
  std::uint64_t expected_bytes() const;
  void wait_for_place(std::uint32_t shard, std::uint64_t most_bytes) const;
  void note_change() noexcept;

  const IndexParams params;
  std::atomic<std::uint64_t> bytes_written{0};
  std::atomic<std::uint64_t> bytes_waiting{0};
  std::atomic<std::uint64_t> bytes_put{0};
  std::atomic<std::uint32_t> changes{0};  ///< number of changes of what `wait_for_place` looks at
  std::atomic<bool> is_waiting_cancelled{false};

  mutable std::mutex mutex;  ///< guards all that follows
  std::vector<layout::DirectoryEntry>
      directory;                             ///< entries of the first `next`; some lack their checksums yet
  std::atomic<std::uint32_t> next = 0;       ///< the shard that is to be placed next
  std::uint64_t end = layout::kHeaderBytes;  ///< place that it goes to
  std::map<std::uint32_t, PreparedShard> waiting;
  std::map<std::uint32_t, layout::DirectoryEntry> expected;  ///< neither put nor placed
  std::set<std::uint32_t> due;                               ///< placed, to be put
  std::deque<PreparedShard> placed;  ///< shards in order, to be written by any thread that comes
  std::vector<std::vector<std::uint64_t>> spares;  ///< written, and of no more use
  std::uint64_t spare_bytes = 0, most_waiting = 0;
  bool spares_are_taken = false;  ///< true when a thread takes them; else they are not kept
  std::uint32_t shards_put = 0;
  std::uint64_t largest_put = 0;  ///< bytes
  const std::size_t most_spares;  ///< number that is kept even beyond what has waited at a time
  bool started = false;           ///< the header is written
  bool finished = false;
  std::exception_ptr failure;  ///< the first, of a write or of a source; there is no way back from it
  std::optional<file::OutputFile> file;  ///< none: a part that is to be handed over
  std::optional<KeptShards> kept;        ///< shards of a part, whose place is not known until it is written

  file::OutputFile& output() { return *file; }
};

IndexWriter::Impl::Impl(const std::string& path, const IndexParams& given, unsigned writers)
    : params(given), most_spares(writers), file(std::in_place, path, writers) {
  if (const auto fault = layout::params_fault(params))
    throw InternalError("cannot write an index: " + *fault);
  directory.resize(params.shards());
  // A disk that is full already is noticed now. A pipe gets nothing before there is a first shard,
  // so that a job which fails on its input leaves it untouched.
  if (!output().is_ordered()) start_stream();
}

/// The header is the first process's affair.
IndexWriter::Impl::Impl(const std::string& path, const IndexParams& given, const PartOfIndex& part)
    : params(given), next(part.shards.first), most_spares(0), started(true) {
  directory.resize(params.shards());
  if (!part.temporary.empty()) file.emplace(path, file::OutputFile::PartOf{part.temporary});
  kept.emplace(part.tmp_directory, part.most_kept_bytes);
}

void IndexWriter::Impl::start_stream() {
  if (started) return;
  started = true;
  const std::string header = layout::encode_header(params);
  const file::WritePiece piece{header.data(), header.size()};
  write(0, {&piece, 1});
}

/// Estimates the size of the file, or of a part all of whose shards were put, judging by them: others are
/// like these, but for the largest one, which may be that of a hot minimizer.
std::uint64_t IndexWriter::Impl::expected_bytes() const {
  const std::uint64_t put = bytes_put;
  if (kept) return put;
  const double usual = shards_put < 2 ? 0 : static_cast<double>(put - largest_put) / (shards_put - 1);
  const auto payloads = put + static_cast<std::uint64_t>(usual * (params.shards() - shards_put));
  return payloads + layout::kHeaderBytes + directory.size() * sizeof directory[0];
}

void IndexWriter::Impl::check_number(std::uint32_t shard) const {
  if (shard >= params.shards())
    throw InternalError(fmt::format("there is no shard {} of {}", shard, params.shards()));
}

/// Makes the entry without its place and its checksum.
layout::DirectoryEntry IndexWriter::Impl::entry_for(std::uint32_t shard, const ShardShape& shape,
                                                    std::uint64_t words) const {
  check_number(shard);
  layout::DirectoryEntry entry;
  entry.shape = shape.entries == 0 ? ShardShape{} : shape;
  entry.payload_words = words;
  if (const auto fault = layout::shape_fault(entry.shape, params.k, words))
    throw InternalError(fmt::format("shard {} to be written has {}", shard, *fault));
  return entry;
}

layout::DirectoryEntry IndexWriter::Impl::entry_for(std::uint32_t shard,
                                                    const groups::ShardSizes& sizes) const {
  check_number(shard);
  if (const auto fault = layout::sizes_fault(sizes))
    throw InternalError(fmt::format("shard {} to be written has {}", shard, *fault));
  layout::DirectoryEntry entry;
  entry.payload_words = sizes.words;
  entry.sizes = sizes;
  return entry;
}

/// Does all that can be done without knowing the shards before it.
PreparedShard IndexWriter::Impl::prepare(std::uint32_t shard, FrozenShard&& frozen) const {
  if (layout::has_strings(params.k) && !frozen.has_strings()) {
    check_number(shard);
    frozen = strings_of(std::move(frozen), shard, params);
  }
  const std::uint64_t words = payload_words(frozen, params.k);
  PreparedShard prepared;
  prepared.shard = shard;
  prepared.payload = std::move(frozen.payload);
  prepared.source = std::move(frozen.source);
  if (layout::has_strings(params.k)) {
    prepared.entry = entry_for(shard, frozen.sizes);
    if (words != frozen.sizes.words)
      throw InternalError(
          fmt::format("shard {} to be written has {} words, not {}", shard, words, frozen.sizes.words));
  } else {
    prepared.entry = entry_for(shard, frozen.shape, words);
  }
  prepared.entry.checksum =
      frozen.checksum ? *frozen.checksum : file::checksum(prepared.payload.data(), prepared.held_bytes());
  return prepared;
}

/// Gives the next shard its place, and returns that.
std::uint64_t IndexWriter::Impl::take_place(layout::DirectoryEntry entry) {
  entry.offset = end;
  end += entry.payload_words * sizeof(std::uint64_t);
  directory[next++] = entry;
  note_change();
  return entry.offset;
}

void IndexWriter::Impl::place(PreparedShard&& shard) {
  shard.entry.offset = take_place(shard.entry);
  if (shard.bytes() > 0) placed.push_back(std::move(shard));
}

/// Places the shards whose predecessors all have their places.
void IndexWriter::Impl::place_leading() {
  for (;;) {
    if (!waiting.empty() && waiting.begin()->first == next.load()) {
      place(std::move(waiting.begin()->second));
      waiting.erase(waiting.begin());
    } else if (!expected.empty() && expected.begin()->first == next.load()) {
      due.insert(next);
      take_place(expected.begin()->second);
      expected.erase(expected.begin());
    } else {
      return;
    }
  }
}

void IndexWriter::Impl::announce(std::uint32_t first, std::span<const layout::DirectoryEntry> entries) {
  if (kept || output().is_ordered()) return;
  const std::lock_guard lock(mutex);
  for (const layout::DirectoryEntry& entry : entries) {
    const std::uint32_t shard = first++;
    if (shard < next || waiting.contains(shard) || !expected.emplace(shard, entry).second)
      throw InternalError(fmt::format("shard {} was announced twice, or after it was put", shard));
  }
  place_leading();
}

/// Takes the first placed shards: one, or some small ones that lie side by side.
Run IndexWriter::Impl::take_run() {
  Run run;
  run.offset = placed.front().entry.offset;
  if (placed.front().source) {
    run.source = std::move(placed.front().source);
    run.shard = placed.front().shard;
    placed.pop_front();
    return run;
  }
  std::uint64_t bytes = 0;
  while (!placed.empty() && !placed.front().source && placed.front().entry.offset == run.offset + bytes) {
    if (bytes > 0 && bytes + placed.front().bytes() > kRunBytes) break;
    bytes += placed.front().bytes();
    run.payloads.push_back(std::move(placed.front().payload));
    placed.pop_front();
  }
  bytes_waiting -= bytes;
  note_change();
  return run;
}

void IndexWriter::Impl::note_change() noexcept {
  ++changes;
  changes.notify_all();
}

void IndexWriter::Impl::wait_for_place(std::uint32_t shard, std::uint64_t most_bytes) const {
  while (true) {
    const std::uint32_t seen = changes;  // first: a change while the rest is looked at is not missed
    if (is_waiting_cancelled || shard < next || bytes_waiting <= most_bytes) return;
    changes.wait(seen);
  }
}

/// Writes what is placed until nothing is left: a late shard makes many ready at once, which all threads that
/// come by share.
void IndexWriter::Impl::write_placed(std::unique_lock<std::mutex>& lock) {
  while (!placed.empty() && !failure) {
    Run run = take_run();
    write_run(run, lock);
    keep_spares(run);
  }
}

/// Writes a shard that has had its place before it was put.
void IndexWriter::Impl::write_due(PreparedShard&& shard, std::unique_lock<std::mutex>& lock) {
  layout::DirectoryEntry& entry = directory[shard.shard];
  if (shard.entry.shape != entry.shape || shard.entry.sizes != entry.sizes)
    throw InternalError(fmt::format("shard {} is not what was announced", shard.shard));
  entry.checksum = shard.entry.checksum;
  Run run{entry.offset, {}, std::move(shard.source), shard.shard, 0};
  if (!run.source) run.payloads.push_back(std::move(shard.payload));
  write_run(run, lock);
  keep_spares(run);
  write_placed(lock);  // what it was announced with may have given others their places
}

/// Keeps one for each writer, because a thread that put a shard takes one; and as much as has waited at a
/// time, because so much will wait again: a late shard lets many go at once, whose places in memory are taken
/// next. (The system takes as long to give a fresh page as to fill it.)
void IndexWriter::Impl::keep_spares(Run& run) {
  if (!spares_are_taken) return;
  for (auto& payload : run.payloads) {
    const std::uint64_t bytes = bytes_of(payload);
    if (bytes > kMostSpareBytes) continue;
    if (spares.size() >= most_spares && bytes_waiting + spare_bytes + bytes > most_waiting) continue;
    spare_bytes += bytes;
    spares.push_back(std::move(payload));
  }
}

void IndexWriter::Impl::write(std::uint64_t offset, std::span<const file::WritePiece> pieces) {
  output().write(offset, pieces);
  for (const file::WritePiece& piece : pieces) bytes_written += piece.bytes;
}

/// Writes it as it comes, in order.
void IndexWriter::Impl::write_source(Run& run) {
  file::Checksum checksum;
  std::uint64_t at = run.offset;
  run.source->read([&](const std::uint64_t* words, std::size_t n) {
    const file::WritePiece piece{words, n * sizeof words[0]};
    checksum.add(piece);
    write(at, {&piece, 1});
    at += piece.bytes;
  });
  run.checksum = checksum.value();
}

void IndexWriter::Impl::write_payloads(const Run& run) {
  std::vector<file::WritePiece> pieces;
  pieces.reserve(run.payloads.size());
  for (const auto& payload : run.payloads)
    pieces.push_back({payload.data(), payload.size() * sizeof payload[0]});
  write(run.offset, pieces);
}

/// The lock is held, but for the time that writing takes; unless all is to be written in order, so that
/// there are as many threads at it as come.
void IndexWriter::Impl::write_run(Run& run, std::unique_lock<std::mutex>& lock) {
  try {
    start_stream();
    output().expect(expected_bytes());
    if (!output().is_ordered()) lock.unlock();
    if (run.source) {
      write_source(run);
    } else {
      write_payloads(run);
    }
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    if (!failure) failure = std::current_exception();
    throw;
  }
  if (!lock.owns_lock()) lock.lock();
  if (run.source) directory[run.shard].checksum = run.checksum;
}

void IndexWriter::Impl::put(std::uint32_t shard, FrozenShard&& frozen) {
  PreparedShard prepared = prepare(shard, std::move(frozen));
  bytes_put += prepared.bytes();
  if (kept) {
    kept->put(std::move(prepared));
    return;
  }
  std::unique_lock lock(mutex);
  if (failure) std::rethrow_exception(failure);
  ++shards_put;
  largest_put = std::max(largest_put, prepared.bytes());
  if (due.erase(shard) > 0) return write_due(std::move(prepared), lock);
  if (finished || shard < next || waiting.contains(shard)) {
    throw InternalError(fmt::format("shard {} was put twice, or after the end", shard));
  }
  expected.erase(shard);
  bytes_waiting += prepared.held_bytes();
  most_waiting = std::max(most_waiting, bytes_waiting.load());
  waiting.emplace(shard, std::move(prepared));
  place_leading();
  write_placed(lock);
}

void IndexWriter::Impl::append_section(const std::string& bytes, layout::Section& section) {
  section = {end, bytes.size(), file::checksum(bytes.data(), bytes.size())};
  const file::WritePiece piece{bytes.data(), bytes.size()};
  write(end, {&piece, 1});
  end += bytes.size();
}

void IndexWriter::Impl::finish(const Totals& totals, const Histogram& histogram,
                               const Provenance& provenance) {
  std::unique_lock lock(mutex);
  if (failure) std::rethrow_exception(failure);
  if (finished) throw InternalError("an index was finished twice");
  finished = true;
  start_stream();
  while (next < params.shards()) {
    place_leading();
    if (next < params.shards()) place(prepare(next, {}));
  }
  write_placed(lock);
  if (!due.empty()) throw InternalError(fmt::format("shard {} was announced and never put", *due.begin()));
  if (const auto fault = layout::totals_fault(totals, histogram, directory)) {
    throw InternalError("cannot write an index: " + *fault);
  }

  output().expect(0);  // nothing is left but what follows
  layout::Trailer trailer;
  append_section(layout::encode_directory(directory, params.k), trailer.directory);
  append_section(layout::encode_totals(totals), trailer.totals);
  append_section(layout::encode_histogram(histogram), trailer.histogram);
  append_section(layout::encode_provenance(provenance), trailer.provenance);
  trailer.sections_checksum = layout::sections_checksum(params, trailer);
  trailer.file_bytes = end + layout::kTrailerBytes;
  const std::string last = layout::encode_trailer(trailer);
  const file::WritePiece piece{last.data(), last.size()};
  write(end, {&piece, 1});
  output().commit();
}

std::string IndexWriter::Impl::write_part(std::uint64_t bytes_before) {
  std::unique_lock lock(mutex);
  const std::uint32_t first = next;
  end = layout::kHeaderBytes + bytes_before;
  kept->take_all([&](PreparedShard&& prepared) {
    if (prepared.shard != next)
      throw InternalError(fmt::format("shard {} of a part of an index is missing", next.load()));
    bytes_waiting += prepared.held_bytes();
    place(std::move(prepared));
    if (bytes_waiting >= kRunBytes) write_placed(lock);
  });
  write_placed(lock);
  output().complete();
  finished = true;
  return {reinterpret_cast<const char*>(directory.data() + first), (next - first) * sizeof directory[0]};
}

void IndexWriter::Impl::adopt_part(const std::string& part) {
  static_assert(std::is_trivially_copyable_v<layout::DirectoryEntry>);
  const std::lock_guard lock(mutex);
  for (std::size_t at = 0; at < part.size(); at += sizeof(layout::DirectoryEntry)) {
    layout::DirectoryEntry entry;
    std::memcpy(&entry, part.data() + at, sizeof entry);
    const bool is_empty = entry.payload_words == 0;
    if (next == params.shards() || !waiting.empty() || (!is_empty && entry.offset != end))
      throw InternalError(fmt::format("a part of an index does not begin with shard {}", next.load()));
    directory[next++] = entry;
    end += entry.payload_words * sizeof(std::uint64_t);
  }
}

void IndexWriter::Impl::take_part(const std::function<void(std::uint32_t, FrozenShard&&)>& take) {
  kept->take_all([&](PreparedShard&& prepared) {
    take(prepared.shard, {prepared.entry.shape, std::move(prepared.payload), std::move(prepared.source),
                          std::nullopt, prepared.entry.sizes});
  });
}

IndexWriter::IndexWriter(const std::string& path, const IndexParams& params, unsigned writers)
    : impl_(std::make_unique<Impl>(path, params, writers)) {}
IndexWriter::IndexWriter(const std::string& path, const IndexParams& params, const PartOfIndex& part)
    : impl_(std::make_unique<Impl>(path, params, part)) {}
IndexWriter::~IndexWriter() = default;

void IndexWriter::put(std::uint32_t shard, FrozenShard&& frozen) { impl_->put(shard, std::move(frozen)); }

void IndexWriter::announce(std::uint32_t first, std::span<const ShardShape> shapes) {
  // What entries become when they are strings is not known beforehand.
  if (layout::has_strings(impl_->params.k)) return;
  std::vector<layout::DirectoryEntry> entries;
  for (std::uint32_t i = 0; i < shapes.size(); ++i)
    entries.push_back(
        impl_->entry_for(first + i, shapes[i], payload_layout(shapes[i], impl_->params.k).words));
  impl_->announce(first, entries);
}
void IndexWriter::announce(std::uint32_t first, std::span<const groups::ShardSizes> sizes) {
  std::vector<layout::DirectoryEntry> entries;
  for (std::uint32_t i = 0; i < sizes.size(); ++i) entries.push_back(impl_->entry_for(first + i, sizes[i]));
  impl_->announce(first, entries);
}
bool IndexWriter::has_offset(std::uint32_t shard) const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->due.contains(shard);
}

void IndexWriter::finish(const Totals& totals, const Histogram& histogram, const Provenance& provenance) {
  impl_->finish(totals, histogram, provenance);
}

void IndexWriter::leave_cache() noexcept {
  if (impl_->file) impl_->file->leave_cache();
}

std::vector<std::uint64_t> IndexWriter::take_spare() {
  const std::lock_guard lock(impl_->mutex);
  impl_->spares_are_taken = true;
  if (impl_->spares.empty()) return {};
  std::vector<std::uint64_t> spare = std::move(impl_->spares.back());
  impl_->spares.pop_back();
  impl_->spare_bytes -= bytes_of(spare);
  return spare;
}

const std::string& IndexWriter::temporary() { return impl_->output().temporary(); }
std::uint64_t IndexWriter::payload_bytes() const noexcept { return impl_->bytes_put; }
std::string IndexWriter::write_part(std::uint64_t bytes_before) { return impl_->write_part(bytes_before); }
void IndexWriter::adopt_part(const std::string& part) { impl_->adopt_part(part); }
void IndexWriter::take_part(const std::function<void(std::uint32_t, FrozenShard&&)>& take) {
  impl_->take_part(take);
}
std::uint64_t IndexWriter::bytes_spilled() const { return impl_->kept ? impl_->kept->bytes_spilled() : 0; }

std::uint64_t IndexWriter::bytes_written() const noexcept { return impl_->bytes_written; }
std::uint64_t IndexWriter::bytes_waiting() const noexcept { return impl_->bytes_waiting; }
void IndexWriter::wait_for_place(std::uint32_t shard, std::uint64_t most_bytes) const {
  impl_->wait_for_place(shard, most_bytes);
}
void IndexWriter::cancel_waiting() noexcept {
  impl_->is_waiting_cancelled = true;
  impl_->note_change();
}

}  // namespace warpmer::index
