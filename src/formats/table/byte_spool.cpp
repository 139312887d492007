#include "formats/table/byte_spool.h"

#include <algorithm>
#include <span>

#include "file/checksum.h"

namespace warpmer::formats {
namespace {

constexpr std::size_t kMostWaitingBytes = std::size_t{1} << 20;

}  // namespace

ByteSpool::ByteSpool(SpoolFile& file) : file_(&file) {
  waiting_.resize(kMostWaitingBytes);  // so that it counts when it is asked how much memory is left
  waiting_.clear();
}

void ByteSpool::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t some = std::min(bytes.size(), kMostWaitingBytes - waiting_.size());
    waiting_ += bytes.substr(0, some);
    bytes.remove_prefix(some);
    if (waiting_.size() < kMostWaitingBytes) return;
    file::SpillFile& file = file_->get();
    const file::WritePiece piece{waiting_.data(), waiting_.size()};
    const std::uint64_t offset = file.allocate(waiting_.size());
    file.write(offset, std::span(&piece, 1));
    spilled_.push_back({offset, waiting_.size(), file::checksum(waiting_.data(), waiting_.size())});
    spilled_bytes_ += waiting_.size();
    waiting_.clear();
  }
}

void ByteSpool::read(const std::function<void(std::string_view piece)>& take) const {
  std::string piece;
  for (const file::Spilled& spilled : spilled_) {
    piece.resize(spilled.bytes);
    file_->get().read(spilled, piece.data());
    file_->get().give_up(spilled.offset, spilled.bytes);
    take(piece);
  }
  take(waiting_);
}

}  // namespace warpmer::formats
