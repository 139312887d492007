// Three small kernels make a list of all line ends: count them in each tile, add up, and write them down.
// Then a warp takes a record at a time.

#include "io/text/quality.h"
#include "kernels/text/plain_fastq.cuh"
#include "kernels/text/text_tile.cuh"
#include "kernels/warps/warp_scan.cuh"

namespace warpmer::gpu {

namespace {

/// Enough to keep the device busy with one text; there are several at a time.
constexpr std::uint32_t kRecordBlocks = 264;

/// Returns a mask of the thread's bytes that are this character.
__device__ std::uint32_t those_at(const char* text, std::uint32_t at, std::uint32_t bytes, char character) {
  if (at >= bytes) return 0;
  return which_are(load_sixteen(text, at, bytes), character) & sixteen_in(at, bytes);
}

__global__ __launch_bounds__(kPlainThreads) void count_lines_kernel(const char* text, std::uint32_t bytes,
                                                                    std::uint32_t* tile_lines) {
  __shared__ std::uint32_t sums[kPlainWarps];
  const std::uint32_t at = blockIdx.x * kPlainTileBytes + threadIdx.x * kPlainBytesPerThread;
  const std::uint32_t sum = __reduce_add_sync(~0u, __popc(those_at(text, at, bytes, '\n')));
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  const std::uint32_t all = __reduce_add_sync(~0u, threadIdx.x < kPlainWarps ? sums[threadIdx.x] : 0);
  if (threadIdx.x == 0) tile_lines[blockIdx.x] = all;
}

/// By one block: each tile's lines become the lines before it.
__global__ __launch_bounds__(1024) void scan_lines_kernel(std::uint32_t* tile_lines, std::uint32_t tiles,
                                                          std::uint32_t capacity, TextFindings* findings) {
  __shared__ std::uint32_t sums[32];
  const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  std::uint32_t before = 0;
  for (std::uint32_t first = 0; first < tiles; first += 1024) {
    const std::uint32_t tile = first + threadIdx.x;
    const std::uint32_t lines = tile < tiles ? tile_lines[tile] : 0;
    const std::uint32_t in_warp = warp_inclusive_sum(lines);
    if (lane == 31) sums[warp] = in_warp;
    __syncthreads();
    const std::uint32_t warps = warp_inclusive_sum(sums[lane]);
    const std::uint32_t all = __shfl_sync(~0u, warps, 31);
    const std::uint32_t warps_before = __shfl_sync(~0u, warps, static_cast<int>((warp + 31) % 32));
    if (tile < tiles) tile_lines[tile] = before + (warp == 0 ? 0 : warps_before) + in_warp - lines;
    before += all;
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  // More lines than can be listed, or not whole records: then none is looked at.
  const bool is_odd = before > capacity || before % 4 != 0;
  *findings = {is_odd ? 0 : before / 4, is_odd ? 1u : 0u, 0};
}

__global__ __launch_bounds__(kPlainThreads) void list_lines_kernel(const char* text, std::uint32_t bytes,
                                                                   const std::uint32_t* tile_lines,
                                                                   std::uint32_t capacity,
                                                                   std::uint32_t* line_ends,
                                                                   TextFindings* findings) {
  __shared__ std::uint32_t sums[kPlainWarps];
  const std::uint32_t at = blockIdx.x * kPlainTileBytes + threadIdx.x * kPlainBytesPerThread;
  std::uint32_t ends = those_at(text, at, bytes, '\n');
  // In a header it may be a line end of old, and whole records are the header of the next.
  const bool has_return = __any_sync(~0u, those_at(text, at, bytes, '\r') != 0) != 0;
  if (has_return && threadIdx.x % 32 == 0) atomicAdd(&findings->odd, 1u);
  std::uint32_t in_tile = 0;
  std::uint32_t line =
      tile_lines[blockIdx.x] + block_sum_before(sums, static_cast<std::uint32_t>(__popc(ends)), in_tile);
  for (; ends != 0; ends &= ends - 1, ++line) {
    if (line < capacity) line_ends[line] = at + __ffs(static_cast<int>(ends)) - 1;
  }
}

/// Copies a sequence, and fills the record's place up with separators. Returns whether all quality characters
/// are such, and no base is blank. By all lanes.
__device__ bool join_record(const char* text, LineBounds bases, LineBounds quality, std::uint32_t place_bytes,
                            char lowest_quality, char* to) {
  bool is_bad = false;
  for (std::uint32_t i = threadIdx.x % 32; i < place_bytes; i += 32) {
    char base = kSeparator;
    if (i < bases.size()) {
      base = text[bases.begin + i];
      const char q = text[quality.begin + i];
      is_bad |= q < io::kLowestQuality || q > io::kHighestQuality || static_cast<unsigned char>(base) <= ' ';
      const auto letter = static_cast<unsigned char>((static_cast<unsigned char>(base) | 0x20u) - 'a');
      if (letter < 26 && q < lowest_quality) base = 'N';
    }
    to[i] = base;
  }
  return __any_sync(~0u, is_bad) == 0;
}

__global__ __launch_bounds__(kPlainThreads) void join_records_kernel(const char* text, PlainRecords found,
                                                                     char lowest_quality, char* joined,
                                                                     TextFindings* findings) {
  const std::uint32_t records = findings->records;
  const bool is_leader = threadIdx.x % 32 == 0;
  unsigned long long all_bases = 0;
  for (std::uint32_t record = blockIdx.x * kPlainWarps + threadIdx.x / 32; record < records;
       record += gridDim.x * kPlainWarps) {
    const LineBounds header = found.header(record), bases = found.line(record, 1);
    const LineBounds plus = found.line(record, 2), quality = found.line(record, 3);
    const char first = text[bases.begin];  // of an empty line the line end, as of the next one
    // The '+' line may say anything. All of this holds for all lanes alike.
    bool is_plain = text[header.begin] == '@' && first != '@' && first != '>' && first != '+' &&
                    text[plus.begin] == '+' && bases.size() == quality.size();
    if (is_plain) {
      const std::uint32_t place = found.joined_at(record);
      const std::uint32_t next = (quality.end + 1) / 2;
      is_plain = join_record(text, bases, quality, next - place, lowest_quality, joined + place);
    }
    if (is_leader && !is_plain) atomicAdd(&findings->odd, 1u);
    all_bases += bases.size();
  }
  if (is_leader && all_bases > 0) atomicAdd(&findings->bases, all_bases);
}

}  // namespace

void PlainFastq::reserve(std::uint32_t text_bytes) {
  tile_lines_.reserve(plain_tiles_in(text_bytes));
  line_ends_.reserve(most_lines(text_bytes));
}

void PlainFastq::find(const char* text, std::uint32_t text_bytes, char lowest_quality, char* joined,
                      cudaStream_t stream) {
  const std::uint32_t tiles = plain_tiles_in(text_bytes), capacity = most_lines(text_bytes);
  count_lines_kernel<<<tiles, kPlainThreads, 0, DriverLock::Shared(stream)>>>(text, text_bytes,
                                                                              tile_lines_.data());
  check_launch("finding lines");
  scan_lines_kernel<<<1, 1024, 0, DriverLock::Shared(stream)>>>(tile_lines_.data(), tiles, capacity,
                                                                findings_.data());
  check_launch("finding lines");
  list_lines_kernel<<<tiles, kPlainThreads, 0, DriverLock::Shared(stream)>>>(
      text, text_bytes, tile_lines_.data(), capacity, line_ends_.data(), findings_.data());
  check_launch("finding lines");
  join_records_kernel<<<kRecordBlocks, kPlainThreads, 0, DriverLock::Shared(stream)>>>(
      text, records(), lowest_quality, joined, findings_.data());
  check_launch("finding records");
}

}  // namespace warpmer::gpu
