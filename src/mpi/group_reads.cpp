#include "mpi/group_reads.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "base/error.h"
#include "base/thread_team.h"
#include "mpi/input_message.h"

namespace warpmer::mpi {
namespace {

/// Kinds of a message of Channel::batches beside work (mpi/read_dealer.h).
constexpr char kRelease = 'r';      ///< so many bytes of results are written
constexpr char kNoMoreReads = 'e';  ///< there is no more work

constexpr std::chrono::milliseconds kReadsLook{5};

/// Work that a thread of each rank may have been dealt, so that there is always more to begin with.
constexpr std::uint64_t kWorkOfThread = 2;
/// Least number of bytes of a rank's results at rank 0, however many ranks there are.
constexpr std::uint64_t kLeastUnwritten = std::uint64_t{1} << 20;

std::vector<io::InputFile> list_together(ProcessGroup& ranks, const std::vector<std::string>& paths) {
  Message list;
  if (ranks.is_first()) {
    for (const io::InputFile& file : io::list_inputs(paths)) put_file(list, file);
  }
  list = ranks.broadcast(std::move(list));
  std::vector<io::InputFile> files;
  for (MessageReader in(list); !in.is_at_end();) files.push_back(take_file(in));
  return files;
}

}  // namespace

/// A thread with work, and what it has to say of it so far.
class GroupReads::WorkTurn {
 public:
  WorkTurn(GroupReads& reads, const Answer& answer, unsigned thread)
      : reads_(reads), answer_(answer), thread_(thread) {}

  /// To be filled before `add_batch`.
  io::Batch batch;

  void begin(std::uint64_t ordinal) {
    ordinal_ = ordinal;
    begin_result();
  }
  void add_batch() {
    answer_(batch, thread_, result_);
    whole_bytes_ = result_.size();
    for (const io::Piece& piece : batch.pieces) {
      head_.records += piece.last ? 1 : 0;
      head_.open_bases = piece.last ? 0 : piece.first_base + piece.length;
    }
    if (result_.size() > reads_.most_held_) send_part();
  }
  /// Sets the failure. What there was before it stays.
  void fail(ResultHead::ResultKind kind, ErrorKind error, std::string_view message) {
    result_.resize(whole_bytes_);
    if (head_.records > 0 || head_.open_bases > 0) send_part();
    head_.kind = kind;
    head_.error = error;
    result_.insert(result_.end(), message.begin(), message.end());
  }
  void end() {
    head_.is_last = true;
    reads_.in_turn_.put(ordinal_, seal());
  }

 private:
  void begin_result() {
    head_ = {};
    put_plain(result_, head_);  // filled in when it is sent
    whole_bytes_ = result_.size();
  }
  void send_part() {
    reads_.in_turn_.put_part(ordinal_, seal());
    begin_result();
  }
  Message seal() {
    std::memcpy(result_.data(), &head_, sizeof head_);
    const std::lock_guard lock(reads_.mutex_);
    reads_.waiting_ += result_.size();
    return std::exchange(result_, {});
  }

  GroupReads& reads_;
  const Answer& answer_;
  const unsigned thread_;
  std::uint64_t ordinal_ = 0;
  ResultHead head_;
  Message result_;
  std::size_t whole_bytes_ = 0;  ///< bytes of `result_`, without what a batch that failed has left
};

GroupReads::GroupReads(ProcessGroup& ranks, const std::vector<std::string>& paths,
                       const io::InputOptions& options, unsigned threads, const ResultLimits& limits)
    : ranks_(ranks),
      options_(options),
      threads_(threads),
      files_(list_together(ranks, paths)),
      threads_of_(ranks.all_gather(threads)),
      most_unwritten_(limits.unwritten / ranks.size() + kLeastUnwritten),
      most_waiting_(limits.waiting * threads),
      most_held_(limits.held),
      in_turn_(UINT64_MAX / 2, [this](Message&& result) { deliver(std::move(result)); }) {}

void GroupReads::run(const Answer& answer, const Write& write, const Cancel& cancel) {
  if (ranks_.is_first()) start_dealing(write);
  const auto end = [&] {
    stop();
    cancel();
  };
  const ProcessGroup::Watch watch(ranks_, end);
  const auto work = [&](unsigned thread) {
    if (thread < threads_) {
      answer_all(answer, thread);
    } else if (!ranks_.is_first()) {
      take_messages();
    } else if (thread == threads_) {
      deal();
    } else {
      collect();
    }
  };
  run_team(threads_ + (ranks_.is_first() ? 2 : 1), work, [&] {
    ranks_.report(std::current_exception());  // first: others end with errors of their own
    end();
  });
}

void GroupReads::start_dealing(const Write& write) {
  std::vector<std::uint64_t> most_dealt;
  std::uint64_t all_threads = 0;
  for (const std::uint64_t threads : threads_of_) {
    most_dealt.push_back(kWorkOfThread * threads + 1);
    all_threads += threads;
  }
  released_.resize(ranks_.size(), 0);
  results_ =
      std::make_unique<ReadResults>(std::move(most_dealt), write, [this](unsigned rank, std::uint64_t n) {
        if (rank == 0) {
          release(n);
        } else if ((released_[rank] += n) >= most_unwritten_ / 4) {
          Message message{kRelease};
          put_plain(message, std::exchange(released_[rank], 0));
          ranks_.post(rank, Channel::batches, std::move(message));
        }
      });
  dealer_ = std::make_unique<ReadDealer>(files_, options_, all_threads, *results_,
                                         [this](unsigned rank, Message&& work) {
                                           if (rank == 0) {
                                             add_work(std::move(work));
                                           } else {
                                             ranks_.send(rank, Channel::batches, std::move(work));
                                           }
                                         });
}

/// Stops whatever a thread waits for. Called by the thread that talks to other ranks, too: nothing here may
/// wait for that.
void GroupReads::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    changed_.notify_all();
  }
  in_turn_.stop();
  if (results_) results_->stop();
  if (dealer_) dealer_->stop();
}

void GroupReads::deal() {
  dealer_->deal();
  for (unsigned rank = 1; rank < ranks_.size(); ++rank) ranks_.post(rank, Channel::batches, {kNoMoreReads});
  is_dealt_ = true;
  const std::lock_guard lock(mutex_);
  has_all_work_ = true;
  changed_.notify_all();
}

/// Takes, on rank 0, always what others send, however long it then has to wait for its turn.
void GroupReads::collect() {
  while (!is_dealt_) {
    Message result;
    unsigned from = 0;
    if (ranks_.receive(Channel::results, from, result, kReadsLook)) results_->put(from, std::move(result));
  }
}

/// Does the same on the others.
void GroupReads::take_messages() {
  while (true) {
    Message message;
    unsigned from = 0;
    if (!ranks_.receive(Channel::batches, from, message, kReadsLook)) continue;
    if (message.front() == kRelease) {
      MessageReader in(message);
      in.plain<char>();
      release(in.plain<std::uint64_t>());
    } else if (message.front() == kNoMoreReads) {
      const std::lock_guard lock(mutex_);
      has_all_work_ = true;
      changed_.notify_all();
      return;
    } else {
      add_work(std::move(message));
    }
  }
}

void GroupReads::add_work(Message&& work) {
  const std::lock_guard lock(mutex_);
  work_.push_back(std::move(work));
  changed_.notify_all();
}

/// False when there is no more. While many results wait for their turn, the next work does, too: what they
/// wait for was begun before.
bool GroupReads::next_work(Message& work, std::uint64_t& ordinal) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock,
                [&] { return is_stopped_ || (work_.empty() ? has_all_work_ : waiting_ <= most_waiting_); });
  if (is_stopped_ || work_.empty()) return false;
  work = std::move(work_.front());
  work_.pop_front();
  ordinal = begun_++;
  return true;
}

void GroupReads::answer_all(const Answer& answer, unsigned thread) {
  WorkTurn turn(*this, answer, thread);
  std::uint64_t ordinal = 0;
  for (Message work; next_work(work, ordinal);) {
    turn.begin(ordinal);
    answer_work(work, turn);
    turn.end();
  }
}

void GroupReads::answer_work(const Message& work, WorkTurn& turn) {
  MessageReader in(work);
  const bool is_batch = in.plain<char>() == ReadWork::kBatch;
  try {
    if (!is_batch) {
      answer_part(in, turn);
      return;
    }
    take_batch(in, turn.batch);
    turn.add_batch();
  } catch (const InputError& error) {
    turn.fail(ResultHead::ResultKind::failed, error.kind(), error.what());
  }
}

/// Reads here.
void GroupReads::answer_part(MessageReader& work, WorkTurn& turn) {
  const auto what = work.plain<PartOfInput>();
  const bool is_part = what.parts > 1;
  io::InputOptions options = options_;
  options.threads = 1;
  io::InputSet input(only_part(files_[what.file], what.part, what.parts), 0, options);
  try {
    while (!ranks_.have_failed() && input.next(turn.batch)) turn.add_batch();
  } catch (const io::NotDivisible&) {
    turn.fail(ResultHead::ResultKind::not_divisible, ErrorKind::input, {});
  } catch (const InputError&) {
    // Its place in a part cannot be named, and perhaps there is none in the file.
    if (!is_part) throw;
    turn.fail(ResultHead::ResultKind::not_divisible, ErrorKind::input, {});
  }
}

/// Hands a result over to rank 0, in the order of work.
void GroupReads::deliver(Message&& result) {
  const std::uint64_t bytes = result.size();
  {
    // The bytes that rank 0 has not told of yet are less than the other half.
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_stopped_ || unwritten_ <= most_unwritten_ / 2; });
    if (is_stopped_) return;
    unwritten_ += bytes;
  }
  if (ranks_.is_first()) {
    results_->put(0, std::move(result));
  } else {
    ranks_.send(0, Channel::results, std::move(result));
  }
  const std::lock_guard lock(mutex_);
  waiting_ -= bytes;
  changed_.notify_all();
}

/// So many bytes of what was delivered are written.
void GroupReads::release(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  unwritten_ -= bytes;
  changed_.notify_all();
}

}  // namespace warpmer::mpi
