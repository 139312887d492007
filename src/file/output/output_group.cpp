#include "file/output/output_group.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "file/output/output_path.h"
#include "system/exchange_names.h"
#include "system/nameless_file.h"

namespace warpmer::file {
namespace {

thread_local OutputGroup* current_group = nullptr;

int link_name(const std::string& from, const std::string& to) {
  return ::link(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

bool is_there(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

}  // namespace

CompleteFile::CompleteFile(std::string shown, std::string target, int fd, TemporaryName&& temporary)
    : shown_(std::move(shown)), target_(std::move(target)), fd_(fd), temporary_(std::move(temporary)) {}

CompleteFile::CompleteFile(CompleteFile&& other) noexcept
    : shown_(std::move(other.shown_)),
      target_(std::move(other.target_)),
      fd_(std::exchange(other.fd_, -1)),
      temporary_(std::move(other.temporary_)),
      old_(std::move(other.old_)),
      naming_(std::exchange(other.naming_, Naming::none)) {}

CompleteFile::~CompleteFile() {
  if (fd_ >= 0) ::close(fd_);
}

void CompleteFile::name(bool can_be_undone) {
  // A link replaces nothing.
  if (temporary_.empty() && system::name_nameless(fd_, target_) == 0) {
    naming_ = Naming::made;
  } else {
    replace(can_be_undone);
  }
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void CompleteFile::replace(bool can_be_undone) {
  int error = temporary_.empty() ? temporary_.take(target_, fd_) : 0;
  const bool is_new = can_be_undone && !is_there(target_);
  if (error == 0 && can_be_undone && !is_new) {
    if (system::exchange_names(temporary_.path(), target_)) {
      naming_ = Naming::exchanged;
      return;
    }
    old_.take(target_, [&](const std::string& name) { return link_name(target_, name); });
  }
  if (error == 0 && ::rename(temporary_.path().c_str(), target_.c_str()) != 0) error = errno;
  if (error != 0) {
    old_.remove();
    throw ResourceError(
        fmt::format("cannot name '{}': {}{}", shown_, std::strerror(error), output_advice(error)));
  }
  temporary_.release();
  naming_ = is_new ? Naming::made : old_.empty() ? Naming::replaced : Naming::kept;
}

bool CompleteFile::undo() noexcept {
  switch (std::exchange(naming_, Naming::none)) {
    case Naming::none:
      return true;
    case Naming::made:
      return ::unlink(target_.c_str()) == 0;
    case Naming::exchanged:
      if (::rename(temporary_.path().c_str(), target_.c_str()) != 0) break;
      temporary_.release();
      return true;
    case Naming::kept:
      if (::rename(old_.path().c_str(), target_.c_str()) != 0) break;
      old_.release();
      return true;
    case Naming::replaced:
      break;
  }
  // Better a file with an odd name than none.
  temporary_.release();
  old_.release();
  return false;
}

void CompleteFile::settle() noexcept {
  naming_ = Naming::none;
  temporary_.remove();
  old_.remove();
}

OutputGroup::OutputGroup() : is_outermost_(current_group == nullptr) {
  if (is_outermost_) current_group = this;
}

OutputGroup::~OutputGroup() {
  if (!is_outermost_) return;
  current_group = nullptr;
  for (CompleteFile& file : named_) file.undo();
}

OutputGroup* OutputGroup::current() noexcept { return current_group; }

std::vector<std::string> OutputGroup::names() const {
  std::vector<std::string> names;
  for (const CompleteFile& file : waiting_) names.push_back(file.shown());
  return names;
}

void OutputGroup::add(CompleteFile&& file) { waiting_.push_back(std::move(file)); }

void OutputGroup::add_named(CompleteFile&& file) {
  named_.push_back(std::move(file));
  named_.back().name(true);
}

void OutputGroup::name_all() {
  if (!is_outermost_) return;
  const SignalsWait wait;
  const bool are_several = waiting_.size() + named_.size() > 1;
  try {
    for (CompleteFile& file : waiting_) {
      named_.push_back(std::move(file));
      named_.back().name(are_several);
    }
    waiting_.clear();
  } catch (const ResourceError& error) {
    waiting_.clear();
    const std::string undone = undo_all();
    if (!are_several) throw;
    throw ResourceError(fmt::format("{}; {}", error.what(), undone));
  }
  for (CompleteFile& file : named_) file.settle();
  named_.clear();
}

/// Returns what is left, in words.
std::string OutputGroup::undo_all() {
  std::string left;
  for (CompleteFile& file : named_) {
    if (!file.undo()) left += fmt::format("{}'{}'", left.empty() ? "" : ", ", file.shown());
  }
  named_.clear();
  if (left.empty()) return "none of the outputs is written";
  return fmt::format("{} could not be taken back, and the others are not written", left);
}

}  // namespace warpmer::file
