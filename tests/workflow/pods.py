"""What Snakemake needs of a Kubernetes cluster: jobs run as processes, each in a folder of its own.

No job gets a GPU: there is no such node.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import kubernetes_validate
import yaml

GPU = "nvidia.com/gpu"
SUCCESS = {"kind": "Status", "status": "Success"}


class Cluster(ThreadingHTTPServer):
    """Its API on this machine: the manifests of all jobs, in ``jobs``, by name.

    Working folders are below ``folder``; what pods would have installed, this machine has.
    """

    daemon_threads = True

    def __init__(self, folder):
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder, self.jobs, self._running = folder, {}, {}
        (folder / "pip").write_text("#!/bin/sh\n")
        (folder / "pip").chmod(0o755)

    def start(self, job):
        """Takes a job as the API does: whole, by the schema, and GPUs as limits, too."""
        kubernetes_validate.validate(
            {"apiVersion": "batch/v1", "kind": "Job", **job}, "1.31", strict=True
        )
        (container,) = job["spec"]["template"]["spec"]["containers"]
        resources, name = container["resources"], job["metadata"]["name"]
        asked = resources["requests"].get(GPU)
        if asked != resources.get("limits", {}).get(GPU):
            raise ValueError(f"{GPU} must be limited, too")
        self.jobs[name] = job
        if asked is None:
            (self.folder / name).mkdir()
            self._running[name] = subprocess.Popen(
                [*container["command"], *container["args"]],
                cwd=self.folder / name,
                env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"},
                stdout=(self.folder / f"{name}.log").open("wb"),
                stderr=subprocess.STDOUT,
            )

    def status(self, name):
        """How often a job has failed and ended well."""
        ended = self._running[name].poll() if name in self._running else 1
        return {} if ended is None else {"failed": int(ended != 0), "succeeded": int(ended == 0)}


class Handler(BaseHTTPRequestHandler):
    """The requests of Snakemake's plugin."""

    server: Cluster

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            if self.path.endswith("/jobs"):
                self.server.start(body)
        except Exception as error:
            self.answer(422, {"kind": "Status", "status": "Failure", "message": str(error)})
        else:
            self.answer(201, body)

    def do_GET(self):
        parts = self.path.split("/")
        jobs = parts[-1] == "status"
        self.answer(200, {"status": self.server.status(parts[-2])} if jobs else {"items": []})

    def do_DELETE(self):
        self.answer(200, SUCCESS)

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_):
        pass


@contextmanager
def cluster(folder):
    """The cluster, and the variables with which programs find it, while a block runs."""
    folder.mkdir()
    with Cluster(folder) as api:
        threading.Thread(target=api.serve_forever).start()
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [
                {"name": "test", "cluster": {"server": f"http://127.0.0.1:{api.server_port}"}}
            ],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "users": [{"name": "test", "user": {}}],
        }
        (folder / "config").write_text(yaml.safe_dump(config))
        try:
            yield api, {"KUBECONFIG": str(folder / "config")}
        finally:
            api.shutdown()
