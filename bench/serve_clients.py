#!/usr/bin/env python3
"""What a server costs: `query --reads` of many clients at once, of one client, and without a server.

    bench/serve_clients.py [--clients 64] [--reads 20000] [--rounds 3] [--genome-length 20e6] [--warpmer FILE]
                           [--threads N] [--dir DIR]

Each client asks for --reads reads of its own, with one thread; the others ask for all of them, with all threads. All of it
in turn, against the same k-mers (k = 31, a random genome 30 times over, 1 % errors), with the text of the answers thrown
away. Prints medians of wall time and of CPU time (clients and server), and shares: the time of one query without a server by
theirs. Run it on an idle machine; on one that is not, look at CPU time. Needs simulate_reads beside the program
(build/cpu/bin).
"""

import argparse
import os
import pathlib
import resource
import signal
import statistics
import subprocess
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[1]


def parsed():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--reads", type=int, default=20000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--genome-length", type=float, default=20e6)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--warpmer", default=SOURCE / "build/cpu/warpmer", type=pathlib.Path)
    parser.add_argument("--dir")
    return parser.parse_args()


def cpu_seconds(server):
    """What all clients that have ended, and the server, have taken so far."""
    clients = resource.getrusage(resource.RUSAGE_CHILDREN)
    fields = pathlib.Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    return clients.ru_utime + clients.ru_stime + ticks / os.sysconf("SC_CLK_TCK")


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, pathlib.Path(folder)
        self.warpmer = options.warpmer.resolve()
        self.parts = [self.folder / f"part{i}.fq" for i in range(options.clients)]
        self.all, self.index, self.socket = (self.folder / name for name in ("all.fq", "x.wmi", "s.sock"))

    def make_reads(self):
        """The index is of more reads of that genome than are asked for."""
        simulate = [self.warpmer.parent / "bin/simulate_reads", "--genome-length", int(self.options.genome_length), "-e", 0.01]
        counted = self.folder / "counted.fq"
        self.run([*simulate, "--coverage", 30, "-o", counted])
        self.run([self.warpmer, "count", "-q", "-k", 31, "-o", self.index, counted])
        counted.unlink()
        number = self.options.clients * self.options.reads
        self.run([*simulate, "--reads", number, "-o", self.all])
        with open(self.all, "rb") as reads:
            for part in self.parts:
                with open(part, "wb") as out:
                    out.writelines(reads.readline() for _ in range(4 * self.options.reads))

    @staticmethod
    def run(command):
        subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)

    def seconds(self, commands, server):
        """Wall and CPU time of commands that run at once."""
        start, cpu = time.perf_counter(), cpu_seconds(server)
        processes = [subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL) for command in commands]
        for process in processes:
            if process.wait() != 0:
                raise SystemExit("serve_clients.py: a client failed")
        return time.perf_counter() - start, cpu_seconds(server) - cpu

    def measure(self):
        query = [self.warpmer, "query", "-q"]
        threads = self.options.threads
        ways = {
            "without a server": [[*query, "-t", threads, self.index, "--reads", self.all]],
            "one client": [[*query, "-t", threads, "--server", self.socket, "--reads", self.all]],
            "all clients": [[*query, "-t", 1, "--server", self.socket, "--reads", part] for part in self.parts],
        }
        serve = [self.warpmer, "serve", "-t", threads, "--load", self.index, "--socket", self.socket]
        server = subprocess.Popen([str(word) for word in serve], stderr=subprocess.PIPE, text=True)
        print(server.stderr.readline(), end="")
        times = {way: [] for way in ways}
        for i in range(self.options.rounds + 1):
            for way, commands in ways.items():
                taken = self.seconds(commands, server)
                if i > 0:  # the first brings files into memory
                    times[way].append(taken)
        server.send_signal(signal.SIGTERM)
        server.wait()
        return {way: [statistics.median(kind) for kind in zip(*taken)] for way, taken in times.items()}


def main():
    options = parsed()
    with tempfile.TemporaryDirectory(prefix="serve_clients.", dir=options.dir) as folder:
        bench = Bench(options, folder)
        bench.make_reads()
        medians = bench.measure()
    print(f"{options.clients} clients of {options.reads:,} reads, {options.threads} threads")
    alone = medians["without a server"]
    for way, (wall, cpu) in medians.items():
        print(f"{way:18} wall {wall:.2f} s, share {alone[0] / wall:.2f}; CPU {cpu:.2f} s, share {alone[1] / cpu:.2f}")


if __name__ == "__main__":
    main()
