#include "io/gzip_stream.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "io/input_error.h"

namespace warpmer::io {

GzipStream::GzipStream(std::unique_ptr<ByteFile> file, std::unique_ptr<GzipInflater> inflater)
    : file_(std::move(file)), inflater_(std::move(inflater)), buffer_(new char[kInputBytes]) {}

bool GzipStream::load(Portion& portion) {
  const std::uint64_t disk_bytes_before = file_->disk_bytes();
  std::span<char> output(portion.text.get(), kTextBytes);
  while (!output.empty()) {
    if (!is_in_member_ && !start_member()) break;
    const GzipInflater::Status status = inflater_->inflate(input_, output);
    if (status == GzipInflater::Status::corrupt) fail_corrupt();
    is_in_member_ = status == GzipInflater::Status::going_on;
    // Only an inflater that has room left and still is not done needs more input.
    if (is_in_member_ && !output.empty() && input_.empty() && !refill()) {
      fail_at({file_->shown()},
              fmt::format("the gzip data is truncated: the file ends inside member {} after "
                          "{} bytes; copy or download the file again",
                          members_, file_->disk_bytes()));
    }
  }
  portion.text_size = kTextBytes - output.size();
  portion.disk_bytes = file_->disk_bytes() - disk_bytes_before;
  return portion.text_size > 0 || portion.disk_bytes > 0;
}

/// Whether another member follows; sees to it that nothing but a member does.
bool GzipStream::start_member() {
  if (input_.empty() && !refill()) return false;
  if (members_ > 0) {
    if (input_.front() == 0) {
      do {
        const auto is_zero = [](char c) { return c == 0; };
        if (!std::all_of(input_.begin(), input_.end(), is_zero)) break;
        input_ = {};
      } while (refill());
      if (input_.empty()) return false;
    }
    // A member's second magic byte and its header are for the inflater to judge.
    if (input_.front() != '\x1f') {
      fail_at({file_->shown()},
              fmt::format(
                  "what follows gzip member {} is neither another member nor the end of the file, but {}; "
                  "the file is damaged, or something was appended to it",
                  members_, quoted({input_.data(), input_.size()}, 8)));
    }
  }
  ++members_;
  is_in_member_ = true;
  inflater_->reset();
  return true;
}

bool GzipStream::refill() {
  const std::size_t count = file_->read(buffer_.get(), kInputBytes);
  input_ = {buffer_.get(), count};
  return count > 0;
}

void GzipStream::fail_corrupt() {
  fail_at({file_->shown()},
          fmt::format("the gzip data is corrupt in member {}, within the first {} bytes of the "
                      "file; copy or download the file again",
                      members_, file_->disk_bytes()));
}

}  // namespace warpmer::io
