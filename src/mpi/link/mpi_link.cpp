// Messages between processes by MPI. A module of its own, which warpmer opens when an MPI launcher has
// started it (mpi/launch.cpp), so that the program neither needs MPI nor waits for it.

#include <mpi.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "mpi/rank_link.h"

namespace warpmer::mpi {

namespace {

using mpi::Channel;
using mpi::Message;

/// One thread makes all calls, so MPI_THREAD_FUNNELED does. A channel is a tag: MPI keeps the order of
/// messages of the same tag between the same two ranks. Faults that MPI finds are fatal, as is its default:
/// it ends all ranks.
class MpiLink final : public mpi::RankLink {
 public:
  void open() override {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    if (provided < MPI_THREAD_FUNNELED)
      throw ResourceError("this MPI does not allow for threads; use another one");
    MPI_Comm_dup(MPI_COMM_WORLD, &communicator_);
    MPI_Comm_rank(communicator_, &rank_);
    MPI_Comm_size(communicator_, &size_);
  }
  [[nodiscard]] unsigned rank() const override { return static_cast<unsigned>(rank_); }
  [[nodiscard]] unsigned size() const override { return static_cast<unsigned>(size_); }

  void start_send(std::uint64_t ticket, unsigned to, Channel channel, const Message& message) override {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(message.data(), static_cast<int>(message.size()), MPI_BYTE, static_cast<int>(to),
              static_cast<int>(channel), communicator_, &request);
    tickets_.push_back(ticket);
    requests_.push_back(request);
  }

  std::optional<std::uint64_t> finish_send() override {
    if (requests_.empty()) return std::nullopt;
    int index = MPI_UNDEFINED, is_done = 0;
    MPI_Testany(static_cast<int>(requests_.size()), requests_.data(), &index, &is_done, MPI_STATUS_IGNORE);
    if (is_done == 0 || index == MPI_UNDEFINED) return std::nullopt;
    const auto at = static_cast<std::size_t>(index);
    const std::uint64_t ticket = tickets_[at];
    tickets_[at] = tickets_.back();
    requests_[at] = requests_.back();
    tickets_.pop_back();
    requests_.pop_back();
    return ticket;
  }

  bool receive(Channel channel, unsigned& from, Message& message) override {
    Receiving& here = receiving_[static_cast<std::size_t>(channel)];
    if (here.request == MPI_REQUEST_NULL && !start_to_receive(channel, here)) return false;
    int is_done = 0;
    MPI_Test(&here.request, &is_done, MPI_STATUS_IGNORE);
    if (is_done == 0) return false;
    from = here.from;
    message = std::move(here.message);
    return true;
  }

  [[nodiscard]] bool is_receiving() const override {
    return std::any_of(receiving_.begin(), receiving_.end(),
                       [](const Receiving& each) { return each.request != MPI_REQUEST_NULL; });
  }

  bool all_have_ended() override {
    if (!has_ended_) {
      MPI_Ibarrier(communicator_, &barrier_);
      has_ended_ = true;
    }
    int is_done = 0;
    MPI_Test(&barrier_, &is_done, MPI_STATUS_IGNORE);
    return is_done != 0;
  }

  void close() override {
    MPI_Comm_free(&communicator_);
    MPI_Finalize();
  }

  void tear_down(int status) override { MPI_Abort(communicator_, status); }

 private:
  /// A message that is coming in: one of each channel at a time, so that none overtakes another.
  struct Receiving {
    MPI_Request request = MPI_REQUEST_NULL;
    unsigned from = 0;
    Message message;
  };

  bool start_to_receive(Channel channel, Receiving& here) {
    int is_there = 0, bytes = 0;
    MPI_Message handle = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Improbe(MPI_ANY_SOURCE, static_cast<int>(channel), communicator_, &is_there, &handle, &status);
    if (is_there == 0) return false;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    here.message.resize(static_cast<std::size_t>(bytes));
    here.from = static_cast<unsigned>(status.MPI_SOURCE);
    MPI_Imrecv(here.message.data(), bytes, MPI_BYTE, &handle, &here.request);
    return true;
  }

  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  std::vector<std::uint64_t> tickets_;  ///< tickets of `requests_`, one each
  std::vector<MPI_Request> requests_;
  std::array<Receiving, mpi::kChannels> receiving_;
  bool has_ended_ = false;
  MPI_Request barrier_ = MPI_REQUEST_NULL;
};

}  // namespace

}  // namespace warpmer::mpi

/// The symbol that mpi/launch.cpp looks for: kMakeRankLinkSymbol.
extern "C" __attribute__((visibility("default"))) warpmer::mpi::RankLink* warpmer_make_link() {
  return new warpmer::mpi::MpiLink;
}
