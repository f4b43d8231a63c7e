"""A fake model API on loopback that drives real agent hosts without a network or a key.

    POST /v1/messages                    Anthropic Messages, streamed or not; count_tokens
    POST /v1/responses                   OpenAI Responses, streamed or not (Codex); compact
    POST /v1/chat/completions            OpenAI Chat Completions (OpenCode, Pi, Copilot)
    POST /v1beta/models/M:VERB           Gemini
    GET  /v1/models                      a list with one model

Each request is written to LOG/NNNN.json (method, path, headers without keys, body), so a test sees
what a host put before its model. The answers are listed in LOG/index.jsonl.

The prompt is the script of the model, so sessions can run at once and the server keeps no state.
Lines of the last prompt that begin with @@ are directives, one turn each:

    @@say TEXT             answer with TEXT (\\n is a newline)
    @@think TEXT           a thought in front of the next turn
    @@tool NAME {JSON}     call a tool
    @@+tool NAME {JSON}    another call in the same turn
    @@fail STATUS          answer with an HTTP error

After the last directive the answer is "All done.". A prompt without directives is echoed. A request
for a summary (compaction) gets the text of the file SUMMARY. RULES is a JSON list of {"match":
REGEX, "script": "@@tool ..."} for prompts that a host writes itself, such as skills. Both files are
read at each request.

    python fakeapi.py --log DIR [--port N] [--summary FILE] [--rules FILE] [--tokens N]

Prints its address. N tokens is the size that each answer claims for its prompt: a large one makes a
host compact.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
import threading
import time
import uuid
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

DONE = "All done."
SUMMARY = "<analysis>looked at it</analysis>\n<summary>\nThe user tested a fake model.\n</summary>"
SUMMARY_ASKED = re.compile(
    r"(?i)create a detailed summary|CONTEXT CHECKPOINT COMPACTION|handoff summary"
    r"|summary of the conversation so far|summarize the conversation"
    r"|detailed summary of the conversation|provide a detailed (?:prompt|summary)"
    r"|state_snapshot|structured context checkpoint"
)
REMINDER = re.compile(r"(?s)<system-reminder>.*?</system-reminder>")
HIDDEN = re.compile(r"(?i)authorization|api-key|cookie")
DIRECTIVE = re.compile(r'\s*"?@@(\+?)(\w+)\s?(.*)')
WRITTEN_BY_CODEX = ("<environment_context>", "<user_instructions>", "# AGENTS.md", "<hook")

Body = dict[str, Any]
Events = list[tuple[str, Any]]


class Turn(NamedTuple):
    """One answer of the model."""

    text: str = ""
    thought: str = ""
    calls: tuple[Body, ...] = ()
    fail: int = 0


class Prompt(NamedTuple):
    """A prompt of the user, and the number of answers since."""

    text: str
    answers: int = 0


class Heard(NamedTuple):
    """The prompts of a request, and its last text of the user, which may ask for a summary."""

    prompts: list[Prompt]
    last: str


# ---- the script


def script_of(prompt: str) -> list[Turn]:
    """The turns that the directives in PROMPT name."""
    turns: list[Turn] = []
    thought = ""
    for line in prompt.splitlines():
        found = DIRECTIVE.match(line)
        if not found:
            continue
        more, verb, rest = found.groups()
        if verb == "think":
            thought = _unescaped(rest)
        elif verb == "tool" and more and turns:
            turns[-1] = turns[-1]._replace(calls=(*turns[-1].calls, *_tool_turn(line, rest).calls))
        elif verb in ("say", "fail", "tool"):
            turns.append(_turn(verb, line, rest)._replace(thought=thought))
            thought = ""
    return turns


def _turn(verb: str, line: str, rest: str) -> Turn:
    if verb == "say":
        return Turn(_unescaped(rest))
    if verb == "fail":
        return Turn(fail=int(rest or 500))
    return _tool_turn(line, rest)


def _tool_turn(line: str, rest: str) -> Turn:
    name, _, raw = rest.partition(" ")
    try:
        arguments = _arguments(raw or "{}")
    except ValueError as error:
        return Turn(f"fakeapi: bad directive ({error}): {line}")
    call = {"id": _new_id("toolu_"), "name": name, "args": arguments}
    return Turn(calls=(call,))


def _arguments(raw: str) -> Any:
    try:
        return json.loads(raw)
    except ValueError:  # OpenCode quotes a prompt
        return json.loads(raw.rstrip('"').replace('\\"', '"').replace("\\\\", "\\"))


def _unescaped(text: str) -> str:
    return text.replace("\\n", "\n")


def _new_id(prefix: str) -> str:
    return prefix + uuid.uuid4().hex[:20]


def decide(heard: Heard, rules: list[dict[str, str]]) -> Turn:
    """The answer to the last prompt."""
    if not heard.prompts:
        return Turn("echo: (nothing)")
    text, answers = heard.prompts[-1]
    turns = script_of(text)
    if not turns:
        fitting = (each["script"] for each in rules if re.search(each["match"], text))
        turns = script_of(next(fitting, ""))
    if not turns:
        return Turn("echo: " + re.sub(r"\s+", " ", text.strip())[:160])
    return turns[answers] if answers < len(turns) else Turn(DONE)


# ---- the prompts of a request, protocol by protocol


def text_of(content: Any) -> str:
    """The text of a message whose content is a string or a list of blocks."""
    if isinstance(content, str):
        return content
    return "\n".join(each.get("text") or "" for each in content or [])


def _answered(prompts: list[Prompt]) -> None:
    if prompts:
        prompts[-1] = prompts[-1]._replace(answers=prompts[-1].answers + 1)


def anthropic_prompts(body: Body) -> Heard:
    prompts: list[Prompt] = []
    last = ""
    for message in body.get("messages", []):
        if message.get("role") == "assistant":
            _answered(prompts)
        elif message.get("role") == "user":
            text, is_result = _anthropic_text(message.get("content"))
            last = text or last
            if text and (not is_result or "@@" in text):
                prompts.append(Prompt(text))
    return Heard(prompts, last)


def _anthropic_text(content: Any) -> tuple[str, bool]:
    """The user's own text in a message, and whether the message answers a tool call."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    texts = [REMINDER.sub("", b.get("text", "")) for b in blocks if b.get("type") == "text"]
    is_result = any(each.get("type") == "tool_result" for each in blocks)
    return "\n".join(each for each in texts if each.strip()).strip(), is_result


def responses_prompts(body: Body) -> Heard:
    items = body.get("input") or []
    if isinstance(items, str):
        items = [{"type": "message", "role": "user", "content": items}]
    prompts: list[Prompt] = []
    last, is_answering = "", False
    for item in items:
        kind = item.get("type", "message")
        if kind == "message" and item.get("role") == "user":
            last, is_answering = text_of(item.get("content")), False
            if not last.lstrip().startswith(WRITTEN_BY_CODEX):
                prompts.append(Prompt(last))
        elif _is_by_the_model(item, kind):
            if not is_answering:  # the items of one answer follow one another
                _answered(prompts)
            is_answering = True
        elif kind.endswith("_output"):
            is_answering = False
    return Heard(prompts, last)


def _is_by_the_model(item: Body, kind: str) -> bool:
    calls = ("function_call", "custom_tool_call", "local_shell_call")
    return kind in calls or (kind == "message" and item.get("role") == "assistant")


def chat_prompts(body: Body) -> Heard:
    prompts: list[Prompt] = []
    last = ""
    for message in body.get("messages", []):
        if message.get("role") == "user":
            last = text_of(message.get("content"))
            prompts.append(Prompt(last))
        elif message.get("role") == "assistant":
            _answered(prompts)
    return Heard(prompts, last)


def gemini_prompts(body: Body) -> Heard:
    prompts: list[Prompt] = []
    last = ""
    for message in body.get("contents", []):
        parts = message.get("parts") or []
        text = text_of([each for each in parts if "text" in each])
        if message.get("role") == "model":
            _answered(prompts)
        elif text.strip() and not any("functionResponse" in each for each in parts):
            last = text
            prompts.append(Prompt(text))
    return Heard(prompts, last)


# ---- answers, protocol by protocol


def anthropic_blocks(turn: Turn) -> list[Body]:
    blocks: list[Body] = []
    if turn.thought:
        blocks.append({"type": "thinking", "thinking": turn.thought, "signature": "ZmFrZQ=="})
    if turn.text or not turn.calls:
        blocks.append({"type": "text", "text": turn.text})
    return blocks + [
        {"type": "tool_use", "id": each["id"], "name": each["name"], "input": each["args"]}
        for each in turn.calls
    ]


def anthropic_message(body: Body, turn: Turn, tokens: int) -> Body:
    usage = {"input_tokens": tokens, "output_tokens": 20}
    return {
        "id": _new_id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "fake"),
        "content": anthropic_blocks(turn),
        "stop_reason": "tool_use" if turn.calls else "end_turn",
        "stop_sequence": None,
        "usage": usage | {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
    }


def anthropic_events(message: Body) -> Events:
    begun = {**message, "content": [], "stop_reason": None}
    events: list[Body] = [{"type": "message_start", "message": begun}]
    for index, block in enumerate(message["content"]):
        begin, deltas = _anthropic_deltas(block)
        events.append({"type": "content_block_start", "index": index, "content_block": begin})
        events += [
            {"type": "content_block_delta", "index": index, "delta": each} for each in deltas
        ]
        events.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": delta, "usage": message["usage"]})
    events.append({"type": "message_stop"})
    return [(each["type"], each) for each in events]


def _anthropic_deltas(block: Body) -> tuple[Body, list[Body]]:
    """A block as it begins, and the parts that follow."""
    if block["type"] == "text":
        return {"type": "text", "text": ""}, [{"type": "text_delta", "text": block["text"]}]
    if block["type"] == "thinking":
        return {"type": "thinking", "thinking": "", "signature": ""}, [
            {"type": "thinking_delta", "thinking": block["thinking"]},
            {"type": "signature_delta", "signature": block["signature"]},
        ]
    raw = json.dumps(block["input"])
    return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": raw}]


def responses_items(body: Body, turn: Turn) -> list[Body]:
    items: list[Body] = []
    if turn.thought:
        summary = [{"type": "summary_text", "text": turn.thought}]
        thought = {"type": "reasoning", "id": _new_id("rs_"), "summary": summary}
        items.append({**thought, "encrypted_content": "ZmFrZQ=="})
    if turn.text or not turn.calls:
        content = [{"type": "output_text", "text": turn.text, "annotations": []}]
        message = {"type": "message", "role": "assistant", "id": _new_id("msg_")}
        items.append({**message, "status": "completed", "content": content})
    return items + [_responses_call(body, each["name"], each["args"]) for each in turn.calls]


def _responses_call(body: Body, name: str, args: Any) -> Body:
    tools = body.get("tools") or []
    ident = _new_id("call_")
    if name in {each.get("name") for each in tools if each.get("type") == "custom"}:
        raw = args.get("input", "") if isinstance(args, dict) else str(args)
        call = {"type": "custom_tool_call", "id": "ctc_" + ident, "call_id": ident}
        return {**call, "name": name, "input": raw}
    space, _, inner = name.rpartition("/")
    space = space or _spaces(tools).get(name, "")
    call = {"type": "function_call", "id": "fc_" + ident, "call_id": ident}
    call |= {"name": inner, "arguments": json.dumps(args)}
    return call | ({"namespace": space} if space else {})


def _spaces(tools: Iterable[Body]) -> dict[str, str]:
    """The namespace of each tool that has one."""
    return {
        inner.get("name"): each.get("name")
        for each in tools
        if each.get("type") == "namespace"
        for inner in each.get("tools") or []
    }


def responses_answer(body: Body, turn: Turn, tokens: int) -> Body:
    usage = {"input_tokens": tokens, "output_tokens": 20, "total_tokens": tokens + 20}
    usage |= {"input_tokens_details": {"cached_tokens": 0}}
    return {
        "id": _new_id("resp_"),
        "object": "response",
        "created_at": int(time.time()),
        "status": "completed",
        "model": body.get("model", "fake"),
        "output": responses_items(body, turn),
        "usage": usage | {"output_tokens_details": {"reasoning_tokens": 0}},
        "end_turn": not turn.calls,
    }


def responses_events(answer: Body) -> Events:
    begun = {**answer, "status": "in_progress", "output": []}
    events: list[Body] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(answer["output"]):
        place = {"output_index": index}
        events.append({"type": "response.output_item.added", **place, "item": item})
        if item["type"] == "message":
            delta = {"item_id": item["id"], "content_index": 0, "delta": item["content"][0]["text"]}
            events.append({"type": "response.output_text.delta", **place, **delta})
        events.append({"type": "response.output_item.done", **place, "item": item})
    events.append({"type": "response.completed", "response": answer})
    return [(each["type"], each) for each in events]


def chat_calls(turn: Turn) -> list[Body]:
    return [
        {
            "index": index,
            "id": each["id"],
            "type": "function",
            "function": {"name": each["name"], "arguments": json.dumps(each["args"])},
        }
        for index, each in enumerate(turn.calls)
    ]


def chat_answer(body: Body, turn: Turn, tokens: int) -> Body:
    message: Body = {"role": "assistant", "content": turn.text or None}
    if turn.calls:
        message["tool_calls"] = chat_calls(turn)
    finish = "tool_calls" if turn.calls else "stop"
    return {
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body.get("model", "fake"),
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": tokens,
            "completion_tokens": 20,
            "total_tokens": tokens + 20,
        },
    }


def chat_events(answer: Body) -> Events:
    choice = answer["choices"][0]
    message = choice["message"]
    deltas: list[Body] = [{"role": "assistant", "content": message["content"] or ""}]
    if "tool_calls" in message:
        deltas.append({"tool_calls": message["tool_calls"]})
    chunk = {**answer, "object": "chat.completion.chunk"}
    del chunk["usage"]
    rows: list[Body] = [{"delta": each, "finish_reason": None} for each in deltas]
    rows.append({"delta": {}, "finish_reason": choice["finish_reason"]})
    events: Events = [("", {**chunk, "choices": [{"index": 0, **each}]}) for each in rows]
    return [*events, ("", {**chunk, "choices": [], "usage": answer["usage"]}), ("", "[DONE]")]


def gemini_answer(turn: Turn, tokens: int) -> Body:
    parts: list[Body] = [{"text": turn.text}] if turn.text or not turn.calls else []
    parts += [{"functionCall": {"name": c["name"], "args": c["args"]}} for c in turn.calls]
    content = {"role": "model", "parts": parts}
    return {
        "candidates": [{"index": 0, "content": content, "finishReason": "STOP"}],
        "usageMetadata": {
            "promptTokenCount": tokens,
            "candidatesTokenCount": 20,
            "totalTokenCount": tokens + 20,
        },
        "modelVersion": "fake",
    }


# ---- the server


class Api(BaseHTTPRequestHandler):
    """One connection of a host."""

    protocol_version = "HTTP/1.1"
    log = Path()
    summary = Path()
    rules = Path()
    tokens = 100
    threads: dict[str, tuple[list[Body], list[Body]]] = {}  # noqa: RUF012 - of all connections
    lock = threading.Lock()
    count = 0

    def log_message(self, *args: object) -> None:
        """The log folder says it all."""

    def do_GET(self) -> None:
        self._logged(None)
        path = self.path.split("?")[0]
        if path.endswith("/models"):
            model = {"id": "fake-model", "object": "model", "type": "model", "created": 0}
            self._json({"object": "list", "data": [model], "models": [], "has_more": False})
        elif path in ("/", "/health", "/v1"):
            self._json({"ok": True})
        else:
            self._json({"type": "error", "error": {"type": "not_found_error"}}, 404)

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        raw = self._read()
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {"_raw": raw.decode("utf-8", "replace")[:100000]}
        number = self._logged(body)
        path = self.path.split("?")[0]
        verb = path.rpartition(":")[2]
        routes = {
            "/messages/count_tokens": lambda: self._json({"input_tokens": self.tokens}),
            "/messages": lambda: self._messages(number, body),
            "/responses/compact": self._compact,
            "/responses": lambda: self._responses(number, body),
            "/chat/completions": lambda: self._chat(number, body),
            ":countTokens": lambda: self._json({"totalTokens": self.tokens}),
            ":generateContent": lambda: self._gemini(number, body, verb),
            ":streamGenerateContent": lambda: self._gemini(number, body, verb),
        }
        route = next((routes[each] for each in routes if path.endswith(each)), None)
        try:
            route() if route else self._json({})
        except BrokenPipeError:
            self.close_connection = True  # the host went away

    def _messages(self, number: int, body: Body) -> None:
        thread = body.get("thread") or {}
        if thread.get("type") == "continue":  # the newer SDKs send only what is new
            before, tools = self.threads.get(thread.get("previous_message_id", ""), ([], []))
            body = {"tools": tools, **body, "messages": [*before, *body.get("messages", [])]}
        turn = self._decided(number, anthropic_prompts(body))
        if turn.fail:
            return self._json({"type": "error", "error": {"type": "api_error"}}, turn.fail)
        schema = (body.get("output_config") or {}).get("format") or body.get("output_format")
        if schema and not turn.calls:  # a title, or the like
            keys = (schema.get("schema") or {}).get("properties") or {"title": {}}
            turn = Turn(json.dumps(dict.fromkeys(keys, "fake")))
        message = anthropic_message(body, turn, self.tokens)
        if thread:
            answer = {"role": "assistant", "content": message["content"]}
            self.threads[message["id"]] = ([*body["messages"], answer], body.get("tools") or [])
        if body.get("stream"):
            return self._sse(anthropic_events(message))
        return self._json(message)

    def _responses(self, number: int, body: Body) -> None:
        turn = self._decided(number, responses_prompts(body), body.get("instructions") or "")
        if turn.fail:
            return self._json({"error": {"message": "scripted"}}, turn.fail)
        answer = responses_answer(body, turn, self.tokens)
        return self._sse(responses_events(answer)) if body.get("stream") else self._json(answer)

    def _compact(self) -> None:
        self._json({"output": [{"type": "compaction", "encrypted_content": "ZmFrZQ=="}]})

    def _chat(self, number: int, body: Body) -> None:
        turn = self._decided(number, chat_prompts(body))
        if turn.fail:
            return self._json({"error": {"message": "scripted"}}, turn.fail)
        answer = chat_answer(body, turn, self.tokens)
        return self._sse(chat_events(answer)) if body.get("stream") else self._json(answer)

    def _gemini(self, number: int, body: Body, verb: str) -> None:
        turn = self._decided(number, gemini_prompts(body))
        if turn.fail:
            return self._json({"error": {"code": turn.fail, "message": "scripted"}}, turn.fail)
        config = body.get("generationConfig") or {}
        schema = config.get("responseJsonSchema") or config.get("responseSchema")
        if schema and not turn.calls:
            keys = (schema.get("properties") or {}).items()
            turn = Turn(json.dumps({key: (rule.get("enum") or ["fake"])[0] for key, rule in keys}))
        answer = gemini_answer(turn, self.tokens)
        return self._sse([("", answer)]) if verb.startswith("stream") else self._json(answer)

    def _decided(self, number: int, heard: Heard, instructions: str = "") -> Turn:
        is_summary = bool(SUMMARY_ASKED.search(heard.last) or SUMMARY_ASKED.search(instructions))
        turn = Turn(self._summary()) if is_summary else decide(heard, self._rules())
        row = {"n": number, "path": self.path, "answer": turn._asdict(), "is_summary": is_summary}
        with self.lock, (self.log / "index.jsonl").open("a") as file:
            file.write(json.dumps(row) + "\n")
        return turn

    def _summary(self) -> str:
        return self.summary.read_text() if self.summary.is_file() else SUMMARY

    def _rules(self) -> list[dict[str, str]]:
        return json.loads(self.rules.read_text()) if self.rules.is_file() else []

    def _read(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            raw = b"".join(iter(self._chunk, b""))
        else:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return gzip.decompress(raw) if self.headers.get("Content-Encoding") == "gzip" else raw

    def _chunk(self) -> bytes:
        size = int(self.rfile.readline().split(b";")[0], 16)
        chunk = self.rfile.read(size)
        self.rfile.readline()
        return chunk

    def _logged(self, body: object) -> int:
        with self.lock:
            Api.count += 1
            number = Api.count
        headers = {k: ("***" if HIDDEN.search(k) else v) for k, v in self.headers.items()}
        entry = {"n": number, "method": self.command, "path": self.path, "headers": headers}
        text = json.dumps({**entry, "body": body}, indent=1, ensure_ascii=False)
        unfinished = self.log / f"{number:04}.tmp"
        unfinished.write_text(text)
        unfinished.rename(unfinished.with_suffix(".json"))
        return number

    def _json(self, value: object, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("request-id", "req_fake")
        self.end_headers()
        self.wfile.write(data)

    def _sse(self, events: Events) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Connection", "close")
        self.send_header("request-id", "req_fake")
        self.end_headers()
        for name, data in events:
            head = f"event: {name}\n" if name else ""
            raw = data if isinstance(data, str) else json.dumps(data)
            self.wfile.write(f"{head}data: {raw}\n\n".encode())
        self.close_connection = True


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--log", required=True, type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--summary", type=Path, default=Path())
    parser.add_argument("--rules", type=Path, default=Path())
    parser.add_argument("--tokens", type=int, default=100)
    args = parser.parse_args()
    args.log.mkdir(parents=True, exist_ok=True)
    Api.log, Api.summary, Api.rules, Api.tokens = args.log, args.summary, args.rules, args.tokens
    Api.count = max((int(each.stem) for each in args.log.glob("[0-9]*.json")), default=0)
    server = ThreadingHTTPServer(("127.0.0.1", args.port), Api)
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    main()
