#!/usr/bin/env python3
"""Inputs that are URLs: what a server sends is read as a file would be, and a download that breaks off is an error."""

import bz2
import gzip
import http.server
import random
import re
import threading

from common_cli import DATA, INPUT, CliTest, main


def fastq(seed, count):
    source = random.Random(seed)
    return "".join(f"@r{i}\n{''.join(source.choice('ACGT') for _ in range(100))}\n+\n{'F' * 100}\n" for i in range(count)).encode()


class Server(http.server.ThreadingHTTPServer):
    """`pages`: bytes by path. /cut/NAME breaks off in the middle of NAME, /elsewhere/NAME leads to it; /500/NAME fails so."""

    daemon_threads = True

    def __init__(self, pages):
        super().__init__(("127.0.0.1", 0), Answer)
        self.pages = pages
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, path):
        return f"http://127.0.0.1:{self.server_address[1]}/{path}"


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        way, _, name = self.path[1:].rpartition("/")
        page = self.server.pages.get(name)
        if page is None or way.isdigit():
            return self.send_error(int(way or 404))
        if way == "elsewhere":
            self.send_response(302)
            self.send_header("Location", "/" + name)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        self.send_response(200)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page[: len(page) // 2] if way == "cut" else page)
        return None

    def log_message(self, *_):
        pass


class Urls(CliTest):
    def setUp(self):
        super().setUp()
        self.text = fastq(1, 3000)
        self.file("reads.fq", self.text)
        self.count("reads.fq", output="plain.wmi")
        self.server = Server({"reads.fq": self.text, "reads.fq.gz": gzip.compress(self.text), "reads.fq.bz2": bz2.compress(self.text)})
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def test_a_url_is_read_as_a_file_is(self):
        wanted = self.checksum("plain.wmi")
        for path in ("reads.fq", "reads.fq.gz", "reads.fq.bz2", "elsewhere/reads.fq.gz"):
            for threads in (1, 3):
                with self.subTest(path, threads=threads):
                    self.assertEqual(self.checksum(self.count(self.server.url(path), options=["-t", threads])), wanted)
        self.assertEqual(self.checksum(self.count(self.server.url("reads.fq").replace("http", "HTTP"))), wanted)
        self.file("list", f"{self.server.url('reads.fq.gz')}\n")
        self.assertEqual(self.checksum(self.count("@list")), wanted)

    def test_a_url_may_be_named_twice(self):
        url = self.server.url("reads.fq.gz")
        self.warned(f"'{url}' is named more than once; a file is read as often as it is named", "count", "-k", 31, "-o", "twice.wmi", url, url)
        self.file("copy.fq", self.text)
        self.count("reads.fq", "copy.fq", output="files.wmi")
        self.assertEqual(self.checksum("twice.wmi"), self.checksum("files.wmi"))

    def test_other_commands(self):
        url = self.server.url("reads.fq.gz")
        self.assertEqual(self.warpmer("histo", "-k", 21, url), self.warpmer("histo", "-k", 21, "reads.fq"))
        self.assertEqual(self.warpmer("histo", url), self.warpmer("histo", "reads.fq"))
        self.assertEqual(self.warpmer("query", "--reads", url, "plain.wmi"), self.warpmer("query", "--reads", "reads.fq", "plain.wmi"))

    def test_a_download_that_breaks_off_is_an_error(self):
        for name in self.server.pages:
            for threads in (1, 3):
                with self.subTest(name, threads=threads):
                    url = self.server.url("cut/" + name)
                    error = self.refused(INPUT, rf"cut/{name}: breaks off after at least \d+ bytes: ", "count", "-k", 21, "-t", threads, "-o", "cut.wmi", url)
                    sent = len(self.server.pages[name]) // 2
                    self.assertIn(int(re.search(r"(\d+) bytes", error)[1]), range(max(1, sent - (64 << 10)), sent + 1))
                    self.assertFalse((self.folder / "cut.wmi").exists())

    def test_what_is_not_there(self):
        for path, status, advice in (("no.fq", 404, "check the address"), ("403/reads.fq", 403, "check the address"), ("500/reads.fq", 500, "try again later")):
            self.refused(INPUT, rf"{path}: cannot be opened: its server answers with status {status}; {advice}\n", "count", "-k", 21, "-o", "o.wmi", self.server.url(path))
        self.refused(INPUT, "cannot be opened: ", "count", "-k", 21, "-o", "o.wmi", "http://127.0.0.1:9/reads.fq")
        pipe_it_in = r"reads no URLs of this kind; pipe it in, as in `curl -fsSL nosuch://a/b \| \S+ count -k 21 -o o.wmi -`"
        self.refused(INPUT, pipe_it_in, "count", "-k", 21, "-o", "o.wmi", "nosuch://a/b")
        self.refused(INPUT, "No such file", "count", "-k", 21, "-o", "o.wmi", "no/such:file")

    def test_a_reference(self):
        genome = (DATA / "genome.fa").read_bytes()
        self.server.pages["genome.fa"] = genome
        counting = ("count", "-k", 21, "-o", "o.wmi", "--reference", self.server.url("genome.fa"), DATA / "aligned.cram")
        self.refused(INPUT, r"genome\.fa\.fai: cannot be opened: its server answers with status 404", *counting)
        self.file("ref.fa", genome)
        self.warpmer(*(str(word).replace(self.server.url("genome.fa"), "ref.fa") for word in counting))
        self.server.pages["genome.fa.fai"] = (self.folder / "ref.fa.fai").read_bytes()
        wanted = self.checksum("o.wmi")
        self.assertEqual(self.run_process(*counting, "-q").stderr, b"")
        self.assertEqual(self.checksum("o.wmi"), wanted)

    def test_a_file_of_that_name_comes_first(self):
        folder = self.folder / "http:"
        folder.mkdir()
        (folder / "reads.fq").write_bytes(self.text)
        self.assertEqual(self.checksum(self.count("http://reads.fq")), self.checksum("plain.wmi"))


if __name__ == "__main__":
    main()
