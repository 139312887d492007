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
/// Memory of one kind that a connection keeps between requests: many may be idle.
constexpr std::size_t kMostKeptBytes = std::size_t{64} << 10;

template <class Number>
void give_back_if_large(std::vector<Number>& numbers) {
  if (numbers.capacity() * sizeof(Number) > kMostKeptBytes) std::vector<Number>().swap(numbers);
}

template <class Number>
std::string_view bytes_of(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}

std::string_view bytes_of(std::span<const std::uint64_t> words) {
  return {reinterpret_cast<const char*>(words.data()), words.size_bytes()};
}

}  // namespace

void ClientSession::run() noexcept {
  try {
    try {
      greet();
      while (const auto header = stream_.receive_header(kMostRequestBytes)) {
        if (terms_.changes.is_stopped()) return;  // it had come before, and nobody has begun with it
        answer(*header);
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
  payload_.clear();
  put(payload_, Hello{.kmers = terms_.kmers});
  stream_.send(FrameKind::hello, payload_);
}

/// An error of the table, or in what it is asked, ends the request, not the connection.
void ClientSession::answer(const FrameHead& header) {
  batch_.clear();
  batch_.text.reserve(header.bytes);
  stream_.receive(batch_.text.data(), header.bytes);
  batch_.text.set_size(header.bytes);
  try {
    answer_request(header);
  } catch (const Error& error) {
    send_error(error);
  } catch (const std::bad_alloc&) {
    send_error(ResourceError("the server has no memory for the answer; give it more"));
  }
  give_back_memory();
}

void ClientSession::give_back_memory() {
  if (batch_.text.capacity() > kMostKeptBytes) batch_.text.give_back();
  give_back_if_large(batch_.pieces);
  give_back_if_large(answers_.pieces);
  give_back_if_large(answers_.profile.first);
  give_back_if_large(answers_.profile.counts);
  give_back_if_large(answers_.profile.wide);
  if (payload_.capacity() > kMostKeptBytes) Payload(std::move(payload_));
  give_back_if_large(counts_);
}

void ClientSession::answer_request(const FrameHead& header) {
  payload_.clear();
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
  const std::string_view text(batch_.text.data(), batch_.text.size());
  const std::size_t k = terms_.kmers.k, number = text.size() / k;
  if (text.size() % k != 0 || number > kMostKmers) throw MalformedFrame{};
  std::vector<std::string_view> kmers(number);
  for (std::size_t i = 0; i < number; ++i) kmers[i] = text.substr(i * k, k);
  counts_.resize(number);
  terms_.table.lookup(false).find_all(kmers, counts_.data());
  stream_.send(FrameKind::answer, {bytes_of(counts_)});
}

void ClientSession::profile() {
  const bool lenient = take_batch(batch_);
  backend::Profile& profile = answers_.profile;
  terms_.table.lookup(lenient).profile(batch_, profile);
  if (profile.wide.empty()) {
    stream_.send(FrameKind::answer, {bytes_of(profile.counts)});
  } else {
    stream_.send(FrameKind::wide_answer, {bytes_of(profile.wide)});
  }
}

void ClientSession::summarise() {
  const bool lenient = take_batch(batch_);
  terms_.table.lookup(lenient).summarise(batch_, answers_);
  for (const backend::ReadSummary& read : answers_.pieces) payload_.put(read);
  stream_.send(FrameKind::answer, payload_);
}

void ClientSession::change(FrameKind kind) {
  const bool lenient = take_batch(batch_);
  require_changes();
  backend::Removal done;
  {
    const ChangeTurns::OneTurn turn(terms_.changes);
    if (kind == FrameKind::add) {
      done.kmers = terms_.table.add(batch_, lenient);
    } else {
      done = terms_.table.remove(batch_, lenient);
    }
  }
  payload_.put(done.kmers);
  payload_.put(done.shortfall);
  stream_.send(FrameKind::answer, payload_);
}

void ClientSession::send_totals() {
  const backend::LiveTotals totals = terms_.table.totals();
  payload_.put(totals.records);
  payload_.put(totals.bases);
  payload_.put(std::uint64_t{totals.are_known});
  payload_.put(terms_.table.memory_bytes());
  payload_.put_text(terms_.table.describe());
  stream_.send(FrameKind::answer, payload_);
}

void ClientSession::send_tally() {
  if (terms_.frozen != nullptr) return send_tally(terms_.frozen->histogram(), terms_.frozen->totals());
  const backend::LiveTally tally = terms_.table.tally();
  send_tally(tally.histogram(), totals_of(tally, tally.reads));
}

void ClientSession::send_tally(const index::Histogram& histogram, const index::Totals& totals) {
  payload_.clear();
  for (const auto& [count, kmers] : histogram) {
    payload_.put(count);
    payload_.put(kmers);
    if (payload_.size() < kMostRows * 2 * sizeof(std::uint64_t)) continue;
    stream_.send(FrameKind::rows, payload_);
    payload_.clear();
  }
  stream_.send(FrameKind::rows, payload_);
  payload_.clear();
  payload_.put(totals);
  stream_.send(FrameKind::answer, payload_);
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
  payload_.clear();
  stream_.set_deadline(terms_.patience_seconds);
  SentShard head{shard, frozen.shape, frozen.sizes, index::payload_words(frozen, terms_.kmers.k)};
  put(payload_, head);
  stream_.send(FrameKind::shard, payload_);
  const auto send_words = [&](std::span<const std::uint64_t> words) {
    for (; !words.empty(); words = words.subspan(std::min(words.size(), kMostWords)))
      stream_.send(FrameKind::words, {bytes_of(words.first(std::min(words.size(), kMostWords)))});
  };
  if (!frozen.source) return send_words(frozen.payload);
  for (auto words = frozen.source->next(); !words.empty(); words = frozen.source->next()) send_words(words);
}

void ClientSession::send_error(const Error& error) {
  stream_.set_deadline(0);
  payload_.clear();
  put(payload_, error);
  stream_.send(FrameKind::error, payload_);
}

void ClientSession::require_changes() const {
  if (!terms_.read_only.empty()) throw InputError(terms_.read_only);
}

}  // namespace warpmer::serve
