# SPDX-License-Identifier: Apache-2.0
"""A server that imitates the hub, the CDN that it redirects to, and its mishaps."""

import hashlib
import http.server
import json
import ssl
import threading
import time

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub:
    """Serves models = {"owner/name": {file: bytes}} as the hub does, files = {path: bytes} as any server, and
    redirects = {path: address}. With the path of a certificate, by https.

    `mishaps` is a list of functions of (handler, path) that are asked before each request to the CDN or for a file; one
    that returns True has answered, and one that returns False is asked again later. `cut_after`: bytes of a body after
    which connections are cut. `delay`: seconds between blocks of 16 KiB. `ignores_ranges`: whole files are
    sent whatever is asked; `ignores_conditions`: ranges are sent whatever If-Range says.
    """

    def __init__(self, certificate=None):
        self.models, self.files, self.cards, self.requests, self.mishaps = {}, {}, {}, [], []
        self.ignores_ranges = self.ignores_conditions = False
        self.cut_after, self.delay, self.redirects = None, 0, {}
        hub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                hub.answer(self)

            do_HEAD = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # clients that were killed
        self.port = self.server.server_address[1]
        self.address = f"http://127.0.0.1:{self.port}"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            self.address = f"https://localhost:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def describe(self, name):
        siblings = []
        for file, content in self.models[name].items():
            sibling = {"rfilename": file, "size": len(content),
                       "blobId": hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()}
            if file.endswith((".safetensors", ".bin", ".spm", ".h5")):
                sibling["blobId"] = "f" * 40  # that of the pointer, which is no name of the content
                sibling["lfs"] = {"size": len(content), "pointerSize": 130,
                                  "sha256": hashlib.sha256(content).hexdigest()}
            siblings.append(sibling)
        return {"id": name, "sha": COMMIT, "cardData": self.cards.get(name, {}), "siblings": siblings}

    def answer(self, handler):
        path = handler.path.split("?")[0]
        if path.startswith("http://"):  # through a proxy
            path = "/" + path.split("/", 3)[3]
        self.requests.append((handler.command, path, dict(handler.headers)))
        for name in self.models:
            if path in (f"/api/models/{name}", f"/api/models/{name}/revision/v1"):
                if self.mishap(handler, path):
                    return
                return self.send(handler, 200, json.dumps(self.describe(name)).encode(), {})
            prefix = f"/{name}/resolve/{COMMIT}/"
            if path.startswith(prefix):  # to another host name
                return self.send(handler, 302, b"elsewhere", {
                    "Location": f"http://localhost:{self.port}/cdn/{name}/{path[len(prefix):]}"})
            if path.startswith(f"/cdn/{name}/"):
                return self.send_file(handler, path, self.models[name], path[len(f"/cdn/{name}/"):])
        if path in self.redirects:
            return self.send(handler, 302, b"elsewhere", {"Location": self.redirects[path]})
        return self.send_file(handler, path, self.files, path)

    def mishap(self, handler, path):
        for mishap in list(self.mishaps):
            if mishap(handler, path):
                self.mishaps.remove(mishap)
                return True
        return False

    def send_file(self, handler, path, files, name):
        if self.mishap(handler, path):
            return None
        content = files.get(name)
        if content is None:
            return self.send(handler, 404, b"there is no such file", {})
        tag = '"%s"' % hashlib.md5(content).hexdigest()
        requested = handler.headers.get("Range")
        condition = handler.headers.get("If-Range")
        if requested and not self.ignores_ranges and (
                self.ignores_conditions or condition in (None, tag)):
            begin = int(requested[len("bytes="):-1])
            if begin >= len(content):
                return self.send(handler, 416, b"", {"Content-Range": f"bytes */{len(content)}"})
            return self.send(handler, 206, content[begin:], {
                "ETag": tag, "Content-Range": f"bytes {begin}-{len(content) - 1}/{len(content)}"})
        return self.send(handler, 200, content, {"ETag": tag})

    def send(self, handler, status, body, headers):
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        if handler.command == "HEAD":
            return
        if status in (200, 206) and self.cut_after is not None and len(body) > self.cut_after:
            body = body[:self.cut_after]
            handler.close_connection = True
        try:
            for begin in range(0, len(body), 1 << 14):
                handler.wfile.write(body[begin:begin + (1 << 14)])
                if self.delay:
                    time.sleep(self.delay)
        except OSError:  # the client is gone
            handler.close_connection = True
