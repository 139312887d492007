// The result for a stretch of FASTA text depends on the text before it: on the number of its joined
// characters, and on whether the stretch begins in a header. There are three kernels: in the first, each tile
// tells all that those behind it have to know; the second combines that for all tiles; in the third, each
// tile knows the places of its characters.

#include "kernels/text/plain_fasta.cuh"
#include "kernels/text/text_packing.cuh"
#include "kernels/text/text_tile.cuh"

namespace warpmer::gpu {

namespace {

using io::FastaCharacters;
using io::FastaStretch;

__device__ FastaStretch shuffle(const FastaStretch& stretch, std::uint32_t lane) {
  const int from = static_cast<int>(lane);
  return {
      __shfl_sync(~0u, stretch.open, from), __shfl_sync(~0u, stretch.rest, from),
      static_cast<FastaStretch::LineKind>(__shfl_sync(~0u, static_cast<std::uint32_t>(stretch.line), from))};
}

/// This lane's stretch with those of the lanes before it.
__device__ FastaStretch warp_prefix(FastaStretch mine) {
  const std::uint32_t lane = threadIdx.x % 32;
#pragma unroll
  for (std::uint32_t step = 1; step < 32; step *= 2) {
    const FastaStretch before = shuffle(mine, lane >= step ? lane - step : lane);
    if (lane >= step) mine = before + mine;
  }
  return mine;
}

/// The stretches of all threads of the block before this one; in `all`, those of the whole block.
template <std::uint32_t Warps>
__device__ FastaStretch block_prefix(const FastaStretch& mine, FastaStretch& all) {
  __shared__ FastaStretch warps[Warps];
  const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const FastaStretch in_warp = warp_prefix(mine);
  const FastaStretch lane_before = shuffle(in_warp, lane == 0 ? 0 : lane - 1);
  if (lane == 31) warps[warp] = in_warp;
  __syncthreads();
  const FastaStretch sums = warp_prefix(lane < Warps ? warps[lane] : FastaStretch{});
  const FastaStretch warp_before = shuffle(sums, warp == 0 ? 0 : warp - 1);
  all = shuffle(sums, Warps - 1);
  __syncthreads();  // the next call may write
  const FastaStretch before_warp = warp == 0 ? FastaStretch{} : warp_before;
  return lane == 0 ? before_warp : before_warp + lane_before;
}

__device__ FastaCharacters characters_of(uint4 sixteen, const char* text, std::uint32_t at,
                                         std::uint32_t bytes) {
  FastaCharacters characters;
  characters.all = sixteen_in(at, bytes);
  if (characters.all == 0) return characters;
  characters.line_feeds = which_are(sixteen, '\n') & characters.all;
  characters.returns = which_are(sixteen, '\r') & characters.all;
  characters.headers = which_are(sixteen, '>') & characters.all;
  characters.ats = which_are(sixteen, '@') & characters.all;
  characters.blanks =
      which_are_up_to(sixteen, ' ') & characters.all & ~characters.line_feeds & ~characters.returns;
  characters.follows_line_feed = at > 0 && text[at - 1] == '\n';
  characters.precedes_line_feed = bytes - at > 16 && text[at + 16] == '\n';
  return characters;
}

__device__ uint4 sixteen_at(const char* text, std::uint32_t at, std::uint32_t bytes) {
  return at < bytes ? load_sixteen(text, at, bytes) : uint4{0, 0, 0, 0};
}

__global__ __launch_bounds__(kPlainThreads) void look_at_tiles_kernel(const char* text, std::uint32_t bytes,
                                                                      FastaStretch* tiles) {
  const std::uint32_t at = blockIdx.x * kPlainTileBytes + threadIdx.x * kPlainBytesPerThread;
  FastaStretch all;
  block_prefix<kPlainWarps>(stretch_of(characters_of(sixteen_at(text, at, bytes), text, at, bytes)), all);
  if (threadIdx.x == 0) tiles[blockIdx.x] = all;
}

/// By one block: each tile becomes what is before it, and all of them stand behind the last.
__global__ __launch_bounds__(1024) void scan_tiles_kernel(FastaStretch* tiles, std::uint32_t count,
                                                          TextFindings* findings) {
  FastaStretch before{};
  for (std::uint32_t first = 0; first < count; first += 1024) {
    const std::uint32_t tile = first + threadIdx.x;
    FastaStretch all;
    const FastaStretch prefix = block_prefix<32>(tile < count ? tiles[tile] : FastaStretch{}, all);
    if (tile < count) tiles[tile] = before + prefix;
    before = before + all;
  }
  if (threadIdx.x != 0) return;
  tiles[count] = before;
  *findings = {0, 0, 0};
}

/// Writes characters of shared memory to their place, both `shift` bytes behind a multiple of sixteen; by the
/// block.
__device__ void write_out(const char* from, char* to, std::uint32_t shift, std::uint32_t count) {
  const std::uint32_t end = shift + count;
  for (std::uint32_t at = 16 * threadIdx.x; at < end; at += 16 * kPlainThreads) {
    if (at >= shift && at + 16 <= end) {
      *reinterpret_cast<uint4*>(to + at) = *reinterpret_cast<const uint4*>(from + at);
      continue;
    }
    for (std::uint32_t i = max(at, shift); i < min(at + 16, end); ++i) to[i] = from[i];
  }
}

/// Fills the block's part of what is behind the last character that was joined.
__device__ void fill_up(char* joined, std::uint32_t joined_bytes, std::uint32_t bytes) {
  const std::uint32_t at = blockIdx.x * kPlainTileBytes + threadIdx.x * kPlainBytesPerThread;
  if (at >= bytes) return;
  constexpr std::uint32_t kFour = static_cast<unsigned char>(kSeparator) * 0x01010101u;
  if (at >= joined_bytes) {
    *reinterpret_cast<uint4*>(joined + at) = {kFour, kFour, kFour, kFour};
    return;
  }
  for (std::uint32_t i = joined_bytes; i < at + 16; ++i) joined[i] = kSeparator;
}

__global__ __launch_bounds__(kPlainThreads) void join_tiles_kernel(const char* text, std::uint32_t bytes,
                                                                   const FastaStretch* tiles, char* joined,
                                                                   TextFindings* findings) {
  __shared__ alignas(16) char kept[kPlainTileBytes + 16];
  const std::uint32_t at = blockIdx.x * kPlainTileBytes + threadIdx.x * kPlainBytesPerThread;
  const uint4 sixteen = sixteen_at(text, at, bytes);
  const FastaCharacters characters = characters_of(sixteen, text, at, bytes);
  const FastaStretch before_tile = tiles[blockIdx.x];
  FastaStretch in_tile;
  const FastaStretch prefix = block_prefix<kPlainWarps>(stretch_of(characters), in_tile);
  const FastaStretch before = before_tile + prefix;
  const std::uint32_t place = before_tile.joined(), shift = place % 16;
  const std::uint32_t which = characters.joined(before.ends_in_header());
  const std::uint32_t headers = characters.header_begins();
  const std::uint32_t words[4] = {sixteen.x, sixteen.y, sixteen.z, sixteen.w};
  std::uint32_t to = before.joined() - place + shift;
#pragma unroll
  for (std::uint32_t i = 0; i < 16; ++i) {
    if ((which >> i & 1) == 0) continue;
    kept[to++] = (headers >> i & 1) != 0 ? kSeparator : static_cast<char>(words[i / 4] >> (8 * (i % 4)));
  }
  const std::uint32_t records = __reduce_add_sync(~0u, __popc(headers));
  const std::uint32_t bases = __reduce_add_sync(~0u, __popc(which & ~headers));
  const bool is_odd = __any_sync(~0u, characters.are_odd(before.ends_in_header())) != 0;
  if (threadIdx.x % 32 == 0) {
    if (records > 0) atomicAdd(&findings->records, records);
    if (bases > 0) atomicAdd(&findings->bases, static_cast<unsigned long long>(bases));
    if (is_odd) atomicAdd(&findings->odd, 1u);
  }
  __syncthreads();
  write_out(kept, joined + (place - shift), shift, (before_tile + in_tile).joined() - place);
  fill_up(joined, tiles[gridDim.x].joined(), bytes);
}

}  // namespace

void PlainFasta::reserve(std::uint32_t text_bytes) { tiles_.reserve(plain_tiles_in(text_bytes) + 1); }

void PlainFasta::find(const char* text, std::uint32_t text_bytes, char* joined, cudaStream_t stream) {
  const std::uint32_t tiles = plain_tiles_in(text_bytes);
  look_at_tiles_kernel<<<tiles, kPlainThreads, 0, DriverLock::Shared(stream)>>>(text, text_bytes,
                                                                                tiles_.data());
  check_launch("finding sequences");
  scan_tiles_kernel<<<1, 1024, 0, DriverLock::Shared(stream)>>>(tiles_.data(), tiles, findings_.data());
  check_launch("finding sequences");
  join_tiles_kernel<<<tiles, kPlainThreads, 0, DriverLock::Shared(stream)>>>(text, text_bytes, tiles_.data(),
                                                                             joined, findings_.data());
  check_launch("joining sequences");
}

}  // namespace warpmer::gpu
