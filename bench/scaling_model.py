#!/usr/bin/env python3
"""A model of counting on many GPUs: time and bytes of every link, from text to the index file (docs/scaling.md).

  bench/scaling_model.py            prints the tables of docs/scaling.md, and every point beside its prediction
  bench/scaling_model.py --write    puts them there
  bench/scaling_model.py --check    exits with 1 when they are not what is there
  bench/scaling_model.py --fit      prints the rates of counting and freezing that fit the points best

Reads scaling_rates.csv (what was measured or is assumed, with its source) and scaling_points.csv (whole runs, which
the model is checked against; add a line for a new one). Standard library only.
"""

import argparse
import csv
import dataclasses
import math
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "scaling.md"
MINIMIZER = {21: 13, 31: 15, 55: 15}  # src/kmer/minimizer.h


class Rates:
    """`rates.name` for what goes for every k, `rates.of(name, k)` for what does not."""

    def __init__(self, path):
        with open(path, newline="") as file:
            self._rows = list(csv.DictReader(file))
        self._values = {(row["name"], row["k"]): float(row["value"]) for row in self._rows}

    def __getattr__(self, name):
        return self._values[name, ""]

    def of(self, name, k):
        return self._values[name, str(k)]

    def table(self):
        rows = [[row["name"], row["k"], f"{float(row['value']):.4g}", row["unit"], row["source"]] for row in self._rows]
        return markdown(["rate", "k", "value", "unit", "source"], rows)


@dataclasses.dataclass
class Job:
    """What is counted, and on what. Rates of file systems are totals of the machine, in bytes a second."""

    bases: float
    genome: float
    errors: float
    k: int = 31
    read_length: int = 150
    text_bytes: float = 0
    nodes: int = 1
    gpus: int = 1  # a node
    read_rate: float = math.inf
    write_rate: float = math.inf

    @property
    def devices(self):
        return self.nodes * self.gpus

    @property
    def kmers(self):
        return self.bases * (self.read_length - self.k + 1) / self.read_length

    @property
    def word_bytes(self):
        """Of super-k-mers: the first k-mer of a read begins one, any other with chance 2 / (w + 1), where w m-mers
        are in a k-mer (density of random minimizers; Schleimer et al. 2003, Roberts et al. 2004)."""
        window = self.k - MINIMIZER[self.k] + 1
        in_read = self.read_length - self.k + 1
        words = self.bases / self.read_length * (1 + 2 * (in_read - 1) / (window + 1))
        return words * (16 if self.k <= 47 else 32)

    @property
    def distinct(self):
        """K-mers of the genome that were read at least once; those with one error, which meet each other among the
        3 k neighbours of each; those with more errors, which meet nobody."""
        clean = (1 - self.errors) ** self.k
        one = self.k * self.errors * (1 - self.errors) ** (self.k - 1)
        return (seen(self.genome, self.kmers * clean) + seen(3 * self.k * self.genome, self.kmers * one) +
                self.kmers * (1 - clean - one))

    def index_bytes(self, rates):
        return self.distinct * rates.string_bytes


def seen(places, throws):
    """How many of so many places are met by throws at random."""
    return places * -math.expm1(-throws / places)


def device_stages(job, rates):
    """Seconds of each GPU's stages, text in its memory."""
    words, entries = job.word_bytes / job.devices, job.distinct / job.devices
    others = job.devices - 1
    return {
        "cut": job.bases / job.devices / rates.of("cut", job.k),
        "multisplit": words / rates.of("split", job.k) if others else 0,
        "split": words / rates.of("split", job.k),
        "NVLink": words * (job.gpus - 1) / job.devices / rates.nvlink,
        "network": words * (job.devices - job.gpus) / job.devices * job.gpus / (rates.network * rates.network_share),
        "count": job.kmers / job.devices / rates.of("count", job.k),
        "freeze": entries / rates.of("freeze", job.k),
    }


def file_stages(job, rates):
    """Seconds of the links between files and GPUs."""
    text, frozen = job.text_bytes, job.index_bytes(rates)
    to_device = min(rates.page_cache_to_device, rates.host_to_device, rates.host_to_devices / job.gpus)
    to_host = min(rates.device_to_host, rates.devices_to_host / job.gpus)
    return {
        "file system to host": text / job.read_rate,
        "host to device": rates.beginning + text / job.devices / to_device,
        "device to host": frozen / job.devices / to_host,
        "host to file system": frozen / job.write_rate,
    }


def on_devices(stages):
    """Until all is frozen: the kernels take turns, the exchange runs beside those of the next batch."""
    splitting = max(stages["cut"] + stages["multisplit"] + stages["split"], stages["NVLink"], stages["network"])
    return splitting + stages["count"] + stages["freeze"]


def from_files(job, rates):
    """From exec to exit: what runs side by side lasts as long as its slowest, before the end of the input and after."""
    device, file = device_stages(job, rates), file_stages(job, rates)
    before = max(file["file system to host"], file["host to device"], device["NVLink"], device["network"],
                 device["cut"] + device["multisplit"] + device["split"])
    after = max(device["count"] + device["freeze"], file["device to host"], file["host to file system"])
    return rates.startup + before + after


def exchange_seconds(point, rates):
    return float(point["bytes_per_pair"]) * (int(point["gpus"]) - 1) / rates.nvlink


def job_of(point, rates):
    writes = {"": math.inf, "tmpfs": rates.write_tmpfs}
    return Job(bases=float(point["bases"]), genome=float(point["genome"]), errors=float(point["errors"]),
               k=int(point["k"]), read_length=int(point["read_length"]), text_bytes=float(point["text_bytes"] or 0),
               nodes=int(point["nodes"]), gpus=int(point["gpus"]),
               write_rate=writes[point["output"]] * int(point["nodes"]))


def predicted(point, rates):
    if point["mode"] == "exchange":
        return exchange_seconds(point, rates)
    job = job_of(point, rates)
    return on_devices(device_stages(job, rates)) if point["mode"] == "device" else from_files(job, rates)


def read_points():
    with open(HERE / "scaling_points.csv", newline="") as file:
        return list(csv.DictReader(file))


def check_tables(points, rates):
    """How far off predictions of each kind of points are, and every point measured beside its prediction."""
    rows, errors = [], {}
    for point in points:
        measured, model = float(point["seconds"]), predicted(point, rates)
        error = model / measured - 1
        kind = f"{point['mode']}, {point['nodes']} x {point['gpus']} GPU" + (f", k = {point['k']}" if point["k"] else "")
        errors.setdefault(kind, []).append(error)
        rows.append([point["name"], point["mode"], f"{point['nodes']} x {point['gpus']}", f"{measured:.4g}", f"{model:.4g}",
                     f"{100 * error:+.0f} %", point["source"]])
    summary = [[kind, len(each), f"{100 * sum(map(abs, each)) / len(each):.0f} %", f"{100 * max(map(abs, each)):.0f} %"]
               for kind, each in errors.items()]
    return (markdown(["points", "number", "mean error", "largest error"], summary),
            markdown(["point", "mode", "nodes x GPUs", "measured, s", "model, s", "error", "source"], rows))


def fit(points, rates):
    """Least squares of relative errors: of seconds beside cutting and splitting, k-mers / count + entries / freeze."""
    for k in MINIMIZER:
        xx = xy = yy = xt = yt = 0.0
        for point in points:
            if point["mode"] != "device" or point["k"] != str(k) or point["gpus"] != "1":
                continue
            job, seconds = job_of(point, rates), float(point["seconds"])
            stages = device_stages(job, rates)
            rest = 1 - (stages["cut"] + stages["split"]) / seconds
            x, y = job.kmers / seconds, job.distinct / seconds
            xx, xy, yy, xt, yt = xx + x * x, xy + x * y, yy + y * y, xt + x * rest, yt + y * rest
        count, freeze = (xt * yy - yt * xy) / (xx * yy - xy * xy), (yt * xx - xt * xy) / (xx * yy - xy * xy)
        print(f"count,{k},{1 / count:.3g}\nfreeze,{k},{1 / freeze:.3g}")


def markdown(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)


def seconds_text(value):
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"


def stage_table(title, jobs, rates):
    """Seconds of each link, a column a job; the slowest before and after the end of the input in bold."""
    rows = []
    columns = [{**file_stages(job, rates), **device_stages(job, rates)} for _, job in jobs]
    order = ("file system to host", "host to device", "cut", "multisplit", "split", "NVLink", "network", "count", "freeze",
             "device to host", "host to file system")
    groups = (order[:7], order[7:])
    for stage in order:
        group = next(group for group in groups if stage in group)
        cells = [seconds_text(column[stage]) for column in columns]
        cells = [f"**{cell}**" if column[stage] == max(column[other] for other in group) else cell
                 for cell, column in zip(cells, columns)]
        rows.append([stage, *cells])
    rows.append(["all, from exec to exit", *(seconds_text(from_files(job, rates)) for _, job in jobs)])
    rows.append(["10^9 bases/s", *(f"{job.bases / from_files(job, rates) / 1e9:,.0f}" for _, job in jobs)])
    return f"**{title}** (seconds)\n\n" + markdown(["", *(name for name, _ in jobs)], rows)


def bytes_table(jobs, rates):
    """GB for each GPU, and whether its memory holds them."""
    rows = []
    for name, job in jobs:
        words = job.word_bytes / job.devices
        frozen = job.index_bytes(rates) / job.devices
        leaves = words * (job.devices - job.gpus) / job.devices
        rows.append([name, *(f"{value / 1e9:.3g}" for value in
                             (job.text_bytes / job.devices, words, words * (job.gpus - 1) / job.devices, leaves, frozen)),
                     f"{job.distinct / job.devices:.2e}", "yes" if words < rates.device_memory else "no"])
    return markdown(["", "text in", "super-k-mers", "sent by NVLink", "sent by network", "index out", "distinct k-mers",
                     "super-k-mers fit"], rows)


def large_jobs():
    """10^13 bases of FASTQ on 64 nodes of 4 GPUs: what is sequenced, and where text and index are."""
    def job(genome, rate=math.inf):
        return Job(bases=1e13, genome=genome, errors=0.005, text_bytes=2.1e13, nodes=64, gpus=4, read_rate=rate,
                   write_rate=rate)

    return [
        ("3 Gbp, in host memory", job(3e9)),
        ("3 Gbp, 1 TB/s", job(3e9, 1e12)),
        ("3 Gbp, 100 GB/s", job(3e9, 1e11)),
        ("1 Tbp, in host memory", job(1e12)),
        ("1 Tbp, 100 GB/s", job(1e12, 1e11)),
    ]


def growing_jobs():
    """10^12 bases of 3 Gbp in host memory, on more and more nodes."""
    return [(f"{nodes} x 4", Job(bases=1e12, genome=3e9, errors=0.005, text_bytes=2.1e12, nodes=nodes, gpus=4))
            for nodes in (1, 2, 4, 8, 16, 32, 64)]


def tables(rates, points):
    large, growing = large_jobs(), growing_jobs()
    return {
        "rates": rates.table(),
        "check": check_tables(points, rates)[0],
        "large": stage_table("10^13 bases, 64 nodes x 4 GPUs", large, rates),
        "large-bytes": bytes_table([large[0], large[3]], rates),
        "growing": stage_table("10^12 bases of 3 Gbp, in host memory", growing, rates),
        "growing-bytes": bytes_table(growing, rates),
    }


def page_with(page, made):
    """The page, with each table between its two markers."""
    for name, table in made.items():
        begin, end = f"<!-- scaling_model: {name} -->\n", f"<!-- scaling_model: end of {name} -->\n"
        before, rest = page.split(begin)
        page = before + begin + "\n" + table + "\n" + end + rest.split(end)[1]
    return page


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in ("--write", "--check", "--fit"):
        parser.add_argument(flag, action="store_true")
    options = parser.parse_args()
    rates, points = Rates(HERE / "scaling_rates.csv"), read_points()
    if options.fit:
        fit(points, rates)
        return 0
    made = tables(rates, points)
    if not (options.write or options.check):
        print("\n".join([*made.values(), check_tables(points, rates)[1]]))
        return 0
    page = PAGE.read_text()
    if options.write:
        PAGE.write_text(page_with(page, made))
    elif page != page_with(page, made):
        print("docs/scaling.md is not what the model says; run bench/scaling_model.py --write", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
