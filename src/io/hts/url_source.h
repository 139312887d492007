#pragma once
/// Reading from URLs.

#include <memory>
#include <string>

#include "file/byte_source.h"

namespace warpmer::io {

/// Opens a URL of any kind that htslib was built for: https, ftp, s3 and others. InputError when it cannot be
/// opened, and from `read` when it breaks off before its end.
std::unique_ptr<file::ByteSource> open_url(const std::string& url);

}  // namespace warpmer::io
