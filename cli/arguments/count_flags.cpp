#include "cli/arguments/count_flags.h"

#include <fmt/format.h>

#include <string>

#include "backend/count_table.h"
#include "io/record_formats.h"

namespace warpmer::cli {
namespace {

void add_table_flag(CLI::App& app, backend::CountTable& table) {
  app.add_option_function<std::string>(
         "--table", [&table](const std::string& name) { table = backend::count_table_named(name); },
         "The hash table that shards of k-mers are counted in. The index is the same whichever it is; they "
         "differ in speed and memory. Default: auto, which is the fastest on the device for what is counted. "
         "For k of 12 or less there is no table, and the choice has no effect.")
      ->type_name(backend::count_table_names("|"));
}

void add_flags_but_length(CLI::App& app, CountFlags& flags) {
  add_resource_flags(app, flags.job.resources);
  add_tmp_directory_flag(app, flags.job.tmp_directory);
  app.add_flag(
      "--forward", flags.forward,
      "Count k-mers as they are read. Default: a k-mer and its reverse complement are one, named by the "
      "lexicographically smaller of the two.");
  add_reading_flags(app, flags.job.reading);
  add_device_flags(
      app, flags.device,
      "auto, cpu, cpu:N for a CPU that acts as N devices, cuda for all GPUs that can be used, together, "
      "cuda:N for the one that 'warpmer devices' lists under that number, or cuda:N,M for several. Default: "
      "auto, which is the CPU for small inputs and where there is no GPU; all GPUs that Slurm or "
      "CUDA_VISIBLE_DEVICES grants; and the one with the most free memory where nothing was said. Under "
      "mpirun, cuda is a process's share of its node's GPUs, and auto, too, if each has GPUs of its own.");
  add_table_flag(app, flags.job.table);
}

}  // namespace

void CountFlags::complete() {
  check_count_range(job.kept);
  job.kmers.canonical = !forward;
  job.device = choose_device(device, job.inputs, *job.ranks);
}

void add_counting_flags(CLI::App& app, CountFlags& flags) {
  add_length_flag(app, flags.job.kmers.k);
  add_flags_but_length(app, flags);
}

void add_count_flags(CLI::App& app, CountFlags& flags) {
  add_length_flag(app, flags.job.kmers.k);
  add_index_target_flags(app, flags.target);
  add_count_range_flags(app, flags.job.kept);
  add_flags_but_length(app, flags);
  app.add_option("--only", flags.job.only,
                 "Count the k-mers of FILE, and no others: those of an index, of sequences (anything that "
                 "'warpmer count' takes, but from a file), or of a list with one a line, the first word of "
                 "each. The output has those that occur; one that does not has no entry, and is looked up as "
                 "0. Other k-mers take no memory.")
      ->type_name("FILE");
  app.add_option(
         "INPUT", flags.job.inputs,
         fmt::format("FASTA or FASTQ (plain, gzip, BGZF, zstd, bzip2, xz), {}, recognised by content; - for "
                     "standard input; @LIST for a file of paths, one a line; those that begin with # are "
                     "skipped.",
                     io::record_format_names()))
      ->required()
      ->type_name("FILE");
}

}  // namespace warpmer::cli
