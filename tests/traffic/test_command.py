import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.traffic import load_scenario, messages, scenario_names
from tests.traffic.__main__ import main

_ROOT = Path(__file__).parents[2]


def test_bodies_go_to_standard_output_one_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--scenario", "everything", "--topic", "orders", "--count", "50", "--seed", "3"]) == 0
    expected = messages(load_scenario("everything").resized(topic="orders", messages=50), 3)
    assert capsys.readouterr().out.splitlines() == [message.body for message in expected]


def test_truth_has_one_line_for_each_body(tmp_path: Path) -> None:
    out, told = tmp_path / "bodies", tmp_path / "truth"
    options = ["--scenario", "everything", "--topic", "events", "--count", "400", "--batches", "3"]
    assert main([*options, "--out", str(out), "--truth", str(told)]) == 0
    bodies = [json.loads(line) for line in out.read_text().splitlines()]
    truths = [json.loads(line) for line in told.read_text().splitlines()]
    assert [body["messageId"] for body in bodies] == [line["message_id"] for line in truths]
    assert {line["batch"] for line in truths} == {1, 2, 3}


def test_the_list_names_every_scenario_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == scenario_names()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "--scenario NAME"),
        (["--scenario", "cleen"], "'cleen'"),
        (["--scenario", "clean"], "pass --topic"),
        (["--scenario", "clean", "--topic", "weather"], "weather"),
        (["--scenario", "clean", "--topic", "events", "--count", "-1"], "-1"),
        (["--scenario", "clean", "--topic", "events", "--batches", "0"], "1 or more"),
        (["--scenario", "clean", "--topic", "events", "--seed", "-4"], "-4"),
        (["--scenario", "clean", "--topic", "events", "--out", "/nowhere/at/all"], "/nowhere/at/all"),
        (["--scenario", "clean", "--count", "many"], "many"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    try:
        code: object = main(options)
    except SystemExit as stop:
        code = stop.code
    assert code == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert words in lines[0]


def test_a_reader_that_leaves_early_is_no_error() -> None:
    command = [sys.executable, "-m", "tests.traffic", "--scenario", "clean", "--topic", "events", "--count", "20000"]
    with subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(20) == 0
