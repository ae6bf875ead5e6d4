"""A PostgreSQL server for the tests: a real one, in a folder of its own, on a socket."""

import contextlib
import glob
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import psycopg


class Server:
    """Starts, stops and breaks one server."""

    def __init__(self) -> None:
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin")) or [
            str(Path(shutil.which("initdb") or "initdb").parent)
        ]
        self.programs = Path(found[-1])
        self.folder = Path(tempfile.mkdtemp(prefix="trpg"))
        # The server refuses to run as root.
        self.user = "postgres" if os.geteuid() == 0 else None
        if self.user:
            shutil.chown(self.folder, self.user)
        self._call(
            "initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "--no-sync"
        )
        self.start()

    @property
    def data(self) -> str:
        return str(self.folder / "data")

    def start(self) -> None:
        options = (
            f"-k {self.folder} -h '' -F -c max_connections=80 -c logging_collector=off"
        )
        self._call(
            "pg_ctl",
            "-D",
            self.data,
            "-l",
            str(self.folder / "log"),
            "-o",
            options,
            "-w",
            "start",
        )

    def stop(self, mode: str = "fast") -> None:
        self._call("pg_ctl", "-D", self.data, "-m", mode, "-w", "stop")

    def remove(self) -> None:
        with contextlib.suppress(subprocess.CalledProcessError):
            self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str) -> str:
        return f"postgresql:///{database}?host={self.folder}&user=postgres"

    def new_database(self, name: str) -> str:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
            connection.execute(f'CREATE DATABASE "{name}"')
        return self.url(name)

    def _call(self, program: str, *words: str) -> None:
        command = [str(self.programs / program), *words]
        if self.user:
            command = ["runuser", "-u", self.user, "--", *command]
        # A pipe would be held open by the server.
        subprocess.run(
            command,
            check=True,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=120,
        )
