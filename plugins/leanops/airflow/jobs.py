"""A task that runs one Spark job for its topic and hands on what the job answers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from leanops.airflow import answers
from leanops.airflow.engines import Job, JobFailed, engine_of
from leanops.airflow.settings import settings
from leanops.core.contract.model import Engine as EngineName

if TYPE_CHECKING:
    from airflow.sdk import Context

PATIENCE = timedelta(hours=2)


class TopicJob(BaseOperator):
    """Starts the job, or goes on with the one that an earlier try has started and that has not ended.

    `arguments` are the job's own beyond those that every job has; templates, so that they can come from the gate.
    """

    template_fields: Sequence[str] = ("job", "arguments")

    def __init__(
        self, *, job: str, topic: str, engine: EngineName, size: str, arguments: Mapping[str, str], **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.job = job
        self.topic = topic
        self.engine = engine
        self.size = size
        self.arguments = dict(arguments)

    def execute(self, context: Context) -> list[dict[str, Any]]:
        job = self._job(context)
        engine = engine_of(self.engine, settings())
        run = engine.running(job)
        if run is None:
            answers.remove(job.arguments["result"])
            run = engine.start(job)
            self.log.info("Started %s of %s as run %s on %s", job.name, self.topic, run, self.engine)
        else:
            self.log.info("Run %s of %s is still at work: going on with it", run, job.name)
        trigger = engine.trigger(job.name, run)
        result = job.arguments["result"]
        if trigger is not None:
            known = {"job": job.name, "run": run, "result": result}
            self.defer(trigger=trigger, method_name="execute_complete", kwargs=known, timeout=PATIENCE)
        return self._answer(job.name, run, result, None)

    def execute_complete(
        self, context: Context, event: Mapping[str, Any] | None = None, *, job: str, run: str, result: str
    ) -> list[dict[str, Any]]:
        return self._answer(job, run, result, event)

    def _answer(self, job: str, run: str, result: str, event: Mapping[str, Any] | None) -> list[dict[str, Any]]:
        """A job that failed has mostly said why of the topic: that is worth more than the engine's word."""
        try:
            engine_of(self.engine, settings()).prove(job, run, event)
        except JobFailed as failed:
            try:
                answers.read(result, self.topic)
            except answers.NoAnswer:
                raise failed from None
            raise
        results = answers.read(result, self.topic)
        for each in results:
            self.log.info("%s: %s, batch %s, %s", each["layer"], each["status"], each["batch"], each["counts"])
        return results

    def _job(self, context: Context) -> Job:
        instance = context["ti"]
        mark = mark_of(instance.dag_id, instance.run_id, instance.task_id)
        known = settings()
        environment = known.environment
        arguments = {
            "topics": self.topic,
            "environment": environment.name,
            "account": environment.account,
            "region": environment.region,
            "schemas": known.schemas,
            "warehouse": environment.warehouse,
            "result": f"{known.results}/{self.topic}/{mark}.json",
            "run": mark,
            **{key: value for key, value in self.arguments.items() if value},
        }
        if secret := known.optional("pii_secret"):
            arguments["pii-secret"] = secret
        return Job(self.job, self.topic, mark, instance.try_number, arguments, self.size)


def mark_of(dag_id: str, run_id: str, task_id: str) -> str:
    """Names a task of a run in 64 characters that any service takes."""
    digest = hashlib.sha256(f"{dag_id}\n{run_id}\n{task_id}".encode()).hexdigest()[:16]
    return f"{dag_id[:32]}-{task_id[:14]}-{digest}"
