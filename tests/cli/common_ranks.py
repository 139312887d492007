"""What the tests of several processes under mpirun share: starting them, and what is to be left of them."""

import os
import pathlib
import random
import shutil
import subprocess
import time

import common_cli as common

SECONDS = 180

# Rank KILL_RANK dies of SIGKILL as soon as it has read so many bytes of a file ("read:BYTES:NAME"), or has written so
# many to files without names ("spill:BYTES").
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *asked;  // null in ranks that live
// Once: MPI_Init changes the environment while its own threads read, and getenv() beside setenv() may crash.
__attribute__((constructor)) static void ask(void) {
  const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *killed = getenv("KILL_RANK"), *moment = getenv("KILL_MOMENT");
  if (rank && killed && moment && !strcmp(rank, killed)) asked = strdup(moment);
}
static void count(const char *moment, ssize_t bytes, int fd) {
  static _Atomic long done;
  if (bytes <= 0 || !asked || strncmp(asked, moment, strlen(moment))) return;
  char *name;
  const long most = strtol(asked + strlen(moment), &name, 10);
  struct stat file, wanted;
  if (fstat(fd, &file)) return;
  if (*name ? stat(name + 1, &wanted) || file.st_ino != wanted.st_ino : !S_ISREG(file.st_mode) || file.st_nlink) return;
  if ((done += bytes) >= most) kill(getpid(), SIGKILL);
}
ssize_t read(int fd, void *to, size_t size) {
  const ssize_t n = ((ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read"))(fd, to, size);
  count("read:", n, fd);
  return n;
}
ssize_t pread64(int fd, void *to, size_t size, off64_t at) {
  const ssize_t n = ((ssize_t(*)(int, void *, size_t, off64_t))dlsym(RTLD_NEXT, "pread64"))(fd, to, size, at);
  count("read:", n, fd);
  return n;
}
ssize_t pwritev64(int fd, const struct iovec *pieces, int n, off64_t at) {
  const ssize_t bytes =
      ((ssize_t(*)(int, const struct iovec *, int, off64_t))dlsym(RTLD_NEXT, "pwritev64"))(fd, pieces, n, at);
  count("spill:", bytes, fd);
  return bytes;
}
ssize_t pwrite64(int fd, const void *from, size_t size, off64_t at) {
  const ssize_t n = ((ssize_t(*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64"))(fd, from, size, at);
  count("spill:", n, fd);
  return n;
}
ssize_t pread(int, void *, size_t, off_t) __attribute__((alias("pread64")));
ssize_t pwritev(int, const struct iovec *, int, off_t) __attribute__((alias("pwritev64")));
ssize_t pwrite(int, const void *, size_t, off_t) __attribute__((alias("pwrite64")));
"""

# Of reads.fq, a rank looks at less than 1 MiB to divide it, and a batch is 1 MiB.
IN_SECOND_BATCH = f"read:{2 << 20}:reads.fq"


def make_reads(rng, genome, number, length=150):
    """FASTQ whose qualities look like the beginnings of other lines."""
    records = []
    for i in range(number):
        at = rng.randrange(len(genome) - length)
        bases = genome[at : at + length]
        bases = common.reverse_complement(bases) if i % 2 else bases
        quality = "".join(rng.choices("@+>FI", k=length))
        records.append(f"@read{i} of {number}\n{bases}\n+\n{quality}\n")
    return "".join(records)


def bgzf(text):
    return subprocess.run(["bgzip", "-c", "-l", "1"], input=text, stdout=subprocess.PIPE, check=True).stdout


class RanksTest(common.CliTest):
    """Skipped where there is no mpirun, or no module for MPI beside warpmer. `genome` and `reads` of it (FASTQ)."""

    @classmethod
    def setUpClass(cls):
        rng = random.Random(6)
        cls.genome = "".join(rng.choices("ACGT", k=60_000))
        cls.reads = make_reads(rng, cls.genome, 9_000).encode()

    def setUp(self):
        super().setUp()
        if not shutil.which("mpirun") or not pathlib.Path(common.WARPMER).with_name("warpmer_mpi.so").exists():
            self.skipTest("no mpirun, or no warpmer_mpi.so beside warpmer")

    def ranks(self, number, *arguments, stdin=b"", program=None, environment=(), **options):
        """What mpirun ends with."""
        return self.mpirun(["-n", number, program or common.WARPMER, *arguments], stdin, environment, **options)

    def mpirun(self, words, stdin=b"", environment=(), **options):
        command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", *words]
        variables = {"OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_orte_tmpdir_base": str(self.temporary())}
        return subprocess.run(
            list(map(str, command)),
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            env={**os.environ, **variables, **dict(environment)},
            timeout=SECONDS,
            check=False,
            **options,
        )

    def temporary(self):
        folder = self.folder.with_name(self.folder.name + ".mpi")
        if not folder.exists():
            folder.mkdir()
            self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def error_lines(self, process):
        return [line for line in process.stderr.decode(errors="replace").splitlines() if line.startswith("warpmer: error:")]

    def processes_of(self, word):
        """Processes with this word on their command line that run in this test's folder."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and word.encode() in (entry / "cmdline").read_bytes():
                    if os.readlink(entry / "cwd") == str(self.folder):
                        found.append(entry.name)
            except OSError:
                continue
        return found

    def check_refused(self, number, status, pattern, *arguments, program=None, **options):
        self.check_mpirun_refused(["-n", number, program or common.WARPMER, *arguments], status, pattern, **options)

    def check_mpirun_refused(self, words, status, pattern, **options):
        before = self.files()
        process = self.mpirun(words, **options)
        errors = self.error_lines(process)
        self.assertEqual((process.returncode, len(errors)), (status, 1), process.stderr)
        self.assertRegex(errors[0], pattern)
        self.assertEqual(self.files(), before)

    def killing_shim(self):
        """Beside this test's folder, which is looked at for new files."""
        if not shutil.which("cc"):
            self.skipTest("no C compiler for the shim")
        source = self.temporary() / "kill.c"
        source.write_text(SHIM)
        library = source.with_suffix(".so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        return library

    def check_killed(self, number, killed, moment, *arguments, **options):
        """A rank that is killed at a moment (see SHIM): no new file, no process left, and soon."""
        before = self.files()
        environment = {"LD_PRELOAD": str(self.killing_shim()), "KILL_RANK": str(killed), "KILL_MOMENT": moment}
        start = time.monotonic()
        process = self.ranks(number, *arguments, environment=environment, **options)
        self.assertIn(process.returncode, (137, 143), process.stderr)
        self.assertIn(b"signal 9", process.stderr)
        self.assertLess(time.monotonic() - start, 20)
        deadline = time.monotonic() + 60
        while self.processes_of(arguments[-1]) and time.monotonic() < deadline:  # a loaded machine takes a moment to end them
            time.sleep(0.05)
        self.assertEqual(self.processes_of(arguments[-1]), [])
        self.assertEqual(self.files(), before, f"rank {killed} was killed: {process.stderr!r}")
