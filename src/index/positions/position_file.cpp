#include "index/positions/position_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "file/mapped_input.h"
#include "index/index_layout.h"
#include "index/positions/position_layout.h"

namespace warpmer::index {

struct PositionFile::Impl {
  explicit Impl(const std::string& given_path);

  void verify(std::uint32_t bin, const BinView& view) const;

  std::string path;
  file::MappedInput input;
  PositionParams params;
  layout::Trailer trailer;
  std::vector<layout::BinEntry> directory;
  PositionTotals totals;
  layout::SequenceTable sequences;
  Provenance provenance;
  std::unique_ptr<std::atomic<bool>[]> verified;  ///< by bin
};

PositionFile::Impl::Impl(const std::string& given_path)
    : path(given_path), input(path, layout::kHeaderBytes, [](layout::Bytes head, const std::string& name) {
        (void)layout::decode_position_header(head, name);
      }) {
  const layout::Bytes file = input.bytes();
  const std::string& name = input.name();
  params = layout::decode_position_header(file, name);
  trailer = layout::decode_trailer(file, params, name);
  directory = layout::decode_directory(file, trailer, params, name);
  totals = layout::decode_totals(file, trailer, directory, name);
  sequences = layout::decode_sequences(file, trailer, totals, params, name);
  provenance = layout::decode_provenance(layout::kPositionKind, file, trailer, name);
  verified = std::make_unique<std::atomic<bool>[]>(directory.size());
}

void PositionFile::Impl::verify(std::uint32_t bin, const BinView& view) const {
  const layout::BinEntry& wanted = directory[bin];
  const std::size_t bytes = static_cast<std::size_t>(wanted.payload_words) * sizeof(std::uint64_t);
  input.check_size();
  input.will_need(wanted.offset, bytes);
  if (file::checksum(view.payload, bytes) != wanted.checksum) {
    layout::refuse_damaged(layout::kPositionKind, input.name(),
                           fmt::format("bin {} (bytes {} to {}) does not match its checksum", bin,
                                       wanted.offset, wanted.offset + bytes));
  }
  if (const auto fault = layout::payload_fault(view, params)) {
    layout::refuse_damaged(layout::kPositionKind, input.name(), fmt::format("in bin {}, {}", bin, *fault));
  }
}

PositionFile::PositionFile(const std::string& path) : impl_(std::make_unique<Impl>(path)) {}
PositionFile::~PositionFile() = default;
PositionFile::PositionFile(PositionFile&&) noexcept = default;
PositionFile& PositionFile::operator=(PositionFile&&) noexcept = default;

const std::string& PositionFile::path() const noexcept { return impl_->path; }
const PositionParams& PositionFile::params() const noexcept { return impl_->params; }
const PositionTotals& PositionFile::totals() const noexcept { return impl_->totals; }
const Provenance& PositionFile::provenance() const noexcept { return impl_->provenance; }
std::uint64_t PositionFile::file_bytes() const noexcept { return impl_->input.bytes().size(); }
std::uint64_t PositionFile::content_checksum() const noexcept { return impl_->trailer.sections_checksum; }

std::uint32_t PositionFile::sequences() const noexcept {
  return static_cast<std::uint32_t>(impl_->sequences.names.size());
}
std::string_view PositionFile::sequence_name(std::uint32_t sequence) const noexcept {
  return impl_->sequences.names[sequence];
}

BinView PositionFile::bin(std::uint32_t bin) const {
  const layout::BinEntry& entry = impl_->directory.at(bin);
  const std::byte* payload = impl_->input.bytes().data() + entry.offset;
  const BinView view{entry.entries, entry.bucket_bits, reinterpret_cast<const std::uint64_t*>(payload)};
  // Two threads may both find it unverified; they come to the same result.
  if (!impl_->verified[bin].load(std::memory_order_acquire)) {
    impl_->verify(bin, view);
    impl_->verified[bin].store(true, std::memory_order_release);
  }
  return view;
}

Hit PositionFile::resolve(Location location) const {
  const std::uint64_t position = location >> 1;
  const std::vector<std::uint64_t>& begins = impl_->sequences.begins;
  // The last sequence that begins here or before; empty ones begin where the next one does.
  const auto after = std::upper_bound(begins.begin(), begins.end(), position);
  if (after == begins.end() || *after - position < impl_->params.k) {
    layout::refuse_damaged(layout::kPositionKind, impl_->input.name(),
                           fmt::format("a k-mer is said to lie at base {}, where none fits", position));
  }
  const auto sequence = static_cast<std::uint32_t>(after - begins.begin() - 1);
  return {sequence, position - begins[sequence], (location & 1) != 0};
}

}  // namespace warpmer::index
