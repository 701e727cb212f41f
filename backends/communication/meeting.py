"""A place where processes leave short messages for each other, by name: how they agree before NCCL connects them.

One process keeps it; the others ask it over a connection of the standard library's, authenticated by a key that all
have. Messages are bytes: nothing is unpickled.
"""

import secrets
import socket
import threading
import time
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener, answer_challenge, deliver_challenge

_PAUSE = 0.02  # seconds between attempts to reach the keeper


class Meeting:
    """The keeper has `keep`; the others reach it at ``address`` and ``port``."""

    def __init__(self, address: str, port: int, key: bytes) -> None:
        self.address, self.port, self.key = address, port, key
        self._kept: dict[str, bytes] | None = None
        self._changed = threading.Condition()

    @classmethod
    def keep(cls, address: str, port: int = 0, key: bytes | None = None, bind: str | None = None) -> "Meeting":
        """Keep one here, at any free port by default, with a key that nobody can guess."""
        try:
            listener = Listener((address if bind is None else bind, port), "AF_INET", backlog=128)
        except OSError as error:
            raise RuntimeError(
                f"process 0 can't listen at {address}:{port} ({error.strerror or error}), where the others look for "
                f"it; set MASTER_ADDR to a name of this host and MASTER_PORT to a free port"
            ) from error
        made = cls(address, listener.address[1], secrets.token_bytes(32) if key is None else key)
        made._kept = {}
        threading.Thread(target=made._serve, args=(listener,), name="lucidgrad meeting", daemon=True).start()
        return made

    def _serve(self, listener: Listener) -> None:
        while True:
            try:
                connection = listener.accept()
            except OSError:
                continue  # who asked is gone
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: Connection) -> None:
        """Look after one question; whoever doesn't know the key is not heard."""
        try:
            with connection:
                deliver_challenge(connection, self.key)
                answer_challenge(connection, self.key)
                verb, name, *value = connection.recv_bytes().split(b"\0", 2)
                if verb == b"put":
                    self.put(name.decode(), value[0])
                    connection.send_bytes(b"")
                else:
                    connection.send_bytes(self.get(name.decode(), None))
        except (EOFError, OSError, AuthenticationError):
            pass

    def put(self, name: str, value: bytes) -> None:
        """Leave a message."""
        if self._kept is None:
            self._ask(b"put\0" + name.encode() + b"\0" + value, 60.0, name)
            return
        with self._changed:
            self._kept[name] = value
            self._changed.notify_all()

    def get(self, name: str, timeout: float | None) -> bytes:
        """Read a message, when somebody has left it; TimeoutError after so many seconds."""
        if self._kept is None:
            return self._ask(b"get\0" + name.encode(), timeout, name)
        with self._changed:
            if not self._changed.wait_for(lambda: name in self._kept, timeout):  # type: ignore[operator]
                raise TimeoutError(f"nobody has come to {name!r} within {timeout:.3g} s")
            return self._kept[name]

    def _ask(self, question: bytes, timeout: float | None, name: str) -> bytes:
        until = time.monotonic() + (float("inf") if timeout is None else timeout)
        while True:
            try:
                with Client((self.address, self.port), "AF_INET", authkey=self.key) as connection:
                    connection.send_bytes(question)
                    if not connection.poll(None if timeout is None else max(0.0, until - time.monotonic())):
                        raise TimeoutError(f"nobody has come to {name!r} within {timeout:.3g} s")
                    return connection.recv_bytes()
            except AuthenticationError as error:
                raise RuntimeError(
                    f"process 0 at {self.address}:{self.port} has another key: is it of another job? Give each its own "
                    f"MASTER_PORT, and the same LUCIDGRAD_DISTRIBUTED_KEY to all processes of one"
                ) from error
            except socket.gaierror as error:
                raise RuntimeError(f"the host {self.address!r} of process 0 is not known here ({error})") from error
            except (EOFError, ConnectionError) as error:  # it may not listen yet
                if time.monotonic() > until:
                    raise TimeoutError(f"process 0 can't be reached at {self.address}:{self.port}: {error}") from error
                time.sleep(_PAUSE)
