"""python3 -m unittest discover scripts/lib/chaos: the schedule, the report and the faults, without a suite."""
import os
import shutil
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

LIB = Path(__file__).resolve().parent.parent
sys.path.append(str(LIB / "bench"))

import client
import report
import schedule
from faults import Faults, Impossible
from report import Answer, Happened


class Schedule(unittest.TestCase):
    def test_a_seed_repeats_its_faults(self):
        self.assertEqual(schedule.schedule(7, 3), schedule.schedule(7, 3))
        self.assertNotEqual(schedule.schedule(7, 3), schedule.schedule(8, 3))

    def test_a_longer_run_begins_like_a_shorter_one(self):
        self.assertEqual(schedule.schedule(7, 5)[:36], schedule.schedule(7, 2))

    def test_two_minutes_have_twenty_kills_and_each_other_kind(self):
        for seed in range(50):
            for database, own in schedule.OF_DATABASE.items():
                faults = schedule.schedule(seed, 2, database)
                kinds = [fault.kind for fault in faults]
                self.assertEqual(kinds.count(schedule.KILL), 20)
                self.assertEqual(set(kinds), {schedule.KILL, *schedule.EVERYWHERE, *own})
                self.assertGreaterEqual(schedule.kills(faults), 20)
                self.assertEqual([fault.number for fault in faults], list(range(1, 37)))

    def test_half_an_hour_has_300_kills(self):
        self.assertGreaterEqual(schedule.kills(schedule.schedule(1, 30)), 300)

    def test_only_replicas_that_the_scale_allows_are_hit(self):
        for seed in range(50):
            scale = dict(schedule.SCALE_AT_START)
            for fault in schedule.schedule(seed, 4):
                if fault.kind == schedule.SCALE:
                    service, count = fault.target.split("=")
                    scale[service] = int(count)
                    usual = schedule.SCALE_AT_START.get(service, 1)
                    self.assertIn(scale[service], (usual, usual + 1))
                hit = [fault.target] if fault.kind in (schedule.KILL, schedule.PAUSE, schedule.HANG) else []
                for replica in hit + [fault.meanwhile] * bool(fault.meanwhile):
                    service, number = replica.rsplit("-", 1)
                    self.assertIn(service, schedule.SERVICES)
                    self.assertLessEqual(int(number), scale.get(service, 1))

    def test_each_fault_has_a_text(self):
        for database in schedule.OF_DATABASE:
            for fault in schedule.schedule(3, 20, database):
                # All others have words of their own.
                self.assertEqual(
                    fault.text.startswith(f"{fault.kind} "), fault.kind in (schedule.KILL, schedule.RESTART, schedule.SCALE), fault.text)
                self.assertNotIn("None", fault.text)


class Report(unittest.TestCase):
    FAULTS = schedule.schedule(1, 1)[:2]

    def test_the_gap_is_the_longest_time_without_a_success(self):
        self.assertEqual(report.gap([1, 2, 7, 8], 2.5, 10), 4.5)
        self.assertEqual(report.gap([1, 3, 9, 10], 2.5, 10), 6)
        self.assertEqual(report.gap([1, 3, 4], 2.5, 10), 6)

    def test_a_gap_reaches_to_the_first_success_after_the_next_fault(self):
        self.assertEqual(report.gap([1, 20, 40], 2, 10), 18)

    def test_without_a_success_there_is_no_gap(self):
        self.assertIsNone(report.gap([1], 2, 10))

    def test_faults_are_reported_with_their_gaps_and_failures(self):
        answers = [Answer(kind, 0, second) for kind in report.KINDS for second in (1, 4, 9)]
        answers.append(Answer("order", 2, 3, "503 code 2"))
        happened = [Happened(self.FAULTS[0], 2), Happened(self.FAULTS[1], 5, "needs root")]
        self.assertEqual([met["order"] for _, met in report.gaps(happened, answers, 10)], [2])
        self.assertEqual(report.failures(answers), {("order", "503 code 2"): 1})
        text = report.text(happened, answers, 10)
        self.assertIn("failed 1 x order: 503 code 2", text)
        self.assertIn("needs root", text)
        self.assertIn("19 order", report.text(happened, answers + [Answer("order", 0, 1)] * 15, 10))

    def test_a_fault_of_the_bus_without_an_effect_is_a_finding(self):
        faults = [schedule.Fault(1, schedule.DELAY, "bag", 4, 300), schedule.Fault(2, schedule.DROP, "*", 4, 0.1)]
        happened = [Happened(fault, fault.number) for fault in faults]
        line = "2030-05-06 warning bus : bus.delay={} bus.late={} bus.lost={} [MessageBus] A test's faults of the bus ended.\n"
        self.assertEqual(report.idle_faults(happened, line.format(300, 12, 0) + line.format(0, 0, 3)), [])
        self.assertEqual(report.idle_faults([], ""), [])
        self.assertEqual(len(report.idle_faults(happened, "")), 2)
        self.assertIn("300 ms", report.idle_faults(happened, line.format(200, 12, 3))[0])
        self.assertIn("lost none", report.idle_faults(happened, line.format(300, 12, 0))[0])

    def test_a_process_that_ended_by_its_own_fault_is_named(self):
        log = (
            "2030-05-06 INFO exited: bag-1 (terminated by SIGKILL; not expected)\n"
            "2030-05-06 INFO exited: mail-1 (exit status 0; expected)\n"
            "2030-05-06 WARN exited: catalog-2 (terminated by SIGILL (core dumped); not expected)\n")
        self.assertEqual(report.crashes(log), ["catalog-2 ended by SIGILL"])


class Effects(unittest.TestCase):
    """Faults whose tools do nothing."""

    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)
        os.mkdir(f"{self.root}/scripts")
        self.faults = Faults(self.root, f"{self.root}/data", "", "", None)
        self.pids = {"bag-1": 10, "bag-2": 11}
        patch = mock.patch("faults.machine.processes", lambda data: dict(self.pids))
        patch.start()
        self.addCleanup(patch.stop)

    def script(self, name, status):
        path = f"{self.root}/scripts/{name}"
        with open(path, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\nexit {status}\n")
        os.chmod(path, 0o700)

    def test_a_restart_that_leaves_the_processes(self):
        self.script("restart", 0)
        with self.assertRaisesRegex(RuntimeError, "left bag-1, bag-2 as it was"):
            self.faults.perform(schedule.Fault(1, schedule.RESTART, "bag"))

    def test_a_scale_that_leaves_the_number(self):
        self.script("scale", 0)
        self.assertIsNone(self.faults.perform(schedule.Fault(1, schedule.SCALE, "bag=2")))
        with mock.patch("faults.RESTART_SECONDS", 0), self.assertRaisesRegex(RuntimeError, "there are 2"):
            self.faults.perform(schedule.Fault(2, schedule.SCALE, "bag=3"))

    def test_scripts_and_signals_of_which_many_do_nothing(self):
        self.script("scale", 1)
        self.faults.perform(schedule.Fault(1, schedule.SCALE, "bag=2"))
        self.assertEqual(self.faults.findings(), [])
        self.faults.perform(schedule.Fault(2, schedule.SCALE, "bag=3"))
        for _ in range(2):
            with self.assertRaises(Impossible):
                self.faults.kill("push-1", patience=0)
        self.assertEqual(self.faults.findings(), ["2 of 2 scripts did nothing", "2 of 2 signals did nothing"])
        with mock.patch("faults._signal"):
            for _ in range(8):
                self.faults.kill("bag-1")
        self.assertEqual(self.faults.findings(), ["2 of 2 scripts did nothing"])


    def test_faults_of_the_provider_that_meet_nothing(self):
        provider = mock.Mock()
        self.faults.shop = mock.Mock(provider=provider)
        for hits in (0, 0, 5):
            provider.change_mode.return_value = hits
            with mock.patch("faults.MEETING_SECONDS", 0), mock.patch("faults.LOOK_SECONDS", 0):
                self.faults.perform(schedule.Fault(1, schedule.SILENT, seconds=0.01, amount=0.5))
            self.assertEqual(provider.change_mode.call_args_list[-2:], [mock.call(schedule.SILENT, 0.5), mock.call()])
        self.assertEqual(self.faults.findings(), ["2 of 3 faults of the provider did nothing"])

    def test_a_fault_of_the_provider_goes_on_until_it_meets_a_request(self):
        provider = mock.Mock()
        provider.change_mode.side_effect = [0, 0, 0, 4, 1]
        self.faults.shop = mock.Mock(provider=provider)
        with mock.patch("faults.LOOK_SECONDS", 0):
            self.faults.perform(schedule.Fault(1, schedule.SILENT, seconds=0.01, amount=0.5))
        self.assertEqual(self.faults.findings(), [])
        self.assertEqual(self.faults.notes, ["it met 5 requests"])

    def test_a_failover_begins_with_a_kill_and_ends_with_a_standby(self):
        self.faults.cluster = mock.Mock()
        for kind in (schedule.FAILOVER, schedule.OUTAGE):
            self.faults.perform(schedule.Fault(1, kind, seconds=0.01))
        self.assertEqual(self.faults.cluster.method_calls, [mock.call.kill(), mock.call.fail_over(), mock.call.end(), mock.call.resume()])


class Answers(unittest.TestCase):
    def test_what_a_fault_may_cause_is_sent_again(self):
        for status, answer in ((0, {"error": "TimeoutError"}), (503, {"code": 2}), (502, {}), (400, {"code": 124}), (429, {"code": 155})):
            self.assertTrue(client.is_repeatable(status, answer), status)
        for status, answer in ((200, {"result": {}}), (201, {}), (400, {"code": 141}), (400, {"code": 142}), (404, {"code": 101})):
            self.assertFalse(client.is_repeatable(status, answer), status)

    def test_outcomes_are_short(self):
        self.assertEqual(client.outcome_of(0, {"error": "TimeoutError"}), "TimeoutError")
        self.assertEqual(client.outcome_of(503, {"code": 2, "error": "later"}), "503 code 2")


if __name__ == "__main__":
    unittest.main()
