"""A hub on this machine: the routes that downloads use, with the faults that real ones have."""

import hashlib
import http.server
import json
import threading
import urllib.parse

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def git_hash(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def refused(self):
        given = self.headers.get("Authorization")
        if self.server.hub.gated and given is None:
            self.answer(401, X_Error_Code="GatedRepo", X_Error_Message="Access to this model is restricted")
        elif self.server.hub.gated and given != f"Bearer {self.server.hub.token}":
            self.answer(403, X_Error_Code="GatedRepo", X_Error_Message="Conditions are not accepted")
        else:
            return False
        return True

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path = urllib.parse.unquote(urllib.parse.urlparse(self.path).path)
        self.server.hub.requests.append((self.server.name, self.command, path, dict(self.headers)))
        if self.server.name == "store":
            return self.send_file(path.lstrip("/"))
        listing = f"/api/models/{self.server.hub.repository}/revision/"
        if path.startswith(listing):
            return self.send_listing(path.removeprefix(listing))
        prefix = f"/{self.server.hub.repository}/resolve/"
        revision, _, file = path.removeprefix(prefix).partition("/")
        is_file = path.startswith(prefix) and revision in ("main", self.server.hub.commit) and file in self.server.hub.files
        if not is_file:
            return self.answer(404, X_Error_Code="EntryNotFound", X_Error_Message="Entry not found")
        if not self.refused():
            self.resolve(file)

    def send_listing(self, revision):
        if self.server.hub.busy > 0:
            self.server.hub.busy -= 1
            return self.answer(503)
        if self.refused():
            return
        if revision not in ("main", "v1", "refs/pr/1", self.server.hub.commit):
            return self.answer(404, X_Error_Code="RevisionNotFound", X_Error_Message="Invalid rev id")
        siblings = [{"rfilename": file} for file in self.server.hub.files]
        body = json.dumps({"id": self.server.hub.repository, "sha": self.server.hub.commit, "siblings": siblings}).encode()
        body = self.server.hub.listing if self.server.hub.listing is not None else body
        self.answer(200, body, Content_Type="application/json")

    def resolve(self, file):
        data = self.server.hub.files[file]
        if len(data) <= self.server.hub.large:
            return self.send_file(file, ETag=f'"{self.server.hub.etag(file)}"', X_Repo_Commit=self.server.hub.commit)
        self.answer(
            302,
            Location=f"http://{self.server.hub.store_host}:{self.server.hub.store.server_port}/{urllib.parse.quote(file)}",
            X_Linked_Etag=f'"{self.server.hub.etag(file)}"',
            X_Linked_Size=str(self.server.hub.sizes.get(file, len(data))),
            X_Repo_Commit=self.server.hub.commit,
            ETag='"something else"',
        )

    def send_file(self, file, **headers):
        data = self.server.hub.files[file]
        if self.command == "HEAD":
            return self.answer(200, Content_Length=str(len(data)), **headers)
        faults = self.server.hub.faults.get(file, [])
        fault = faults.pop(0) if faults else None
        begin = 0
        if range_header := self.headers.get("Range"):
            begin = int(range_header.removeprefix("bytes=").rstrip("-"))
        if isinstance(fault, int):
            return self.answer(fault)
        if fault == "no-range":
            begin = 0
        if fault == "garbage":
            data = bytes(len(data))
        if fault == "long":
            return self.answer(200, data + b"more", **headers)
        if begin >= len(data) > 0:
            return self.answer(416, **headers)
        if begin > 0:
            headers["Content_Range"] = f"bytes {begin}-{len(data) - 1}/{len(data)}"
        part = data[begin:]
        if fault == "cut":
            self.answer(206 if begin else 200, part[: len(part) // 2], Content_Length=str(len(part)), **headers)
            self.close_connection = True
            return
        self.answer(206 if begin else 200, part, **headers)


class FakeHub:
    """Serves `files` (path to bytes) of one model. Files over `large` bytes are kept elsewhere, as the hub does with its large
    ones: their HEAD is a redirect with X-Linked-Etag, their bytes come from another port.

    faults: path to a list of what the next GETs of its bytes do: "cut" (half, then the connection ends), "garbage" (other bytes
    of the same size), "long", "no-range" (the whole file, though a part was asked for), or a status.
    """

    def __init__(self, files, repository="org/tiny", large=20_000, token=None, gated=False):
        self.files = files
        self.repository = repository
        self.large = large
        self.token = token
        self.gated = gated
        self.commit = COMMIT
        self.faults = {}
        self.listing = None  # bytes in place of the listing
        self.sizes = {}  # what is said of a large file's size, where that is not the truth
        self.etags = {}  # likewise of ETags
        self.store_host = "127.0.0.1"
        self.busy = 0  # so many requests for the listing are answered 503
        self.requests = []  # (server, method, path, headers)
        self.main = self._serve("main")
        self.store = self._serve("store")
        self.url = f"http://127.0.0.1:{self.main.server_port}"

    def close(self):
        for server in (self.main, self.store):
            server.shutdown()
            server.server_close()

    def seen(self, method=None, part=""):
        return [entry for entry in self.requests if (method in (None, entry[1])) and part in entry[2]]

    def etag(self, path):
        data = self.files[path]
        if path in self.etags:
            return self.etags[path]
        return hashlib.sha256(data).hexdigest() if len(data) > self.large else git_hash(data)

    def _serve(self, name):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.hub, server.name, server.daemon_threads = self, name, True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server


def model_files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
