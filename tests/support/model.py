"""A model on loopback that says what a test wrote for it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any


class Model(BaseHTTPRequestHandler):
    """A model that says what it was told to, one message for each request."""

    server: Any

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append(body)
        uses = self.server.script.pop(0)
        answer = {
            "id": f"msg_{len(self.server.asked)}",
            "type": "message",
            "role": "assistant",
            "model": "claude-test",
            "content": [
                {"type": "tool_use", "id": f"toolu_{number}", "name": "memory", "input": each}
                for number, each in enumerate(uses)
            ]
            or [{"type": "text", "text": "I will remember that."}],
            "stop_reason": "tool_use" if uses else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Tests are quiet."""


@contextmanager
def model(*script: list[dict[str, Any]]) -> Iterator[Any]:
    """Serve SCRIPT: the tool calls of each message in turn; none is the end of the turn."""
    with HTTPServer(("127.0.0.1", 0), Model) as server:
        server.script, server.asked = list(script), []  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
