#pragma once
/// Counts sequence files as they appear in a folder, for example that of a sequencing run.

#include <cstdint>
#include <optional>
#include <string>

#include "io/text/input_options.h"
#include "jobs/read_filter.h"
#include "jobs/session_run.h"
#include "kmer/kmer.h"

namespace warpmer::jobs {

/// Says when enough has been read; the first that holds ends the job.
struct WatchLimits {
  std::optional<double> coverage;  ///< the genome is covered so often, as its spectrum says
  std::optional<double> fresh;     ///< of the k-mers since the last line fewer than this fraction are new
  /// So much time has passed; 0: all has been read that was there when it began, and settles in time.
  std::optional<double> seconds;
};

struct WatchOptions {
  std::string folder;
  KmerParams kmers;
  io::ReadingOptions reading;
  host::Resources resources;
  std::string output;  ///< path; an index there that an earlier watch wrote is gone on with
  WatchLimits until;
  std::string against;         ///< index that reads are looked up in; empty: none
  ReadRule matches;            ///< which reads match it
  double look_seconds = 2;     ///< between looks at the folder
  double settle_seconds = 10;  ///< a file that has not changed for so long is finished
  double line_seconds = 60;    ///< between lines
  index::Provenance provenance;
};

/// A line about what has been counted so far.
struct WatchLine {
  double seconds = 0;  ///< since the job began
  std::uint64_t files = 0;
  std::uint64_t records = 0;
  std::uint64_t bases = 0;
  std::uint64_t kmers = 0;
  std::uint64_t distinct = 0;
  std::optional<double>
      coverage;  ///< how often the genome is sequenced; none as long as the spectrum is not clear
  std::optional<double> genome_size;  ///< in bases
  std::optional<double> fresh;  ///< fraction of the k-mers since the last line that had not been seen before
  std::optional<double> matched;  ///< fraction of the reads of this job that match the index `against`
};

/// Is told what a job does, and says when it is to end. All are called by one thread, but for `must_end` and
/// `must_save`.
class WatchListener {
 public:
  enum class Wish : std::uint8_t { go_on, save, end };

  virtual ~WatchListener() = default;
  virtual void line(const WatchLine& line) = 0;
  /// Something cannot be read, or not any more; the job goes on.
  virtual void problem(const std::string& what) = 0;
  virtual void saved(const IndexReport& report) = 0;
  /// Waits for a wish, but not longer than so many seconds.
  virtual Wish wait(double seconds) = 0;
  /// True when the job is to end soon: nothing more is begun. Any thread calls it.
  [[nodiscard]] virtual bool must_end() = 0;
  /// True when `wait` would have the wish to save. Any thread calls it.
  [[nodiscard]] virtual bool must_save() { return false; }
};

struct WatchReport : IndexReport {
  std::string why;            ///< why it ended, in a few words
  std::uint64_t files = 0;    ///< files that were read, by this job or before
  std::uint64_t damaged = 0;  ///< files of which something is left out, and folders that cannot be listed
};

/// Runs the job: until a limit is reached, or the listener says so; then the index is written, as it is when
/// the listener wishes. Its provenance has the folder, and each file with the number of its bytes that were
/// counted, by which a later job goes on. Throws Error; then the output is what it was when it was saved
/// last, but a ResourceError is thrown after saving, unless files are counted in part that cannot be taken
/// back.
WatchReport watch(const WatchOptions& options, WatchListener& listener);

}  // namespace warpmer::jobs
