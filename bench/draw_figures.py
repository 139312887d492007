#!/usr/bin/python3
"""Draws the papers' figures from what `warpmer-bench tables --csv` has written, one small SVG for each, and prints
our numbers beside the papers' (bench/papers.csv) as Markdown.

    bench/draw_figures.py [--into docs/figures] ROWS.csv...

Figures for which there are no rows are left out. Needs matplotlib: scripts/setup.sh figures."""

import argparse
import collections
import csv
import io
import math
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

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
                row["source"] = path
                for name in ("group", "bucket", "window", "hashes", "pairs", "batch"):
                    row[name] = int(row[name])
                for name in ("load", "utilization", "repeats", "mops", "success_rate"):
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


def curves(rows, y, name, x="load"):
    """{name: ([x], [y])} in order of x."""
    points = collections.defaultdict(list)
    for row in rows:
        if row[y] is not None:
            points[name(row)].append((row[x], row[y]))
    return {key: tuple(zip(*sorted(values))) for key, values in points.items()}


SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
NUMBER = re.compile(r"-?\d+\.\d+")


def simplified(svg):
    """The same picture in a tenth of the bytes: no metadata, no groups that do nothing, one decimal in numbers, each
    style and each marker written once."""
    for prefix, space in (("", SVG), ("xlink", XLINK)):
        ElementTree.register_namespace(prefix, space)
    root = ElementTree.fromstring(svg)
    markers, ids, styles = {}, {}, {}  # by shape and style; by the ids that they had; names of classes

    def children_of(element):
        for child in element:
            if child.tag == f"{{{SVG}}}metadata":
                continue
            if child.tag == f"{{{SVG}}}g":
                child.attrib.pop("id", None)
                if not child.attrib:
                    yield from children_of(child)
                    continue
            if child.tag == f"{{{SVG}}}path" and "id" in child.attrib:
                known = markers.setdefault((child.get("d"), child.get("style")), child)
                ids[child.attrib["id"]] = known
                if known is not child:
                    continue
                child.set("id", f"m{len(markers)}")
            yield child

    def walk(element):
        element[:] = list(children_of(element))
        element.text, element.tail = (element.text or "").strip() or None, None
        for name in ("d", "x", "y", "width", "height", "transform"):
            if name in element.attrib:
                value = NUMBER.sub(lambda found: f"{float(found[0]):.1f}".replace(".0", ""), element.attrib[name])
                element.set(name, " ".join(value.split()))
        styled = element
        if element.tag == f"{{{SVG}}}use":
            styled = ids[element.get(f"{{{XLINK}}}href")[1:]]  # all uses of a marker look alike
            element.set(f"{{{XLINK}}}href", "#" + styled.get("id"))
        if "style" in element.attrib:
            styled.set("class", styles.setdefault(element.attrib.pop("style"), f"s{len(styles)}"))
        for child in element:
            walk(child)
        element[:] = [child for child in element if child.tag != f"{{{SVG}}}defs" or len(child)]

    walk(root)
    rules = "\n".join(f".{name} {{{style}}}" for style, name in styles.items())
    text = re.sub("(<(?:path|text)[ >])", r"\n\1", ElementTree.tostring(root, encoding="unicode"))
    return text.replace("</style>", f"\n{rules}</style>", 1).replace(" />", "/>") + "\n"


def draw(path, title, panels, ylabel, xlabel="load", log_x=False, log_y=False):
    """One SVG of panels, two in a row so that a page has room for them: (title of the panel, {label: (x, y)})."""
    columns, rows = min(len(panels), 2), (len(panels) + 1) // 2
    figure, axes = plt.subplots(rows, columns, figsize=(5.2 * columns, 4.2 * rows), squeeze=False)
    for axis in axes.flat[len(panels):]:
        axis.set_visible(False)
    for axis, (name, lines) in zip(axes.flat, panels):
        for text, (x, y) in lines.items():
            axis.plot(x, y, marker="o", markersize=3, linewidth=1.2, label=text)
        axis.set_title(name)
        axis.set_xlabel(xlabel)
        axis.set_ylabel(ylabel)
        if log_x:
            axis.set_xscale("log", base=2)
        if log_y:
            axis.set_yscale("log")
        else:
            axis.set_ylim(bottom=0)
        axis.grid(linewidth=0.3)
        axis.legend(fontsize=7)
    figure.suptitle(title)
    figure.tight_layout()
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    path.write_text(simplified(text.getvalue()), encoding="utf-8")
    plt.close(figure)
    print(f"wrote {path}", file=sys.stderr)


PANELS = {"insert": "insertions", "find100": "lookups, all found", "find50": "lookups, half found",
          "find0": "lookups, none found"}


def panels_of(rows, y, name, kinds=PANELS, x="load"):
    scaled = [dict(row, mops=row["mops"] / 1000) for row in rows]
    chosen = [(PANELS[one], curves([r for r in scaled if kind(r) == one], y, name, x)) for one in kinds]
    return [panel for panel in chosen if panel[1]]


def warpdrive(rows, into, figure, distribution, what):
    rows = [r for r in rows if r["table"] == "warpdrive" and r["window"] == 32 and r["keys"] == distribution]
    kinds = ("insert", "find100", "find0") if distribution == "unique" else ("insert", "find100")
    panels = panels_of(rows, "mops", lambda r: f"g = {r['group']}" if r["group"] == r["bucket"] else
                       f"g = {r['group']}, {r['bucket'] // r['group']} slots each", kinds)
    if panels:
        draw(into / f"warpdrive-fig{figure}.svg", f"WarpDrive on {rows[0]['device']}: {what}", panels, "G operations/s")


def best_of(rows, *more):
    """Of the ways to spread a bucket over lanes the fastest, for each load and operation; and for each value of
    these columns."""
    best = {}
    for row in rows:
        key = (row["table"], row["bucket"], row["window"], round(row["load"], 2 if more else 3), kind(row),
               *(row[name] for name in more))
        if key not in best or best[key]["mops"] < row["mops"]:
            best[key] = row
    return list(best.values())


def name_of_scheme(row):
    if row["bucket"] == 0:
        return row["table"]
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


# The experiments of Ashkiani et al. 2018 and Green 2019, and those of Awad et al. 2023 that are no curves by load of
# one size. Each run of one is a figure of its own; runs of other sizes than the paper's have theirs in the name.
PAPERS_PAIRS = {"bcht-sizes": None, "bcht-success": None, "iceberg-threshold": None, "slabhash7-chained": 20,
                "hashgraph-bins": 25, "hashgraph-sizes": None, "hashgraph-peers": 25, "slabhash4": 22, "slabhash6": 21, "slabhash7": 22, "slaballoc": None, "slabhash5": None,
                "hashgraph-duplicates": 25, "hashgraph-load": 25}


def runs_of(rows):
    """{(figure, pairs): rows} of these experiments."""
    by_source = collections.defaultdict(list)
    for row in rows:
        if row["figure"] in PAPERS_PAIRS:
            by_source[row["figure"], row["source"]].append(row)
    return {(figure, max(r["pairs"] for r in some)): some for (figure, _), some in by_source.items()}


def others(rows):
    return [row for row in rows if row["figure"] not in PAPERS_PAIRS]


def file_of(into, figure, pairs):
    log = math.log2(pairs)
    usual = PAPERS_PAIRS[figure] is None or PAPERS_PAIRS[figure] == log
    return into / (f"{figure}.svg" if usual else f"{figure}-{log:.3g}.svg")


def with_lanes(row):
    if row["bucket"] == 0 or row["group"] == 1:
        return row["table"]
    return f"{row['table']}, {row['group']} lanes"


def draw_run(into, figure, pairs, rows):
    path, where = file_of(into, figure, pairs), f"{rows[0]['device']}"
    if figure == "slabhash4":
        draw(path, f"Slab hash, {pairs} pairs on {where}", panels_of(rows, "mops", with_lanes, x="utilization"),
             "G operations/s", "memory utilization")
    if figure == "slabhash5":
        draw(path, f"Slab hash, utilization 0.6, on {where}", panels_of(rows, "mops", with_lanes, x="pairs"),
             "G operations/s", "pairs", log_x=True)
    if figure == "slabhash6":
        best = best_of(rows, "pairs", "batch")
        timed = [dict(r, ms=r["pairs"] / r["mops"] / 1000) for r in best if r["table"] in ("slab", "bcht")]
        names = {"slab": "batches into a slab hash", "bcht": "cuckoo tables built anew"}
        draw(path, f"Batches on {where}",
             [("all insertions so far", curves(timed, "ms", lambda r: f"{names[r['table']]}, {r['batch']} pairs",
                                               "pairs"))], "ms", "pairs in the table", log_y=True)
    if figure == "slabhash7":
        scaled = [dict(row, mops=row["mops"] / 1000) for row in rows]
        mixes = sorted({row["mix"] for row in rows}, reverse=True)
        draw(path, f"Operations side by side, {pairs} pairs on {where}",
             [(f"insert/erase/find/find none: {mix} %",
               curves([r for r in scaled if r["mix"] == mix], "mops", with_lanes, "utilization")) for mix in mixes],
             "G operations/s", "memory utilization at the beginning")
    if figure == "hashgraph-duplicates":
        draw(path, f"HashGraph, {pairs} pairs on {where}", panels_of(rows, "mops", with_lanes, x="repeats"),
             "G keys/s", "duplicates of a key", log_x=True)
    if figure == "bcht-sizes":
        draw(path, f"Cuckoo and iceberg tables on {where}, load 0.8",
             panels_of(best_of([r for r in rows if abs(r["load"] - 0.8) < 0.01], "pairs"), "mops", name_of_scheme,
                       x="pairs"), "G operations/s", "pairs", log_x=True)
    if figure == "bcht-success":
        built = [r for r in rows if r["operation"] == "insert"]
        draw(path, f"{pairs} pairs on {where}",
             [("builds that place all keys", curves(built, "success_rate", name_of_scheme))], "share of builds")
    if figure == "iceberg-threshold":
        for row in rows:
            row["threshold"] = int(row["table"].partition("-")[2] or 80)
        draw(path, f"Iceberg tables by threshold, {pairs} pairs on {where}",
             panels_of(rows, "probes", lambda r: f"b = {r['bucket']}, load {r['load']:.2f}", x="threshold"),
             "buckets looked at", "threshold, % of the primary bucket")
    if figure == "hashgraph-bins":
        built = [dict(r, mops=r["mops"] / 1000) for r in rows if r["operation"] == "insert"]
        draw(path, f"Building HashGraph V2 on {where}",
             [(f"{size} pairs", curves([r for r in built if r["pairs"] == size], "mops", with_lanes, "repeats"))
              for size in sorted({r["pairs"] for r in built})], "G keys/s", "duplicates of a key", log_x=True)
    if figure == "hashgraph-sizes":
        draw(path, f"HashGraph V2 on {where}",
             panels_of(rows, "mops", lambda r: f"{r['pairs']} pairs", x="repeats"), "G keys/s",
             "duplicates of a key", log_x=True)
    if figure == "hashgraph-peers":
        draw(path, f"HashGraph beside open addressing, {pairs} unique keys on {where}",
             panels_of(best_of(rows), "mops", name_of_scheme), "G keys/s")
    if figure == "hashgraph-load":
        draw(path, f"HashGraph, {pairs} unique keys on {where}", panels_of(rows, "mops", with_lanes),
             "G keys/s", "load: keys by buckets")


AXIS = {"bcht-sizes": "pairs", "bcht-success": "load", "iceberg-threshold": "load",
        "slabhash7-chained": "utilization", "hashgraph-bins": "repeats", "hashgraph-sizes": "repeats",
        "hashgraph-peers": "load", "slabhash4": "utilization", "slabhash5": "pairs", "slabhash6": "pairs", "slabhash7": "utilization",
        "slaballoc": "pairs", "hashgraph-duplicates": "repeats", "hashgraph-load": "load"}


def column_of(row):
    more = f" {row['mix']}" if row["mix"] else f" of {row['batch']}" if row["batch"] else ""
    if row["figure"] == "bcht-sizes":
        more = f" at load {row['load']:.2f}"
    if row["figure"] in ("hashgraph-bins", "hashgraph-sizes"):
        more = f" of {row['pairs']}"
    if row["figure"] in ("bcht-success", "iceberg-threshold", "bcht-sizes", "hashgraph-peers") and row["bucket"] > 0:
        more += f", b = {row['bucket']}"
    return f"{with_lanes(row)}: {kind(row)}{more}"


def print_run(figure, pairs, rows):
    """A run as Markdown, 10^9 operations a second; of batches, what they came to in the end."""
    x = AXIS[figure]
    if figure == "slabhash6":
        rows = [row for row in rows if row["pairs"] == pairs]
    print(f"\n`{figure}`, {pairs} pairs ({rows[0]['device']}), 10^9 operations/s:\n")
    # Utilizations come out a little differently for each table, in the same order.
    points = collections.defaultdict(dict)
    for name, line in curves([dict(r, mops=r["mops"] / 1000) for r in rows], "mops", column_of, x).items():
        for number, (at, value) in enumerate(zip(*line)):
            points[name][number if x == "utilization" else at] = (at, value)
    xs = sorted({at for values in points.values() for at in values})
    heads = (next(values[at][0] for values in points.values() if at in values) for at in xs)
    print(f"| | {' | '.join(f'2^{math.log2(head):.3g}' if x == 'pairs' else f'{head:.3g}' for head in heads)} |")
    print("| --- |" + " --- |" * len(xs))
    for name, values in points.items():
        cells = (f"{values[at][1]:.3g}" if at in values else "" for at in xs)
        print(f"| {name} | {' | '.join(cells)} |")


def mean(values):
    return sum(values) / len(values)


HOW = {"max": max, "mean": mean, "harmonic": lambda values: len(values) / sum(1 / value for value in values)}


def speedup(rows, paper, pairs):
    """How many times as fast batches were as rebuilding, in the end, by the fastest group of each."""
    batch = pairs // int(paper["batches"])
    last = [r for r in rows if r["batch"] == batch and r["pairs"] == pairs]
    rates = [max((r["mops"] for r in last if r["table"] == table), default=0) for table in (paper["table"], "bcht")]
    return rates[0] / rates[1] if all(rates) else None


def matches(row, paper):
    return (row["table"] == paper["table"] and kind(row) == paper["operation"] + paper["hits"] and
            (not paper["load"] or abs(row["load"] - float(paper["load"])) < 0.006) and
            (not paper["utilization"] or abs(row["utilization"] - float(paper["utilization"])) < 0.015))


def runs_beside_the_papers(runs, papers):
    """As below, of the experiments above. Speedups are not scaled."""
    print("\n| | pairs | what | paper (hardware) | paper x bandwidth | ours | ours / scaled |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for (figure, pairs), rows in sorted(runs.items()):
        for paper in papers:
            if paper["figure"] != figure:
                continue
            ratio = BANDWIDTH.get(rows[0]["device"], 0) / float(paper["gb_per_s"])
            if paper["how"] == "speedup":
                value, ratio = speedup(rows, paper, pairs), 1
            else:
                ours = [r["mops"] for r in best_of(rows, "pairs", "mix") if matches(r, paper)]
                value = HOW[paper["how"]](ours) if ours else None
            if value is None:
                continue
            theirs = float(paper["mops"])
            digits = 1 if paper["how"] == "speedup" else 0
            scaled = (f"{theirs * ratio:.{digits}f} | {value:.{digits}f} | {value / (theirs * ratio):.2f}" if ratio
                      else f"- | {value:.{digits}f} | -")
            what = " ".join(filter(None, (kind(paper), paper["how"], paper["load"] and f"at load {paper['load']}",
                                          paper["utilization"] and f"at utilization {paper['utilization']}",
                                          paper["batches"] and f"of {paper['batches']} batches")))
            print(f"| {paper['table']} | {pairs} | {what} | {theirs:g} ({paper['hardware']}, {paper['where']}) "
                  f"| {scaled} |")


def beside_the_papers(rows, papers):
    """Ours and theirs, and theirs times the ratio of memory bandwidths."""
    print("| | load | operation | paper (hardware) | paper x bandwidth | ours | ours / scaled |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    unique = best_of([r for r in rows if r["keys"] == "unique"])
    for paper in papers:
        if paper["figure"]:
            continue
        ours = [r for r in unique if r["table"] == paper["table"] and kind(r) == paper["operation"] + paper["hits"] and
                (not paper["bucket"] or r["bucket"] == int(paper["bucket"])) and
                (not paper["load"] or abs(r["load"] - float(paper["load"])) < 0.006)]
        if not ours:
            continue
        # A mean over loads is compared with a mean over loads; without a bucket the paper's best is meant.
        value = HOW[paper["how"]]([r["mops"] for r in ours])
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
    matplotlib.rcParams["svg.fonttype"] = "none"  # text is text: its outlines would be most of the file
    with open(HERE / "papers.csv", encoding="utf-8", newline="") as file:
        papers = list(csv.DictReader(file))
    runs, rows = runs_of(rows), others(rows)
    if rows:
        warpdrive(rows, options.into, 7, "unique", "unique keys")
        warpdrive(rows, options.into, 8, "zipf", "Zipf-distributed keys")
        buckets(rows, options.into)
        all_tables(rows, options.into)
        beside_the_papers(rows, papers)
        success_rates(rows)
    for (figure, pairs), some in sorted(runs.items()):
        draw_run(options.into, figure, pairs, some)
        print_run(figure, pairs, some)
    if runs:
        runs_beside_the_papers(runs, papers)


if __name__ == "__main__":
    main()
