#pragma once
/// The interface of a counting backend. A job feeds it batches from any number of threads and takes frozen
/// shards from it; how k-mers are cut, split, exchanged and counted is the backend's own affair.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/count_bounds.h"
#include "backend/count_table.h"
#include "backend/devices.h"
#include "backend/owner_loads.h"
#include "backend/tally.h"
#include "file/spill_file.h"
#include "index/frozen_shard.h"
#include "index/writer/reserved_offsets.h"
#include "io/text/batch.h"
#include "io/text/input_options.h"
#include "kmer/kmer.h"

namespace warpmer::mpi {
class ProcessGroup;              // mpi/process_group.h
ProcessGroup& single_process();  // a job of one process
}  // namespace warpmer::mpi

namespace warpmer::backend {

class UpdatingSession;  // backend/update_session.h, as is the next
struct UpdatePlan;

/// GPUs, of all ranks, that can count together: a round of their exchange brings each of them a part of every
/// other one's words, and counting goes through these and one that was spilled, of 64 at most.
inline constexpr std::uint32_t kMostGpus = 63;

struct CountPlan {
  KmerParams kmers;
  CountBounds kept;                          ///< counts of the k-mers that go into the index
  bool histogram_only = false;               ///< shards may come out empty: the tally is wanted alone
  CountTable table = CountTable::automatic;  ///< for k of up to kMaxDenseK there is none
  io::ReadingOptions reading;                ///< for k-mers, and for text as it is in the file
  unsigned threads = 1;                      ///< threads that will call `add`, numbered from 0
  Devices devices;                           ///< of this rank, among which its shards are divided
  mpi::ProcessGroup* ranks = &mpi::single_process();  ///< among which all shards are divided
  std::uint64_t memory_bytes = 0;      ///< the most that the backend may hold; else ResourceError
  std::uint64_t other_bytes = 0;       ///< bytes that the rest of the process holds, for messages
  std::uint64_t memory_cap_bytes = 0;  ///< on the whole process, of which a sixteenth is the index writer's
  file::SpillPlace spill;              ///< for what does not fit
  std::uint64_t input_bytes = 0;       ///< bytes of all input, compressed or not; 0 when unknown
  std::string purpose = "counting";    ///< name that messages give it
};

/// One stage's work; busy time is summed over threads, or over what a device ran at the same time.
struct StageReport {
  std::string name;
  double busy_seconds = 0;
  std::uint64_t bytes = 0;
};

/// Bytes that a session has written to its temporary file and read back, and that went from GPUs to host
/// memory.
struct SpillReport {
  std::uint64_t written_bytes = 0;
  std::uint64_t run_bytes = 0;  ///< those of k-mers with counts; the rest is super-k-mers
  std::uint64_t read_bytes = 0;
  std::uint64_t host_bytes = 0;

  void add(const SpillReport& other) {
    written_bytes += other.written_bytes;
    run_bytes += other.run_bytes;
    read_bytes += other.read_bytes;
    host_bytes += other.host_bytes;
  }
};

/// Memory that a session has held on each of its GPUs; of several, the largest numbers.
struct DeviceMemoryReport {
  std::uint64_t cap_bytes = 0;     ///< --device-memory, or the part that it took of what was free
  std::uint64_t peak_bytes = 0;    ///< peak of the process's memory pool
  std::uint64_t beside_bytes = 0;  ///< in use beside the pool: the CUDA context, and other processes
};

/// Everything that a session says of its work, up to frozen shards, when that is done.
struct SessionReport {
  std::vector<StageReport> stages;     ///< in the order in which data passes through them
  std::vector<OwnerLoad> owner_loads;  ///< load of each device, also where it is one; none where not noted
  /// Number of stages that were busy at once while the input was read, on average: the sum of their busy time
  /// by the wall time. For backends whose stages run side by side.
  std::optional<double> overlap;
  std::uint64_t early_counts = 0;  ///< shards counted before the end because memory was short
  SpillReport spilled;             ///< to host memory and the temporary file, because memory was short
  std::optional<DeviceMemoryReport> device_memory;  ///< of a session on GPUs
};

/// Facts that a session has found in batches of text (io::Batch::raw_format), which only it knows.
struct FoundInText {
  std::uint64_t records = 0;
  std::uint64_t bases = 0;
};

/// Takes frozen shards.
class ShardSink {
 public:
  using Put = std::function<void(std::uint32_t shard, index::FrozenShard&& frozen)>;
  using TakePayload = std::function<std::vector<std::uint64_t>()>;

  /// `places`, if there are any, are those of the shards that are put; `take_payload`, if there is one, has
  /// memory of payloads that are of no more use.
  explicit ShardSink(Put put, index::ReservedOffsets* places = nullptr, TakePayload take_payload = {})
      : put_(std::move(put)), places_(places), take_payload_(std::move(take_payload)) {}
  /// Returns the same, but `put` takes the shards.
  [[nodiscard]] ShardSink with(Put put) const { return ShardSink(std::move(put), places_, take_payload_); }

  /// Takes a shard; called from several threads, roughly in shard order.
  void operator()(std::uint32_t shard, index::FrozenShard&& frozen) const { put_(shard, std::move(frozen)); }
  /// Returns memory for a payload, with any content: that of one that has been written, or none. Fresh memory
  /// costs more than filling it.
  [[nodiscard]] std::vector<std::uint64_t> take_payload() const {
    return take_payload_ ? take_payload_() : std::vector<std::uint64_t>();
  }
  /// Returns the places of shards, or null. A caller that knows how large shards are going to be may say so
  /// there.
  [[nodiscard]] index::ReservedOffsets* places() const { return places_; }

 private:
  Put put_;
  index::ReservedOffsets* places_;
  TakePayload take_payload_;
};

/// One counting job on one backend.
class CountingSession {
 public:
  virtual ~CountingSession() = default;

  /// Takes the k-mers of a batch. Called concurrently, with a different `thread` each. May keep the batch
  /// while a device works on it, and leave an earlier one, done with, to be refilled in its place; errors
  /// in it then surface in a later call. Returns the number of k-mers completed since the last call. Batches
  /// of text as it is in the file come only to backends that find sequences; they throw io::RawTextRefused
  /// for what is not plain, and where a batch in error is of a part of a file.
  virtual std::uint64_t add(io::Batch& batch, unsigned thread) = 0;

  /// No more batches come from this thread. When all threads have said so, the input is complete.
  /// Returns the number of k-mers completed since the thread's last `add`. After io::RawTextRefused it can be
  /// called again.
  virtual std::uint64_t end_of_input(unsigned thread) = 0;

  /// Counts, filters and freezes the shards not yet taken, one after another, until none is left.
  /// Called concurrently like `add`; `shard_done` after each. An exception from `sink` ends it.
  virtual void finish(unsigned thread, const ShardSink& sink, const std::function<void()>& shard_done) = 0;

  /// To be called after all threads have returned from `end_of_input`.
  [[nodiscard]] virtual FoundInText found_in_text() const { return {}; }
  [[nodiscard]] virtual SpillReport spilled() const { return {}; }
  /// To be called after all threads have returned from `finish`.
  [[nodiscard]] virtual Tally tally() const = 0;
  [[nodiscard]] virtual SessionReport report() const = 0;
};

/// Estimates of a job's k-mers, before it is run.
struct ExpectedKmers {
  double occurrences = 0;    ///< number of k-mers
  double pending_bytes = 0;  ///< bytes of super-k-mers, in words
  double run_bytes = 0;      ///< bytes of all distinct k-mers, frozen
};

/// Forecast of what a session is going to do with its memory. All bytes but `beyond_bytes` are such as
/// CountPlan::memory_bytes has.
struct SessionForecast {
  bool begins = true;          ///< else it refuses the plan for want of memory
  double least_bytes = 0;      ///< with less it does not begin
  double unhurried_bytes = 0;  ///< with so much no shard is counted early
  double peak_low_bytes = 0;   ///< bytes that it will hold at its largest, if it is not refused
  double peak_high_bytes = 0;
  double beyond_bytes = 0;     ///< bytes of super-k-mers that memory does not hold at once
  double temporary_bytes = 0;  ///< those written to temporary files; the others are counted early
};

class Backend {
 public:
  virtual ~Backend() = default;
  /// E.g. "cpu (avx512)".
  [[nodiscard]] virtual std::string describe() const = 0;
  /// Returns the memory that its sessions like to have text in, if they take FASTA and FASTQ as text, and
  /// find the sequences themselves.
  [[nodiscard]] virtual const io::TextMemory* text_memory() const { return nullptr; }
  [[nodiscard]] virtual std::unique_ptr<CountingSession> start(const CountPlan& plan) = 0;
  /// Starts a session that changes an index, whose k and strand the plan has; the index must live as long.
  [[nodiscard]] virtual std::unique_ptr<UpdatingSession> start_update(const UpdatePlan& plan,
                                                                      const index::IndexFile& index) = 0;
  /// Returns what a session started with such a plan would do; nothing where that is not known.
  [[nodiscard]] virtual std::optional<SessionForecast> forecast(const CountPlan& /*plan*/,
                                                                const ExpectedKmers& /*expected*/) const {
    return std::nullopt;
  }
};

/// Implemented in src/cpu.
std::unique_ptr<Backend> make_cpu_backend();
/// Returns the one that its inner loops use here, e.g. "avx512".
std::string cpu_instruction_set();

/// Implemented in kernels/, and in no_cuda.cpp for builds without CUDA. `gpus` are ordinals, as
/// `survey_gpus` (host/gpus.h) numbers them. ResourceError when one cannot be used.
std::unique_ptr<Backend> make_cuda_backend(const std::vector<int>& gpus);

}  // namespace warpmer::backend
