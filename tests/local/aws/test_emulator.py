"""The local AWS starts, keeps what it was given, and leaves nothing running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from local.aws import emulator
from local.aws.emulator import ROOT, Emulator, EmulatorFailed
from tests.emulator import Aws

pytest.importorskip("boto3")


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"


def ended(pid: int, seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not is_alive(pid)


def test_the_fixture_gives_every_test_an_environment_of_its_own(aws: Aws) -> None:
    assert aws.is_up()
    first, second = aws.environment(), aws.environment()
    assert first != second
    assert first.account == aws.client("sts").get_caller_identity()["Account"]


def test_unchanged_boto3_code_reaches_the_emulator(aws: Aws) -> None:
    import boto3

    bucket = aws.environment().lake_bucket
    boto3.client("s3").create_bucket(
        Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": aws.emulator.region}
    )
    assert bucket in [each["Name"] for each in aws.client("s3").list_buckets()["Buckets"]]


def test_it_listens_on_loopback_only(aws: Aws) -> None:
    port = int(aws.endpoint.rsplit(":", 1)[1])
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = {row[1].split(":")[0] for row in rows if row[3] == "0A" and int(row[1].split(":")[1], 16) == port}
    assert listening == {"0100007F"}


def test_state_survives_a_stop_and_a_new_start(tmp_path: Path) -> None:
    with Emulator(tmp_path) as first:
        first.client("glue").create_database(DatabaseInput={"Name": "kept"})
        first.client("sqs").create_queue(QueueName="kept")
        pid = first.pid
    assert ended(pid)
    with Emulator(tmp_path) as second:
        assert second.client("glue").get_database(Name="kept")["Database"]["Name"] == "kept"
        assert second.client("sqs").get_queue_url(QueueName="kept")["QueueUrl"].startswith(second.endpoint)


def test_the_emulator_ends_when_its_starter_is_killed(tmp_path: Path) -> None:
    script = textwrap.dedent(
        """
        import sys, time
        from pathlib import Path
        from local.aws.emulator import Emulator
        emulator = Emulator(Path(sys.argv[1]))
        emulator.start()
        print(emulator.pid, flush=True)
        time.sleep(600)
        """
    )
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'plugins'}:{ROOT}"}
    with subprocess.Popen([sys.executable, "-c", script, tmp_path], stdout=subprocess.PIPE, env=environment) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        starter.send_signal(signal.SIGKILL)
    assert ended(pid)


def test_an_emulator_that_does_not_come_up_shows_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "serve.py"
    script.write_text("raise SystemExit('the disk is full')")
    monkeypatch.setattr(emulator, "SERVE", script)
    with pytest.raises(EmulatorFailed, match=r"Cannot start the local AWS, it ended with 1: .*\n  the disk is full"):
        Emulator(tmp_path).start()
