#include "file/write_pieces.h"

#include <sys/uio.h>

#include <array>
#include <cerrno>

#include "system/file_pieces.h"

namespace warpmer::file {
namespace {

constexpr std::size_t kPiecesAtOnce = 256;

}  // namespace

std::uint64_t bytes_of(std::span<const WritePiece> pieces) {
  std::uint64_t bytes = 0;
  for (const WritePiece& piece : pieces) bytes += piece.bytes;
  return bytes;
}

PiecesWritten write_pieces(int descriptor, std::optional<std::uint64_t> offset,
                           std::span<const WritePiece> pieces) {
  std::array<iovec, kPiecesAtOnce> batch;
  PiecesWritten written;
  std::size_t next = 0;       // the first piece not written completely
  std::size_t into_next = 0;  // how much of it is
  while (next < pieces.size()) {
    int used = 0;
    std::uint64_t wanted = 0;
    for (std::size_t i = next; i < pieces.size() && used < static_cast<int>(batch.size()); ++i) {
      const std::size_t skip = i == next ? into_next : 0;
      auto* begin = const_cast<char*>(static_cast<const char*>(pieces[i].data)) + skip;
      batch[static_cast<std::size_t>(used++)] = {begin, pieces[i].bytes - skip};
      wanted += pieces[i].bytes - skip;
    }
    const ssize_t n = offset
                          ? system::write_pieces_at(descriptor, batch.data(), used, *offset + written.bytes)
                          : ::writev(descriptor, batch.data(), used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 || (n == 0 && wanted > 0)) {
      written.error = n < 0 ? errno : EIO;
      return written;
    }
    written.bytes += static_cast<std::uint64_t>(n);
    for (into_next += static_cast<std::size_t>(n); next < pieces.size() && into_next >= pieces[next].bytes;
         ++next) {
      into_next -= pieces[next].bytes;
    }
  }
  return written;
}

}  // namespace warpmer::file
