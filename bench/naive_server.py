#!/usr/bin/env python3
"""The server that many teams have: sentence-transformers behind HTTP, each text embedded as it comes, without batching.

Prints its port, then answers POST /v1/embeddings until it is ended. Usage: naive_server.py --model FOLDER [--threads N]
"""
import argparse
import http.server
import json

import torch
from sentence_transformers import SentenceTransformer


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # An answer in one piece: else each waits 40 ms for an acknowledgement.
    disable_nagle_algorithm = True
    model = None

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        data = [{"object": "embedding", "index": i, "embedding": self.model.encode(text).tolist()} for i, text in enumerate(texts)]
        answer = json.dumps({"object": "list", "data": data}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        try:
            self.wfile.write(answer)
        except ConnectionError:  # The client did not wait.
            self.close_connection = True

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    Handler.model = SentenceTransformer(options.model, device="cpu")
    Handler.model.encode("warm")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
