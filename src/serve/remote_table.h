#pragma once
/// A live table that a server in another process holds, as if it were here.

#include <memory>
#include <string>

#include "backend/live/live_table.h"
#include "serve/connection_pool.h"

namespace warpmer::serve {

/// Questions to the server. The text that is asked with them is read and judged here, so that errors in it
/// name files and records.
class RemoteLookup : public backend::Lookup {
 public:
  /// The pool outlives it.
  RemoteLookup(ConnectionPool& pool, bool lenient) : Lookup(pool.kmers()), pool_(pool), lenient_(lenient) {}

  void find_valid(std::span<const std::string_view> texts, std::uint64_t* counts) const override;
  void profile(const io::Batch& batch, backend::Profile& out) const override;
  void summarise(const io::Batch& batch, backend::BatchSummary& out) const override;

 private:
  ConnectionPool& pool_;
  const bool lenient_;
};

/// All counts of a table.
struct TableContent {
  index::Totals totals;
  index::Histogram histogram;
};

/// Batches that are larger than a request are added, and removed, in parts: an error leaves those that came
/// before it.
class RemoteTable : public backend::LiveTable {
 public:
  /// ResourceError when no server of this version answers there.
  explicit RemoteTable(const std::string& path) : pool_(path), strict_(pool_, false), lenient_(pool_, true) {}

  [[nodiscard]] const KmerParams& kmers() const { return pool_.kmers(); }
  /// Returns what an index of the table would say.
  [[nodiscard]] TableContent content() const;

  std::uint64_t add(const io::Batch& batch, bool lenient) override;
  backend::Removal remove(const io::Batch& batch, bool lenient) override;
  [[nodiscard]] const backend::Lookup& lookup(bool lenient) const override {
    return lenient ? lenient_ : strict_;
  }
  [[nodiscard]] backend::LiveTally tally() override;
  [[nodiscard]] backend::LiveTotals totals() const override { return facts().totals; }
  [[nodiscard]] std::unique_ptr<backend::LiveSnapshot> snapshot() override;
  [[nodiscard]] std::uint64_t memory_bytes() const override { return facts().memory_bytes; }
  [[nodiscard]] std::string describe() const override { return facts().description; }

 private:
  struct Facts {
    backend::LiveTotals totals;
    std::uint64_t memory_bytes = 0;
    std::string description;
  };
  [[nodiscard]] Facts facts() const;
  backend::Removal change(FrameKind kind, const io::Batch& batch, bool lenient);

  mutable ConnectionPool pool_;
  RemoteLookup strict_, lenient_;
};

}  // namespace warpmer::serve
