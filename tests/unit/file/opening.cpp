// Files that cannot be opened: whose fault it is.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <exception>
#include <string>
#include <vector>

#include "base/error.h"
#include "file/byte_file.h"
#include "file/first_bytes.h"
#include "file/mapped_input.h"
#include "index/index_start.h"
#include "scratch_folder.h"

using namespace warpmer;

namespace {

/// Lets the process have no more descriptors than it has.
class NoMoreDescriptors {
 public:
  NoMoreDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &was_);
    const int next = ::open("/dev/null", O_RDONLY);
    ::close(next);
    const rlimit none{static_cast<rlim_t>(next), was_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoMoreDescriptors() { ::setrlimit(RLIMIT_NOFILE, &was_); }
  NoMoreDescriptors(const NoMoreDescriptors&) = delete;
  NoMoreDescriptors& operator=(const NoMoreDescriptors&) = delete;

 private:
  rlimit was_{};
};

template <class F>
std::exception_ptr thrown_by(F&& f) {
  try {
    f();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

/// Returns what is said of a resource; of anything else, an empty text. UBSan has to open a pipe for that.
std::string shortage_of(const std::exception_ptr& thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const ResourceError& error) {
    return error.what();
  } catch (const InputError&) {
  }
  return {};
}

void open_as_bytes(const std::string& path) {
  const std::atomic<bool> cancelled{false};
  const file::ByteFile file(path, path, cancelled, 0);
}
void map(const std::string& path) { const file::MappedInput file(path); }

}  // namespace

TEST_CASE(
    "opening files: a process without descriptors is short of a resource, and the file is not at fault") {
  const tests::ScratchFolder scratch;
  const std::string path = scratch.write("file", "text");
  const auto thrown_of = [](const std::string& name) {
    return std::vector<std::exception_ptr>{thrown_by([&] { (void)index::is_index_file(name); }),
                                           thrown_by([&] { (void)file::first_bytes(name, 4); }),
                                           thrown_by([&] { open_as_bytes(name); }),
                                           thrown_by([&] { map(name); })};
  };
  for (const std::exception_ptr& thrown : thrown_of(path)) CHECK(shortage_of(thrown).empty());
  for (const std::exception_ptr& thrown : thrown_of(scratch / "none")) CHECK(shortage_of(thrown).empty());
  const auto short_of = [&] {
    const NoMoreDescriptors none;
    return thrown_of(path);
  }();
  for (const std::exception_ptr& thrown : short_of) {
    const std::string text = shortage_of(thrown);
    CHECK(text == path +
                      ": cannot be opened: Too many open files; raise the number of files that a process may "
                      "have (ulimit -n)");
  }
}
