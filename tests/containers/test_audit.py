"""A followed log that is rotated is compared with what is left on disk."""

from sgdoctor.containers.audit import Audit
from sgdoctor.containers.demux import STDOUT, Entry

LOG = [Entry(STDOUT, 1000 + number, b"line\n") for number in range(100)]


def audit_of(entries: list[Entry]) -> Audit:
    audit = Audit(rotates_at=1000)
    audit.note(audit.without_repeats(entries), 250)
    return audit


def test_whole_log_misses_nothing() -> None:
    assert audit_of(LOG).compare(LOG) is None


def test_lines_still_on_disk_that_were_not_given_are_counted() -> None:
    lost = audit_of(LOG[:40] + LOG[60:]).compare(LOG)

    assert lost is not None
    assert (lost.count, lost.certain) == (20, True)


def test_log_that_was_turned_over_may_have_lost_lines() -> None:
    lost = audit_of(LOG).compare(LOG[50:])

    assert lost is not None
    assert (lost.count, lost.certain) == (None, False)


def test_lines_on_their_way_are_not_lost() -> None:
    assert audit_of(LOG[:40]).compare(LOG) is None


def test_second_comparison_begins_where_the_first_ended() -> None:
    audit = audit_of(LOG[:40])
    audit.compare(LOG[:40])
    audit.note(audit.without_repeats(LOG[40:]), 250)

    assert audit.since == 1040
    assert audit.compare(LOG[40:]) is None


def test_repeats_after_a_rotation_are_dropped() -> None:
    audit = audit_of(LOG[:50])

    assert audit.without_repeats(LOG[30:60]) == LOG[50:60]


def test_repeats_of_lines_that_came_with_them_are_dropped() -> None:
    audit = audit_of(LOG[:50])

    assert audit.without_repeats(LOG[30:60] + LOG[45:70]) == LOG[50:70]


def test_lines_that_come_late_are_not_repeats() -> None:
    audit = audit_of(LOG[:20] + LOG[40:50])

    assert audit.without_repeats(LOG[10:60]) == LOG[20:40] + LOG[50:60]


def test_due_only_after_enough_for_a_rotation() -> None:
    audit = Audit(rotates_at=1000)
    audit.note(LOG[:1], 249)
    before = audit.due
    audit.note(LOG[1:2], 1)

    assert not before
    assert audit.due


def test_nothing_to_do_without_rotation() -> None:
    audit = Audit(rotates_at=None)
    audit.note(LOG, 10**9)

    assert not audit.due
    assert audit.without_repeats([*LOG, *LOG]) == [*LOG, *LOG]
