#include "io/hts/url_source.h"

#include <fmt/format.h>
#include <htslib/hfile.h>
#include <strings.h>

#include <atomic>
#include <cerrno>
#include <string_view>

#include "file/input_error.h"
#include "file/suggestion.h"
#include "io/hts/silence_htslib.h"

namespace warpmer::io {
namespace {

class UrlSource final : public file::ByteSource {
 public:
  explicit UrlSource(const std::string& url) : url_(url) {
    silence_htslib();
    long status = 0;  // NOLINT(google-runtime-int): htslib's type
    stream_.reset(hopen(url.c_str(), "r:", "http_response_ptr", &status, nullptr));
    if (!stream_) refuse(errno, status);
  }

  std::size_t read(char* into, std::size_t size) override {
    const ssize_t count = hread(stream_.get(), into, size);
    if (count < 0) {
      // htslib hands over nothing of its last buffer.
      file::fail_at({url_},
                    fmt::format("breaks off after at least {} bytes: {}; try again, or download it first",
                                htell(stream_.get()), file::system_message(errno)));
    }
    bytes_.fetch_add(static_cast<std::uint64_t>(count), std::memory_order_relaxed);
    return static_cast<std::size_t>(count);
  }
  [[nodiscard]] std::uint64_t disk_bytes() const noexcept override {
    return bytes_.load(std::memory_order_relaxed);
  }

 private:
  struct Close {
    void operator()(hFILE* stream) const noexcept { hclose_abruptly(stream); }
  };

  [[noreturn]] void refuse(int error, std::int64_t status) const {
    constexpr std::int64_t kFirstWrong = 400, kTimeout = 408, kTooMany = 429, kFirstOfServer = 500;
    // The numbers of other protocols mean something else.
    if (status >= kFirstWrong && has_scheme("http")) {
      const bool may_pass = status >= kFirstOfServer || status == kTimeout || status == kTooMany;
      file::fail_at({url_}, fmt::format("cannot be opened: its server answers with status {}; {}", status,
                                        may_pass ? "try again later" : "check the address"));
    }
    if (error == EDESTADDRREQ) file::fail_at({url_}, "cannot be opened: its host is not found");
    if (error != EPROTONOSUPPORT)
      file::fail_at({url_}, fmt::format("cannot be opened: {}", file::system_message(error)));
    file::fail_at({url_},
                  "the htslib that warpmer was built with reads no URLs of this kind; pipe it in, as in " +
                      file::piped_in(has_scheme("s3") ? "aws s3 cp {} -" : "curl -fsSL {}", url_));
  }

  /// True if the URL's scheme begins so, in letters of any case.
  [[nodiscard]] bool has_scheme(std::string_view name) const {
    return ::strncasecmp(url_.c_str(), name.data(), name.size()) == 0;
  }

  std::string url_;
  std::unique_ptr<hFILE, Close> stream_;
  std::atomic<std::uint64_t> bytes_ = 0;
};

}  // namespace

std::unique_ptr<file::ByteSource> open_url(const std::string& url) {
  return std::make_unique<UrlSource>(url);
}

}  // namespace warpmer::io
