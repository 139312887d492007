#include "kernels/lookup/raw_lane.cuh"

namespace warpmer::gpu {

RawLane::RawLane(const DeviceIndex& index, std::uint32_t k, bool lenient)
    : index_(index), k_(k), lenient_(lenient) {
  records_.reserve(kMostBytes);
  lines_.reserve(kMostBytes);
  // What is behind a text does not matter, and of one that is not plain nothing does, but tools that look for
  // reads of it cannot know.
  fill_bytes(joined_.data(), 0, joined_.size(), stream_);
}

void RawLane::answer(const io::Batch& raw, char lowest_quality, backend::RawAnswer& out) {
  const std::string_view text = raw.raw_text();
  out.lines.clear();
  out.read = {};
  out.found = false;
  if (text.empty()) return;
  if (text.size() > kMostBytes) throw io::RawTextRefused();
  try {
    send(text, lowest_quality);
    take_lines(static_cast<std::uint32_t>(text.size()), out);
  } catch (...) {
    cudaStreamSynchronize(stream_);
    throw;
  }
}

/// Enqueues all that leads to the report and the lines.
void RawLane::send(std::string_view text, char lowest_quality) {
  const auto bytes = static_cast<std::uint32_t>(text.size());
  const std::uint32_t joined = PlainFastq::joined_bytes(bytes);
  copy_to_device(text_.data(), text.data(), bytes, stream_);
  records_.find(text_.data(), bytes, lowest_quality, joined_.data(), stream_);
  reset_status(status_.data(), stream_);
  index_.look_up(joined_.data(), joined, joined, answers_.data(), status_.data(), stream_);
  sum_up(answers_.data(), records_.records(), PlainFastq::most_records(bytes), k_, sums_.data(), stream_);
  lines_.write(text_.data(), bytes, records_.records(), sums_.data(), status_.data(), stream_);
  copy_to_host(report_.data(), lines_.report(), 1, stream_);
  done_.record(stream_);
}

void RawLane::take_lines(std::uint32_t text_bytes, backend::RawAnswer& out) {
  done_.wait();
  const LinesReport& report = report_[0];
  if (report.findings.odd > 0 || report.odd_names > 0 || report.bytes > ReadLines::room(text_bytes) ||
      (report.first_invalid != UINT32_MAX && !lenient_)) {
    throw io::RawTextRefused();
  }
  if (result_.size() < report.bytes) result_.reserve(report.bytes + report.bytes / 4);
  copy_to_host(result_.data(), lines_.lines(), report.bytes, stream_);
  done_.record(stream_);
  done_.wait();
  out.lines.assign(result_.data(), report.bytes);
  out.read = {report.findings.records, report.findings.bases, report.with_kmers};
  out.found = report.with_found > 0;
}

}  // namespace warpmer::gpu
