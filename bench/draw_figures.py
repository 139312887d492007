#!/usr/bin/python3
"""Draws the papers' figures from what `warpmer-bench tables --csv` has written, one SVG for each, and prints our
numbers beside the papers' (bench/papers.csv) as Markdown.

    bench/draw_figures.py [--into docs/figures] ROWS.csv...

Figures for which there are no rows are left out. Needs matplotlib: scripts/setup.sh figures."""

import argparse
import collections
import csv
import pathlib
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402  (after the choice of what draws)

HERE = pathlib.Path(__file__).resolve().parent
# NVIDIA's data sheets, and the papers' own words: GB/s of device memory.
BANDWIDTH = {"NVIDIA H200": 4800, "NVIDIA H100 80GB HBM3": 3350, "NVIDIA A100-SXM4-80GB": 2039}


def read_rows(paths):
    rows = []
    for path in paths:
        with open(path, encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                for name in ("group", "bucket", "window", "hashes", "pairs"):
                    row[name] = int(row[name])
                for name in ("load", "mops", "success_rate"):
                    row[name] = float(row[name])
                row["probes"] = float(row["probes"]) if row["probes"] else None
                if row["verified"] == "FAILED":
                    sys.exit(f"{path}: a row of {row['table']} at load {row['load']} was not verified")
                rows.append(row)
    return rows


def kind(row):
    return row["operation"] + row["hits"]


def label(row):
    text = f"{row['table']} {row['bucket']} slots, {row['group']} lanes"
    return text if row["window"] in (0, row["bucket"]) else f"{text}, windows of {row['window']}"


def curves(rows, y, name):
    """{name: ([load], [y])} in order of load."""
    points = collections.defaultdict(list)
    for row in rows:
        if row[y] is not None:
            points[name(row)].append((row["load"], row[y]))
    return {key: tuple(zip(*sorted(values))) for key, values in points.items()}


def draw(path, title, panels, ylabel):
    """One SVG of panels side by side: (title of the panel, {label: (x, y)})."""
    figure, axes = plt.subplots(1, len(panels), figsize=(5.2 * len(panels), 4.2), squeeze=False)
    for axis, (name, lines) in zip(axes[0], panels):
        for text, (x, y) in lines.items():
            axis.plot(x, y, marker="o", markersize=3, linewidth=1.2, label=text)
        axis.set_title(name)
        axis.set_xlabel("load")
        axis.set_ylabel(ylabel)
        axis.set_ylim(bottom=0)
        axis.grid(linewidth=0.3)
        axis.legend(fontsize=7)
    figure.suptitle(title)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    print(f"wrote {path}", file=sys.stderr)


PANELS = {"insert": "insertions", "find100": "lookups, all found", "find50": "lookups, half found",
          "find0": "lookups, none found"}


def panels_of(rows, y, name, kinds=PANELS):
    scaled = [dict(row, mops=row["mops"] / 1000) for row in rows]
    chosen = [(PANELS[one], curves([r for r in scaled if kind(r) == one], y, name)) for one in kinds]
    return [panel for panel in chosen if panel[1]]


def warpdrive(rows, into, figure, distribution, what):
    rows = [r for r in rows if r["table"] == "warpdrive" and r["window"] == 32 and r["keys"] == distribution]
    kinds = ("insert", "find100", "find0") if distribution == "unique" else ("insert", "find100")
    panels = panels_of(rows, "mops", lambda r: f"g = {r['group']}" if r["group"] == r["bucket"] else
                       f"g = {r['group']}, {r['bucket'] // r['group']} slots each", kinds)
    if panels:
        draw(into / f"warpdrive-fig{figure}.svg", f"WarpDrive on {rows[0]['device']}: {what}", panels, "G operations/s")


def best_of(rows):
    """Of the ways to spread a bucket over lanes the fastest, for each load and operation."""
    best = {}
    for row in rows:
        key = (row["table"], row["bucket"], row["window"], round(row["load"], 3), kind(row))
        if key not in best or best[key]["mops"] < row["mops"]:
            best[key] = row
    return list(best.values())


def name_of_scheme(row):
    return f"{row['table']}, b = {row['bucket']}" + (f", windows of {row['window']}" if row["window"] > row["bucket"] else "")


def buckets(rows, into):
    rows = best_of([r for r in rows if r["keys"] == "unique" and r["table"] in ("bcht", "1cht", "iceberg")])
    for y, ylabel in (("mops", "G operations/s"), ("probes", "buckets looked at")):
        panels = panels_of(rows, y, name_of_scheme)
        if panels:
            draw(into / f"bcht-{'speed' if y == 'mops' else 'probes'}.svg",
                 f"Cuckoo and iceberg tables on {rows[0]['device']}", panels, ylabel)


def all_tables(rows, into):
    """The best of every scheme at the largest size."""
    rows = [r for r in rows if r["keys"] == "unique"]
    if not rows:
        return
    largest = max(r["pairs"] for r in rows)
    rows = best_of([r for r in rows if r["pairs"] == largest])
    draw(into / "tables.svg", f"{largest} pairs on {rows[0]['device']}",
         panels_of(rows, "mops", name_of_scheme, ("insert", "find100", "find0")), "G operations/s")


def mean(values):
    return sum(values) / len(values)


def beside_the_papers(rows, papers):
    """Ours and theirs, and theirs times the ratio of memory bandwidths."""
    print("| | load | operation | paper (hardware) | paper x bandwidth | ours | ours / scaled |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    unique = best_of([r for r in rows if r["keys"] == "unique"])
    for paper in papers:
        ours = [r for r in unique if r["table"] == paper["table"] and kind(r) == paper["operation"] + paper["hits"] and
                (not paper["bucket"] or r["bucket"] == int(paper["bucket"])) and
                (not paper["load"] or abs(r["load"] - float(paper["load"])) < 0.006)]
        if not ours:
            continue
        # A mean over loads is compared with a mean over loads; without a bucket the paper's best is meant.
        value = mean([r["mops"] for r in ours]) if paper["bucket"] else max(r["mops"] for r in ours)
        theirs = float(paper["mops"])
        ratio = BANDWIDTH.get(ours[0]["device"], 0) / float(paper["gb_per_s"])
        scaled = f"{theirs * ratio:.0f} | {value:.0f} | {value / (theirs * ratio):.2f}" if ratio else f"- | {value:.0f} | -"
        name = paper["table"] + (f", b = {paper['bucket']}" if paper["bucket"] else "")
        print(f"| {name} | {paper['load'] or 'mean'} | {kind(paper)} | {theirs:.0f} ({paper['hardware']}, "
              f"{paper['where']}) | {scaled} |")


def success_rates(rows):
    seen = [r for r in rows if r["operation"] == "insert" and int(r["builds"]) >= 100]
    if not seen:
        return
    print("\n| | load | builds | all keys in their buckets |\n| --- | --- | --- | --- |")
    for r in seen:
        print(f"| {label(r)} | {r['load']:.2f} | {r['builds']} | {100 * r['success_rate']:.1f} % |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=pathlib.Path, default=HERE.parent / "docs" / "figures")
    parser.add_argument("rows", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    rows = read_rows(options.rows)
    if not rows:
        sys.exit("draw_figures.py: no rows")
    options.into.mkdir(parents=True, exist_ok=True)
    matplotlib.rcParams["svg.hashsalt"] = "warpmer"  # the same bytes for the same numbers
    warpdrive(rows, options.into, 7, "unique", "unique keys")
    warpdrive(rows, options.into, 8, "zipf", "Zipf-distributed keys")
    buckets(rows, options.into)
    all_tables(rows, options.into)
    with open(HERE / "papers.csv", encoding="utf-8", newline="") as file:
        beside_the_papers(rows, list(csv.DictReader(file)))
    success_rates(rows)


if __name__ == "__main__":
    main()
