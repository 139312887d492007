#pragma once
/// An index file that all ranks of a job write together, each the shards it owns.

#include <cstdint>
#include <optional>
#include <string>

#include "index/writer/index_writer.h"
#include "index/writer/part_writer.h"
#include "mpi/process_group.h"

namespace warpmer::mpi {

/// A file: rank 0 makes it and tells its name to the others, which have to be able to open it. Rank 0 writes
/// shards as they come; the others keep theirs until all are counted, those that exceed their memory for it
/// in a temporary file, and then each writes its own range of the file. Rank 0 adds the directory and the
/// rest and gives it its name. A stream: the others hand their shards over to rank 0, one rank after the
/// other.
class GroupIndex {
 public:
  /// To be called on all ranks together. This one owns `own`; the ranges of all are those of the index, in
  /// the order of ranks. ResourceError as index::IndexWriter has it, and when a rank cannot open the file.
  /// `most_kept_bytes` and `tmp_directory` are for shards that a rank keeps.
  GroupIndex(ProcessGroup& ranks, const index::ShardRange& own, const std::string& path,
             const index::IndexParams& params, unsigned threads, std::uint64_t most_kept_bytes,
             const std::string& tmp_directory);

  /// Takes this rank's shards.
  [[nodiscard]] index::ShardOutput& output() {
    return writer_ ? static_cast<index::ShardOutput&>(*writer_) : *part_;
  }

  /// To be called on all ranks together, with what each has counted; when it returns, the file has its name.
  /// Warns of an input without k-mers, by its name, if there is one.
  void finish(const index::Totals& totals, const index::Histogram& histogram,
              const index::Provenance& provenance, const std::string& input_name);

  /// Returns the totals of the whole job, after `finish`; on rank 0.
  [[nodiscard]] const index::Totals& totals() const { return totals_; }
  [[nodiscard]] std::uint64_t bytes_written() const { return bytes_written_; }
  /// Returns the bytes of shards that this rank has written to its temporary file.
  [[nodiscard]] std::uint64_t bytes_spilled() { return part_ ? part_->bytes_spilled() : 0; }

 private:
  void write_parts();
  void collect_parts();
  void hand_over_part();
  void add_up(const index::Totals& totals, const index::Histogram& histogram);

  ProcessGroup& ranks_;
  std::uint32_t k_;
  bool is_stream_ = false;
  std::optional<index::IndexWriter> writer_;  ///< on rank 0
  std::optional<index::PartWriter> part_;     ///< on the others
  index::Totals totals_;
  index::Histogram histogram_;
  std::uint64_t bytes_written_ = 0;
};

}  // namespace warpmer::mpi
