#include "index/index_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "base/memory_text.h"
#include "file/checksum.h"
#include "file/mapped_input.h"
#include "groups/shard_check.h"
#include "index/index_layout.h"

namespace warpmer::index {

namespace {

/// The state of the check of a shard.
enum class Check : std::uint8_t { none, under_way, done };

}  // namespace

struct IndexFile::Impl {
  Impl(const std::string& given_path, std::uint64_t most_bytes);

  const layout::DirectoryEntry& entry(std::uint32_t shard) const;
  [[nodiscard]] std::uint64_t kept_bytes() const noexcept;
  void check(std::uint32_t shard, const std::uint64_t* payload, std::uint64_t checksum) const;
  [[nodiscard]] const std::uint64_t* payload(const layout::DirectoryEntry& entry) const;
  /// Returns what is wrong with a payload.
  [[nodiscard]] std::optional<std::string> payload_fault(const layout::DirectoryEntry& entry,
                                                         const std::uint64_t* payload) const;
  /// Checks a shard in the file, unless it has been; waits for another thread that does.
  void verify(std::uint32_t shard) const;
  /// True when nobody has checked the shard or does: then the caller has to, by `verify_claimed`.
  [[nodiscard]] bool claim(std::uint32_t shard) const;
  void verify_claimed(std::uint32_t shard) const;
  /// In a process that was forked off since, ends the checks of threads that it does not have.
  void forget_checks_of_parent() const;

  std::string path;
  file::MappedInput input;
  IndexParams params;
  layout::Trailer trailer;
  std::uint64_t content_checksum = 0;
  std::vector<layout::DirectoryEntry> directory;
  std::vector<groups::FlankLengths> lengths;  ///< of strings, by their code
  Totals totals;
  Histogram histogram;
  Provenance provenance;
  [[nodiscard]] bool is_verified(std::uint32_t shard) const {
    return checks[shard].load(std::memory_order_acquire) == Check::done;
  }
  void note(std::uint32_t shard, Check check) const {
    checks[shard].store(check, std::memory_order_release);
    checks[shard].notify_all();
  }

  std::unique_ptr<std::atomic<Check>[]> checks;     ///< by shard
  mutable std::atomic<pid_t> process = ::getpid();  ///< whose threads check
};

IndexFile::Impl::Impl(const std::string& given_path, std::uint64_t most_bytes)
    : path(given_path),
      input(
          path, layout::kHeaderBytes,
          [](layout::Bytes head, const std::string& name) { (void)layout::decode_header(head, name); },
          most_bytes) {
  const layout::Bytes file = input.bytes();
  const std::string& name = input.name();
  params = layout::decode_header(file, name);
  trailer = layout::decode_trailer(file, params, name);
  content_checksum = layout::content_checksum(params, trailer);
  constexpr std::uint64_t kLittle = std::uint64_t{16} << 20;  // of most indexes; the job says what would do
  if (kept_bytes() > std::max(most_bytes, kLittle)) {
    throw ResourceError(
        fmt::format("{}: what is kept of this index takes {}, more than -m leaves for it; raise -m", name,
                    mebibytes_needed(kept_bytes())));
  }
  directory = layout::decode_directory(file, trailer, params, name);
  if (layout::has_strings(params.k))
    lengths = groups::make_length_table(groups::GroupShape(params.k).flank_bases());
  totals = layout::decode_totals(file, trailer, name);
  histogram = layout::decode_histogram(file, trailer, name);
  provenance = layout::decode_provenance(layout::kIndexKind, file, trailer, name);
  if (const auto fault = layout::totals_fault(totals, histogram, directory))
    layout::refuse_damaged(name, *fault);
  // Earlier versions promised more of what set operations made than its counts keep to.
  if (!histogram.empty()) {
    totals.min_count = std::min(totals.min_count, histogram.begin()->first);
    totals.max_count = std::max(totals.max_count, totals.largest_count);
  }
  checks = std::make_unique<std::atomic<Check>[]>(directory.size());
  input.release(trailer.directory.offset, file.size() - trailer.directory.offset);
}

/// Reckons with what the sections take in the file: a node of a map is larger than its two numbers.
std::uint64_t IndexFile::Impl::kept_bytes() const noexcept {
  constexpr std::uint64_t kOfHistogram = 4, kOfProvenance = 3;
  return params.shards() * (sizeof(layout::DirectoryEntry) + 1) + trailer.list.bytes * kOfHistogram +
         trailer.provenance.bytes * kOfProvenance;
}

const layout::DirectoryEntry& IndexFile::Impl::entry(std::uint32_t shard) const {
  if (shard >= directory.size()) {
    throw InternalError(
        fmt::format("shard {} was asked for, {} has {}", shard, input.name(), directory.size()));
  }
  return directory[shard];
}

const std::uint64_t* IndexFile::Impl::payload(const layout::DirectoryEntry& entry) const {
  return reinterpret_cast<const std::uint64_t*>(input.bytes().data() + entry.offset);
}

std::optional<std::string> IndexFile::Impl::payload_fault(const layout::DirectoryEntry& entry,
                                                          const std::uint64_t* payload) const {
  if (!layout::has_strings(params.k)) {
    const ShardView view{entry.shape, payload, static_cast<std::size_t>(entry.payload_words)};
    return layout::payload_fault(view, params.k);
  }
  return groups::find_shard_fault(groups::GroupShape(params.k), entry.sizes, payload, lengths.data());
}

/// Checks the file, or a copy, whose checksum this is. Threads with copies may check a shard at the same
/// time; they come to the same result.
void IndexFile::Impl::check(std::uint32_t shard, const std::uint64_t* payload, std::uint64_t checksum) const {
  const layout::DirectoryEntry& wanted = entry(shard);
  const std::size_t bytes = wanted.payload_words * sizeof(std::uint64_t);
  if (checksum != wanted.checksum) {
    layout::refuse_damaged(input.name(), fmt::format("shard {} (bytes {} to {}) does not match its checksum",
                                                     shard, wanted.offset, wanted.offset + bytes));
  }
  if (const auto fault = payload_fault(wanted, payload))
    layout::refuse_damaged(input.name(), fmt::format("in shard {}, {}", shard, *fault));
  note(shard, Check::done);
}

void IndexFile::Impl::verify(std::uint32_t shard) const {
  while (!is_verified(shard)) {
    if (claim(shard)) return verify_claimed(shard);
    forget_checks_of_parent();
    checks[shard].wait(Check::under_way);
  }
}

void IndexFile::Impl::forget_checks_of_parent() const {
  const pid_t now = ::getpid();
  if (process.exchange(now) == now) return;
  for (std::size_t shard = 0; shard < directory.size(); ++shard) {
    // One that a thread of this process has begun meanwhile is done twice, which does no harm.
    Check under_way = Check::under_way;
    checks[shard].compare_exchange_strong(under_way, Check::none);
    checks[shard].notify_all();
  }
}

bool IndexFile::Impl::claim(std::uint32_t shard) const {
  Check none = Check::none;
  return checks[shard].compare_exchange_strong(none, Check::under_way);
}

void IndexFile::Impl::verify_claimed(std::uint32_t shard) const {
  try {
    const layout::DirectoryEntry& wanted = entry(shard);
    const std::size_t bytes = wanted.payload_words * sizeof(std::uint64_t);
    input.check_size();
    input.will_need(wanted.offset, bytes);
    check(shard, payload(wanted), file::checksum(payload(wanted), bytes));
  } catch (...) {
    note(shard, Check::none);  // who waits for it comes to the same result
    throw;
  }
}

IndexFile::IndexFile(const std::string& path, std::uint64_t most_bytes)
    : impl_(std::make_unique<Impl>(path, most_bytes)) {}
IndexFile::~IndexFile() = default;
IndexFile::IndexFile(IndexFile&&) noexcept = default;
IndexFile& IndexFile::operator=(IndexFile&&) noexcept = default;

const std::string& IndexFile::path() const noexcept { return impl_->path; }
const IndexParams& IndexFile::params() const noexcept { return impl_->params; }
const Totals& IndexFile::totals() const noexcept { return impl_->totals; }
const Histogram& IndexFile::histogram() const noexcept { return impl_->histogram; }
const Provenance& IndexFile::provenance() const noexcept { return impl_->provenance; }
std::uint64_t IndexFile::file_bytes() const noexcept { return impl_->input.bytes().size(); }
std::uint64_t IndexFile::content_bytes() const noexcept { return impl_->trailer.provenance.offset; }
std::uint64_t IndexFile::content_checksum() const noexcept { return impl_->content_checksum; }

std::uint64_t IndexFile::kmers(std::uint32_t shard) const { return impl_->entry(shard).kmers(); }
const groups::ShardSizes& IndexFile::sizes(std::uint32_t shard) const { return impl_->entry(shard).sizes; }

groups::ShardBits IndexFile::strings(std::uint32_t shard) const {
  const layout::DirectoryEntry& entry = impl_->entry(shard);
  impl_->verify(shard);
  return {groups::GroupShape(impl_->params.k), entry.sizes, impl_->payload(entry), impl_->lengths.data()};
}

const ShardShape& IndexFile::shape(std::uint32_t shard) const { return impl_->entry(shard).shape; }

ShardView IndexFile::shard(std::uint32_t shard) const {
  const layout::DirectoryEntry& entry = impl_->entry(shard);
  if (layout::has_strings(impl_->params.k))
    throw InternalError("entries were asked for, and there are strings");
  impl_->verify(shard);
  return {entry.shape, impl_->payload(entry), static_cast<std::size_t>(entry.payload_words)};
}

std::uint64_t IndexFile::payload_words(std::uint32_t shard) const {
  return impl_->entry(shard).payload_words;
}

const std::uint64_t* IndexFile::payload(std::uint32_t shard) const {
  impl_->verify(shard);
  return impl_->payload(impl_->entry(shard));
}

void IndexFile::read_payload(std::uint32_t shard, std::uint64_t* into) const {
  const layout::DirectoryEntry& entry = impl_->entry(shard);
  const bool is_verified = impl_->is_verified(shard);
  file::Checksum checksum;
  // Bytes that have been read are summed while they are in the core's cache.
  constexpr std::uint64_t kSomeWords = std::uint64_t{1} << 15;
  for (std::uint64_t at = 0; at < entry.payload_words; at += kSomeWords) {
    const std::size_t bytes = std::min(kSomeWords, entry.payload_words - at) * sizeof *into;
    impl_->input.read(entry.offset + at * sizeof *into, bytes, reinterpret_cast<std::byte*>(into + at));
    if (!is_verified) checksum.add({into + at, bytes});
  }
  if (!is_verified) impl_->check(shard, into, checksum.value());
}

const std::uint64_t* IndexFile::all_payloads() const {
  return reinterpret_cast<const std::uint64_t*>(impl_->input.bytes().data() + layout::kHeaderBytes);
}

void IndexFile::check(std::span<const std::uint32_t> shards) const {
  for (const std::uint32_t shard : shards) {
    (void)impl_->entry(shard);
    if (impl_->claim(shard)) impl_->verify_claimed(shard);
  }
  for (const std::uint32_t shard : shards) impl_->verify(shard);
}

void IndexFile::release(std::uint32_t shard) const noexcept {
  if (shard >= impl_->directory.size()) return;
  const layout::DirectoryEntry& entry = impl_->directory[shard];
  impl_->input.release(entry.offset, entry.payload_words * sizeof(std::uint64_t));
}

void refuse_damaged(const IndexFile& index, const std::string& what) {
  layout::refuse_damaged(index.path(), what);
}

}  // namespace warpmer::index
