"""Made-up traffic and the truth about it.

    from tests.traffic import messages, load_scenario
    from tests.traffic.oracle import Ledger, read_contract

`messages(scenario, seed)` streams deliveries as the queue would hold them, in constant memory: every message is a
function of (seed, index) alone, so a duplicate or a correction derives its original instead of remembering it.
Scenarios are files in `scenarios/`; `python -m tests.traffic --list` names them.

`oracle` says what must become of each delivery by docs/rules.md. It shares no code with the product: two
implementations that agree are evidence, one that agrees with itself is not.
"""

from tests.traffic.message import Message
from tests.traffic.scenario import Scenario, ScenarioError, load_scenario, scenario_names
from tests.traffic.stream import Stream, messages

__all__ = ["Message", "Scenario", "ScenarioError", "Stream", "load_scenario", "messages", "scenario_names"]
