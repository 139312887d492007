#!/usr/bin/env python3
"""The batch scripts of scripts/slurm, run by a real Slurm on this machine (local_cluster.py): what they write, what
warpmer takes of a node in jobs of several shapes, and that a job that is ended leaves nothing.

ctest: release only (everything here is between processes)
"""

import array
import fcntl
import json
import os
import pathlib
import sys
import tempfile
import termios
import unittest

from local_cluster import GPUS, CannotStart, LocalCluster

SKIP = 77
SOURCE = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = SOURCE / "scripts" / "slurm"
WARPMER = pathlib.Path(os.environ.get("WARPMER", SOURCE / "build" / "cpu" / "warpmer"))
DATA = pathlib.Path(os.environ.get("WARPMER_DATA", SOURCE / "data"))
PAIR = [DATA / "reads_1.fq.gz", DATA / "reads_2.fq.gz"]
HAS_MPI = any(WARPMER.parent.glob("*warpmer_mpi*.so"))
COHORT = "R&D | cohort"

cluster = None
jobs = None


def bytes_waiting(pipe):
    """What has been written to a pipe and not been read."""
    number = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, number)
    return number[0]


class Jobs:
    """All jobs of this test, submitted at once so that they run side by side, in a folder of theirs."""

    def __init__(self, folder):
        self.folder = folder
        self.samples = folder / "samples.tsv"
        self.samples.write_bytes(f"a\t{PAIR[0]}\r\n\nb\t{PAIR[1]}\r\n\r\n  \nboth\t{PAIR[0]}\t{PAIR[1]}".encode())
        count = ["-k", "31", *PAIR]
        on_cpu = {"WARPMER_DEVICE": "cpu"}
        self.one_gpu = self.submit(SCRIPTS / "one_gpu.sbatch", "-o", "one_gpu.wmi", *count, environment=on_cpu)
        self.no_gpu = self.submit(SCRIPTS / "one_gpu.sbatch", "-o", "no_gpu.wmi", *count,
                                  environment={"CUDA_VISIBLE_DEVICES": ""})
        self.cohort = cluster.run(SCRIPTS / "cohort.sh", self.samples, folder / COHORT, "-k", "31", cwd=folder)
        self.granted = {name: self.submit(*options, self.script("devices.sh", "srun --output=%j.%t.json warpmer devices --json"))
                        for name, options in SHAPES.items()}
        self.one_node = self.submit(SCRIPTS / "one_node.sbatch", "-o", "one_node.wmi", *count,
                                    environment={"WARPMER_DEVICE": "cpu:4"})
        if HAS_MPI:
            self.many_nodes = self.submit(SCRIPTS / "many_nodes.sbatch", "-o", "many_nodes.wmi", *count)
            self.many_gpus = self.submit("--ntasks-per-node=2", f"--gpus-per-node={GPUS}", SCRIPTS / "many_gpus.sbatch",
                                         "-o", "many_gpus.wmi", *count, environment=on_cpu)

    def script(self, name, command):
        path = self.folder / name
        path.write_text(f"#!/bin/bash\n{command}\n")
        return path

    def submit(self, *arguments, environment=None):
        return cluster.submit("--output=%j.out", *arguments, cwd=self.folder, environment=environment)

    def said(self, job):
        return "".join(path.read_text() for path in self.folder.glob(f"*{job}*.out"))


# Jobs, and what each task is to see of the pretended nodes: cores (if this machine has so many) and MB of memory.
SHAPES = {
    "a task with its cores": ("--ntasks=1", "--cpus-per-task=3", "--mem=3000"),
    "two tasks on a node": ("--nodes=1", "--ntasks=2", "--cpus-per-task=1", "--mem=3000"),
    "two nodes, two tasks each": ("--nodes=2", "--ntasks-per-node=2", "--mem=3000"),
    "memory by core": ("--ntasks=1", "--cpus-per-task=2", "--mem-per-cpu=700"),
    "memory by GPU": ("--nodes=1", "--ntasks=2", "--gpus-per-task=1", "--mem-per-gpu=900"),
}
GRANTED = {
    "a task with its cores": (1, 3, 3000),
    "two tasks on a node": (2, 1, 1500),
    "two nodes, two tasks each": (4, 1, 1500),
    "memory by core": (1, 2, 1400),
    "memory by GPU": (2, 1, 900),
}


def checksum(index):
    return json.loads(cluster.run("warpmer", "info", "--json", index).stdout)["content_checksum"]


class Examples(unittest.TestCase):
    def assert_done(self, job):
        for task in cluster.wait_for_end(job):
            self.assertEqual((task["JobState"], task["ExitCode"]), ("COMPLETED", "0:0"), jobs.said(job))

    def assert_counted(self, job, index):
        self.assert_done(job)
        expected = jobs.folder / "expected.wmi"
        if not expected.exists():
            done = cluster.run("warpmer", "count", "-k", "31", "-o", expected, *PAIR)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(checksum(jobs.folder / index), checksum(expected))

    def test_one_gpu(self):
        self.assert_counted(jobs.one_gpu, "one_gpu.wmi")

    def test_one_node(self):
        self.assert_counted(jobs.one_node, "one_node.wmi")

    @unittest.skipUnless(HAS_MPI, "built without MPI")
    def test_many_nodes(self):
        self.assert_counted(jobs.many_nodes, "many_nodes.wmi")
        self.assert_counted(jobs.many_gpus, "many_gpus.wmi")

    def test_a_gpu_that_is_not_there(self):
        for task in cluster.wait_for_end(jobs.no_gpu):
            self.assertEqual((task["JobState"], task["ExitCode"]), ("FAILED", "4:0"))
        self.assertIn("warpmer: error: --device cuda: ", jobs.said(jobs.no_gpu))
        self.assertFalse((jobs.folder / "no_gpu.wmi").exists())

    def test_cohort(self):
        self.assertEqual(jobs.cohort.returncode, 0, jobs.cohort.stderr)
        self.assert_counted(jobs.cohort.stdout.strip(), f"{COHORT}/both.wmi")
        folder = jobs.folder / COHORT
        expected = jobs.folder / "expected.tsv.gz"
        done = cluster.run("warpmer", "matrix", "-o", expected, *(folder / f"{name}.wmi" for name in ("a", "b", "both")))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((folder / "matrix.tsv.gz").read_bytes(), expected.read_bytes())

    def test_cohorts_that_cannot_be(self):
        a, b = PAIR
        samples = jobs.folder / "refused.tsv"
        for text, why in {
            f"a\t{a}\n\na\t{b}\n": ", line 3: sample a is on line 1, too; all files of a sample go on one line, with tabs between them",
            f"a\t{a}\nb\t{b}\t{b}x\n": f", line 2: there is no file {b}x",
            f"a\t{a}\nb": ", line 2: sample b has no files; write them behind it, with tabs between them",
            "\n": ": it names no sample",
        }.items():
            samples.write_text(text)
            done = cluster.run(SCRIPTS / "cohort.sh", samples, jobs.folder / "refused", cwd=jobs.folder)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (2, "", f"cohort.sh: {samples}{why}\n"))
        self.assertFalse((jobs.folder / "refused").exists())

    def test_what_is_granted(self):
        here = len(os.sched_getaffinity(0))
        for name, job in jobs.granted.items():
            with self.subTest(name):
                self.assert_done(job)
                tasks, cores, megabytes = GRANTED[name]
                reports = [json.loads(path.read_text())["cpu"] for path in jobs.folder.glob(f"{job}.*.json")]
                self.assertEqual([report["memory_bytes"] for report in reports], [megabytes << 20] * tasks)
                self.assertEqual([report["cores"] for report in reports], [min(cores, here)] * tasks)


class Ends(unittest.TestCase):
    """A job that is told to end, by the signal that Slurm sends at the time limit, too."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=jobs.folder))
        self.pipe = self.folder / "reads.fifo"
        os.mkfifo(self.pipe)

    def end(self, command, *scancel):
        """Lets a job wait for more reads, ends it while it does, and returns how it ended."""
        script = jobs.script(f"{self.id()}.sh", command)
        job = jobs.submit("--ntasks=1", script, environment={"READS": str(self.pipe), "OUT": str(self.folder / "out.wmi")})
        pipe = os.open(self.pipe, os.O_RDWR)  # so that it opens before warpmer has it, and stays open
        try:
            os.write(pipe, b"@r\n" + b"ACGTTGCA" * 20 + b"\n+\n" + b"I" * 160 + b"\n")
            cluster.wait_for("warpmer to read", lambda: bytes_waiting(pipe) == 0)
            cluster.run("scancel", *scancel, job)
            ended = cluster.wait_for_end(job)[0]
        finally:
            os.close(pipe)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["reads.fifo"])
        return ended["JobState"], ended["ExitCode"]

    def test_scancel(self):
        self.assertEqual(self.end('srun warpmer count -o "$OUT" "$READS"')[0], "CANCELLED")

    def test_terminated_step(self):
        state, status = self.end('srun warpmer count -o "$OUT" "$READS"', "--signal=TERM")
        self.assertEqual((state, status), ("FAILED", "143:0"))

    def test_without_srun(self):
        state, status = self.end('exec warpmer count -o "$OUT" "$READS"', "--batch", "--signal=TERM")
        self.assertEqual((state, status), ("FAILED", "0:15"))


def main():
    global cluster, jobs
    with tempfile.TemporaryDirectory(prefix="warpmer_slurm.") as folder:
        folder = pathlib.Path(folder)
        folder.chmod(0o755)  # munged wants its socket where all could reach it
        (folder / "jobs").mkdir()
        (folder / "cluster").mkdir()
        try:
            cluster = LocalCluster(folder / "cluster")
            cluster.environment["PATH"] = f"{WARPMER.parent}:{cluster.environment['PATH']}"
            with cluster:
                jobs = Jobs(folder / "jobs")
                result = unittest.main(exit=False).result
        except CannotStart as reason:
            print(f"skipped: {reason}")
            return SKIP
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
