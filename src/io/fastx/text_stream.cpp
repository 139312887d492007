#include "io/fastx/text_stream.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "file/input_error.h"
#include "io/fastx/record_guess.h"
#include "io/fastx/record_parser.h"

namespace warpmer::io {
namespace {

/// Fewer batches than this are no large file.
constexpr std::uint64_t kLeastSharedBatches = 8;

/// Room for what a block may leave to the next one: some lines of short reads, and most long reads.
constexpr std::size_t kFirstRoom = std::size_t{4} << 10;
constexpr std::size_t kMostRoom = std::size_t{256} << 10;

/// Returns the room in a batch that is left by the largest block.
std::size_t room_beside_block(const InputOptions& options) {
  return TextReader::batch_capacity(options) / 16;
}

/// Records in a text that seem to be whole, whatever is before and behind it.
struct FoundRecords {
  bool are_fastq = false;
  std::size_t first = 0;  ///< begin of the first
  std::size_t end = 0;    ///< end of the place to look for more
};

/// Finds the FASTA records from the first line that begins with '>' to the last such line; the text's first
/// line may not be whole. Most texts with such lines have few other places with that character.
std::optional<FoundRecords> find_fasta(std::string_view text) {
  std::size_t first = 0;
  do {
    first = text.find('>', first + 1);
    if (first == std::string_view::npos) return std::nullopt;
  } while (text[first - 1] != '\n');
  std::size_t last = text.size();
  do {
    last = text.rfind('>', last - 1);
  } while (text[last - 1] != '\n');
  // A sequence may go on. What is before the last one is complete, whatever follows.
  return FoundRecords{false, first, last};
}

std::optional<FoundRecords> find_records(std::string_view text) {
  const char* const fastq = guess_first_record(text.data(), text.data() + text.size());
  if (fastq == nullptr) return find_fasta(text);
  return FoundRecords{true, static_cast<std::size_t>(fastq - text.data()), text.size()};
}

}  // namespace

class SharedStreamReader::Feed final : public file::ByteSource {
 public:
  explicit Feed(BlockSource& source) : source_(source) {}

  void give(const BlockLease& lease) {
    lease_ = lease;
    taken_ = 0;
  }
  void end() { has_ended_ = true; }
  [[nodiscard]] bool is_used_up() const { return taken_ == lease_.size; }

  std::size_t read(char* into, std::size_t size) override {
    const std::size_t count = std::min(size, lease_.size - taken_);
    if (count > 0) source_.copy(lease_, taken_, {into, count});
    taken_ += count;
    return count;
  }
  [[nodiscard]] bool is_interrupted() const noexcept override { return !has_ended_; }
  [[nodiscard]] std::uint64_t disk_bytes() const noexcept override { return 0; }

 private:
  BlockSource& source_;
  BlockLease lease_;
  std::size_t taken_ = 0;
  bool has_ended_ = false;
};

std::size_t SharedStreamReader::largest_block(const InputOptions& options) {
  return TextReader::batch_capacity(options) - room_beside_block(options);
}

bool SharedStreamReader::is_large(std::uint64_t disk_bytes, const InputOptions& options) {
  return disk_bytes >= kLeastSharedBatches * largest_block(options);
}

namespace {

InputOptions without_cut_records(InputOptions options) {
  options.reading.drops_cut_record = false;
  return options;
}

}  // namespace

SharedStreamReader::SharedStreamReader(std::unique_ptr<BlockSource> source, const std::string& shown,
                                       const InputOptions& options, const std::atomic<bool>& cancelled)
    : source_(std::move(source)),
      shown_(shown),
      options_(without_cut_records(options)),
      most_room_(std::clamp(room_beside_block(options), kFirstRoom, kMostRoom)),
      room_(kFirstRoom),
      turns_([this](ParsedBlock& block) { return accept(block); }, cancelled) {
  auto feed = std::make_unique<Feed>(*source_);
  feed_ = feed.get();
  reader_ = std::make_unique<TextReader>(std::move(feed), shown, options);
}

bool SharedStreamReader::fill(Batch& batch, ReaderShare& share) {
  while (true) {
    ParsedBlock block;
    try {
      if (!take(block, batch)) return false;
      if (!block.is_accepted && !read_in_turn(block.lease, batch, share)) continue;
    } catch (...) {
      // This thread reports the error; for the others there is nothing more.
      end_all();
      source_->give_back(block.lease);
      throw;
    }
    if (block.is_accepted) complete(block, batch, share);
    return true;
  }
}

/// Takes a block, which is accepted then, with its records in the batch, or has its turn. False if there is
/// none any more.
bool SharedStreamReader::take(ParsedBlock& block, Batch& batch) {
  block.batch = &batch;
  std::unique_lock<std::mutex> lock(mutex_);
  while (!block.parse) {
    if (take_left(lock, block.lease)) return true;
    if (turns_.are_over()) return false;
    lock.unlock();
    block.lease = source_->borrow();
    block.parse = parse_speculatively(block.lease, batch);
    lock.lock();
    // If its turn comes while this thread cuts what it was given before, another one reads it.
    if (!block.parse) leave(std::exchange(block.lease, {}));
  }
  block.number = block.lease.number;
  if (turns_.await(lock, block)) {
    wake_for_left();
    return true;
  }
  source_->give_back(std::exchange(block.lease, {}));
  return false;
}

/// Takes the block that is to be read in its turn next, when that has come; false if there is none, or no
/// turn any more. To be called under the lock.
bool SharedStreamReader::take_left(std::unique_lock<std::mutex>& lock, BlockLease& lease) {
  while (!left_.empty() && !has_turn(left_.front()) && !turns_.are_over())
    left_changed_.wait_for(lock, file::kCancelCheck);
  if (left_.empty() || turns_.are_over()) return false;
  lease = left_.front();
  left_.erase(left_.begin());
  is_turn_taken_ = true;
  if (left_.empty()) left_changed_.notify_all();  // threads that waited can read on
  return true;
}

/// Puts a block there. To be called under the lock.
void SharedStreamReader::leave(const BlockLease& lease) {
  if (turns_.are_over()) {
    source_->give_back(lease);
    return;
  }
  const auto place = std::find_if(left_.begin(), left_.end(),
                                  [&](const BlockLease& other) { return other.number >= lease.number; });
  left_.insert(place, lease);
  wake_for_left();
}

/// Wakes a thread if it can go on with a block that was left. To be called under the lock.
void SharedStreamReader::wake_for_left() {
  if (!left_.empty() && has_turn(left_.front())) left_changed_.notify_one();
}

/// Copies the block into the batch and parses the records that are found in it. Nothing if it is out of the
/// ordinary, or cannot be read: the one reader comes to the same place, and knows where it is.
std::optional<SpeculativeParse> SharedStreamReader::parse_speculatively(const BlockLease& lease,
                                                                        Batch& batch) const try {
  if (lease.size == 0) return std::nullopt;
  SpeculativeParse parse;
  parse.begin = room_;
  const auto copy = [&] {
    batch.clear();
    batch.text.reserve(parse.begin + source_->block_capacity());
    source_->copy(lease, 0, {batch.text.data() + parse.begin, lease.size});
    return std::string_view(batch.text.data() + parse.begin, lease.size);
  };
  // A text in memory is copied only if records are found in it.
  const bool is_in_memory = lease.text != nullptr;
  std::string_view text = is_in_memory ? std::string_view(lease.text, lease.size) : copy();
  const auto found = find_records(text);
  if (!found) return std::nullopt;
  if (is_in_memory) text = copy();

  parse.first = parse.begin + found->first;
  RecordParser parser(shown_, options_, batch_pieces(text.size()));
  batch.pieces.reserve(batch_pieces(source_->block_capacity()) + 1);
  Window window{batch.text.data(), parse.begin + found->end, parse.first, !found->are_fastq};
  parser.parse(window, batch.pieces);
  const bool ends_within = found->are_fastq || window.pos == window.size;
  if (parser.sequence() || batch.pieces.empty() || !ends_within) return std::nullopt;
  parse.records = parser.records();
  parse.lines = parser.lines();
  parse.unparsed = text.substr(window.pos - parse.begin);
  if (parse.unparsed.size() > most_room_) return std::nullopt;
  batch.text.set_size(window.pos);
  return parse;
} catch (const InputError&) {
  return std::nullopt;
}

/// Takes over what was parsed of the block that has its turn, if that was right. To be called under the lock.
bool SharedStreamReader::accept(ParsedBlock& block) {
  make_room();
  const std::uint64_t records = reader_->records();
  const auto records_before = reader_->adopt(*block.parse, *block.batch, block.joined);
  if (!records_before) return false;
  block.records_before = *records_before;
  block.records = reader_->records() - records;
  block.batch_number = next_batch_++;
  ++speculative_parses_;
  return true;
}

/// Makes a batch of a block that is accepted.
void SharedStreamReader::complete(const ParsedBlock& block, Batch& batch, ReaderShare& share) {
  source_->give_back(block.lease);
  share.disk_bytes += block.lease.disk_bytes;
  share.records += block.records;
  share.batch = block.batch_number;
  for (Piece& piece : batch.pieces) piece.record += block.records_before;
  batch.pieces.insert(batch.pieces.begin(), block.joined.begin(), block.joined.end());
}

/// Reads the block that has its turn, or on in it; false if more is needed for a batch.
bool SharedStreamReader::read_in_turn(const BlockLease& lease, Batch& batch, ReaderShare& share) {
  if (lease.error) std::rethrow_exception(lease.error);
  make_room();
  if (lease.is_end) feed_->end();
  if (feed_->is_used_up()) {
    feed_->give(lease);
    pending_bytes_ += lease.disk_bytes;
  }
  const std::uint64_t records = reader_->records();
  const bool is_filled = reader_->fill(batch);
  share.records += reader_->records() - records;
  if (is_filled) share.batch = next_batch_++;
  if (is_filled || lease.is_end) share.disk_bytes += std::exchange(pending_bytes_, 0);
  if (is_filled && (lease.is_end || !feed_->is_used_up())) {
    BlockLease rest = lease;
    rest.disk_bytes = 0;
    const std::lock_guard<std::mutex> guard(mutex_);
    is_turn_taken_ = false;
    leave(rest);
    return true;
  }
  if (lease.is_end) {
    end_all();
  } else {
    end_turn();
  }
  source_->give_back(lease);
  return is_filled;
}

/// Makes room for as much as the block before has left, and some more.
void SharedStreamReader::make_room() {
  const std::size_t left = reader_->bytes_left();
  if (left > room_ && left <= most_room_) room_ = std::min(2 * left, most_room_);
}

void SharedStreamReader::end_turn() {
  const std::lock_guard<std::mutex> guard(mutex_);
  turns_.end();
  is_turn_taken_ = false;
  wake_for_left();
}

/// Ends all: there are no more turns.
void SharedStreamReader::end_all() noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  turns_.stop();
  left_changed_.notify_all();
  for (const BlockLease& lease : left_) source_->give_back(lease);
  left_.clear();
}

}  // namespace warpmer::io
