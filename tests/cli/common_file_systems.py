"""File systems and kernels that lack what outputs are made with: a shim answers for them.

LACKS in the environment says what, as calls and error numbers with commas between them ("open:95": files without names;
"link:2": /proc, by which they get one; "exchange:22": two files cannot swap names; "hardlink:1": a file has one name;
"unlink:1": temporary names stay; "name:28:2": the second final name cannot be given, and none after it), or "umask": it is
not applied to files without names (kernels before 6.0).
"""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
static const char *lacked;
// Once: MPI_Init changes the environment while its own threads open files, and getenv() beside setenv() may crash.
__attribute__((constructor)) static void ask(void) {
  const char *text = getenv("LACKS");
  lacked = text ? strdup(text) : 0;
}
static const char *lacking(const char *what) {
  size_t length = strlen(what);
  for (const char *at = lacked; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : 0)
    if (!strncmp(at, what, length) && (!at[length] || at[length] == ':' || at[length] == ',')) return at + length;
  return 0;
}
static int lacks(const char *what) {
  const char *number = lacking(what);
  if (!number) return 0;
  errno = *number == ':' ? atoi(number + 1) : 0;
  return 1;
}
static int is_temporary(const char *path) {
  size_t length = strlen(path);
  return length > 4 && !strcmp(path + length - 4, ".tmp");
}
static int fails_to_name(const char *from, const char *to) {
  static int names = 0;
  const char *which = lacking("name");
  if (!which || is_temporary(to) || !strcmp(from, to)) return 0;
  errno = atoi(which + 1);
  return ++names >= atoi(strchr(which + 1, ':') + 1);
}
int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  int is_nameless = (flags & O_TMPFILE) == O_TMPFILE;
  if (is_nameless && lacks("open")) return -1;
  int fd = ((int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open"))(path, flags, mode);
  if (fd >= 0 && is_nameless && lacks("umask")) fchmod(fd, mode);
  return fd;
}
int open64(const char *path, int flags, ...) __attribute__((alias("open")));
int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags) {
  if (lacks("link")) return -1;
  int (*real)(int, const char *, int, const char *, int) = dlsym(RTLD_NEXT, "linkat");
  if (!access(to, F_OK)) return real(from_dir, from, to_dir, to, flags);
  return fails_to_name(from, to) ? -1 : real(from_dir, from, to_dir, to, flags);
}
int link(const char *from, const char *to) {
  return lacks("hardlink") ? -1 : ((int (*)(const char *, const char *))dlsym(RTLD_NEXT, "link"))(from, to);
}
static int undoes = 0;
int rename(const char *from, const char *to) {
  if (!undoes && fails_to_name(from, to)) return undoes = 1, -1;
  return ((int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename"))(from, to);
}
int unlink(const char *path) {
  if (is_temporary(path) && lacks("unlink")) return -1;
  return ((int (*)(const char *))dlsym(RTLD_NEXT, "unlink"))(path);
}
long syscall(long number, ...) {
  va_list rest;
  va_start(rest, number);
  long a[6];
  for (int i = 0; i < 6; ++i) a[i] = va_arg(rest, long);
  va_end(rest);
  if (number == SYS_renameat2) {
    if (lacks("exchange") || fails_to_name((const char *)a[1], (const char *)a[3])) return -1;
  }
  return ((long (*)(long, ...))dlsym(RTLD_NEXT, "syscall"))(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
"""

# EOPNOTSUPP is what file systems say that have no files without names, EISDIR and EINVAL kernels; ENOENT is /proc not mounted.
WITHOUT_NAMELESS_FILES = ("open:95", "open:21", "open:22", "link:2")


class LackingTest(unittest.TestCase):
    """Has an environment for what a program is to lack; to be mixed into a CliTest."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not shutil.which("cc"):
            raise unittest.SkipTest("no C compiler for the shim")
        folder = tempfile.TemporaryDirectory(prefix="warpmer-shim.")
        cls.addClassCleanup(folder.cleanup)
        source = pathlib.Path(folder.name) / "shim.c"
        source.write_text(SHIM)
        cls.shim = source.with_suffix(".so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", cls.shim, source, "-ldl"], check=True)

    def lacking(self, what):
        return os.environ | {"LD_PRELOAD": str(self.shim), "LACKS": what}
