#pragma once
/// The table that a command asks: an index, or, by `--server`, the table of a server.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/lookup/lookup.h"
#include "cli/arguments/flags.h"
#include "index/index_file.h"
#include "jobs/device_choice.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace warpmer::serve {
class RemoteTable;  // serve/remote_table.h
}  // namespace warpmer::serve

namespace warpmer::cli {

/// Adds `--server`, with which the argument that names the index need not be there.
void add_server_flag(CLI::App& app, std::string& server, CLI::Option* index);
/// Adds `--server` to a command that is for servers alone.
void add_server_flag(CLI::App& app, std::string& server);

/// Throws a UsageError when files are named, too.
void check_only_server(const std::string& server, const std::vector<std::string>& files);
/// Throws one when the first argument, which is none that `--server` asks, is an index.
void check_no_index(const std::string& server, const std::string& first);
/// Throws a UsageError when `--device` is given with `--server`.
void check_server_device(const std::string& server, const std::string& device);

/// Opens what is asked.
class AskedTable {
 public:
  /// An empty `server` means the index.
  AskedTable(const std::string& index, const std::string& server);
  ~AskedTable();
  AskedTable(const AskedTable&) = delete;
  AskedTable& operator=(const AskedTable&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const KmerParams& kmers() const { return kmers_; }
  /// Returns a checksum of the index; 0 for a server, whose table changes.
  [[nodiscard]] std::uint64_t content_checksum() const { return index_ ? index_->content_checksum() : 0; }
  /// Returns the device to ask about these inputs on. Where that takes the start of a driver, so many threads
  /// check the index meanwhile.
  [[nodiscard]] jobs::DeviceChoice choose_device(const DeviceFlags& flags,
                                                 const std::vector<std::string>& inputs,
                                                 unsigned threads) const;
  /// Returns the lookup, of which there is one; `device` is for that in an index, and may become another.
  const backend::Lookup& lookup(const backend::LookupOptions& options, jobs::DeviceChoice& device);

 private:
  const std::string name_;
  std::optional<index::IndexFile> index_;
  std::unique_ptr<serve::RemoteTable> table_;
  KmerParams kmers_;
  std::unique_ptr<backend::Lookup> lookup_;
};

}  // namespace warpmer::cli
