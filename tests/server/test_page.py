"""The page at /, driven in headless Chromium where there is one. Keeps a screenshot under build/artefacts."""
import base64
import http.client
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time

import pytest

CHROMIUM = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")


class Page:
    """A tab of a browser, spoken to by its debugging protocol: JSON in the frames of a WebSocket."""

    def __init__(self, port, target):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        self.stream = self.socket.makefile("rb")
        while self.stream.readline() not in (b"\r\n", b""):
            pass
        self.number = 0
        self.events = []

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        size = len(data)
        head = bytes([0x81]) + (bytes([0x80 | size]) if size < 126 else
                                struct.pack(">BH", 0xFE, size) if size < 65536 else struct.pack(">BQ", 0xFF, size))
        self.socket.sendall(head + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(data)))

    def receive(self):
        text = b""
        while True:
            first, size = self.stream.read(2)
            size &= 0x7F
            if size == 126:
                size = struct.unpack(">H", self.stream.read(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self.stream.read(8))[0]
            text += self.stream.read(size)
            if first & 0x80:
                return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        self.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = self.receive()
            if message.get("id") == self.number:
                assert "error" not in message, message
                return message["result"]
            self.events.append(message)

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait_for(self, expression, seconds=30):
        end = time.monotonic() + seconds
        # Until the page is there, its elements are not.
        while not self.evaluate(f"(() => {{ try {{ return {expression}; }} catch {{ return false; }} }})()"):
            assert time.monotonic() < end, f"never true: {expression}\n{self.evaluate('document.body.innerText')}"
            time.sleep(0.1)


@pytest.fixture
def browser():
    """A Chromium whose tabs can be asked for by `open(url)`."""
    with tempfile.TemporaryDirectory() as profile:
        process = subprocess.Popen([CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                                    "--no-first-run", "--disable-background-networking", "--remote-debugging-port=0",
                                    "--remote-allow-origins=*", f"--user-data-dir={profile}", "--window-size=1280,1400", "about:blank"],
                                   stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        active = pathlib.Path(profile) / "DevToolsActivePort"
        end = time.monotonic() + 60
        while not active.exists() or not active.read_text().strip():
            assert process.poll() is None and time.monotonic() < end, "Chromium does not start"
            time.sleep(0.1)
        port = int(active.read_text().splitlines()[0])

        def open_page(url):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("PUT", f"/json/new?{url}")
            target = json.loads(connection.getresponse().read())
            return Page(port, "/" + target["webSocketDebuggerUrl"].split("/", 3)[3])

        yield open_page
        process.terminate()
        process.wait(timeout=30)


def test_page_shows_load_and_embeds(serve, browser, root):
    server = serve("bert-tiny", "--dtype", "float32")
    page = browser(server.url + "/")
    page.call("Runtime.enable")
    page.call("Log.enable")
    stop = threading.Event()

    def load():
        while not stop.is_set():
            server.embed(["hello world", "the cat sat on the mat"])
            server.embed("hello")

    thread = threading.Thread(target=load)
    thread.start()
    try:
        page.wait_for("document.getElementById('state').textContent === 'ready'")
        page.wait_for("document.querySelectorAll('#matrix td').length === 36")
        # Vectors of texts to themselves, and tokens with their special ones.
        assert page.evaluate("document.querySelector('#matrix td').textContent") == "1.00"
        assert page.evaluate("document.querySelectorAll('#tokens .row').length") == 6
        assert page.evaluate("document.querySelectorAll('#tokens .token.special').length") == 12
        page.evaluate("document.getElementById('texts').value = 'hello\\nhello'; document.getElementById('embed').click()")
        page.wait_for("document.querySelectorAll('#matrix td').length === 4")
        page.wait_for("!document.getElementById('embed').disabled")
        assert page.evaluate("[...document.querySelectorAll('#matrix td')].every(cell => cell.textContent === '1.00')")
        page.wait_for("document.querySelectorAll('#charts svg path[d^=M]').length >= 10")
        page.wait_for("parseFloat(document.querySelector('#tiles b').textContent) > 0")
        page.evaluate("document.getElementById('dimensions').value = '100000'; document.getElementById('embed').click()")
        page.wait_for("document.getElementById('outcome').textContent.includes('dimensions')")
    finally:
        stop.set()
        thread.join()
    picture = page.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
    folder = root / "build" / "artefacts"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "page.png").write_bytes(base64.b64decode(picture))
    wrong = [event for event in page.events if event["method"] == "Runtime.exceptionThrown"
             or event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error"
             and "400" not in event["params"]["entry"]["text"]]
    assert not wrong, wrong


REPORT = {"verdict": {"passed": False, "reasons": ["P99 0.08000 over 900 texts is more than 0.05"]}, "created": "2026-01-31T12:00:00Z",
          "candidate": {"texts_per_s": 900}, "reference": {"dtype": "float32"}, "distance": {"texts": 900, "p99": 0.08},
          "retrieval": {"all": {"recall_5_loss": 0.02}, "de": {"recall_5_loss": 0.015}, "ja": {"recall_5_loss": 0.031}}}


def test_page_and_info_show_the_validation_report(serve, browser, root, golden, tmp_path):
    folder = tmp_path / "judged"
    shutil.copytree(golden / "bert-tiny" / "model", folder)
    (folder / "inlay-validation.json").write_text(json.dumps({"reports": {"int8": REPORT}}))
    server = serve(folder, "--dtype", "int8")
    info = server.get("/info")[2]["validation"]
    assert info["passed"] is False and info["dtype"] == "int8" and info["p99"] == 0.08 and info["stale"] is True
    assert info["recall_5_loss"] == 0.02 and info["recall_5_loss_by_language"] == {"de": 0.015, "ja": 0.031}
    page = browser(server.url + "/")
    page.wait_for("document.querySelector('#quality .state').textContent === 'not suited'")
    shown = page.evaluate("document.getElementById('quality').innerText")
    assert "0.08000" in shown and "3.10 %" in shown and "lost in ja" in shown and "more than 0.05" in shown
    page.wait_for("document.querySelectorAll('#matrix td').length === 36")
    picture = page.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
    artefacts = root / "build" / "artefacts"
    artefacts.mkdir(parents=True, exist_ok=True)
    (artefacts / "page-validation.png").write_bytes(base64.b64decode(picture))


def test_page_asks_for_the_key(serve, browser):
    server = serve("bert-tiny", "--api-key", "the-secret-key")
    page = browser(server.url + "/")
    page.wait_for("!document.getElementById('key-box').hidden")
    page.evaluate("const key = document.getElementById('key'); key.value = 'the-secret-key'; key.dispatchEvent(new Event('change'))")
    page.wait_for("document.querySelectorAll('#matrix td').length === 36")
    page.wait_for("document.getElementById('state').textContent === 'ready'")
