#pragma once
/// The rounds in which the devices of all ranks hand over what they have split: this says when one begins,
/// and how much each gives each. In a round every device gives one segment or nothing. A rank offers when its
/// devices are ready, or when another cannot wait any longer; when all have offered, all have the same
/// partition table, and know where parts begin without another word. A rank whose input has ended goes on,
/// with nothing to give, until all have ended. Moving the parts is left to others.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <exception>
#include <utility>
#include <vector>

#include "mpi/process_group.h"
#include "mpi/transposition.h"

namespace warpmer::mpi {

/// One thread of each rank makes all calls. No call waits; all throw what a rank has failed with.
class Rounds {
 public:
  /// `devices_of_ranks` is the number of devices that each rank has. They are numbered through, rank by rank.
  Rounds(mpi::ProcessGroup& ranks, const std::vector<std::uint32_t>& devices_of_ranks)
      : ranks_(ranks), all_(devices_of_ranks.size()) {
    for (std::size_t rank = 0; rank < all_.size(); ++rank) {
      all_[rank].first_device = devices_;
      all_[rank].devices = devices_of_ranks[rank];
      devices_ += devices_of_ranks[rank];
    }
  }

  [[nodiscard]] std::uint32_t devices() const { return devices_; }
  /// Returns the first of this rank's devices.
  [[nodiscard]] std::uint32_t first_own() const { return own().first_device; }
  [[nodiscard]] std::uint32_t end_own() const { return first_own() + own().devices; }
  [[nodiscard]] bool are_between_ranks() const { return ranks_.are_several(); }

  /// Takes note of what other ranks have said.
  void listen() {
    mpi::Message message;
    for (unsigned from = 0; ranks_.are_several() && ranks_.receive(mpi::Channel::words, from, message);) {
      mpi::MessageReader in(message);
      const auto head = in.plain<MessageHead>();
      if (head.kind == OfferKind::urge) {
        urged_rounds_ = std::max(urged_rounds_, head.round + 1);
        continue;
      }
      Offer offer{std::vector<std::uint64_t>(std::size_t{all_[from].devices} * devices()),
                  head.kind == OfferKind::last_offer};
      for (std::uint64_t& size : offer.sizes) size = in.plain<std::uint64_t>();
      all_[from].offers.push_back(std::move(offer));
    }
  }

  /// True when another rank asks all to offer what they have.
  [[nodiscard]] bool is_urged() const { return urged_rounds_ > round_; }
  /// True when this rank has something to say in this round, and has not done so.
  [[nodiscard]] bool may_offer() const { return !own().has_ended && own().offers.empty(); }

  /// Asks all other ranks to offer what they have in this round, were it nothing.
  void urge() {
    if (is_urged()) return;
    urged_rounds_ = round_ + 1;
    tell_all(head_of(OfferKind::urge));
  }

  /// Offers what this rank's devices give in this round: their rows of the table. `is_last`: they give
  /// nothing in later ones.
  void offer(const PartitionTable& rows, bool is_last) {
    Offer offer{{}, is_last};
    for (std::uint32_t sender = first_own(); sender < end_own(); ++sender) {
      for (std::uint32_t receiver = 0; receiver < devices(); ++receiver)
        offer.sizes.push_back(rows.size(sender, receiver));
    }
    mpi::Message message = head_of(is_last ? OfferKind::last_offer : OfferKind::offer);
    for (const std::uint64_t size : offer.sizes) mpi::put_plain(message, size);
    tell_all(message);
    own().offers.push_back(std::move(offer));
  }

  /// True when all have offered.
  [[nodiscard]] bool is_complete() const {
    return std::all_of(all_.begin(), all_.end(),
                       [](const RankState& rank) { return rank.has_ended || !rank.offers.empty(); });
  }

  /// Returns the table of a round that is complete, the same on all ranks; with it the next one begins.
  PartitionTable take() {
    PartitionTable table(devices());
    for (RankState& rank : all_) {
      if (rank.has_ended) continue;
      const Offer offer = std::move(rank.offers.front());
      rank.offers.pop_front();
      rank.has_ended = offer.is_last;
      for (std::uint32_t i = 0; i < offer.sizes.size(); ++i)
        table.size(rank.first_device + i / devices(), i % devices()) = offer.sizes[i];
    }
    ++round_;
    return table;
  }

  /// Tells all ranks what this one has failed with.
  void report(const std::exception_ptr& thrown) noexcept { ranks_.report(thrown); }

  /// True when no more rounds come.
  [[nodiscard]] bool have_ended() const {
    return std::all_of(all_.begin(), all_.end(), [](const RankState& rank) { return rank.has_ended; });
  }
  /// Rounds that were taken.
  [[nodiscard]] std::uint64_t rounds() const { return round_; }

 private:
  enum class OfferKind : std::uint64_t { offer, last_offer, urge };
  struct MessageHead {
    std::uint64_t round;
    OfferKind kind;
  };
  struct Offer {
    std::vector<std::uint64_t> sizes;  ///< row by row
    bool is_last = false;
  };
  /// A rank, and what it has said.
  struct RankState {
    std::uint32_t first_device = 0, devices = 0;
    std::deque<Offer> offers;  ///< offers for this round, and perhaps for the next
    bool has_ended = false;
  };

  [[nodiscard]] RankState& own() { return all_[ranks_.rank()]; }
  [[nodiscard]] const RankState& own() const { return all_[ranks_.rank()]; }

  [[nodiscard]] mpi::Message head_of(OfferKind kind) const {
    mpi::Message message;
    mpi::put_plain(message, MessageHead{round_, kind});
    return message;
  }
  void tell_all(const mpi::Message& message) {
    for (unsigned step = 0; step + 1 < ranks_.size(); ++step) {
      ranks_.post(ring_target(ranks_.rank(), step, ranks_.size()), mpi::Channel::words,
                  mpi::Message(message));
    }
  }

  mpi::ProcessGroup& ranks_;
  std::vector<RankState> all_;  ///< this one, too
  std::uint32_t devices_ = 0;   ///< devices of all ranks
  std::uint64_t round_ = 0;
  std::uint64_t urged_rounds_ = 0;  ///< all rounds before this one are urgent
};

}  // namespace warpmer::mpi
