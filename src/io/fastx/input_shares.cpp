#include "io/fastx/input_shares.h"

#include <algorithm>

#include "io/fastx/text_part.h"

namespace warpmer::io {
namespace {

/// A share with what it weighs: bytes on disk.
struct Weighed {
  InputShare share;
  std::uint64_t bytes;
};

/// Assigns shares to the process that has least, the largest first; of equals the first in the list goes to
/// the first process.
void assign(std::vector<Weighed>& shares, std::vector<std::uint64_t>& loads) {
  std::stable_sort(shares.begin(), shares.end(),
                   [](const Weighed& a, const Weighed& b) { return a.bytes > b.bytes; });
  for (Weighed& each : shares) {
    const auto least = std::min_element(loads.begin(), loads.end());
    each.share.owner = static_cast<std::uint32_t>(least - loads.begin());
    *least += each.bytes;
  }
}

}  // namespace

InputShares share_out(std::vector<InputFile> files, std::uint32_t processes, std::uint32_t parts_each,
                      bool may_divide) {
  InputShares result;
  std::vector<Weighed> own;
  std::uint64_t total = 0;
  for (const InputFile& file : files) total += file.disk_bytes;
  const std::uint64_t fair = total / processes;
  std::uint32_t next_reader = 0;
  for (std::uint32_t i = 0; i < files.size(); ++i) {
    const InputFile& file = files[i];
    InputShare share;
    share.file = i;
    if (can_be_opened_again(file) && file.disk_bytes <= fair) {
      own.push_back({share, file.disk_bytes});
      continue;
    }
    share.parts = may_divide ? most_file_parts(file, processes * parts_each) : 1;
    if (share.parts > 1) {
      for (; share.part < share.parts; ++share.part) own.push_back({share, file.disk_bytes / share.parts});
      continue;
    }
    share.for_all = true;
    if (can_be_opened_again(file)) share.owner = next_reader++ % processes;
    result.shares.push_back(share);
  }
  std::vector<std::uint64_t> loads(processes, 0);
  assign(own, loads);
  for (const Weighed& each : own) result.shares.push_back(each.share);
  result.files = std::move(files);
  return result;
}

InputShares all_for_one(std::vector<InputFile> files) {
  InputShares result;
  for (std::uint32_t i = 0; i < files.size(); ++i) {
    InputShare share;
    share.file = i;
    result.shares.push_back(share);
  }
  result.files = std::move(files);
  return result;
}

}  // namespace warpmer::io
