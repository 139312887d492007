#pragma once
/// One reading thread's feed of a GPU: batches become joined text in pinned memory, are copied to the device
/// and counted there. Undecoded file text is copied as it is, and joined on the device. While the device
/// works on one batch, the thread reads the next.

#include <cstdint>

#include "backend/backend.h"
#include "io/text/batch.h"
#include "io/text/input_options.h"
#include "io/text/quality.h"
#include "kernels/count/counter_queue.cuh"
#include "kernels/memory/host_fence.cuh"
#include "kernels/text/plain_fasta.cuh"
#include "kernels/text/plain_fastq.cuh"

namespace warpmer::gpu {

class BatchFeed : private CounterQueue::Task {
 public:
  /// Works on the current device; it must be current in every call, too.
  BatchFeed(CounterQueue& shared, const io::ReadingOptions& reading)
      : shared_(shared),
        lenient_(reading.lenient),
        lowest_quality_(io::lowest_unmasked(reading.min_base_quality)) {}

  /// Sends a batch on its way, and leaves the one before in its place. Returns the number of k-mers of the
  /// one before. If that has a character that is no nucleotide code, it throws an InputError, unless lenient.
  /// For undecoded file text, it throws io::RawTextRefused for that and for all that is not plain.
  std::uint64_t add(io::Batch& batch);

  /// Waits for the batch that is under way.
  std::uint64_t finish() { return complete(); }

  [[nodiscard]] const backend::FoundInText& found_in_text() const { return found_; }
  [[nodiscard]] double join_seconds() const { return join_seconds_; }
  [[nodiscard]] double find_seconds() const { return find_seconds_; }
  [[nodiscard]] double copy_seconds() const { return copy_seconds_; }
  [[nodiscard]] std::uint64_t copied_bytes() const { return copied_bytes_; }

 private:
  [[nodiscard]] bool is_fasta() const { return batch_.raw_format == io::RawFormat::fasta; }
  void join();
  void send();
  void copy_joined();
  void copy_raw_text();
  void note_records();
  [[noreturn]] void throw_bad_base(std::uint32_t offset) const;
  void run(KmerCounter& counter) override;
  void cut(const std::uint32_t* tiles, std::uint32_t tile_count, std::uint32_t* left);
  std::uint64_t complete();
  std::uint64_t cut_rest();

  CounterQueue& shared_;
  bool lenient_;
  char lowest_quality_;
  Stream copies_;

  // The batch that is under way.
  io::Batch batch_;
  PinnedArray<char> joined_;
  DeviceArray<char> raw_text_;  ///< undecoded text of the file
  PlainFastq fastq_;
  PlainFasta fasta_;
  PinnedArray<TextFindings> findings_{1};
  DeviceArray<char> text_;  ///< joined
  std::uint32_t bytes_ = 0;
  DeviceArray<std::uint32_t> left_[2];  ///< tiles that found no room: those to do, and those left again
  DeviceArray<CutStatus> status_{1};
  PinnedArray<CutStatus> result_{1};
  Event copy_begin_{Event::Kind::timing}, copy_end_{Event::Kind::timing};
  Event ready_{Event::Kind::timing};  ///< passes when the text is ready to be cut
  HostFence done_;
  bool busy_ = false;
  std::uint64_t rooms_before_ = 0;  ///< number of times that room had been made when it was cut

  backend::FoundInText found_;
  double join_seconds_ = 0, copy_seconds_ = 0, find_seconds_ = 0;
  std::uint64_t copied_bytes_ = 0;
};

}  // namespace warpmer::gpu
