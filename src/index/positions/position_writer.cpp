#include <fmt/format.h>

#include <atomic>

#include "base/error.h"
#include "base/ordered_stage.h"
#include "file/output/output_file.h"
#include "index/index_layout.h"
#include "index/positions/position_codec.h"
#include "index/positions/position_layout.h"

namespace warpmer::index {

struct PositionWriter::Impl {
  Impl(const std::string& path, unsigned writers) : output(path, writers) {}

  void begin(const PositionParams& given, std::span<const std::uint64_t> bin_sizes);
  void put(std::uint32_t bin, std::span<const std::uint64_t> payload);
  void finish(const PositionTotals& totals, std::span<const IndexedSequence> sequences,
              const Provenance& provenance);
  void write_payload(const layout::BinEntry& bin, std::span<const std::uint64_t> payload);
  void write(std::uint64_t offset, const void* data, std::size_t bytes);
  void append_section(const std::string& bytes, layout::Section& section);

  PositionParams params;
  std::string header;
  std::vector<layout::BinEntry> directory;
  std::uint64_t end = layout::kHeaderBytes;  ///< end of the payloads, then of the sections
  file::OutputFile output;

  std::atomic<std::uint32_t> put_bins{0};
  /// Orders what goes to a stream. The payloads are their callers', so that none may wait here.
  OrderedStage<std::span<const std::uint64_t>> in_order{
      1, [this](auto payload) { write_payload(directory[put_bins], payload); }};
};

void PositionWriter::Impl::begin(const PositionParams& given, std::span<const std::uint64_t> bin_sizes) {
  params = given;
  directory.resize(bin_sizes.size());
  if (const auto fault = layout::params_fault(params))
    throw InternalError("cannot write an index of positions: " + *fault);
  if (bin_sizes.size() != params.bins())
    throw InternalError(fmt::format("{} bins were planned, not {}", bin_sizes.size(), params.bins()));
  for (std::size_t i = 0; i < directory.size(); ++i) {
    layout::BinEntry& bin = directory[i];
    bin.offset = end;
    bin.entries = bin_sizes[i];
    bin.bucket_bits = position_bucket_bits(bin.entries, params);
    bin.payload_words = bin_layout(bin.entries, bin.bucket_bits, params).words;
    end += bin.payload_words * sizeof(std::uint64_t);
  }
  output.expect(end + directory.size() * sizeof directory[0]);
  header = layout::encode_header(params);
  write(0, header.data(), header.size());
}

void PositionWriter::Impl::write(std::uint64_t offset, const void* data, std::size_t bytes) {
  const file::WritePiece piece{data, bytes};
  output.write(offset, {&piece, 1});
}

void PositionWriter::Impl::put(std::uint32_t bin, std::span<const std::uint64_t> payload) {
  layout::BinEntry& entry = directory.at(bin);
  if (payload.size() != entry.payload_words) {
    throw InternalError(
        fmt::format("bin {} has {} words, {} were planned", bin, payload.size(), entry.payload_words));
  }
  entry.checksum = file::checksum(payload.data(), payload.size_bytes());
  if (output.is_ordered()) {
    // After an error nothing is put; the thread that failed reports it.
    in_order.put(bin, std::span(payload));
  } else {
    write_payload(entry, payload);
  }
}

void PositionWriter::Impl::write_payload(const layout::BinEntry& bin,
                                         std::span<const std::uint64_t> payload) {
  if (!payload.empty()) write(bin.offset, payload.data(), payload.size_bytes());
  ++put_bins;
}

void PositionWriter::Impl::append_section(const std::string& bytes, layout::Section& section) {
  section = {end, bytes.size(), file::checksum(bytes.data(), bytes.size())};
  write(end, bytes.data(), bytes.size());
  end += bytes.size();
}

void PositionWriter::Impl::finish(const PositionTotals& totals, std::span<const IndexedSequence> sequences,
                                  const Provenance& provenance) {
  if (put_bins != directory.size())
    throw InternalError(fmt::format("{} bins of {} were written", put_bins.load(), directory.size()));
  layout::Trailer trailer;
  append_section(layout::encode_directory(directory), trailer.directory);
  append_section(layout::encode_totals(totals), trailer.totals);
  append_section(layout::encode_sequences(sequences), trailer.list);
  append_section(layout::encode_provenance(provenance), trailer.provenance);
  trailer.sections_checksum = layout::sections_checksum(header, trailer);
  trailer.file_bytes = end + layout::kTrailerBytes;
  const std::string last = layout::encode_trailer(layout::kPositionKind, trailer);
  write(end, last.data(), last.size());
  end += last.size();
  output.commit();
}

PositionWriter::PositionWriter(const std::string& path, unsigned writers)
    : impl_(std::make_unique<Impl>(path, writers)) {}
PositionWriter::~PositionWriter() = default;

void PositionWriter::begin(const PositionParams& params, std::span<const std::uint64_t> bin_sizes) {
  impl_->begin(params, bin_sizes);
}

void PositionWriter::put(std::uint32_t bin, std::span<const std::uint64_t> payload) {
  impl_->put(bin, payload);
}

void PositionWriter::cancel() noexcept { impl_->in_order.stop(); }

void PositionWriter::finish(const PositionTotals& totals, std::span<const IndexedSequence> sequences,
                            const Provenance& provenance) {
  impl_->finish(totals, sequences, provenance);
}

std::uint64_t PositionWriter::file_bytes() const noexcept { return impl_->end; }

}  // namespace warpmer::index
