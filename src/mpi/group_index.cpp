#include "mpi/group_index.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "backend/empty_input.h"
#include "index/shard_codec.h"

namespace warpmer::mpi {

namespace {

/// Number of words that a rank hands over at a time.
constexpr std::uint64_t kWordsInMessage = std::uint64_t{1} << 17;

/// The head that comes before a shard's payload when it is handed over.
struct ShardHead {
  std::uint32_t shard = 0;
  index::ShardShape shape;
  groups::ShardSizes sizes;
  std::uint64_t payload_words = 0;
};

Message encode(const index::Totals& totals, const index::Histogram& histogram) {
  Message message;
  put_plain(message, totals);
  for (const auto& [count, number] : histogram) {
    put_plain(message, count);
    put_plain(message, number);
  }
  return message;
}

void add(const index::Totals& from, index::Totals& to) {
  to.counted_kmers += from.counted_kmers;
  to.counted_distinct += from.counted_distinct;
  to.counted_unique += from.counted_unique;
  to.stored_kmers += from.stored_kmers;
  to.stored_distinct += from.stored_distinct;
  to.largest_count = std::max(to.largest_count, from.largest_count);
  to.records += from.records;
  to.bases += from.bases;
}

/// A payload that another rank hands over, message by message.
class HandedOver : public index::PayloadSource {
 public:
  HandedOver(ProcessGroup& ranks, unsigned rank, std::uint64_t words)
      : ranks_(ranks), rank_(rank), left_(words) {}

  std::span<const std::uint64_t> next() override {
    if (left_ == 0) return {};
    const Message message = ranks_.receive_from(rank_, Channel::results);
    words_.resize(message.size() / sizeof(std::uint64_t));
    std::memcpy(words_.data(), message.data(), message.size());
    left_ -= words_.size();
    return words_;
  }

 private:
  ProcessGroup& ranks_;
  unsigned rank_;
  std::uint64_t left_;                ///< words that are still to come
  std::vector<std::uint64_t> words_;  ///< the last message
};

std::string_view text_of(const Message& message) { return {message.data(), message.size()}; }

}  // namespace

GroupIndex::GroupIndex(ProcessGroup& ranks, const index::ShardRange& own, const std::string& path,
                       const index::IndexParams& params, unsigned threads, std::uint64_t most_kept_bytes,
                       const std::string& tmp_directory)
    : ranks_(ranks), k_(params.k) {
  if (ranks.is_first()) writer_.emplace(path, params, threads);
  if (!ranks.are_several()) return;
  Message temporary;
  if (ranks.is_first()) {
    const std::string& name = writer_->temporary();
    temporary.assign(name.begin(), name.end());
  }
  temporary = ranks.broadcast(std::move(temporary));
  is_stream_ = temporary.empty();
  if (!ranks.is_first()) {
    // An array of counters is one shard, which is in memory as a whole anyway.
    const std::uint64_t most = params.shards() == 1 ? UINT64_MAX : most_kept_bytes;
    part_.emplace(path, params,
                  index::PartOfIndex{own, std::string(text_of(temporary)), tmp_directory, most});
  }
  // From here on each rank can remove the file, whichever dies.
  ranks.all_gather(0);
}

void GroupIndex::finish(const index::Totals& totals, const index::Histogram& histogram,
                        const index::Provenance& provenance, const std::string& input_name) {
  add_up(totals, histogram);
  if (ranks_.is_first() && !input_name.empty()) backend::warn_if_empty(totals_, k_, input_name);
  if (is_stream_) {
    ranks_.is_first() ? collect_parts() : hand_over_part();
  } else if (ranks_.are_several()) {
    write_parts();
  }
  if (ranks_.is_first()) {
    writer_->finish(totals_, histogram_, provenance);
    bytes_written_ = writer_->bytes_written();
  }
  if (!ranks_.are_several()) return;
  // Bytes that the others have written count, too; and they must not take the file for unfinished before it
  // has its name.
  bytes_written_ = ranks_.sum(writer_ ? writer_->bytes_written() : part_->bytes_written());
}

void GroupIndex::add_up(const index::Totals& totals, const index::Histogram& histogram) {
  totals_ = totals;
  histogram_ = histogram;
  std::vector<Message> all = ranks_.gather(encode(totals, histogram));
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    MessageReader in(all[rank]);
    add(in.plain<index::Totals>(), totals_);
    while (!in.is_at_end()) {
      const auto count = in.plain<std::uint64_t>();
      histogram_[count] += in.plain<std::uint64_t>();
    }
  }
}

/// Writes, on each rank, its own range: where that begins is the sum of the sizes of those before.
void GroupIndex::write_parts() {
  const std::vector<std::uint64_t> sizes =
      ranks_.all_gather(writer_ ? writer_->payload_bytes() : part_->payload_bytes());
  std::uint64_t before = 0;
  for (unsigned rank = 0; rank < ranks_.rank(); ++rank) before += sizes[rank];
  std::string part;
  if (part_) part = part_->write(before);
  const std::vector<Message> parts = ranks_.gather(Message(part.begin(), part.end()));
  for (std::size_t rank = 1; rank < parts.size(); ++rank)  // on rank 0
    writer_->adopt_part(std::string(text_of(parts[rank])));
}

/// Asks, on rank 0, one rank after the other for its shards, whose end an empty message is.
void GroupIndex::collect_parts() {
  for (unsigned rank = 1; rank < ranks_.size(); ++rank) {
    ranks_.post(rank, Channel::together, {});
    for (Message message; !(message = ranks_.receive_from(rank, Channel::results)).empty();) {
      const auto head = MessageReader(message).plain<ShardHead>();
      // It is this shard's turn, so it is written as it comes.
      writer_->put(head.shard, {head.shape,
                                {},
                                std::make_shared<HandedOver>(ranks_, rank, head.payload_words),
                                std::nullopt,
                                head.sizes});
    }
  }
}

void GroupIndex::hand_over_part() {
  ranks_.receive_from(0, Channel::together);
  part_->take([&](std::uint32_t shard, index::FrozenShard&& frozen) {
    const std::uint64_t words = index::payload_words(frozen, k_);
    Message message;
    put_plain(message, ShardHead{shard, frozen.shape, frozen.sizes, words});
    ranks_.send(0, Channel::results, std::move(message));
    std::span<const std::uint64_t> rest = frozen.payload;
    while (true) {
      if (rest.empty() && frozen.source) rest = frozen.source->next();
      if (rest.empty()) break;
      const auto some = rest.first(std::min<std::uint64_t>(rest.size(), kWordsInMessage));
      const auto* const bytes = reinterpret_cast<const char*>(some.data());
      ranks_.send(0, Channel::results, Message(bytes, bytes + some.size_bytes()));
      rest = rest.subspan(some.size());
    }
  });
  ranks_.send(0, Channel::results, {});
}

}  // namespace warpmer::mpi
