// Indexing positions: a HashGraph V2 (Green 2019, section 3.3) of all k-mers of the sequences. Bins are
// ranges of hashes; what memory does not hold at once is made in several passes over the packed sequences.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "backend/empty_input.h"
#include "backend/lookup/positions.h"
#include "base/memory_text.h"
#include "base/thread_team.h"
#include "cpu/memory/bin_splitter.h"
#include "cpu/memory/huge_array.h"
#include "cpu/positions/hash_graph.h"
#include "cpu/positions/packed_reference.h"
#include "cpu/simd/kmer_window.h"
#include "host/limits.h"
#include "host/resident_memory.h"
#include "index/positions/position_codec.h"
#include "io/input_set.h"
#include "kmer/hash.h"

namespace warpmer::backend {

namespace {

using cpu::BinSplitter;
using cpu::PackedReference;
using table::TopBitsBucket;

/// Reserve for what is accounted for nowhere: stacks, allocator slack, the C++ runtime.
constexpr std::uint64_t kSlackBytes = std::uint64_t{24} << 20;

/// The interface that all widths have in common.
struct Job {
  const PositionOptions& options;
  JobProgress& progress;
  unsigned threads;
  std::uint64_t memory_cap;
  const PackedReference& reference;
  index::PositionWriter& writer;
  PositionReport& report;
};

/// `LocationType` is as wide as a location needs.
template <class Key, class LocationType>
class PositionBuilder {
 public:
  explicit PositionBuilder(const Job& job)
      : job_(job), params_(params_for(job)), splitter_(job.threads, params_.bins()), sizes_(params_.bins()) {}

  /// Writes all bins.
  void run() {
    job_.progress.shards_total = params_.bins();
    job_.progress.stage = JobProgress::Stage::indexing;
    count();
    job_.writer.begin(params_, sizes_);
    std::uint32_t first = 0;
    while (first < params_.bins()) {
      const std::uint32_t last = end_of_pass(first);
      run_pass(first, last);
      first = last;
      ++job_.report.passes;
    }
    job_.report.totals.occurrences = job_.reference.kmers();
  }

 private:
  using Writer = typename BinSplitter<Key, LocationType>::Writer;

  /// The memory that one thread needs to build bins.
  struct BuilderScratch {
    std::vector<Key> keys;
    std::vector<LocationType> locations;
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint64_t> payload;
    std::vector<std::pair<Key, LocationType>> to_sort;
    index::PositionTotals totals;
  };

  static constexpr std::uint64_t kEntryBytes = sizeof(Key) + sizeof(LocationType);

  static index::PositionParams params_for(const Job& job) {
    index::PositionParams params;
    params.k = job.options.kmers.k;
    params.canonical = job.options.kmers.canonical;
    params.hash_version = kKmerHashVersion;
    params.bin_bits = index::bin_bits_for(job.reference.kmers(), params.k);
    params.location_bits = index::location_bits_for(job.reference.bases());
    return params;
  }

  template <class Work>
  void in_parallel(Work&& work) {
    run_team(job_.threads, work, [&] {
      failed_ = true;
      job_.writer.cancel();
    });
  }

  [[nodiscard]] std::uint32_t bin_of(Key hash) const {
    return params_.bin_bits == 0 ? 0 : static_cast<std::uint32_t>(hash >> (2 * params_.k - params_.bin_bits));
  }

  /// Calls `visit(hash, location)` for the k-mers of one thread's part, in order.
  template <class Visit>
  void for_each_kmer(unsigned thread, Visit&& visit) const {
    const std::uint64_t all = job_.reference.kmers();
    const auto part = [&](unsigned t) { return static_cast<std::uint64_t>(Key128{all} * t / job_.threads); };
    std::uint64_t skip = part(thread), left = part(thread + 1) - skip;
    for (const cpu::KmerRun& run : job_.reference.runs()) {
      if (left == 0 || failed_) break;
      if (skip >= run.kmers) {
        skip -= run.kmers;
        continue;
      }
      const std::uint64_t kmers = std::min(run.kmers - skip, left);
      for_each_kmer_of_run({run.first + skip, kmers}, visit);
      skip = 0;
      left -= kmers;
    }
  }

  template <class Visit>
  void for_each_kmer_of_run(const cpu::KmerRun& run, Visit&& visit) const {
    const std::uint64_t* words = job_.reference.words();
    const KmerHash<Key> hash(params_.k);
    cpu::KmerWindow<Key> window(params_.k);
    std::uint64_t at = run.first;
    for (std::uint32_t i = 1; i < params_.k; ++i) window.push(cpu::packed_base(words, at++));
    const std::uint64_t end = at + run.kmers;
    if (params_.canonical) {
      for (std::uint64_t position = run.first; at < end; ++position) {
        window.push(cpu::packed_base(words, at++));
        visit(hash(window.canonical()),
              static_cast<LocationType>(position << 1 | (window.is_reverse() ? 1 : 0)));
      }
    } else {
      for (std::uint64_t position = run.first; at < end; ++position) {
        window.push(cpu::packed_base(words, at++));
        visit(hash(window.forward()), static_cast<LocationType>(position << 1));
      }
    }
  }

  void count() {
    in_parallel([&](unsigned thread) {
      std::uint64_t* counts = splitter_.counts(thread);
      for_each_kmer(thread, [&](Key hash, LocationType) { ++counts[bin_of(hash)]; });
    });
    for (std::uint32_t bin = 0; bin < params_.bins(); ++bin) sizes_[bin] = splitter_.bin_size(bin);
  }

  /// Returns the bytes that a thread takes to build a bin of so many entries.
  [[nodiscard]] std::uint64_t scratch_bytes(std::uint64_t entries) const {
    const std::uint32_t bucket_bits = index::position_bucket_bits(entries, params_);
    return entries * (kEntryBytes + sizeof(std::pair<Key, LocationType>)) +
           (std::uint64_t{8} << bucket_bits) + index::bin_layout(entries, bucket_bits, params_).words * 8;
  }

  /// Returns the end of the bins, from `first` on, that memory has room for.
  std::uint32_t end_of_pass(std::uint32_t first) const {
    const std::uint64_t spoken_for =
        host::resident_bytes_with(job_.reference.memory_bytes()) + kSlackBytes +
        BinSplitter<Key, LocationType>::memory_bytes(job_.threads, params_.bins());
    std::uint64_t entries = 0, largest = 0, needed = 0;
    std::uint32_t last = first;
    for (; last < params_.bins(); ++last) {
      entries += sizes_[last];
      largest = std::max(largest, sizes_[last]);
      needed = spoken_for + entries * kEntryBytes +
               scratch_bytes(largest) * std::min<std::uint64_t>(job_.threads, last - first + 1);
      if (needed > job_.memory_cap) break;
    }
    if (last == first) {
      throw ResourceError(
          fmt::format("-m {} is too little to index these sequences: {} are needed at least; raise -m",
                      mebibytes(job_.memory_cap),
                      mebibytes_needed(needed_for_any_bin(spoken_for) + host::kResidentVariation)));
    }
    return last;
  }

  [[nodiscard]] std::uint64_t needed_for_any_bin(std::uint64_t spoken_for) const {
    const std::uint64_t largest = *std::max_element(sizes_.begin(), sizes_.end());
    return spoken_for + largest * kEntryBytes + scratch_bytes(largest);
  }

  void run_pass(std::uint32_t first, std::uint32_t last) {
    std::uint64_t entries = 0;
    for (std::uint32_t bin = first; bin < last; ++bin) entries += sizes_[bin];
    const cpu::HugeArray<Key> keys(static_cast<std::size_t>(entries));
    const cpu::HugeArray<LocationType> locations(static_cast<std::size_t>(entries));
    splitter_.lay_out(first, last, keys.data(), locations.data());
    in_parallel([&](unsigned thread) {
      Writer writer(splitter_, thread);
      if (last - first == params_.bins()) {
        for_each_kmer(thread, [&](Key hash, LocationType at) { writer.put(bin_of(hash), hash, at); });
      } else {
        for_each_kmer(thread, [&](Key hash, LocationType at) {
          if (const std::uint32_t bin = bin_of(hash); bin >= first && bin < last) writer.put(bin, hash, at);
        });
      }
      writer.flush();
    });
    std::atomic<std::uint32_t> next{first};
    in_parallel([&](unsigned) {
      BuilderScratch scratch;
      for (std::uint32_t bin = next++; bin < last && !failed_; bin = next++) {
        const std::uint64_t begin = splitter_.bin_begin(bin);
        build(keys.data() + begin, locations.data() + begin, bin, scratch);
        ++job_.progress.shards_done;
      }
      add(scratch.totals);
    });
  }

  void build(const Key* hashes, const LocationType* locations, std::uint32_t bin, BuilderScratch& scratch) {
    const auto n = static_cast<std::size_t>(sizes_[bin]);
    const std::uint32_t bucket_bits = index::position_bucket_bits(n, params_);
    const TopBitsBucket<Key> bucket_of(2 * params_.k - params_.bin_bits, bucket_bits);
    const std::uint32_t buckets = bucket_of.buckets();
    scratch.keys.resize(n);
    scratch.locations.resize(n);
    scratch.offsets.resize(buckets);
    Key* keys = scratch.keys.data();
    cpu::build_bin(hashes, locations, n, bucket_of, buckets, std::uint64_t{0}, scratch.offsets.data(), keys,
                   scratch.locations.data());
    for (std::uint32_t b = 0; b < buckets; ++b) {
      const std::uint64_t last = b + 1 < buckets ? scratch.offsets[b + 1] : n;
      cpu::group_bucket({scratch.offsets[b], last}, keys, scratch.locations.data(), scratch.to_sort);
    }
    tally(scratch.keys, scratch.totals);
    index::pack_bin(keys, scratch.locations.data(), n, scratch.offsets, params_, scratch.payload);
    job_.writer.put(bin, scratch.payload);
  }

  /// Equal hashes stand side by side.
  static void tally(const std::vector<Key>& keys, index::PositionTotals& totals) {
    for (std::size_t i = 0; i < keys.size();) {
      std::size_t end = i + 1;
      while (end < keys.size() && keys[end] == keys[i]) ++end;
      ++totals.distinct;
      totals.unique += end - i == 1 ? 1 : 0;
      totals.most_occurrences = std::max<std::uint64_t>(totals.most_occurrences, end - i);
      i = end;
    }
  }

  void add(const index::PositionTotals& totals) {
    const std::lock_guard lock(mutex_);
    index::PositionTotals& all = job_.report.totals;
    all.distinct += totals.distinct;
    all.unique += totals.unique;
    all.most_occurrences = std::max(all.most_occurrences, totals.most_occurrences);
  }

  const Job& job_;
  index::PositionParams params_;
  BinSplitter<Key, LocationType> splitter_;
  std::vector<std::uint64_t> sizes_;
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
};

void check(const PositionOptions& options) {
  const std::uint32_t k = options.kmers.k;
  if (k < 1 || k > kMaxK)
    throw UsageError(fmt::format("k is {}; warpmer indexes k-mers of 1 to {} bases", k, kMaxK));
}

io::InputOptions input_options(const PositionOptions& options, const host::Resources& resources) {
  return {.reading = options.reading,
          .overlap_bases = options.kmers.k - 1,
          .threads = resources.threads,
          .in_order = true,
          .one_caller = true,
          .longest_record_bytes = host::longest_record_bytes(resources.memory_bytes, resources.threads)};
}

/// Throws the error of sequences that do not fit, when a part of them is read. How many follow is estimated
/// for files, and read of a pipe.
[[noreturn]] void refuse(io::InputSet& input, io::Batch& batch, const PackedReference& reference,
                         std::uint64_t spoken_for, std::uint64_t memory_cap, JobProgress& progress) {
  const io::InputProgress bytes = input.progress();
  const double read = std::max(1.0, static_cast<double>(reference.bases()));
  double all = read;
  if (bytes.bytes_total >= bytes.bytes_done && bytes.bytes_done > 0) {
    all *= static_cast<double>(bytes.bytes_total) / static_cast<double>(bytes.bytes_done);
  } else {
    while (input.next(batch)) {
      progress.end_if_cancelled();
      for (const io::Piece& piece : batch.pieces) all += piece.length;
    }
  }
  const double sequences = static_cast<double>(reference.memory_bytes()) * (all / read);
  throw ResourceError(fmt::format(
      "-m {} is too little: the sequences alone, of which {} bases are read, take about {}; raise -m",
      mebibytes(memory_cap), reference.bases(),
      mebibytes_needed(spoken_for + static_cast<std::uint64_t>(sequences) + host::kResidentVariation)));
}

/// Reads everything. It is known only while reading what that takes.
void read(io::InputSet& input, PackedReference& reference, std::uint64_t memory_cap, JobProgress& progress) {
  progress.stage = JobProgress::Stage::reading;
  const std::uint64_t spoken_for = host::resident_bytes() + input.memory_bytes(1) + kSlackBytes;
  io::Batch batch;
  while (input.next(batch)) {
    reference.add(batch);
    progress.kmers = reference.kmers();
    const io::InputProgress bytes = input.progress();
    progress.bytes_done = bytes.bytes_done;
    progress.bytes_total = bytes.bytes_total;
    const std::uint64_t needed = spoken_for + reference.memory_bytes();
    if (needed <= memory_cap) continue;
    refuse(input, batch, reference, spoken_for, memory_cap, progress);
  }
}

void build(const Job& job) {
  with_key_type(job.options.kmers.k, [&]<class Key>(Key) {
    if (index::location_bits_for(job.reference.bases()) <= 32) {
      PositionBuilder<Key, std::uint32_t>(job).run();
    } else {
      PositionBuilder<Key, std::uint64_t>(job).run();
    }
  });
}

}  // namespace

PositionReport index_positions(const PositionOptions& options, JobProgress& progress) {
  check(options);
  PositionReport report;
  report.resources = host::settled(options.resources);
  const unsigned threads = report.resources.threads;
  const std::uint64_t memory_cap = report.resources.memory_bytes;
  index::Provenance provenance = options.provenance;
  PackedReference reference(options.kmers.k, options.reading.lenient);
  index::PositionWriter writer(options.output, threads);
  {
    io::InputSet input(options.inputs, input_options(options, report.resources));
    provenance.inputs = input.files();
    read(input, reference, memory_cap, progress);
  }
  report.totals.sequences = reference.sequences().size();
  report.totals.bases = reference.bases();
  // Now: bins go straight to an output that is a stream.
  warn_if_empty(ReadTotals{report.totals.sequences, report.totals.bases, reference.kmers()}, options.kmers.k);
  io::warn_of_phred64(options.reading.qualities);
  build({options, progress, threads, memory_cap, reference, writer, report});
  writer.finish(report.totals, reference.sequences(), provenance);
  report.index_bytes = writer.file_bytes();
  report.peak_resident_bytes = host::peak_resident_bytes();
  progress.stage = JobProgress::Stage::done;
  return report;
}

}  // namespace warpmer::backend
