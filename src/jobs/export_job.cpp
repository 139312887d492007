#include "jobs/export_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "backend/indexes/entries.h"
#include "backend/indexes/index_set.h"
#include "base/buffer_pool.h"
#include "base/error.h"
#include "base/ordered_stage.h"
#include "base/thread_team.h"
#include "file/output/ordered_text.h"
#include "formats/stream/count_width.h"
#include "host/limits.h"

namespace warpmer::jobs {
namespace {

using formats::CountedKmer;

/// Stands in front of a sink: leaves out what is not wanted, and looks at large counts.
class CountGate {
 public:
  CountGate(const ExportOptions& options, const std::string& input, formats::KmerSink& sink)
      : options_(options), input_(input), sink_(sink) {}

  /// Any thread may call it.
  void encode(std::span<const CountedKmer> kmers, formats::EncodedKmers& to) const {
    const auto passes = [&](const CountedKmer& each) {
      return options_.bounds.contains(each.count) && each.count <= options_.largest_count;
    };
    if (std::all_of(kmers.begin(), kmers.end(), passes)) {
      encode_all(kmers, to);
    } else {
      encode_all(changed(kmers, to), to);
    }
  }

  /// Takes what was encoded, in order.
  void append(const formats::EncodedKmers& encoded) {
    report_.kmers += encoded.kmers;
    report_.saturated += encoded.capped;
    least_ = std::min(least_, encoded.least);
    most_ = std::max(most_, encoded.most);
    sink_.append(encoded);
  }

  ExportReport finish() {
    if (report_.kmers > 0) sink_.widen_bounds(least_, most_);
    sink_.finish();
    return report_;
  }

  /// Checks what has to be known before anything is written.
  void check(std::uint64_t largest_count) const {
    if (largest_count > options_.largest_count && !options_.saturate && options_.bounds.contains_all()) {
      refuse(largest_count);
    }
  }

 private:
  void encode_all(std::span<const CountedKmer> kmers, formats::EncodedKmers& to) const {
    for (const CountedKmer& each : kmers) {
      to.least = std::min(to.least, each.count);
      to.most = std::max(to.most, each.count);
    }
    sink_.encode(kmers, to);
  }

  std::vector<CountedKmer> changed(std::span<const CountedKmer> kmers, formats::EncodedKmers& to) const {
    std::vector<CountedKmer> kept;
    kept.reserve(kmers.size());
    for (CountedKmer each : kmers) {
      if (!options_.bounds.contains(each.count)) continue;
      if (each.count > options_.largest_count) {
        if (!options_.saturate) refuse(each.count);
        each.count = options_.largest_count;
        ++to.capped;
      }
      kept.push_back(each);
    }
    return kept;
  }

  /// UsageError: a count is larger than the output can hold.
  [[noreturn]] void refuse(std::uint64_t count) const {
    throw UsageError(fmt::format(
        "{} has a count of {}, and the output holds counts up to {}; choose wider counters or another "
        "format, or cap counts (--saturate of 'warpmer convert')",
        input_, count, options_.largest_count));
  }

  const ExportOptions& options_;
  const std::string& input_;
  formats::KmerSink& sink_;
  ExportReport report_;
  std::uint64_t least_ = UINT64_MAX, most_ = 0;  ///< least and greatest of the counts that were written
};

void check_memory_to_copy(const ExportOptions& options) {
  host::check_memory(options.resources.memory_bytes, backend::working_bytes(options.resources.threads),
                     options.resources.threads);
}

}  // namespace

formats::StreamFacts facts_of(const index::IndexFile& index) {
  const index::Totals& totals = index.totals();
  return {index.params().k,     index.params().canonical, totals.stored_distinct,
          totals.largest_count, totals.min_count,         totals.max_count};
}

ExportReport export_index(const index::IndexFile& index, const ExportOptions& options,
                          formats::KmerSink& sink) {
  CountGate gate(options, options.shown_input.empty() ? index.path() : options.shown_input, sink);
  gate.check(index.totals().largest_count);
  if (options.order == formats::KmerOrder::any) check_memory_to_copy(options);
  backend::encode_entries(
      index, options.order, options.resources.memory_bytes, options.resources.threads,
      [&](std::span<const CountedKmer> kmers, formats::EncodedKmers& to) { gate.encode(kmers, to); },
      [&](const formats::EncodedKmers& encoded) { gate.append(encoded); }, sink.position_bits());
  return gate.finish();
}

namespace {

/// K-mers that are read at a time.
constexpr std::size_t kReadAtOnce = 2048;

/// Appends in order what threads have encoded.
class EncodedInOrder {
 public:
  using Lease = BufferPool<formats::EncodedKmers>::Lease;

  EncodedInOrder(CountGate& gate, unsigned threads)
      : ordered_(kResultsAhead * threads, [&gate](const Lease& encoded) { gate.append(*encoded); }) {}

  [[nodiscard]] Lease take() {
    Lease encoded = buffers_.take();
    encoded->clear();
    return encoded;
  }
  void put(std::uint64_t ordinal, Lease&& encoded) { ordered_.put(ordinal, std::move(encoded)); }
  /// Hands on what is long already, when its turn has come; there is more of it.
  void put_part(std::uint64_t ordinal, Lease& encoded) {
    if (encoded->bytes.size() < file::OrderedText::kMostBytes) return;
    ordered_.put_part(ordinal, std::exchange(encoded, take()));
  }
  void stop() noexcept { ordered_.stop(); }

 private:
  BufferPool<formats::EncodedKmers> buffers_;
  OrderedStage<Lease> ordered_;
};

}  // namespace

ExportReport copy_kmers(formats::KmerSource& source, const std::string& input, const ExportOptions& options,
                        formats::KmerSink& sink) {
  check_memory_to_copy(options);
  CountGate gate(options, input, sink);
  EncodedInOrder encoded(gate, options.resources.threads);
  std::mutex mutex;
  bool is_at_end = false;  // guarded by the mutex, as is the next
  std::uint64_t next = 0;
  run_team(
      options.resources.threads,
      [&](unsigned) {
        std::vector<CountedKmer> kmers(kReadAtOnce);
        for (;;) {
          std::size_t n = 0;
          std::uint64_t ordinal = 0;
          {
            const std::lock_guard lock(mutex);
            if (is_at_end) return;
            is_at_end = true;  // for good when reading fails: no thread goes on from there
            n = source.read(kmers);
            is_at_end = n == 0;
            ordinal = next++;
          }
          EncodedInOrder::Lease to = encoded.take();
          gate.encode({kmers.data(), n}, *to);
          encoded.put(ordinal, std::move(to));
        }
      },
      [&] {
        const std::lock_guard lock(mutex);
        is_at_end = true;
        encoded.stop();
      });
  formats::warn_of_capped(source.capped(), input);
  return gate.finish();
}

ExportReport copy_ranges(const RangedKmers& kmers, const std::string& input, const ExportOptions& options,
                         formats::KmerSink& sink) {
  check_memory_to_copy(options);
  CountGate gate(options, input, sink);
  EncodedInOrder encoded(gate, options.resources.threads);
  const std::vector<formats::KmerRange> ranges = kmers.ranges();
  share_numbers(
      options.resources.threads, 0, ranges.size(),
      [&](unsigned /*thread*/, SharedNumbers& numbers) {
        std::vector<CountedKmer> some(kReadAtOnce);
        for (std::size_t i; numbers.take(i);) {
          const auto source = kmers.open(ranges[i]);
          EncodedInOrder::Lease to = encoded.take();
          while (const std::size_t n = source->read(some)) {
            gate.encode({some.data(), n}, *to);
            encoded.put_part(i, to);
          }
          encoded.put(i, std::move(to));
        }
      },
      [&] { encoded.stop(); });
  return gate.finish();
}

}  // namespace warpmer::jobs
