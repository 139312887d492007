#include "mpi/rank_sums.h"

#include <algorithm>

#include "mpi/process_group.h"

namespace warpmer::mpi {
namespace {

/// Number of sums that one rank tells another at a time.
constexpr std::size_t kSumsInMessage = std::size_t{1} << 17;

void send_sums(ProcessGroup& ranks, unsigned to, const std::vector<std::uint64_t>& sums) {
  // It may still be busy with another one's.
  ranks.receive_from(to, Channel::together);
  for (std::size_t at = 0; at < sums.size(); at += kSumsInMessage) {
    const auto* const bytes = reinterpret_cast<const char*>(sums.data() + at);
    const std::size_t size = std::min(kSumsInMessage, sums.size() - at) * sizeof sums[0];
    ranks.send(to, Channel::words, Message(bytes, bytes + size));
  }
}

void add_sums_from(ProcessGroup& ranks, unsigned from, std::vector<std::uint64_t>& sums) {
  ranks.post(from, Channel::together, {});
  for (std::size_t at = 0; at < sums.size(); at += kSumsInMessage) {
    const Message message = ranks.receive_from(from, Channel::words);
    MessageReader in(message);
    for (std::size_t i = at; !in.is_at_end(); ++i) sums[i] += in.plain<std::uint64_t>();
  }
}

}  // namespace

bool add_up_over_ranks(ProcessGroup& ranks, std::vector<std::uint64_t>& sums) {
  const unsigned last = ranks.size() - 1, place = last - ranks.rank();
  for (unsigned step = 1; step < ranks.size(); step *= 2) {
    if (place % (2 * step) != 0) {
      send_sums(ranks, last - (place - step), sums);
      return false;
    }
    if (place + step < ranks.size()) add_sums_from(ranks, last - (place + step), sums);
  }
  return true;
}

}  // namespace warpmer::mpi
