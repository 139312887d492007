"""Pictures as SVG, read back."""

import itertools
import math
import re
import xml.etree.ElementTree

SVG = "{http://www.w3.org/2000/svg}"


def number(text):
    """25k -> 25000"""
    prefix = "kMGTPE".find(text[-1]) + 1
    return float(text.rstrip("kMGTPE")) * 1000**prefix


class Drawing:
    """A chart."""

    def __init__(self, path):
        self.root = xml.etree.ElementTree.parse(path).getroot()
        texts = [text for text in self.root.iter(SVG + "text") if text.get("class") == "faint" and "x" in text.attrib]
        heights = [(number(t.text), float(t.get("y")) - 4) for t in texts if t.get("text-anchor") == "end" and float(t.get("x")) < 60]
        counts = [(number(t.text), float(t.get("x"))) for t in texts if t.get("text-anchor") == "middle"]
        self.heights, self.counts = heights, counts

    def paths(self, name):
        return [path.get("d") for path in self.root.iter(SVG + "path") if path.get("class") == name]

    def texts(self):
        return [text.text for text in self.root.iter(SVG + "text")]

    def along(self, pairs, position, log=False):
        """The value at a position, from two ticks."""
        (low, at), (high, then) = pairs[0], pairs[-1]
        if log:
            low, high = math.log(low), math.log(high)
        value = low + (high - low) * (position - at) / (then - at)
        return math.exp(value) if log else value

    def bars(self, log=False):
        """(begin, end, height) of each bar."""
        (path,) = self.paths("fill1")
        steps = re.findall(r"[ML]([\d.]+) ([\d.]+)H([\d.]+)", path.rsplit("L", 1)[0])
        return [(float(x), float(end), self.along(self.heights, float(y), log)) for x, y, end in steps]

    def curve(self, log=False, name="curve"):
        (path,) = self.paths(name)
        return [(x, self.along(self.heights, y, log)) for x, y in points_of(path)]

    def overlaps(self):
        """Pairs of texts, those that are turned left out, that cover each other or leave the picture."""
        boxes = []
        width, height = (float(self.root.get(side)) for side in ("width", "height"))
        for text in self.root.iter(SVG + "text"):
            if "x" not in text.attrib:
                continue
            x, y, size = (float(text.get(name)) for name in ("x", "y", "font-size"))
            wide = 0.55 * size * len(text.text)
            x -= {"end": wide, "middle": wide / 2}.get(text.get("text-anchor"), 0)
            boxes.append((text.text, x, y - 0.75 * size, x + wide, y))
        outside = [(text, "outside") for text, left, top, right, bottom in boxes if left < 0 or top < 0 or right > width or bottom > height]
        return outside + [(a[0], b[0]) for a, b in itertools.combinations(boxes, 2) if a[1] < b[3] and b[1] < a[3] and a[2] < b[4] and b[2] < a[4]]


def points_of(path):
    return [(float(x), float(y)) for x, y in re.findall(r"[ML]([\d.]+) ([\d.]+)", path)]
