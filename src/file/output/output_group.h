#pragma once
/// Outputs that belong together get their names together: all of them or none.

#include <string>
#include <vector>

#include "file/output/temporary_name.h"

namespace warpmer::file {

/// A file whose content is on the disk, and which has not its name yet. When it is destroyed so, nothing is
/// left of it.
class CompleteFile {
 public:
  /// `shown` is the name as the user knows it, `target` where it leads; `fd`, which is taken over, that of a
  /// file without a name, or -1 if it has a temporary one.
  CompleteFile(std::string shown, std::string target, int fd, TemporaryName&& temporary);
  ~CompleteFile();
  CompleteFile(CompleteFile&& other) noexcept;
  CompleteFile& operator=(CompleteFile&&) = delete;

  /// Gives it its name; a file that has it is replaced. ResourceError when that fails. If it `can_be_undone`,
  /// what is replaced is kept beside it until `settle`, where the file system has a way to do that.
  void name(bool can_be_undone);
  /// Undoes `name`, as if it had never been. False if that is not possible, or fails.
  bool undo() noexcept;
  /// There is no way back from now on.
  void settle() noexcept;

  [[nodiscard]] const std::string& shown() const noexcept { return shown_; }

 private:
  enum class Naming {
    none,
    made,       ///< there was no such file
    exchanged,  ///< the file that had the name has the temporary one
    kept,       ///< the file that had the name has another one, too
    replaced,   ///< the file that had the name is gone
  };

  void replace(bool can_be_undone);

  std::string shown_, target_;
  int fd_;
  TemporaryName temporary_;
  TemporaryName old_;
  Naming naming_ = Naming::none;
};

/// While one lives, the files that this thread commits (OutputFile::commit) are named by `name_all`, and not
/// before; in a group within a group, by that of the outer one. A file that is registered as an
/// UnfinishedOutput under its own name gets it at once. Destroyed before, it names none. Streams do not take
/// part: what has been written to them is written.
class OutputGroup {
 public:
  OutputGroup();
  ~OutputGroup();
  OutputGroup(const OutputGroup&) = delete;
  OutputGroup& operator=(const OutputGroup&) = delete;

  /// Returns the outermost of this thread; null if there is none.
  static OutputGroup* current() noexcept;

  /// Returns the names of the files that `name_all` will name, as the user knows them.
  [[nodiscard]] std::vector<std::string> names() const;

  void add(CompleteFile&& file);
  /// For a file that other processes believe finished when `commit` has returned: it gets its name now, and
  /// loses it should one of the others not get theirs. ResourceError as `name_all`.
  void add_named(CompleteFile&& file);

  /// Names all files, one right after the other. When one of them cannot be named, those that have been are
  /// no more, and files that they had replaced are back: ResourceError, which says so, or which of them could
  /// not be undone. SIGKILL or a power cut in between leaves some named; other signals wait.
  void name_all();

 private:
  std::string undo_all();

  bool is_outermost_;
  std::vector<CompleteFile> waiting_, named_;
};

}  // namespace warpmer::file
