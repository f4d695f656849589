"""Runs survive the service: it goes, is killed, and comes back."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from local.jobs.process import JobService
from local.jobs.scheduler import Limits
from local.jobs.service import FolderTaken, Service
from tests.local.jobs.harness import NOWHERE, Jobs, client, eventually, glue_end, glue_state, is_running


def start(glue: Any, arguments: dict[str, str]) -> str:
    run_id: str = glue.start_job_run(JobName="standardize", Arguments=arguments)["JobRunId"]
    return run_id


def group_of(jobs: Jobs, run_id: str) -> int:
    (pid,) = (run.pid for run in jobs.service.runs if run.id == run_id)
    # 0 would be our own group.
    assert pid
    return pid


def test_a_service_that_comes_back_finds_its_runs_again(jobs: Jobs) -> None:
    jobs.start(limits=Limits(places=2, look_seconds=0.02))
    glue = jobs.glue
    ended = start(glue, {"--exit": "1"})
    glue_end(glue, ended)
    wait, go = jobs.waiting("go")
    good, bad = start(glue, wait), start(glue, {**wait, "--exit": "4", "--say": "the reason"})
    for run_id in (good, bad):
        glue_state(glue, run_id, "RUNNING")
    queued = start(glue, {"--mark": str(jobs.folder / "mark")})
    pids = {run.id: run.pid for run in jobs.service.runs}
    jobs.leave()

    jobs.start()
    glue = jobs.glue
    assert glue_end(glue, ended)["JobRunState"] == "FAILED"
    assert glue_state(glue, good, "RUNNING")
    assert {run.id: run.pid for run in jobs.service.runs if run.id in (good, bad)} == {
        run_id: pids[run_id] for run_id in (good, bad)
    }
    assert glue_end(glue, queued)["JobRunState"] == "SUCCEEDED"
    go()
    assert glue_end(glue, good)["JobRunState"] == "SUCCEEDED"
    # Not its parent, it knows the code all the same.
    assert glue_end(glue, bad)["ErrorMessage"].startswith("the reason (exit code 4)")


def test_what_ended_while_no_service_was_there_is_known_to_the_next(jobs: Jobs) -> None:
    jobs.start()
    glue = jobs.glue
    wait, go = jobs.waiting("go")
    good, shot = start(glue, wait), start(glue, wait)
    for run_id in (good, shot):
        glue_state(glue, run_id, "RUNNING")
    pid = group_of(jobs, shot)
    jobs.leave()
    os.killpg(pid, signal.SIGKILL)
    go()
    eventually((jobs.folder / "state" / "runs" / good / "exit").exists)

    jobs.start()
    glue = jobs.glue
    assert glue_end(glue, good)["JobRunState"] == "SUCCEEDED"
    run = glue_end(glue, shot)
    assert run["JobRunState"] == "FAILED"
    assert "left no exit code" in run["ErrorMessage"]


def test_a_service_that_died_between_starting_a_process_and_noting_it_starts_no_second(jobs: Jobs) -> None:
    jobs.start()
    glue = jobs.glue
    wait, go = jobs.waiting("go")
    mark = jobs.folder / "mark"
    run_id = start(glue, {**wait, "--mark": str(mark)})
    glue_state(glue, run_id, "RUNNING")
    jobs.leave()
    document = jobs.folder / "state" / "runs" / run_id / "run.json"
    document.write_text(
        json.dumps(json.loads(document.read_text()) | {"state": "pending", "pid": None, "started": None})
    )

    jobs.start()
    glue = jobs.glue
    assert glue_state(glue, run_id, "RUNNING")
    go()
    assert glue_end(glue, run_id)["JobRunState"] == "SUCCEEDED"
    assert mark.read_text() == "done\n"


def test_a_pid_that_is_another_processs_by_now_is_left_alone(jobs: Jobs) -> None:
    jobs.start()
    glue = jobs.glue
    wait, _ = jobs.waiting("never")
    run_id = start(glue, wait)
    glue_state(glue, run_id, "RUNNING")
    pid = group_of(jobs, run_id)
    jobs.leave()
    os.killpg(pid, signal.SIGKILL)
    folder = jobs.folder / "state" / "runs" / run_id
    eventually(lambda: not is_running(pid))
    # As if the system had given the number to us.
    (folder / "pid").write_text(str(os.getpid()))
    (folder / "run.json").write_text(json.dumps(json.loads((folder / "run.json").read_text()) | {"pid": os.getpid()}))

    jobs.start()
    assert glue_end(jobs.glue, run_id)["JobRunState"] == "FAILED"


def test_a_stop_of_the_service_ends_its_jobs_and_says_so(jobs: Jobs) -> None:
    jobs.start()
    glue = jobs.glue
    wait, _ = jobs.waiting("never")
    run_id = start(glue, wait)
    glue_state(glue, run_id, "RUNNING")
    pid = group_of(jobs, run_id)
    jobs.service.stop()
    eventually(lambda: not is_running(pid))

    jobs.start()
    run_after = glue_end(jobs.glue, run_id)
    # Not STOPPED, which the provider takes for a good end.
    assert (run_after["JobRunState"], "service was stopped" in run_after["ErrorMessage"]) == ("FAILED", True)


def test_two_services_do_not_share_a_folder(jobs: Jobs) -> None:
    jobs.start()
    with pytest.raises(FolderTaken):
        Service(jobs.folder / "state", NOWHERE).start()


def test_the_process_is_killed_and_its_job_goes_on(jobs: Jobs, tmp_path: Path) -> None:
    registry = tmp_path / "jobs.json"
    registry.write_text(json.dumps({"standardize": {"script": str(jobs.script), "most_runs": 2}}))
    wait, go = jobs.waiting("go")
    mark = tmp_path / "mark"
    options = {"jobs": registry, "plain": sys.executable}
    with JobService(tmp_path / "process", NOWHERE, {}, options) as service:
        endpoint = service.endpoint
        service.add_fault("throttle", operation="GetJob")
        assert [fault["kind"] for fault in service.faults()] == ["throttle"]
        service.clear_faults()
        glue = client("glue", endpoint)
        run_id = start(glue, {**wait, "--mark": str(mark)})
        glue_state(glue, run_id, "RUNNING")
        glue.close()
        service.kill()
        service.start()
        assert service.endpoint == endpoint == service.variables["AWS_ENDPOINT_URL_GLUE"]
        glue = client("glue", endpoint)
        assert glue_state(glue, run_id, "RUNNING")
        go()
        assert glue_end(glue, run_id)["JobRunState"] == "SUCCEEDED"
        glue.close()
    assert mark.read_text() == "done\n"
