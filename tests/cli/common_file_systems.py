"""File systems and kernels that lack what outputs are made with: a shim answers for them.

LACKS in the environment says what, as a call and an error number ("open:95": files without names; "link:2": /proc,
by which they get one), or "umask": it is not applied to files without names (kernels before 6.0).
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
static int lacks(const char *what) {
  const char *lacking = getenv("LACKS");
  if (!lacking || strncmp(lacking, what, strlen(what))) return 0;
  const char *number = strchr(lacking, ':');
  errno = number ? atoi(number + 1) : 0;
  return 1;
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
  return ((int (*)(int, const char *, int, const char *, int))dlsym(RTLD_NEXT, "linkat"))(from_dir, from, to_dir, to, flags);
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
