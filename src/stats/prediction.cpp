#include "stats/prediction.h"

#include <algorithm>
#include <cmath>

#include "index/index_layout.h"

namespace warpmer::stats {

namespace {

/// Ranges reach so many standard errors to each side, where errors are measured.
constexpr double kStandardErrors = 3;
/// Errors that ranges are widened by, where only the beginning of an input was read and it is not known how
/// like it the rest is; and where there was but one batch, so that nothing can be measured.
constexpr double kBeginningError = 0.05;
constexpr double kOneBatchError = 0.2;
/// Shards of hot minimizers have few distinct k-mers for their occurrences: beyond so many medians, they do
/// not have more.
constexpr double kMostMedians = 4;
/// Neighbours in a read that share their fate: at most so many, however long it is.
constexpr double kLargestClump = 500;
/// Locality less than this is noise, and so is any where next to nothing is repeated.
constexpr double kLeastLocality = 0.1;
constexpr double kLeastRepeated = 0.001;
/// Bytes of a k-mer in an index, where none of a sample is to be stored.
constexpr double kUsualBytes = 1.5;
/// The more k-mers there are the longer are their strings, and the fewer bytes a k-mer takes; with other
/// counts it may take some more. So its bytes are in these parts of what they are in the sample.
constexpr double kLeastBytes = 0.6, kMostBytes = 1.2;
/// Error that predictions of local data may have.
constexpr double kLocalityError = 0.3;

Range scaled(const Range& range, double factor) {
  return {range.low * factor, range.estimate * factor, range.high * factor};
}
Range widened(const Range& range, double relative_error) {
  return {range.low * std::max(0.0, 1 - relative_error), range.estimate, range.high * (1 + relative_error)};
}
Range at_most(const Range& range, double most) {
  return {std::min(range.low, most), std::min(range.estimate, most), std::min(range.high, most)};
}
Range exactly(double value) { return {value, value, value}; }

std::uint64_t kmers_of(const SampledReads& reads) {
  std::uint64_t kmers = 0;
  for (const SampledBatch& batch : reads.batches) kmers += batch.kmers;
  return kmers;
}

/// Expands what was read to all: the factor, and how wrong it may be, by how much k-mers per byte differ from
/// batch to batch (a ratio estimate: Cochran 1977, "Sampling Techniques", section 6.3).
struct Expansion {
  double factor = 1;
  double error = 0;
};

Expansion expansion_of(const SampledReads& reads, std::uint32_t k) {
  const auto kmers = static_cast<double>(kmers_of(reads));
  double bytes = 0;
  for (const SampledBatch& batch : reads.batches) bytes += static_cast<double>(batch.input_bytes);
  const auto total = static_cast<double>(reads.total_bytes);
  if (reads.is_whole || kmers == 0 || bytes == 0 || bytes >= total) return {};
  double squares = 0;
  for (const SampledBatch& batch : reads.batches) {
    const double off =
        static_cast<double>(batch.kmers) - kmers / bytes * static_cast<double>(batch.input_bytes);
    squares += off * off;
  }
  const auto n = static_cast<double>(reads.batches.size());
  double error = kOneBatchError;
  if (n > 1) error = kStandardErrors * std::sqrt((1 - bytes / total) * n / (n - 1) * squares) / kmers;
  if (reads.begun_inputs > 0) error += kBeginningError;
  error += n * (k - 1) / kmers;  // what reaches from one block of a sequence into the next
  return {total / bytes, error};
}

/// Returns the shards' sizes, as far as distinct k-mers follow them.
std::vector<double> effective_sizes(const std::vector<backend::ShardSample>& shards) {
  std::vector<double> sizes;
  for (const backend::ShardSample& shard : shards) sizes.push_back(static_cast<double>(shard.kmers));
  std::vector<double> sorted = sizes;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2),
                   sorted.end());
  const double median = sorted[sorted.size() / 2];
  for (double& size : sizes) size = median > 0 ? std::min(size, kMostMedians * median) : size;
  return sizes;
}

/// Expands counted shards to all of them, likewise: numbers that are counted go with the shards' sizes, which
/// are known.
class ShardExpansion {
 public:
  explicit ShardExpansion(const std::vector<backend::ShardSample>& shards)
      : shards_(shards), sizes_(effective_sizes(shards)) {
    for (std::size_t s = 0; s < shards.size(); ++s) {
      all_ += sizes_[s];
      counted_ += shards[s].is_counted ? sizes_[s] : 0;
      number_ += shards[s].is_counted ? 1 : 0;
    }
  }

  [[nodiscard]] double factor() const { return counted_ > 0 ? all_ / counted_ : 1; }
  [[nodiscard]] const std::vector<double>& sizes() const { return sizes_; }
  [[nodiscard]] double all() const { return all_; }

  /// Returns the error of a number that each counted shard has.
  template <class Value>
  [[nodiscard]] double error(Value&& value) const {
    const auto shards = static_cast<double>(shards_.size());
    double sum = 0, squares = 0;
    for (const backend::ShardSample& shard : shards_) sum += shard.is_counted ? value(shard) : 0;
    if (number_ < 2 || number_ == shards || sum == 0) return 0;
    for (std::size_t s = 0; s < shards_.size(); ++s) {
      if (!shards_[s].is_counted) continue;
      const double off = value(shards_[s]) - sum / counted_ * sizes_[s];
      squares += off * off;
    }
    return kStandardErrors * std::sqrt((1 - number_ / shards) * number_ / (number_ - 1) * squares) / sum;
  }

 private:
  const std::vector<backend::ShardSample>& shards_;
  std::vector<double> sizes_;
  double all_ = 0, counted_ = 0, number_ = 0;
};

/// Returns how much less a random half has than it would if reads came in random order: 1 if each half has
/// k-mers of its own, as the reads of a sorted BAM file. Nothing if there are no halves of some size.
std::optional<double> locality_of(const backend::HalfSample& half) {
  double kmers = 0, distinct = 0;
  for (const auto& [count, number] : half.histogram) {
    distinct += static_cast<double>(number);
    kmers += static_cast<double>(number) * static_cast<double>(count);
  }
  if (kmers == 0) return std::nullopt;
  const double share = static_cast<double>(half.kmers) / kmers;
  const double random = thinned_distinct(half.histogram, share), local = share * distinct;
  if (share < 0.05 || share > 0.95) return std::nullopt;
  if (random - local < kLeastRepeated * distinct) return 0.0;
  const double locality = (random - static_cast<double>(half.distinct)) / (random - local);
  return locality < kLeastLocality ? 0.0 : std::min(locality, 1.0);
}

/// With local k-mers, the next reads have as many new ones as those before.
Range with_locality(const Range& random, double linear, std::optional<double> locality) {
  if (!locality) return {random.low, random.estimate, std::max(random.high, linear)};
  if (*locality == 0) return random;
  const auto mixed = [&](double value) { return value + *locality * (linear - value); };
  // A genome's repeats are partly local, and with one it is the other: only what is clearly local is no
  // longer expected to be random.
  const double error = *locality * kLocalityError;
  const double low = *locality < 0.5 ? random.low : mixed(random.low) * (1 - error);
  return {std::min(low, random.estimate), mixed(random.estimate),
          std::max(random.high, mixed(random.high) * (1 + error))};
}

/// Returns the bytes of a k-mer in a frozen shard of the sample, on average.
double bytes_of_kmer(const backend::KmerSample& sample) {
  double words = 0, kmers = 0;
  for (const backend::ShardSample& shard : sample.shards) {
    words += static_cast<double>(shard.payload_words);
    kmers += static_cast<double>(shard.stored);
  }
  return kmers > 0 ? words * sizeof(std::uint64_t) / kmers : kUsualBytes;
}

/// Predicts the k-mers of counts in [from, to] and what they take when they are frozen.
class CountRangePrediction {
 public:
  CountRangePrediction(const backend::KmerSample& sample, const ShardExpansion& shards,
                       const Expansion& reads, const backend::CountPlan& plan, double clump,
                       std::optional<double> locality)
      : sample_(sample), shards_(shards), reads_(reads), plan_(plan), clump_(clump), locality_(locality) {}

  /// `counted(shard)` are those of a counted shard.
  template <class Value>
  Range predict(const backend::CountBounds& counts, Value&& counted, Range& bytes) const {
    const KmerBounds bounds =
        extrapolate({sample_.histogram, 1 / reads_.factor, clump_}, counts.min, counts.max);
    double seen = 0;
    for (const backend::ShardSample& shard : sample_.shards) seen += shard.is_counted ? counted(shard) : 0;
    Range kmers = bounds.kmers;
    if (reads_.factor > 1) kmers = with_locality(kmers, seen * reads_.factor, locality_);
    kmers = widened(scaled(kmers, shards_.factor()), shards_.error(counted) + reads_.error);
    kmers = at_most(kmers, possible_kmers());
    const double each = bytes_of_kmer(sample_);
    bytes = {kmers.low * each * kLeastBytes, kmers.estimate * each, kmers.high * each * kMostBytes};
    return kmers;
  }

 private:
  [[nodiscard]] double possible_kmers() const {
    const double all = std::pow(4.0, plan_.kmers.k);
    const double palindromes = plan_.kmers.k % 2 == 0 ? std::pow(2.0, plan_.kmers.k) : 0;
    return plan_.kmers.canonical ? (all + palindromes) / 2 : all;
  }

  const backend::KmerSample& sample_;
  const ShardExpansion& shards_;
  const Expansion& reads_;
  const backend::CountPlan& plan_;
  double clump_;
  std::optional<double> locality_;
};

}  // namespace

KmerPrediction predict_kmers(const backend::KmerSample& sample, const SampledReads& reads,
                             const backend::CountPlan& plan) {
  KmerPrediction prediction;
  const auto kmers = static_cast<double>(kmers_of(reads));
  if (kmers == 0) {
    // The part that was not read may be anything, up to some k-mers for each (compressed) byte.
    if (!reads.is_whole) prediction.occurrences.high = 4 * static_cast<double>(reads.total_bytes);
    prediction.distinct = prediction.stored = prediction.occurrences;
    return prediction;
  }
  const Expansion expansion = expansion_of(reads, plan.kmers.k);
  const ShardExpansion shards(sample.shards);
  prediction.share = 1 / expansion.factor;
  if (expansion.factor > 1) prediction.locality = locality_of(sample.half);
  prediction.occurrences = widened(exactly(kmers * expansion.factor), expansion.error);
  prediction.occurrences.low = std::max(prediction.occurrences.low, kmers);
  double words = 0;
  for (const backend::ShardSample& shard : sample.shards) words += static_cast<double>(shard.words);
  prediction.pending_bytes =
      scaled(prediction.occurrences, words * static_cast<double>(sample.word_bytes) / kmers);
  const double clump =
      std::clamp(kmers / static_cast<double>(std::max<std::uint64_t>(1, reads.records)), 1.0, kLargestClump);
  const CountRangePrediction range(sample, shards, expansion, plan, clump, prediction.locality);
  const auto distinct = [](const backend::ShardSample& shard) { return static_cast<double>(shard.distinct); };
  const auto stored = [](const backend::ShardSample& shard) { return static_cast<double>(shard.stored); };
  const double most = prediction.occurrences.high;
  prediction.distinct = at_most(range.predict({}, distinct, prediction.run_bytes), most);
  prediction.stored =
      at_most(range.predict(plan.kept, stored, prediction.payload_bytes), prediction.distinct.high);
  if (expansion.factor > 1) return prediction;
  // Everything was read: what counted shards take is known.
  const auto payload = [](const backend::ShardSample& shard) {
    return 8 * static_cast<double>(shard.payload_words);
  };
  double bytes = 0;
  for (const backend::ShardSample& shard : sample.shards) bytes += shard.is_counted ? payload(shard) : 0;
  prediction.payload_bytes = widened(exactly(bytes * shards.factor()), shards.error(payload));
  return prediction;
}

Range directory_bytes(const backend::KmerSample& sample, const KmerPrediction& prediction) {
  const auto shards = static_cast<double>(sample.shards.size());
  if (shards <= 1) return exactly(index::layout::kEntryBytes);
  const double most = std::max(1.0, prediction.distinct.high);
  const double bits = std::ceil(std::log2(most)) + 1;
  // A checksum each, and as many bits as the largest of each size needs.
  const double least = sizeof(std::uint64_t) * (1 + shards);
  return {least, least + shards * bits / 4, least + shards * bits * 6 / 8 + 6 * sizeof(std::uint64_t)};
}

}  // namespace warpmer::stats
