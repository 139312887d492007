#include "mpi/group_input.h"

#include <utility>

#include "io/fastx/input_shares.h"
#include "mpi/input_message.h"

namespace warpmer::mpi {

namespace {

/// The byte that a message of Channel::batches begins with.
constexpr char kBatch = 'b';
constexpr char kEnd = 'e';     ///< no more from this rank
constexpr char kGiveUp = 'g';  ///< GroupInput::give_up_parts

constexpr std::chrono::milliseconds kLook{20};

Message encode(const io::InputShares& shares) {
  Message message;
  put_plain(message, std::uint64_t{shares.files.size()});
  for (const io::InputFile& file : shares.files) put_file(message, file);
  for (const io::InputShare& share : shares.shares) put_plain(message, share);
  return message;
}

io::InputShares decode_shares(const Message& message) {
  io::InputShares shares;
  MessageReader in(message);
  shares.files.resize(in.plain<std::uint64_t>());
  for (io::InputFile& file : shares.files) file = take_file(in);
  while (!in.is_at_end()) shares.shares.push_back(in.plain<io::InputShare>());
  return shares;
}

Message encode(const io::Batch& batch) {
  Message message{kBatch};
  put_batch(message, batch);
  return message;
}

}  // namespace

GroupInput::GroupInput(ProcessGroup& ranks, const std::vector<std::string>& paths,
                       const io::InputOptions& options, unsigned threads, bool may_divide)
    : ranks_(ranks), has_ended_(threads, 0), threads_reading_(threads), ranks_reading_(ranks.size() - 1) {
  if (!ranks.are_several()) {
    own_ = std::make_unique<io::InputSet>(paths, options);
    return;
  }
  Message plan;
  if (ranks.is_first()) {
    plan = encode(io::share_out(io::list_inputs(paths), ranks.size(), threads, may_divide));
  }
  own_ =
      std::make_unique<io::InputSet>(decode_shares(ranks.broadcast(std::move(plan))), ranks.rank(), options);
}

GroupInput::~GroupInput() = default;

void GroupInput::enable_raw_text(const backend::Backend& backend) {
  if (const io::TextMemory* const memory = backend.text_memory()) own_->enable_raw_text(*memory);
}

bool GroupInput::next(io::Batch& batch, unsigned thread) {
  if (!ranks_.are_several()) return own_->next(batch);
  // Batches that others have read come first: they wait when too much of it does.
  while (!is_cancelled_) {
    const bool may_read = !has_ended_[thread] && !ranks_.is_full(Channel::batches);
    if (next_handed_on(batch, may_read ? std::chrono::milliseconds(0) : kLook)) return true;
    if (may_read) {
      bool has_ended = false;
      if (next_own(batch, has_ended)) return true;
      if (!has_ended) continue;
      has_ended_[thread] = 1;
      if (--threads_reading_ == 0) tell_all(kEnd);
    }
    if (has_ended_[thread] && ranks_reading_ == 0) break;
  }
  return false;
}

/// Takes the next batch that this rank reads and that is its own affair; false when the input `has_ended`, or
/// too many batches for others are on their way: to wait for them here would make all that wait for this rank
/// wait, too.
bool GroupInput::next_own(io::Batch& batch, bool& has_ended) {
  try {
    while (own_->next(batch)) {
      if (!batch.is_for_all) return true;
      const auto to = static_cast<unsigned>(next_turn_++ % ranks_.size());
      if (to == ranks_.rank()) return true;
      ranks_.post(to, Channel::batches, encode(batch));
      if (ranks_.is_full(Channel::batches)) return false;
    }
  } catch (const io::NotDivisible&) {
    give_up_parts();
  } catch (const io::RawTextRefused&) {
    give_up_parts();
  }
  has_ended = true;
  return false;
}

/// Takes a batch from another rank; false if none has come within `patience`.
bool GroupInput::next_handed_on(io::Batch& batch, std::chrono::milliseconds patience) {
  Message message;
  for (unsigned from = 0; ranks_.receive(Channel::batches, from, message, patience);) {
    MessageReader in(message);
    const char word = in.plain<char>();
    if (word == kBatch) {
      take_batch(in, batch);
      return true;
    }
    if (word == kEnd) --ranks_reading_;
    if (word == kGiveUp) {
      have_parts_failed_ = true;
      own_->cancel();
    }
    patience = {};
  }
  return false;
}

void GroupInput::tell_all(char word) {
  for (unsigned step = 1; step < ranks_.size(); ++step)
    ranks_.post((ranks_.rank() + step) % ranks_.size(), Channel::batches, Message{word});
}

void GroupInput::cancel() noexcept {
  is_cancelled_ = true;
  own_->cancel();
}

void GroupInput::give_up_parts() {
  if (have_parts_failed_.exchange(true)) return;
  own_->cancel();
  tell_all(kGiveUp);
}

bool GroupInput::must_read_again() { return ranks_.sum(have_parts_failed_ ? 1 : 0) > 0; }

}  // namespace warpmer::mpi
