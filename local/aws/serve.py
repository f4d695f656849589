"""The emulator's own process. It ends itself, saving its state, when the process that started it is gone."""

import os
import signal
import sys
import threading

from ministack.app import main  # type: ignore[import-not-found, unused-ignore]


def _end_with_parent() -> None:
    # The starter holds the other end of the pipe: it closes when the starter ends, however it ends.
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.exit(main())
