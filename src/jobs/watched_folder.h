#pragma once
/// Sequence files that appear in a folder and grow there: what of them can be read, and what has been.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "io/text/input_list.h"

namespace warpmer::jobs {

/// Bytes of a file that are whole records.
struct FilePart {
  std::string name;  ///< path within the folder
  std::uint64_t begin = 0, end = 0;

  bool operator==(const FilePart&) const = default;
};

/// Tells a file from others, whatever its name: its device and its inode.
using FileId = std::pair<std::uint64_t, std::uint64_t>;

/// A folder that is looked at again and again, with all folders within it. Its files are those with names
/// that sequence files have (`.fastq.gz`, `.bam`, ...); hidden ones are not looked at, nor are folders whose
/// names end in `_fail` or `_skip`, where basecallers put what is not to be used. It is looked at by listing
/// it, because file systems of clusters do not tell one machine what another writes.
class WatchedFolder {
 public:
  using Clock = std::chrono::steady_clock;

  /// `read`: names of files, and how many of their bytes have been read before. A file is finished when it
  /// has not changed for `settle`.
  WatchedFolder(std::string folder, std::map<std::string, std::uint64_t> read,
                std::chrono::duration<double> settle);

  /// Lists the folder, and returns what can be read now, in order of names: what is new of finished files,
  /// and whole records of plain FASTA and FASTQ, also of those that grow; not all at once of large ones.
  /// InputError when the folder cannot be listed. `problem` is told, once, of each file that has changed so
  /// that what is new of it cannot be read, or that another has replaced, of each that has several names, and
  /// of each folder within that cannot be listed, or is a link.
  std::vector<FilePart> look(Clock::time_point now, const std::function<void(std::string)>& problem);

  /// Returns the names of files, in order, of which something that was there at the first look has not been
  /// read yet; not those that cannot be read.
  [[nodiscard]] std::vector<std::string> unread() const;

  /// Takes note that a part has been read.
  void note_read(const FilePart& part);
  /// Takes note that a part cannot be read: it is not returned again until the file changes.
  void note_damaged(const FilePart& part);

  /// Names and bytes that have been read.
  [[nodiscard]] const std::map<std::string, std::uint64_t>& read() const { return read_; }
  /// True when a file ends before a part of it does, or is gone.
  [[nodiscard]] bool has_lost(const FilePart& part) const;
  /// Number of files that cannot be read as they are, and of folders that cannot be listed.
  [[nodiscard]] std::size_t damaged() const;

  /// Returns a part as an input.
  [[nodiscard]] io::InputFile input(const FilePart& part) const;
  /// Returns the path of a file or folder within; of "" that of the folder itself.
  [[nodiscard]] std::string path_of(const std::string& name) const {
    return name.empty() ? folder_ : folder_ + "/" + name;
  }

 private:
  /// A look at the folder.
  struct FolderLook {
    Clock::time_point now;
    const std::function<void(std::string)>& problem;
  };
  /// A file as it was seen last.
  struct SeenFile {
    FileId id;
    std::uint64_t bytes = 0;
    std::int64_t changed = 0;                  ///< time that the file system has for it
    Clock::time_point since;                   ///< it has been like this since then
    std::uint64_t damaged_bytes = UINT64_MAX;  ///< what is new cannot be read while it has so many
    std::uint64_t look = 0;                    ///< that it was seen in
    std::uint64_t first_bytes = 0;             ///< that it had at the first look, if they are to be read
  };

  void list(const FolderLook& look);
  std::error_code list_folder(const std::string& name, const FolderLook& look,
                              std::vector<std::string>& folders);
  void see(const std::string& name, const FolderLook& look);
  [[nodiscard]] bool is_replaced(const std::string& name, const SeenFile& file) const;
  void check_repeated(const std::string& name, const FileId& id, const FolderLook& look);
  void check_replaced(const std::string& name, SeenFile& file, const FolderLook& look);
  [[nodiscard]] FilePart part_of(const std::string& name, const SeenFile& file, Clock::time_point now) const;
  [[nodiscard]] std::uint64_t read_of(const std::string& name) const;

  std::string folder_;
  std::map<std::string, std::uint64_t> read_;
  std::chrono::duration<double> settle_;
  std::map<std::string, SeenFile> seen_;  ///< that are there
  /// Hashes of the last bytes that have been read of files since this was made; none where that is not known.
  std::map<std::string, std::optional<std::size_t>> tails_;
  std::set<std::string> replaced_;             ///< names of files that have been read, which others have now
  std::map<FileId, std::string> first_names_;  ///< of files, in this look
  std::set<FileId> repeated_;                  ///< files that have been told to have several names
  std::set<std::string> links_;                ///< to folders, that have been told
  std::set<std::string> unlisted_;             ///< folders that cannot be listed
  std::uint64_t looks_ = 0;
};

/// Returns where the last whole record of text ends of which [begin, end) of a file are known: `begin` where
/// there is none, or what is there is neither FASTQ of four lines a record nor FASTA. Of FASTA, the last
/// record is whole only when another follows.
std::uint64_t end_of_whole_records(const std::string& path, std::uint64_t begin, std::uint64_t end);

}  // namespace warpmer::jobs
