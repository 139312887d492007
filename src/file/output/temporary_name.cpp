#include "file/output/temporary_name.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <random>
#include <utility>

#include "file/output/output_path.h"
#include "system/nameless_file.h"

namespace warpmer::file {
namespace {

/// Returns a few characters that no other process will think of at the same time.
std::string random_suffix() {
  static constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device device;
  std::uniform_int_distribution<std::size_t> pick(0, sizeof kLetters - 2);
  std::string suffix(12, ' ');
  for (char& c : suffix) c = kLetters[pick(device)];
  return suffix;
}

}  // namespace

TemporaryName::TemporaryName(std::string path)
    : path_(std::move(path)), registered_(std::make_unique<UnfinishedOutput>(path_)) {}

TemporaryName::TemporaryName(TemporaryName&& other) noexcept
    : path_(std::exchange(other.path_, {})), registered_(std::move(other.registered_)) {}

TemporaryName& TemporaryName::operator=(TemporaryName&& other) noexcept {
  if (this == &other) return *this;
  remove();
  path_ = std::exchange(other.path_, {});
  registered_ = std::move(other.registered_);
  return *this;
}

int TemporaryName::take(const std::string& target, const std::function<int(const std::string&)>& make) {
  // Names may have 255 bytes; the ones the user sees need not leave room for the additions.
  const std::string name = std::filesystem::path(target).filename().string().substr(0, 200);
  int error = EEXIST;
  for (int attempt = 0; attempt < 100 && (error == EEXIST || error == EINTR); ++attempt) {
    std::string path = fmt::format("{}/.{}.{}.tmp", parent_of(target), name, random_suffix());
    auto registered = std::make_unique<UnfinishedOutput>(path);  // before it exists: a signal finds it
    error = make(path);
    if (error != 0) continue;
    path_ = std::move(path);
    registered_ = std::move(registered);
  }
  return error;
}

int TemporaryName::take(const std::string& target, int fd) {
  return take(target, [fd](const std::string& name) { return system::name_nameless(fd, name); });
}

void TemporaryName::remove() noexcept {
  if (!path_.empty()) remove_temporary(path_);
  release();
}

void TemporaryName::release() noexcept {
  registered_.reset();
  path_.clear();
}

}  // namespace warpmer::file
