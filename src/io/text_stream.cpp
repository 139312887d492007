#include "io/text_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "io/input_error.h"
#include "io/record_guess.h"
#include "io/record_parser.h"

namespace warpmer::io {
namespace {

/// What a text may leave to the next one: some lines of short reads, and most long reads.
constexpr std::size_t kFirstLeft = std::size_t{4} << 10;
constexpr std::size_t kMostLeft = std::size_t{256} << 10;

/// Where the first line that begins with '>' begins, but for the text's first line; and the last. Most texts
/// with such lines have few other places with that character.
std::optional<std::size_t> first_fasta_header(std::string_view text) {
  for (std::size_t at = 1; at < text.size() && (at = text.find('>', at)) != std::string_view::npos; ++at) {
    if (text[at - 1] == '\n') return at;
  }
  return std::nullopt;
}
std::size_t last_fasta_header(std::string_view text) {
  std::size_t at = text.size();
  do {
    at = text.rfind('>', at - 1);
  } while (text[at - 1] != '\n');
  return at;
}

}  // namespace

class SharedStreamReader::Feed final : public ByteSource {
 public:
  void give(std::string_view text) { text_ = text; }
  void end() { has_ended_ = true; }
  [[nodiscard]] bool is_used_up() const { return text_.empty(); }

  std::size_t read(char* into, std::size_t size) override {
    const std::size_t count = std::min(size, text_.size());
    if (count > 0) std::memcpy(into, text_.data(), count);
    text_.remove_prefix(count);
    return count;
  }
  [[nodiscard]] bool is_interrupted() const noexcept override { return !has_ended_; }
  [[nodiscard]] std::uint64_t disk_bytes() const noexcept override { return 0; }

 private:
  std::string_view text_;
  bool has_ended_ = false;
};

bool SharedStreamReader::suits(std::size_t text_bytes, const InputOptions& options) {
  return text_bytes + kMostLeft <= TextReader::batch_capacity(options);
}

SharedStreamReader::SharedStreamReader(std::unique_ptr<ReadAhead> source, const std::string& shown,
                                       const InputOptions& options, const std::atomic<bool>& cancelled)
    : source_(std::move(source)),
      shown_(shown),
      options_(options),
      cancelled_(cancelled),
      most_left_(kFirstLeft) {
  auto feed = std::make_unique<Feed>();
  feed_ = feed.get();
  reader_ = std::make_unique<TextReader>(std::move(feed), shown, options);
}

bool SharedStreamReader::fill(Batch& batch, ReaderShare& share) {
  while (true) {
    std::unique_lock<std::mutex> lock(mutex_);
    Text text;
    if (const auto left = take_left(lock)) {
      text.lease = *left;
    } else {
      if (is_over_ || cancelled_) return false;
      lock.unlock();
      text.lease = source_->borrow();
      text.ahead = parse_speculatively(text.lease.text, batch);
      text.batch = &batch;
      lock.lock();
      if (!text.ahead && !is_over_) {
        // If its turn comes while this thread cuts what it was given before, another one reads it.
        leave(text.lease);
        continue;
      }
      if (!await_turn(lock, text)) {
        source_->give_back(text.lease);
        return false;
      }
    }
    try {
      if (!text.is_taken_over && take_over(text)) end_turn();
      if (!text.is_taken_over && read_in_turn(text.lease, batch, share)) return true;
    } catch (...) {
      // For the others there is nothing more; what is wrong is said by who has come to it.
      end_all();
      source_->give_back(text.lease);
      throw;
    }
    if (!text.is_taken_over) continue;
    lock.unlock();
    complete(text, batch, share);
    return true;
  }
}

/// Under the lock: the text that is to be read in its turn next, when that has come; nothing if there is
/// none, or no turn any more.
std::optional<BlockLease> SharedStreamReader::take_left(std::unique_lock<std::mutex>& lock) {
  while (!left_.empty() && left_.front().number != turn_ && !is_over_ && !cancelled_)
    left_changed_.wait_for(lock, kCancelCheck);
  if (left_.empty() || is_over_ || cancelled_) return std::nullopt;
  const BlockLease lease = left_.front();
  left_.erase(left_.begin());
  if (left_.empty()) left_changed_.notify_all();  // who has waited can read on
  return lease;
}

/// Under the lock: puts a text there.
void SharedStreamReader::leave(const BlockLease& lease) {
  const auto place = std::find_if(left_.begin(), left_.end(),
                                  [&](const BlockLease& other) { return other.number >= lease.number; });
  left_.insert(place, lease);
  if (lease.number == turn_) left_changed_.notify_one();
}

/// Under the lock: waits for the text's turn, or until it is taken over; false if there is no turn any more.
bool SharedStreamReader::await_turn(std::unique_lock<std::mutex>& lock, Text& text) {
  waiting_.push_back(&text);
  while (!text.is_taken_over && turn_ != text.lease.number && !is_over_ && !cancelled_)
    text.changed.wait_for(lock, kCancelCheck);
  std::erase(waiting_, &text);
  return text.is_taken_over || (turn_ == text.lease.number && !is_over_);
}

/// Copies the text into the batch and parses the records that are found in it. Nothing if it is out of the
/// ordinary.
std::optional<SpeculativeParse> SharedStreamReader::parse_speculatively(std::string_view text,
                                                                        Batch& batch) const {
  const char* const guess = guess_first_record(text.data(), text.data() + text.size());
  const bool is_fastq = guess != nullptr;
  const auto first = is_fastq ? static_cast<std::size_t>(guess - text.data()) : first_fasta_header(text);
  if (!first) return std::nullopt;
  // A FASTA sequence may go on. What is before the last one is complete, whatever follows.
  const std::size_t end = is_fastq ? text.size() : last_fasta_header(text);

  SpeculativeParse ahead;
  ahead.begin = most_left_;
  ahead.first = ahead.begin + *first;
  batch.clear();
  batch.text.reserve(ahead.begin + source_->text_capacity());
  std::memcpy(batch.text.data() + ahead.begin, text.data(), text.size());
  RecordParser parser(shown_, options_, batch_pieces(text.size()));
  batch.pieces.reserve(batch_pieces(source_->text_capacity()) + 1);
  Window window{batch.text.data(), ahead.begin + end, ahead.first, !is_fastq};
  try {
    parser.parse(window, batch.pieces);
  } catch (const InputError&) {
    return std::nullopt;
  }
  if (parser.sequence() || batch.pieces.empty() || (!is_fastq && window.pos < window.size))
    return std::nullopt;
  ahead.records = parser.records();
  ahead.lines = parser.lines();
  ahead.unparsed = text.substr(window.pos - ahead.begin);
  if (ahead.unparsed.size() > kMostLeft) return std::nullopt;
  batch.text.set_size(window.pos);
  return ahead;
}

/// Under the lock: takes what was parsed ahead of the text that has its turn, if that was right.
bool SharedStreamReader::take_over(Text& text) {
  if (!text.ahead) return false;
  const std::uint64_t records = reader_->records();
  const auto records_before = reader_->take_over(*text.ahead, *text.batch, text.joined);
  text.ahead.reset();
  if (!records_before) return false;
  text.records_before = *records_before;
  text.records = reader_->records() - records;
  text.batch_number = next_batch_++;
  text.is_taken_over = true;
  ++speculative_parses_;
  return true;
}

/// Makes a batch of a text that was taken over.
void SharedStreamReader::complete(const Text& text, Batch& batch, ReaderShare& share) {
  source_->give_back(text.lease);
  share.disk_bytes += text.lease.disk_bytes;
  share.records += text.records;
  share.batch = text.batch_number;
  for (Piece& piece : batch.pieces) piece.record += text.records_before;
  batch.pieces.insert(batch.pieces.begin(), text.joined.begin(), text.joined.end());
}

/// Under the lock: reads the text, or on in it; false if more is needed for a batch.
bool SharedStreamReader::read_in_turn(const BlockLease& lease, Batch& batch, ReaderShare& share) {
  if (lease.error) std::rethrow_exception(lease.error);
  if (lease.is_end) feed_->end();
  if (feed_->is_used_up()) {
    feed_->give(lease.text);
    share.disk_bytes += lease.disk_bytes;
  }
  const std::uint64_t records = reader_->records();
  const bool is_filled = reader_->fill(batch);
  share.records += reader_->records() - records;
  if (is_filled) share.batch = next_batch_++;
  if (is_filled && (lease.is_end || !feed_->is_used_up())) {
    BlockLease rest = lease;
    rest.disk_bytes = 0;
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

/// Under the lock: the next text has its turn. If it waits and can be taken over, that is done here, and so
/// it goes on: to wake a thread for each would take longer.
void SharedStreamReader::end_turn() {
  bool goes_on = true;
  while (goes_on) {
    ++turn_;
    const std::size_t left = reader_->bytes_left();
    if (left > most_left_ && left <= kMostLeft) most_left_ = std::min(2 * left, kMostLeft);
    const auto next = std::find_if(waiting_.begin(), waiting_.end(),
                                   [&](Text* text) { return text->lease.number == turn_; });
    if (next == waiting_.end()) {
      if (!left_.empty() && left_.front().number == turn_) left_changed_.notify_one();
      return;
    }
    goes_on = take_over(**next);
    (*next)->changed.notify_one();
  }
}

/// Under the lock: there are no more turns.
void SharedStreamReader::end_all() noexcept {
  is_over_ = true;
  for (Text* const text : waiting_) text->changed.notify_one();
  left_changed_.notify_all();
  for (const BlockLease& lease : left_) source_->give_back(lease);
  left_.clear();
}

}  // namespace warpmer::io
