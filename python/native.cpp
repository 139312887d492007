// warpmer._native: the public library for Python, call by call. python/warpmer/__init__.py makes the
// interface of it that users see.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "warpmer/error.h"
#include "warpmer/warpmer.h"

namespace nb = nanobind;

namespace {

using Numbers = nb::ndarray<nb::numpy, std::uint64_t>;
using GivenNumbers = nb::ndarray<const std::uint64_t, nb::c_contig, nb::device::cpu>;

/// Lets other threads have the GIL while it lives. nanobind's does so, too, but a daemon thread that comes
/// back when the interpreter ends is ended by Python, by unwinding its stack, which would abort the process
/// in a destructor: here it stays where it is. (From Python 3.14 on Python sees to it.)
class GilRelease {
 public:
  GilRelease() : thread_(PyEval_SaveThread()) {}
  ~GilRelease() {
    try {
      PyEval_RestoreThread(thread_);
    } catch (...) {
      while (true) ::pause();
    }
  }
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;

 private:
  PyThreadState* thread_;
};
using WithoutGil = nb::call_guard<GilRelease>;

/// An array of the numbers at `data`, which Python owns from now on as a part of `owned`.
template <class Owned>
Numbers array_of(std::uint64_t* data, Owned&& owned, std::initializer_list<std::size_t> shape) {
  auto held = std::make_unique<Owned>(std::move(owned));
  const nb::capsule owner(held.get(), [](void* p) noexcept { delete static_cast<Owned*>(p); });
  (void)held.release();
  return Numbers(data, shape, owner);
}

Numbers array_of(std::vector<std::uint64_t>&& numbers) {
  const std::size_t size = numbers.size();
  std::uint64_t* const data = numbers.data();
  return array_of(data, std::move(numbers), {size});
}

/// The characters of a str or of bytes, which must live as long.
std::string_view text_of(nb::handle text) {
  Py_ssize_t size = 0;
  if (PyUnicode_Check(text.ptr())) {
    const char* const data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (data == nullptr) {
      if (PyErr_ExceptionMatches(PyExc_UnicodeEncodeError) == 0) throw nb::python_error();
      PyErr_Clear();
      throw warpmer::UsageError("a str of sequence or k-mer has a lone surrogate, which is no character");
    }
    return {data, static_cast<std::size_t>(size)};
  }
  if (!PyBytes_Check(text.ptr())) throw nb::type_error("sequences and k-mers are str or bytes");
  char* data = nullptr;
  if (PyBytes_AsStringAndSize(text.ptr(), &data, &size) != 0) throw nb::python_error();
  return {data, static_cast<std::size_t>(size)};
}

/// Those of all objects of a tuple.
std::vector<std::string_view> texts_of(const nb::tuple& objects) {
  std::vector<std::string_view> texts;
  texts.reserve(objects.size());
  for (const nb::handle object : objects) texts.push_back(text_of(object));
  return texts;
}

std::string path_of(const nb::bytes& path) { return {path.c_str(), path.size()}; }

std::vector<std::string> paths_of(const nb::tuple& objects) {
  std::vector<std::string> paths;
  for (const nb::handle object : objects) paths.push_back(path_of(nb::cast<nb::bytes>(object)));
  return paths;
}

nb::tuple tuple_of(const warpmer::Totals& totals) {
  return nb::make_tuple(totals.sequences, totals.bases, totals.counted_kmers, totals.counted_distinct,
                        totals.counted_unique, totals.stored_kmers, totals.stored_distinct,
                        totals.largest_count, totals.min_count, totals.max_count);
}

// --- Jobs

const char* name_of(warpmer::JobStage stage) {
  switch (stage) {
    case warpmer::JobStage::starting:
      return "starting";
    case warpmer::JobStage::reading:
      return "reading";
    case warpmer::JobStage::counting:
      return "counting";
    case warpmer::JobStage::combining:
      return "combining";
    case warpmer::JobStage::writing:
      return "writing";
    case warpmer::JobStage::done:
      return "done";
  }
  return "";
}

/// Text for Python; names of files may be no UTF-8.
nb::object shown_text(std::string_view text) {
  return nb::steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

/// Lets Python see to its signals, so that Ctrl-C ends a job, and calls `callback`. The caller holds it, and
/// has released the GIL.
warpmer::JobListener listener_for(nb::handle callback) {
  return [callback](const warpmer::JobStatus& status) {
    const nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    callback(name_of(status.stage), status.bytes_done, status.bytes_total, status.kmers, status.parts_done,
             status.parts_total);
  };
}

/// Calls `callback` with each sentence. What it raises ends the job. The caller holds it, and has released
/// the GIL.
warpmer::WarningListener warning_listener_for(nb::handle callback) {
  return [callback](const std::string& message) {
    const nb::gil_scoped_acquire gil;
    callback(shown_text(message));
  };
}

void count(const nb::tuple& inputs, const nb::bytes& output, std::uint32_t k, bool canonical,
           std::uint64_t min_count, std::uint64_t max_count, std::optional<unsigned> min_base_quality,
           bool lenient, const nb::bytes& reference, unsigned threads, std::uint64_t memory,
           const nb::bytes& tmp_directory, const std::string& device, nb::handle progress, nb::handle warn) {
  warpmer::CountOptions options;
  options.k = k;
  options.canonical = canonical;
  options.min_count = min_count;
  options.max_count = max_count;
  options.min_base_quality = min_base_quality;
  options.lenient = lenient;
  options.reference = path_of(reference);
  options.threads = threads;
  options.memory_bytes = memory;
  options.tmp_directory = path_of(tmp_directory);
  options.device = device;
  options.listener = listener_for(progress);
  options.warning_listener = warning_listener_for(warn);
  const std::vector<std::string> paths = paths_of(inputs);
  const std::string path = path_of(output);
  const GilRelease no_gil;
  warpmer::count(paths, options, path);
}

void combine(warpmer::SetOperation operation, const nb::tuple& indexes, const nb::bytes& output,
             warpmer::CountRule counts, std::uint32_t min_samples, std::uint64_t min_count,
             std::uint64_t max_count, unsigned threads, std::uint64_t memory, nb::handle progress,
             nb::handle warn) {
  const warpmer::SetOptions options{.counts = counts,
                                    .min_samples = min_samples,
                                    .min_count = min_count,
                                    .max_count = max_count,
                                    .threads = threads,
                                    .memory_bytes = memory,
                                    .listener = listener_for(progress),
                                    .warning_listener = warning_listener_for(warn)};
  const std::vector<std::string> paths = paths_of(indexes);
  const std::string path = path_of(output);
  const GilRelease no_gil;
  warpmer::combine(operation, paths, options, path);
}

// --- Lookups

Numbers counts_of_texts(const warpmer::Index& index, const nb::tuple& kmers, unsigned threads) {
  const std::vector<std::string_view> texts = texts_of(kmers);
  std::vector<std::uint64_t> counts;
  {
    const GilRelease no_gil;
    counts = index.counts_of(texts, threads);
  }
  return array_of(std::move(counts));
}

/// K-mers one behind the other, or one a line, which ends in LF, CR LF or CR.
std::vector<std::string_view> kmers_in(std::string_view text, std::uint32_t k) {
  const auto is_end = [&](std::size_t at) {
    return at < text.size() && (text[at] == '\n' || text[at] == '\r');
  };
  const bool has_lines = is_end(k);
  std::vector<std::string_view> kmers;
  kmers.reserve(text.size() / (has_lines ? k + 1 : k) + 1);
  for (std::size_t at = 0; at < text.size();) {
    kmers.push_back(text.substr(at, k));
    at += k;
    if (!has_lines || at >= text.size()) continue;
    if (!is_end(at)) {
      throw warpmer::UsageError("line " + std::to_string(kmers.size()) + " of the k-mers has not " +
                                std::to_string(k) + " characters");
    }
    at += text.substr(at, 2) == "\r\n" ? 2 : 1;
  }
  return kmers;
}

Numbers counts_of_bytes(const warpmer::Index& index, const nb::bytes& kmers, unsigned threads) {
  std::vector<std::uint64_t> counts;
  const std::string_view text(kmers.c_str(), kmers.size());
  {
    const GilRelease no_gil;
    counts = index.counts_of(kmers_in(text, index.k()), threads);
  }
  return array_of(std::move(counts));
}

Numbers counts_of_packed(const warpmer::Index& index, const GivenNumbers& kmers, unsigned threads) {
  std::vector<std::uint64_t> counts;
  const std::span<const std::uint64_t> words(kmers.data(), kmers.size());
  {
    const GilRelease no_gil;
    counts = index.counts_of_packed(words, threads);
  }
  return array_of(std::move(counts));
}

Numbers counts_in(const warpmer::Index& index, nb::handle sequence) {
  const std::string_view text = text_of(sequence);
  std::vector<std::uint64_t> counts;
  {
    const GilRelease no_gil;
    counts = index.counts_in(text);
  }
  return array_of(std::move(counts));
}

Numbers histogram(const warpmer::Index& index) {
  std::vector<std::uint64_t> numbers;
  for (const warpmer::HistogramRow& row : index.histogram()) {
    numbers.push_back(row.count);
    numbers.push_back(row.kmers);
  }
  const std::size_t rows = numbers.size() / 2;
  std::uint64_t* const data = numbers.data();
  return array_of(data, std::move(numbers), {rows, 2});
}

/// Chunks as pairs of arrays.
class Chunks {
 public:
  Chunks(const warpmer::Index& index, unsigned threads, std::uint64_t kmers)
      : words_(warpmer::words_per_kmer(index.k())), reader_(index, threads, kmers) {}

  nb::tuple next() {
    warpmer::PackedChunk chunk;
    bool is_there = false;
    {
      const GilRelease no_gil;
      is_there = reader_.next(chunk);
    }
    if (!is_there) throw nb::stop_iteration();
    std::uint64_t* const kmers = chunk.kmers.get();
    std::uint64_t* const counts = chunk.counts.get();
    return nb::make_tuple(words_ == 1 ? array_of(kmers, std::move(chunk.kmers), {chunk.size})
                                      : array_of(kmers, std::move(chunk.kmers), {chunk.size, words_}),
                          array_of(counts, std::move(chunk.counts), {chunk.size}));
  }

 private:
  std::size_t words_;
  warpmer::ChunkReader reader_;
};

// --- Packed k-mers

Numbers pack(const nb::tuple& kmers, std::uint32_t k) {
  const std::vector<std::string_view> texts = texts_of(kmers);
  std::vector<std::uint64_t> words;
  {
    const GilRelease no_gil;
    words = warpmer::pack(texts, k);
  }
  if (k <= 32) return array_of(std::move(words));
  const std::size_t rows = words.size() / 2;
  std::uint64_t* const data = words.data();
  return array_of(data, std::move(words), {rows, 2});
}

nb::bytes unpack(const GivenNumbers& kmers, std::uint32_t k) {
  std::string texts;
  {
    const GilRelease no_gil;
    texts = warpmer::unpack({kmers.data(), kmers.size()}, k);
  }
  return nb::bytes(texts.data(), texts.size());
}

// --- Errors

const char* name_of(warpmer::ErrorKind kind) {
  switch (kind) {
    case warpmer::ErrorKind::usage:
      return "UsageError";
    case warpmer::ErrorKind::input:
      return "InputError";
    case warpmer::ErrorKind::resource:
      return "ResourceError";
    case warpmer::ErrorKind::internal:
      break;
  }
  return "InternalError";
}

/// Raises the class of warpmer/_errors.py that an error is of.
void raise(const std::exception_ptr& thrown, void* /*unused*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const warpmer::Error& error) {
    const nb::object type = nb::module_::import_("warpmer._errors").attr(name_of(error.kind()));
    PyErr_SetObject(type.ptr(), shown_text(error.what()).ptr());
  }
}

void bind_index(nb::module_& module) {
  using warpmer::Index;
  nb::class_<Index>(module, "Index")
      .def("__init__",
           [](Index* self, const nb::bytes& path) {
             const std::string name = path_of(path);
             const GilRelease no_gil;
             new (self) Index(name);
           })
      .def_prop_ro("path",
                   [](const Index& index) { return nb::bytes(index.path().data(), index.path().size()); })
      .def_prop_ro("k", &Index::k)
      .def_prop_ro("is_canonical", &Index::is_canonical)
      .def_prop_ro("content_checksum", &Index::content_checksum)
      .def("totals", [](const Index& index) { return tuple_of(index.totals()); })
      .def("histogram", &histogram)
      .def(
          "count_of", [](const Index& index, nb::handle kmer) { return index.count_of(text_of(kmer)); },
          nb::arg().none())
      .def("counts_of_texts", &counts_of_texts)
      .def("counts_of_bytes", &counts_of_bytes)
      .def("counts_of_packed", &counts_of_packed)
      .def("counts_in", &counts_in, nb::arg().none());
  nb::class_<Chunks>(module, "Chunks")
      .def(nb::init<const Index&, unsigned, std::uint64_t>(), nb::keep_alive<1, 2>(), WithoutGil())
      .def("__iter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__next__", &Chunks::next);
}

void bind_jobs(nb::module_& module) {
  using warpmer::CountRule;
  using warpmer::SetOperation;
  nb::enum_<SetOperation>(module, "SetOperation")
      .value("unite", SetOperation::unite)
      .value("intersect", SetOperation::intersect)
      .value("subtract", SetOperation::subtract)
      .value("symmetric_difference", SetOperation::symmetric_difference);
  nb::enum_<CountRule>(module, "CountRule")
      .value("usual", CountRule::usual)
      .value("sum", CountRule::sum)
      .value("min", CountRule::min)
      .value("max", CountRule::max)
      .value("first", CountRule::first)
      .value("last", CountRule::last)
      .value("samples", CountRule::samples)
      .value("difference", CountRule::difference);
  module.def("count", &count, nb::arg(), nb::arg(), nb::arg("k"), nb::arg("canonical"), nb::arg("min_count"),
             nb::arg("max_count"), nb::arg("min_base_quality").none(), nb::arg("lenient"),
             nb::arg("reference"), nb::arg("threads"), nb::arg("memory"), nb::arg("tmp_directory"),
             nb::arg("device"), nb::arg("progress").none(), nb::arg("warn"));
  module.def("combine", &combine, nb::arg(), nb::arg(), nb::arg(), nb::arg("counts"), nb::arg("min_samples"),
             nb::arg("min_count"), nb::arg("max_count"), nb::arg("threads"), nb::arg("memory"),
             nb::arg("progress").none(), nb::arg("warn"));
}

}  // namespace

NB_MODULE(_native, module) {
  nb::set_leak_warnings(false);  // daemon threads have objects to the end, which is no fault to print
  nb::register_exception_translator(&raise);
  bind_index(module);
  bind_jobs(module);
  module.def("pack", &pack);
  module.def("unpack", &unpack);
  module.attr("NO_KMER") = warpmer::Index::kNoKmer;
  module.attr("LARGEST_K") = warpmer::kLargestK;
  module.attr("USUAL_CHUNK") = warpmer::ChunkReader::kUsualKmers;
  module.attr("version") = warpmer::version();
}
