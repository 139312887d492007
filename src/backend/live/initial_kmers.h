#pragma once
/// The k-mers that a live table begins with: those of an index, or of a table whose place it takes.

#include <atomic>
#include <cstdint>
#include <vector>

#include "groups/shard_bits.h"
#include "index/frozen_shard.h"
#include "index/index_file.h"
#include "kmer/kmer.h"

namespace warpmer::backend {

/// Shards of strings (k above kMaxDenseK) that stay while this lives. Thread-safe.
class InitialKmers {
 public:
  virtual ~InitialKmers() = default;
  InitialKmers(const InitialKmers&) = delete;
  InitialKmers& operator=(const InitialKmers&) = delete;

  [[nodiscard]] virtual const index::IndexParams& params() const = 0;
  [[nodiscard]] virtual const index::Totals& totals() const = 0;
  /// Returns the number of k-mers of a shard; nothing of it is read.
  [[nodiscard]] virtual std::uint64_t kmers(std::uint32_t shard) const = 0;
  [[nodiscard]] virtual groups::ShardBits strings(std::uint32_t shard) const = 0;
  /// Says that a shard is not needed again soon.
  virtual void release(std::uint32_t shard) const = 0;

 protected:
  InitialKmers() = default;
};

/// Those of an index, which outlives it.
class IndexedKmers : public InitialKmers {
 public:
  explicit IndexedKmers(const index::IndexFile& index) : index_(index) {}

  [[nodiscard]] const index::IndexParams& params() const override { return index_.params(); }
  [[nodiscard]] const index::Totals& totals() const override { return index_.totals(); }
  [[nodiscard]] std::uint64_t kmers(std::uint32_t shard) const override { return index_.kmers(shard); }
  [[nodiscard]] groups::ShardBits strings(std::uint32_t shard) const override {
    return index_.strings(shard);
  }
  void release(std::uint32_t shard) const override { index_.release(shard); }

 private:
  const index::IndexFile& index_;
};

/// Frozen shards that are kept in memory.
class KeptKmers : public InitialKmers {
 public:
  explicit KeptKmers(const KmerParams& kmers);

  /// Keeps a shard that was not kept before. Several threads may do so.
  void keep(std::uint32_t shard, index::FrozenShard&& frozen);
  /// Says of what reads they are, when all are kept.
  void set_totals(const index::Totals& totals) { totals_ = totals; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  [[nodiscard]] const index::IndexParams& params() const override { return params_; }
  [[nodiscard]] const index::Totals& totals() const override { return totals_; }
  [[nodiscard]] std::uint64_t kmers(std::uint32_t shard) const override { return shards_[shard].sizes.kmers; }
  [[nodiscard]] groups::ShardBits strings(std::uint32_t shard) const override;
  void release(std::uint32_t /*shard*/) const override {}

 private:
  struct KeptShard {
    groups::ShardSizes sizes;
    std::vector<std::uint64_t> payload;
  };

  const index::IndexParams params_;
  const groups::GroupShape shape_;
  const std::vector<groups::FlankLengths> lengths_;
  index::Totals totals_;
  std::vector<KeptShard> shards_;
  std::atomic<std::uint64_t> bytes_{0};
};

}  // namespace warpmer::backend
