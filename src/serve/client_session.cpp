#include "serve/client_session.h"

#include <algorithm>
#include <new>
#include <span>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/ordered_stage.h"
#include "base/thread_team.h"
#include "index/shard_codec.h"

namespace warpmer::serve {

namespace {

constexpr std::size_t kMostHelloBytes = 256;

/// Returns what a request takes, about, with its pieces, and where counts are asked for, with these.
std::uint64_t bytes_for(const FrameHead& request) {
  const bool has_counts = request.kind == FrameKind::profile || request.kind == FrameKind::summarise;
  return std::uint64_t{request.bytes} * (has_counts ? 8 : 2);
}

template <class Number>
std::string_view bytes_of(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}

std::string_view bytes_of(std::span<const std::uint64_t> words) {
  return {reinterpret_cast<const char*>(words.data()), words.size_bytes()};
}

}  // namespace

ClientSession::ClientSession(const SessionTerms& terms, FrameStream& stream)
    : terms_(terms), stream_(stream) {
  stream_.note_waiting([this] { room_.reset(); });
}

void ClientSession::run() noexcept {
  try {
    try {
      greet();
      while (const auto header = stream_.receive_header(kMostRequestBytes)) {
        if (const std::uint64_t bytes = bytes_for(*header); bytes > 0)
          room_.emplace(terms_.room, std::min(bytes, terms_.room.bytes()));
        if (terms_.changes.is_stopped()) return;  // it had come before, and nobody has begun with it
        answer(*header);
        room_.reset();
      }
    } catch (const MalformedFrame&) {
      send_error(InputError("the server was sent what is no request of warpmer's"));
    } catch (const Error& error) {
      send_error(error);
    }
  } catch (...) {  // the client is not there any more
  }
}

void ClientSession::greet() {
  const auto header = stream_.receive_header(kMostHelloBytes);
  if (!header) return;
  if (header->kind != FrameKind::hello) throw MalformedFrame{};
  const Hello hello = take_hello(stream_.receive_payload(*header));
  if (hello.version != kProtocolVersion || hello.hash_version != kHashVersion)
    throw ResourceError("the server is of another version of warpmer; use the same for both");
  Payload payload;
  put(payload, Hello{.kmers = terms_.kmers});
  stream_.send(FrameKind::hello, payload);
}

/// An error of the table, or in what it is asked, ends the request, not the connection.
void ClientSession::answer(const FrameHead& header) {
  buffers_ = terms_.buffers.take();
  io::Batch& batch = buffers_->batch;
  batch.clear();
  batch.text.reserve(header.bytes);
  stream_.receive(batch.text.data(), header.bytes);
  batch.text.set_size(header.bytes);
  try {
    answer_request(header);
  } catch (const Error& error) {
    send_error(error);
  } catch (const std::bad_alloc&) {
    send_error(ResourceError("the server has no memory for the answer; give it more"));
  }
  buffers_.reset();
}

void ClientSession::answer_request(const FrameHead& header) {
  buffers_->answer.clear();
  switch (header.kind) {
    case FrameKind::find:
      return find();
    case FrameKind::profile:
      return profile();
    case FrameKind::summarise:
      return summarise();
    case FrameKind::add:
    case FrameKind::remove:
      return change(header.kind);
    case FrameKind::totals:
      return send_totals();
    case FrameKind::tally:
      return send_tally();
    case FrameKind::snapshot:
      return send_snapshot();
    default:
      throw MalformedFrame{};
  }
}

void ClientSession::find() {
  const io::PaddedText& request = buffers_->batch.text;
  const std::string_view text(request.data(), request.size());
  const std::size_t k = terms_.kmers.k, number = text.size() / k;
  if (text.size() % k != 0 || number > kMostKmers) throw MalformedFrame{};
  std::vector<std::string_view> kmers(number);
  for (std::size_t i = 0; i < number; ++i) kmers[i] = text.substr(i * k, k);
  buffers_->counts.resize(number);
  terms_.table.lookup(false).find_all(kmers, buffers_->counts.data());
  stream_.send(FrameKind::answer, {bytes_of(buffers_->counts)});
}

void ClientSession::profile() {
  const bool lenient = take_batch(buffers_->batch);
  backend::Profile& profile = buffers_->summary.profile;
  terms_.table.lookup(lenient).profile(buffers_->batch, profile);
  if (profile.wide.empty()) {
    stream_.send(FrameKind::answer, {bytes_of(profile.counts)});
  } else {
    stream_.send(FrameKind::wide_answer, {bytes_of(profile.wide)});
  }
}

void ClientSession::summarise() {
  const bool lenient = take_batch(buffers_->batch);
  terms_.table.lookup(lenient).summarise(buffers_->batch, buffers_->summary);
  for (const backend::ReadSummary& read : buffers_->summary.pieces) buffers_->answer.put(read);
  stream_.send(FrameKind::answer, buffers_->answer);
}

void ClientSession::change(FrameKind kind) {
  const bool lenient = take_batch(buffers_->batch);
  require_changes();
  backend::Removal done;
  {
    const ChangeTurns::OneTurn turn(terms_.changes);
    if (kind == FrameKind::add) {
      done.kmers = terms_.table.add(buffers_->batch, lenient);
    } else {
      done = terms_.table.remove(buffers_->batch, lenient);
    }
  }
  buffers_->answer.put(done.kmers);
  buffers_->answer.put(done.shortfall);
  stream_.send(FrameKind::answer, buffers_->answer);
}

void ClientSession::send_totals() {
  const backend::LiveTotals totals = terms_.table.totals();
  Payload& answer = buffers_->answer;
  answer.put(totals.records);
  answer.put(totals.bases);
  answer.put(std::uint64_t{totals.are_known});
  answer.put(terms_.table.memory_bytes());
  answer.put_text(terms_.table.describe());
  stream_.send(FrameKind::answer, answer);
}

void ClientSession::send_tally() {
  if (terms_.frozen != nullptr) return send_tally(terms_.frozen->histogram(), terms_.frozen->totals());
  const backend::LiveTally tally = terms_.table.tally();
  send_tally(tally.histogram(), totals_of(tally, tally.reads));
}

void ClientSession::send_tally(const index::Histogram& histogram, const index::Totals& totals) {
  Payload& answer = buffers_->answer;
  answer.clear();
  for (const auto& [count, kmers] : histogram) {
    answer.put(count);
    answer.put(kmers);
    if (answer.size() < kMostRows * 2 * sizeof(std::uint64_t)) continue;
    stream_.send(FrameKind::rows, answer);
    answer.clear();
  }
  stream_.send(FrameKind::rows, answer);
  answer.clear();
  answer.put(totals);
  stream_.send(FrameKind::answer, answer);
}

void ClientSession::send_snapshot() {
  require_changes();
  const auto snapshot = terms_.table.snapshot();
  // They go in order: a client that writes them has not to keep those that are ahead of another.
  OrderedStage<std::pair<std::uint32_t, index::FrozenShard>> ordered(
      kResultsAhead * terms_.threads,
      [&](std::pair<std::uint32_t, index::FrozenShard>&& shard) { send_shard(shard.first, shard.second); });
  const backend::ShardSink sink([&](std::uint32_t shard, index::FrozenShard&& frozen) {
    if (!ordered.put(shard, {shard, std::move(frozen)}))
      throw ConnectionLost{};  // or another's error came first
  });
  run_team(
      terms_.threads, [&](unsigned thread) { snapshot->finish(thread, sink, [] {}); },
      [&] { ordered.stop(); });
  const backend::Tally tally = snapshot->tally();
  stream_.set_deadline(terms_.patience_seconds);
  send_tally(tally.histogram(), totals_of(tally, snapshot->totals()));
  stream_.set_deadline(0);
}

void ClientSession::send_shard(std::uint32_t shard, const index::FrozenShard& frozen) {
  Payload head;
  stream_.set_deadline(terms_.patience_seconds);
  put(head, SentShard{shard, frozen.shape, frozen.sizes, index::payload_words(frozen, terms_.kmers.k)});
  stream_.send(FrameKind::shard, head);
  const auto send_words = [&](std::span<const std::uint64_t> words) {
    for (; !words.empty(); words = words.subspan(std::min(words.size(), kMostWords)))
      stream_.send(FrameKind::words, {bytes_of(words.first(std::min(words.size(), kMostWords)))});
  };
  if (!frozen.source) return send_words(frozen.payload);
  for (auto words = frozen.source->next(); !words.empty(); words = frozen.source->next()) send_words(words);
}

void ClientSession::send_error(const Error& error) {
  stream_.set_deadline(0);
  Payload payload;
  put(payload, error);
  stream_.send(FrameKind::error, payload);
}

void ClientSession::require_changes() const {
  if (!terms_.read_only.empty()) throw InputError(terms_.read_only);
}

}  // namespace warpmer::serve
