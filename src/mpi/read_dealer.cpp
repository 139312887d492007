#include "mpi/read_dealer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "io/fastx/text_part.h"
#include "mpi/input_message.h"

namespace warpmer::mpi {
namespace {

/// Parts of files: small enough that results do not wait long for those before them, large enough that
/// finding where they begin takes no time.
constexpr std::uint64_t kLeastPartBytes = std::uint64_t{512} << 10;
constexpr std::uint64_t kMostPartBytes = std::uint64_t{4} << 20;
/// If there is not much, each thread gets so many parts, so that none waits long for the last.
constexpr std::uint64_t kPartsOfThread = 4;

}  // namespace

ReadDealer::ReadDealer(const std::vector<io::InputFile>& files, const io::InputOptions& options,
                       std::uint64_t threads, ReadResults& results, Give give)
    : files_(files), options_(options), results_(results), give_(std::move(give)) {
  std::uint64_t bytes = 0;
  for (const io::InputFile& file : files) bytes += file.disk_bytes;
  part_bytes_ = std::clamp(bytes / (kPartsOfThread * threads), kLeastPartBytes, kMostPartBytes);
}

void ReadDealer::deal() {
  std::uint32_t next = 0;
  while (true) {
    while (next < files_.size() && deal_file(next)) ++next;
    if (next == files_.size() && results_.wait_until_written()) return;
    const auto written = results_.begin_again();
    if (!written) return;
    next = written->file;
    if (deal_batches(next, *written)) ++next;
  }
}

/// False when it is to go on as `ReadResults::begin_again` says. So do those that follow.
bool ReadDealer::deal_file(std::uint32_t index) {
  const io::InputFile& file = files_[index];
  // Inputs that can be read only once must not have to be dealt again.
  if (!io::can_be_opened_again(file)) return results_.wait_until_written() && deal_batches(index, {});
  const std::uint64_t wanted = (file.disk_bytes + part_bytes_ - 1) / part_bytes_;
  if (wanted <= 1) return deal_parts(index, 1);
  const std::uint32_t parts = io::most_file_parts(file, static_cast<std::uint32_t>(wanted));
  if (parts > 1 && io::has_many_records(file)) return deal_parts(index, parts);
  return deal_batches(index, {});
}

bool ReadDealer::deal_parts(std::uint32_t index, std::uint32_t parts) {
  for (std::uint32_t part = 0; part < parts; ++part) {
    const PartOfInput work{index, part, parts};
    const bool is_given = give(index, [&](Message& message) {
      message.push_back(ReadWork::kPart);
      put_plain(message, work);
    });
    if (!is_given) return false;
  }
  return true;
}

bool ReadDealer::deal_batches(std::uint32_t index, const ReadProgress& written) {
  try {
    const auto input = open(index);
    for (io::Batch batch; input->next(batch);) {
      leave_out_written(written, options_.overlap_bases, batch);
      if (batch.pieces.empty()) continue;
      const bool is_given = give(index, [&](Message& message) {
        message.push_back(ReadWork::kBatch);
        put_batch(message, batch);
      });
      if (!is_given) return false;
    }
    return true;
  } catch (const InputError&) {
    // There may be something wrong before this, which then is what is to be told.
    if (!results_.wait_until_written()) return false;
    throw;
  }
}

bool ReadDealer::give(std::uint32_t index, const std::function<void(Message&)>& put_work) {
  const std::optional<unsigned> rank = results_.deal(index);
  if (!rank) return false;
  Message work;
  put_work(work);
  give_(*rank, std::move(work));
  return true;
}

std::shared_ptr<io::InputSet> ReadDealer::open(std::uint32_t index) {
  io::InputOptions options = options_;
  options.one_caller = true;
  auto input = std::make_shared<io::InputSet>(only_part(files_[index], 0, 1), 0, options);
  const std::lock_guard lock(mutex_);
  reading_ = input;
  if (is_stopped_) input->cancel();
  return input;
}

void ReadDealer::stop() noexcept {
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  if (reading_) reading_->cancel();
}

void leave_out_written(const ReadProgress& written, std::uint32_t overlap_bases, io::Batch& batch) {
  const auto end_of = [](const io::Piece& piece) { return piece.first_base + piece.length; };
  const auto is_open = [&](const io::Piece& piece) {
    return written.open_bases > 0 && piece.record == written.records + 1;
  };
  std::erase_if(batch.pieces, [&](const io::Piece& piece) {
    return piece.record <= written.records ||
           (is_open(piece) && !piece.last && end_of(piece) <= written.open_bases);
  });
  for (io::Piece& piece : batch.pieces) {
    if (!is_open(piece)) continue;
    // Pieces of a sequence need not end where they did before: this one goes on where the text does.
    const std::uint64_t next = written.open_bases - overlap_bases;
    const auto done = static_cast<std::uint32_t>(next - std::min(next, piece.first_base));
    piece.offset += done;
    piece.length -= done;
    piece.first_base += done;
  }
}

io::InputShares only_part(const io::InputFile& file, std::uint32_t part, std::uint32_t parts) {
  io::InputShares only;
  only.files.push_back(file);
  io::InputShare share;
  share.part = part;
  share.parts = parts;
  only.shares.push_back(share);
  return only;
}

}  // namespace warpmer::mpi
