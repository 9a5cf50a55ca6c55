"""A local stand-in for the Hugging Face hub, with the endpoints that its library needs."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

import yaml

TOKEN, USER = "hf_writer", "somebody"
Answer = tuple[int, dict[str, str], bytes]
Files = dict[str, bytes]


@dataclass
class Repository:
    private: bool = False
    gated: bool = False
    branches: dict[str, str] = field(default_factory=dict)
    commits: dict[str, Files] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)

    def commit(self, branch: str, files: Files, message: str = "") -> str:
        sha = hashlib.sha1(repr((len(self.commits), branch)).encode()).hexdigest()
        self.commits[sha], self.branches[branch] = files, sha
        self.messages.append(message)
        return sha

    def sha(self, revision: str) -> str | None:
        return self.branches.get(revision) or (revision if revision in self.commits else None)


@dataclass
class Hub:
    """The repositories by name. If `large`, files are uploaded before a commit, as with LFS."""

    address: str = ""
    large: bool = False
    broken: bool = False
    repositories: dict[str, Repository] = field(default_factory=dict)
    uploads: dict[str, bytes] = field(default_factory=dict)
    fetched: list[str] = field(default_factory=list)
    asked: int = 0

    def add(self, name: str, files: Files, *, private: bool = False, gated: bool = False) -> Repository:
        repository = self.repositories[name] = Repository(private, gated)
        repository.commit("main", files)
        return repository


def _json(value: object, status: int = 200) -> Answer:
    return status, {"Content-Type": "application/json"}, json.dumps(value).encode()


def _error(status: int, code: str) -> Answer:
    return status, {"X-Error-Code": code, "X-Error-Message": code}, b""


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = unquote(urlsplit(self.path).path)
        self.hub.asked += 1
        status, headers, content = _error(503, "Ill") if self.hub.broken else self.route(path, body)
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_POST = do_HEAD = do_PUT = answer  # noqa: N815

    @property
    def is_known(self) -> bool:
        return self.headers.get("Authorization") == f"Bearer {TOKEN}"

    def route(self, path: str, body: bytes) -> Answer:
        routes: list[tuple[str, Callable[..., Answer]]] = [
            (r"/api/repos/create", self.create),
            (r"/api/validate-yaml", self.validate),
            (r"/lfs/(\w+)", self.receive),
            (r"/([\w.-]+/[\w.-]+)\.git/info/lfs/objects/batch", self.batch),
            (r"/api/models/([\w.-]+/[\w.-]+?)(?:/(revision|tree|branch|preupload|commit)/(.+))?", self.model),
            (r"/([\w.-]+/[\w.-]+)/resolve/([^/]+)/(.+)", self.resolve),
        ]
        for pattern, function in routes:
            if match := re.fullmatch(pattern, path):
                return function(*match.groups(), body=body)
        return _error(404, "NoSuchAddress")

    def create(self, *, body: bytes) -> Answer:
        if not self.is_known:
            return _error(401, "Unauthorized")
        asked = json.loads(body)
        name = f"{asked['organization'] or USER}/{asked['name']}"
        if not name.startswith(f"{USER}/"):
            return _error(403, "Forbidden")
        there = name in self.hub.repositories
        if not there:
            private = asked.get("visibility") == "private" or bool(asked.get("private"))
            self.hub.add(name, {".gitattributes": b""}, private=private)
        return _json({"url": f"{self.hub.address}/{name}"}, 409 if there else 200)

    def validate(self, *, body: bytes) -> Answer:
        front = json.loads(body)["content"].split("---\n")[1]
        good = isinstance(yaml.safe_load(front), dict)
        return _json({"errors": [] if good else [{"message": "no metadata"}], "warnings": []}, 200 if good else 400)

    def batch(self, name: str, *, body: bytes) -> Answer:
        objects = json.loads(body)["objects"]
        for one in objects:
            one["actions"] = {"upload": {"href": f"{self.hub.address}/lfs/{one['oid']}"}}
        return _json({"transfer": "basic", "objects": objects})

    def receive(self, oid: str, *, body: bytes) -> Answer:
        assert hashlib.sha256(body).hexdigest() == oid
        self.hub.uploads[oid] = body
        return _json({})

    def visible(self, name: str, revision: str | None) -> tuple[Repository, str] | Answer:
        repository = self.hub.repositories.get(name)
        if repository is None or (repository.private and not self.is_known):
            return _error(404 if self.is_known else 401, "RepoNotFound")
        sha = repository.sha(revision or "main")
        return _error(404, "RevisionNotFound") if sha is None else (repository, sha)

    def model(self, name: str, action: str | None, revision: str | None, *, body: bytes) -> Answer:
        if action == "branch" and name in self.hub.repositories and self.is_known:
            repository = self.hub.repositories[name]
            there = revision in repository.branches
            repository.branches.setdefault(str(revision), repository.branches["main"])
            return _json({}, 409 if there else 200)
        found = self.visible(name, revision)
        if len(found) == 3:
            return found
        repository, sha = found
        files = repository.commits[sha]
        if action in ("revision", None):
            siblings = [{"rfilename": file} for file in files]
            return _json({"id": name, "modelId": name, "sha": sha, "private": repository.private, "siblings": siblings})
        if action == "tree":
            rows = [(path, len(data), hashlib.sha1(data).hexdigest()) for path, data in files.items()]
            return _json([{"type": "file", "path": path, "size": size, "oid": oid} for path, size, oid in rows])
        if not self.is_known:
            return _error(403, "Forbidden")
        if action == "preupload":
            mode = {file["path"]: self.mode(file["path"]) for file in json.loads(body)["files"]}
            return _json({"files": [{"path": p, "uploadMode": m, "shouldIgnore": False} for p, m in mode.items()]})
        return self.commit(repository, name, str(revision), dict(files), body)

    def mode(self, path: str) -> str:
        return "lfs" if self.hub.large and path.endswith(".safetensors") else "regular"

    def commit(self, repository: Repository, name: str, branch: str, files: Files, body: bytes) -> Answer:
        message = ""
        for line in body.splitlines():
            key, value = (json.loads(line)[part] for part in ("key", "value"))
            if key == "header":
                message = value["summary"]
            elif key == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif key == "lfsFile":
                files[value["path"]] = self.hub.uploads[value["oid"]]
            else:
                assert key == "deletedFile"
                del files[value["path"]]
        sha = repository.commit(branch, files, message)
        return _json({"commitUrl": f"{self.hub.address}/{name}/commit/{sha}", "commitOid": sha})

    def resolve(self, name: str, revision: str, path: str, *, body: bytes) -> Answer:
        found = self.visible(name, revision)
        if len(found) == 3:
            return found
        repository, sha = found
        if repository.gated and not self.is_known:
            return _error(403, "GatedRepo")
        if path not in repository.commits[sha]:
            status, headers, content = _error(404, "EntryNotFound")
            return status, {**headers, "X-Repo-Commit": sha}, content
        data = repository.commits[sha][path]
        self.hub.fetched.append(path)
        return 200, {"ETag": f'"{hashlib.sha1(data).hexdigest()}"', "X-Repo-Commit": sha}, data


@contextmanager
def serve() -> Iterator[Hub]:
    """Run a hub in the background."""
    hub = Hub()
    handler: Any = type("Handler", (_Handler,), {"hub": hub})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        hub.address = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield hub
        finally:
            server.shutdown()
            thread.join()
