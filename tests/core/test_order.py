"""Periods, versions and balances."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leanops.core.accounting import RawBalance, RawDisposition, RowBalance
from leanops.core.errors import InvalidPeriod, LeanOpsError, UnbalancedBatch
from leanops.core.period import Period, filed_period, is_period
from leanops.core.version import Version

PERIODS = st.builds(Period, st.integers(1990, 2200), st.integers(1, 12))
MOMENTS = st.datetimes(datetime(2020, 1, 1), datetime(2020, 1, 3), timezones=st.just(UTC))
VERSIONS = st.builds(Version, MOMENTS, MOMENTS, st.integers(0, 2), st.text("ab", max_size=2))
NOON = datetime(2026, 3, 31, 12, tzinfo=UTC)


@given(VERSIONS, VERSIONS, VERSIONS)
def test_the_version_order_is_total_antisymmetric_and_transitive(a: Version, b: Version, c: Version) -> None:
    assert (a < b) + (a == b) + (a > b) == 1
    assert (a < b) == (b > a)
    if a <= b <= c:
        assert a <= c


@given(st.lists(VERSIONS, min_size=1), st.randoms(use_true_random=False))
def test_the_newest_version_does_not_depend_on_arrival(versions: list[Version], random: object) -> None:
    shuffled = list(versions)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert max(shuffled) == max(versions)


def test_a_version_prefers_the_payloads_time_and_falls_back_to_publish_time() -> None:
    early = "2026-01-01T00:00:00Z"
    assert Version.of(early, NOON, 5, "m").last_updated_ts == datetime(2026, 1, 1, tzinfo=UTC)
    assert Version.of(None, NOON, 5, "m").last_updated_ts == NOON
    assert Version.of("yesterday", NOON, 5, "m").last_updated_ts == NOON


def test_a_version_without_a_zone_is_refused() -> None:
    with pytest.raises(LeanOpsError, match="Cannot order record, a time has no zone: m"):
        Version.of(None, datetime(2026, 1, 1), 1, "m")


@pytest.mark.parametrize(
    "text",
    ["2026-13", "0000-00", "2026-00", "2026-1", "2026-01-01", " 2026-01", "2026-01\n", "٢٠٢٦-٠١", "1969-12", "", None, 202601,
     "2026-01'; DROP TABLE x", "../2026-01"],
)  # fmt: skip
def test_what_is_no_period_is_refused(text: object) -> None:
    assert not is_period(text)
    with pytest.raises(InvalidPeriod, match="Cannot read period, it is not YYYY-MM"):
        Period.parse(text)


@given(PERIODS, st.integers(-200, 200))
def test_period_arithmetic_is_that_of_months(period: Period, months: int) -> None:
    later = period.plus(months)
    assert later.months_since(period) == months
    assert later.plus(-months) == period
    assert Period.parse(str(later)) == later
    assert (later > period) == (months > 0)


@given(st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1)), st.integers(-14, 14))
def test_the_period_of_a_moment_is_its_month_in_utc(moment: datetime, hours: int) -> None:
    local = moment.replace(tzinfo=timezone(timedelta(hours=hours)))
    utc = moment - timedelta(hours=hours)
    assert str(Period.of(local)) == f"{utc:%Y-%m}"


def test_a_moment_without_a_zone_has_no_period() -> None:
    with pytest.raises(InvalidPeriod):
        Period.of(datetime(2026, 1, 1))


def test_a_record_without_a_valid_period_is_filed_under_its_publish_time() -> None:
    assert str(filed_period("2025-12", NOON)) == "2025-12"
    assert str(filed_period(None, NOON)) == "2026-03"
    assert str(filed_period("2026-13", NOON)) == "2026-03"


def test_periods_through_a_new_year() -> None:
    periods = Period(2025, 11).through(Period(2026, 2))
    assert [str(period) for period in periods] == ["2025-11", "2025-12", "2026-01", "2026-02"]
    assert Period(2026, 2).start == datetime(2026, 2, 1, tzinfo=UTC)
    with pytest.raises(InvalidPeriod):
        Period(9999, 12).plus(1)


@given(st.lists(st.sampled_from(RawDisposition)))
def test_a_batch_with_one_disposition_a_record_balances(dispositions: list[RawDisposition]) -> None:
    RawBalance.of(len(dispositions), dispositions).prove()


@given(st.lists(st.sampled_from(RawDisposition)), st.integers(-5, 5).filter(bool))
def test_a_batch_with_a_lost_or_doubled_record_does_not_balance(dispositions: list[RawDisposition], off: int) -> None:
    with pytest.raises(UnbalancedBatch) as caught:
        RawBalance.of(len(dispositions) + off, dispositions).prove()
    assert caught.value.found - caught.value.expected == -off


def test_counts_that_only_balance_with_a_negative_part_do_not_balance() -> None:
    with pytest.raises(UnbalancedBatch):
        RowBalance(10, 12, -2).prove()


def test_an_unknown_disposition_is_refused() -> None:
    with pytest.raises(ValueError, match="lost"):
        RawBalance.of(1, ["lost"])


def test_a_spike_is_more_than_the_threshold() -> None:
    RowBalance(100, 90, 10).prove()
    assert not RowBalance(100, 90, 10).is_spike(0.10)
    assert RowBalance(100, 89, 11).is_spike(0.10)
    assert not RowBalance(0, 0, 0).is_spike(0.0)
