#pragma once
/// The name that a file has until it is complete.

#include <functional>
#include <memory>
#include <string>

#include "file/output/temp_file_registry.h"

namespace warpmer::file {

/// A name beside an output, under which a signal handler finds the file and removes it; so does the
/// destructor, unless the file has got another name. Empty, and then nothing is removed, or not.
class TemporaryName {
 public:
  TemporaryName() = default;
  /// Takes the name of a file that another process has made.
  explicit TemporaryName(std::string path);
  ~TemporaryName() { remove(); }
  TemporaryName(TemporaryName&& other) noexcept;
  TemporaryName& operator=(TemporaryName&& other) noexcept;

  /// Finds one beside `target` that is free: `make(path)` makes a file of that name and returns 0 or errno,
  /// EEXIST where there is one already. Returns 0 or errno; then it stays empty.
  int take(const std::string& target, const std::function<int(const std::string&)>& make);

  /// Takes one for a file that has no name yet. Returns 0 or errno.
  int take(const std::string& target, int fd);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] bool empty() const noexcept { return path_.empty(); }

  /// Removes the file (`remove_temporary`).
  void remove() noexcept;
  /// There is no file of this name any more: it has got another one.
  void release() noexcept;

 private:
  std::string path_;
  std::unique_ptr<UnfinishedOutput> registered_;
};

}  // namespace warpmer::file
