// Lines are measured, then their lengths are added up, then they are written: each time by a thread a read.

#include <cub/device/device_scan.cuh>

#include "backend/lookup/summary_line.h"
#include "io/fastx/record_name.h"
#include "kernels/lookup/read_lines.cuh"
#include "kernels/memory/persistent_grid.cuh"

namespace warpmer::gpu {

namespace {

constexpr std::uint32_t kLineThreads = 128;

/// Returns a record's name, without '@'.
__device__ LineBounds name_of(const char* text, LineBounds header) {
  LineBounds name{header.begin + 1, header.begin + 1};
  while (name.end < header.end && !io::ends_name(text[name.end])) ++name.end;
  return name;
}

/// Adds up a yes of each thread of a warp, all of which take part.
__device__ void count_yes(bool is_yes, std::uint32_t* number) {
  const std::uint32_t which = __ballot_sync(~0u, is_yes);
  if (which != 0 && threadIdx.x % 32 == 0) atomicAdd(number, __popc(which));
}

/// Writes the length of each line, and 0 for the records that there might be.
__global__ __launch_bounds__(kLineThreads) void measure_lines_kernel(const char* text, PlainRecords records,
                                                                     std::uint32_t most, const ReadSums* sums,
                                                                     std::uint32_t* line_bytes,
                                                                     LinesReport* report) {
  const std::uint32_t size = records.size();
  const std::uint32_t step = gridDim.x * kLineThreads;
  for (std::uint32_t first = blockIdx.x * kLineThreads; first <= most; first += step) {
    const std::uint32_t record = first + threadIdx.x;
    const bool is_there = record < size;
    bool has_kmers = false, is_found = false, has_name = true;
    std::uint32_t bytes = 0;
    if (is_there) {
      const ReadSums sum = sums[record];
      const std::uint32_t name = name_of(text, records.header(record)).size();
      has_kmers = sum.kmers > 0;
      is_found = sum.found > 0;
      has_name = name > 0;
      bytes = name + backend::summary_bytes(sum);
    }
    if (record <= most) line_bytes[record] = bytes;
    count_yes(has_kmers, &report->with_kmers);
    count_yes(is_found, &report->with_found);
    count_yes(!has_name, &report->odd_names);
  }
}

/// Writes the lines that there is room for, and the rest of the report.
__global__ __launch_bounds__(kLineThreads) void write_lines_kernel(
    const char* text, PlainRecords records, const ReadSums* sums, const std::uint32_t* line_begins,
    const CutStatus* status, std::uint32_t room, char* lines, LinesReport* report) {
  const std::uint32_t size = records.size();
  const std::uint32_t thread = blockIdx.x * kLineThreads + threadIdx.x;
  if (thread == 0) {
    report->findings = *records.findings;
    report->first_invalid = status->first_invalid;
    report->bytes = line_begins[size];
  }
  for (std::uint32_t record = thread; record < size; record += gridDim.x * kLineThreads) {
    if (line_begins[record + 1] > room) continue;
    char* to = lines + line_begins[record];
    const LineBounds name = name_of(text, records.header(record));
    for (std::uint32_t at = name.begin; at < name.end; ++at) *to++ = text[at];
    backend::write_summary(sums[record], to);
  }
}

}  // namespace

void ReadLines::reserve(std::uint32_t text_bytes) {
  const std::size_t records = PlainFastq::most_records(text_bytes);
  line_bytes_.reserve(records + 1);
  line_begins_.reserve(records + 1);
  lines_.reserve(room(text_bytes));
}

void ReadLines::write(const char* text, std::uint32_t bytes, const PlainRecords& records,
                      const ReadSums* sums, const CutStatus* status, cudaStream_t stream) {
  const std::uint32_t most = PlainFastq::most_records(bytes);
  fill_bytes(report_.data(), 0, 1, stream);
  const std::uint32_t blocks = blocks_for<measure_lines_kernel>(most + 1, kLineThreads, kLineThreads);
  measure_lines_kernel<<<blocks, kLineThreads, 0, DriverLock::Shared(stream)>>>(
      text, records, most, sums, line_bytes_.data(), report_.data());
  check_launch("measuring lines");
  scan_.run("adding up lines", stream, [&](void* memory, std::size_t& scratch, cudaStream_t in) {
    return cub::DeviceScan::ExclusiveSum(memory, scratch, line_bytes_.data(), line_begins_.data(),
                                         static_cast<int>(most + 1), in);
  });
  write_lines_kernel<<<blocks, kLineThreads, 0, DriverLock::Shared(stream)>>>(
      text, records, sums, line_begins_.data(), status, room(bytes), lines_.data(), report_.data());
  check_launch("writing lines");
}

}  // namespace warpmer::gpu
