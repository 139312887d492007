#include "serve/remote_table.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "backend/index_params.h"
#include "base/error.h"

namespace warpmer::serve {

namespace {

void require(bool is_as_expected) {
  if (!is_as_expected) throw MalformedFrame{};
}

/// Returns the number of k-mers that begin in a stretch.
std::size_t starts_of(const SentStretch& stretch, std::uint32_t k) {
  return stretch.length < k ? 0 : stretch.length - k + 1;
}

/// Sends a batch, in as many requests as it takes; `use(stretches, stream)` takes the answer to each.
void ask_of_batch(ConnectionPool& pool, FrameKind kind, const io::Batch& batch, bool lenient,
                  const std::function<void(std::span<const SentStretch>, FrameStream&)>& use) {
  Payload payload;
  try {
    for_each_request(batch, pool.kmers().k, [&](std::span<const SentStretch> stretches) {
      payload.clear();
      put_batch(payload, batch, stretches, lenient);
      pool.ask(kind, payload.bytes(), [&](FrameStream& stream) { use(stretches, stream); });
    });
  } catch (const Error& error) {
    // As a table here would: the server knows neither names of files nor of records.
    if (error.kind() == ErrorKind::input && !lenient) io::check_bases(batch);
    throw;
  }
}

std::string receive_plain_answer(FrameStream& stream) {
  const FrameHead header = receive_answer(stream);
  require(header.kind == FrameKind::answer);
  return stream.receive_payload(header);
}

/// Takes rows, and the totals behind them.
TableContent receive_content(FrameStream& stream, FrameHead header) {
  TableContent content;
  for (; header.kind == FrameKind::rows; header = receive_answer(stream)) {
    const std::string payload = stream.receive_payload(header);
    for (PayloadReader rows(payload); !rows.rest().empty();) {
      const auto count = rows.take<std::uint64_t>();
      content.histogram[count] += rows.take<std::uint64_t>();
    }
  }
  require(header.kind == FrameKind::answer);
  const std::string payload = stream.receive_payload(header);
  PayloadReader reader(payload);
  content.totals = reader.take<index::Totals>();
  reader.expect_end();
  return content;
}

backend::LiveTally tally_of(const index::Histogram& histogram) {
  backend::LiveTally tally;
  for (const auto& [count, kmers] : histogram) tally.note(count, kmers);
  return tally;
}

/// Shards as they come from the server, which holds additions up until all have been taken.
class RemoteSnapshot : public backend::LiveSnapshot {
 public:
  explicit RemoteSnapshot(ConnectionPool& pool) : pool_(pool), stream_(pool.connect()) {
    guarded([&] {
      stream_->send(FrameKind::snapshot, Payload());
      header_ = receive_answer(*stream_);
    });
  }

  void finish(unsigned /*thread*/, const backend::ShardSink& sink,
              const std::function<void()>& shard_done) override {
    SentShard head;
    for (;;) {
      index::FrozenShard frozen;
      frozen.payload = sink.take_payload();
      {
        const std::lock_guard lock(mutex_);
        bool is_there = false;
        guarded([&] { is_there = receive_shard(head, frozen); });
        if (!is_there) return;
      }
      sink(head.shard, std::move(frozen));
      shard_done();
    }
  }
  [[nodiscard]] backend::Tally tally() const override { return tally_of(content_.histogram); }
  [[nodiscard]] backend::LiveTotals totals() const override { return backend::reads_of(content_.totals); }

 private:
  template <class Work>
  void guarded(const Work& work) {
    try {
      work();
    } catch (const ConnectionLost&) {
      pool_.throw_lost();
    } catch (const MalformedFrame&) {
      pool_.throw_malformed();
    }
  }

  /// False when there is none any more: then the tally is there.
  bool receive_shard(SentShard& head, index::FrozenShard& frozen) {
    if (has_ended_) return false;
    if (header_.kind != FrameKind::shard) {
      content_ = receive_content(*stream_, header_);
      has_ended_ = true;
      return false;
    }
    head = take_shard(stream_->receive_payload(header_), pool_.kmers().k);
    require(head.shard >= next_ && head.shard < backend::params_for(pool_.kmers().k, true).shards());
    next_ = head.shard + 1;
    frozen.shape = head.shape;
    frozen.sizes = head.sizes;
    receive_words(head.words, frozen.payload);
    header_ = receive_answer(*stream_);
    return true;
  }

  /// Memory is taken as words come.
  void receive_words(std::uint64_t words, std::vector<std::uint64_t>& to) {
    to.clear();
    while (to.size() < words) {
      const FrameHead header = receive_answer(*stream_);
      const std::size_t before = to.size(), more = header.bytes / sizeof(std::uint64_t);
      require(header.kind == FrameKind::words && header.bytes % sizeof(std::uint64_t) == 0 && more > 0 &&
              more <= words - before);
      to.resize(before + more);
      stream_->receive(reinterpret_cast<char*>(to.data() + before), header.bytes);
    }
  }

  ConnectionPool& pool_;
  const std::unique_ptr<FrameStream> stream_;
  std::mutex mutex_;
  FrameHead header_;  ///< of the next frame
  std::uint32_t next_ = 0;
  bool has_ended_ = false;
  TableContent content_;
};

}  // namespace

void RemoteLookup::find_valid(std::span<const std::string_view> texts, std::uint64_t* counts) const {
  Payload payload;
  for (std::size_t at = 0; at < texts.size(); at += kMostKmers) {
    const auto some = texts.subspan(at, std::min(kMostKmers, texts.size() - at));
    payload.clear();
    payload.reserve(some.size() * kmers().k);
    for (const std::string_view text : some) payload.put_text(text);
    pool_.ask(FrameKind::find, payload.bytes(), [&](FrameStream& stream) {
      const FrameHead header = receive_answer(stream);
      require(header.kind == FrameKind::answer && header.bytes == some.size() * sizeof *counts);
      stream.receive(reinterpret_cast<char*>(counts + at), header.bytes);
    });
  }
}

void RemoteLookup::profile(const io::Batch& batch, backend::Profile& out) const {
  lay_out(batch, out);
  /// Exact counts of a part of the batch.
  struct WideCounts {
    std::size_t at;
    std::vector<std::uint64_t> counts;
  };
  std::vector<WideCounts> wide;
  std::size_t at = 0;
  ask_of_batch(
      pool_, FrameKind::profile, batch, lenient_,
      [&](std::span<const SentStretch> stretches, FrameStream& stream) {
        std::size_t starts = 0;
        for (const SentStretch& stretch : stretches) starts += starts_of(stretch, kmers().k);
        const FrameHead header = receive_answer(stream);
        if (header.kind == FrameKind::wide_answer) {
          require(header.bytes == starts * sizeof(std::uint64_t));
          wide.push_back({at, std::vector<std::uint64_t>(starts)});
          stream.receive(reinterpret_cast<char*>(wide.back().counts.data()), header.bytes);
        } else {
          require(header.kind == FrameKind::answer && header.bytes == starts * sizeof(std::uint32_t));
          stream.receive(reinterpret_cast<char*>(out.counts.data() + at), header.bytes);
        }
        at += starts;
      });
  if (wide.empty()) return;
  out.wide.resize(out.counts.size());
  std::ranges::transform(out.counts, out.wide.begin(), [](std::uint32_t count) {
    return count == backend::Profile::kNarrowNoKmer ? backend::Profile::kNoKmer : std::uint64_t{count};
  });
  for (const WideCounts& part : wide) {
    std::ranges::copy(part.counts, out.wide.begin() + static_cast<std::ptrdiff_t>(part.at));
    std::ranges::transform(part.counts, out.counts.begin() + static_cast<std::ptrdiff_t>(part.at),
                           [](std::uint64_t count) {
                             return count == backend::Profile::kNoKmer ? backend::Profile::kNarrowNoKmer
                                                                       : backend::narrow_count(count);
                           });
  }
}

void RemoteLookup::summarise(const io::Batch& batch, backend::BatchSummary& out) const {
  const auto is_whole = [](const io::Piece& piece) { return piece.length <= kMostBases; };
  if (!std::ranges::all_of(batch.pieces, is_whole)) return Lookup::summarise(batch, out);
  out.pieces.clear();
  ask_of_batch(pool_, FrameKind::summarise, batch, lenient_,
               [&](std::span<const SentStretch> stretches, FrameStream& stream) {
                 const std::string payload = receive_plain_answer(stream);
                 PayloadReader reader(payload);
                 for (std::size_t i = 0; i < stretches.size(); ++i)
                   out.pieces.push_back(reader.take<backend::ReadSummary>());
                 reader.expect_end();
               });
}

backend::Removal RemoteTable::change(FrameKind kind, const io::Batch& batch, bool lenient) {
  backend::Removal done;
  ask_of_batch(pool_, kind, batch, lenient, [&](std::span<const SentStretch>, FrameStream& stream) {
    const std::string payload = receive_plain_answer(stream);
    PayloadReader reader(payload);
    done.kmers += reader.take<std::uint64_t>();
    done.shortfall.merge(reader.take<backend::Shortfall>());
    reader.expect_end();
  });
  return done;
}

std::uint64_t RemoteTable::add(const io::Batch& batch, bool lenient) {
  return change(FrameKind::add, batch, lenient).kmers;
}

backend::Removal RemoteTable::remove(const io::Batch& batch, bool lenient) {
  return change(FrameKind::remove, batch, lenient);
}

backend::LiveTally RemoteTable::tally() {
  const TableContent all = content();
  backend::LiveTally tally = tally_of(all.histogram);
  tally.reads = backend::reads_of(all.totals);
  return tally;
}

TableContent RemoteTable::content() const {
  TableContent content;
  pool_.ask(FrameKind::tally, {},
            [&](FrameStream& stream) { content = receive_content(stream, receive_answer(stream)); });
  return content;
}

std::unique_ptr<backend::LiveSnapshot> RemoteTable::snapshot() {
  return std::make_unique<RemoteSnapshot>(pool_);
}

RemoteTable::Facts RemoteTable::facts() const {
  Facts facts;
  pool_.ask(FrameKind::totals, {}, [&](FrameStream& stream) {
    const std::string payload = receive_plain_answer(stream);
    PayloadReader reader(payload);
    facts.totals.records = reader.take<std::uint64_t>();
    facts.totals.bases = reader.take<std::uint64_t>();
    facts.totals.are_known = reader.take<std::uint64_t>() != 0;
    facts.memory_bytes = reader.take<std::uint64_t>();
    facts.description = std::string(reader.rest());
  });
  return facts;
}

}  // namespace warpmer::serve
