"""The form of the drill's tests, and whether the checked-in ones have what the alert rules read."""
import re
import unittest

import drill
import yaml

RECORDED = drill.ROOT / "compose/prometheus/recorded"
SIZE_MAX = 400 << 10
UP = (("service", "bag"),)


class Form(unittest.TestCase):
    def test_notation(self):
        self.assertEqual(drill.notation([1, 1, 1, 1, None, None, "stale", None, 3, 5, 7, 9]), "1+0x3 _x2 stale _x1 3+2x3")
        self.assertEqual(drill.notation([9, 6, 3, 0.5, 0.5, 0.5, 0.7, 0.9, 1.1]), "9-3x2 0.5+0x2 0.7 0.9 1.1")

    def test_counters_begin_at_zero_and_show_a_restart(self):
        self.assertEqual(drill.from_zero([None, 7, 9.5, "stale", 2, 3]), [None, 0, 2.5, "stale", 2, 3])

    def test_only_what_the_rules_read_is_kept_and_added_up(self):
        page = """# TYPE satchel_http_connections gauge
satchel_http_connections 3
satchel_http_request_duration_seconds_count{method="GET",route="/users/me",status="2xx"} 4
satchel_http_request_duration_seconds_count{method="PUT",route="/users/me",status="2xx"} 5
satchel_http_request_duration_seconds_bucket{method="PUT",route="/users/me",status="2xx",le="0.0001"} 5
satchel_http_request_duration_seconds_bucket{method="PUT",route="/users/me",status="2xx",le="0.8192"} 5
satchel_disk_free_bytes{service="bag",process="bag-1"} 7000
satchel_disk_free_bytes{service="bag",process="bag-2"} 6000
"""
        self.assertEqual(drill.samples(page), {
            ("satchel_http_request_duration_seconds_count", (("status", "2xx"),)): 9,
            ("satchel_http_request_duration_seconds_bucket", (("le", "0.8192"),)): 5, ("satchel_disk_free_bytes", ()): 6000})

    def test_stretched_and_unstretched_times(self):
        self.assertEqual(drill.replayed(("satchel_process_start_time_seconds", ()), 900, 4, 1004, 1000), -1500)
        self.assertEqual(drill.replayed(("satchel_process_clock_seconds", ()), 1064, 4, 1004, 1000), 120)
        self.assertEqual(drill.replayed(("satchel_outbox_oldest_age_seconds", ()), 20, 4, 1004, 1000), 300)

    def test_a_series_ends_where_a_scrape_lacks_it(self):
        has = {("satchel_service_up", UP): 1}
        table = drill.columns({0: (0, has), 2: (2, None), 3: (3, {}), 4: (4, has)}, 0)
        self.assertEqual(table[drill.UP], [1, None, 0, 1, 1])
        self.assertEqual(table[("satchel_service_up", UP)], [1, None, "stale", None, 1])


class CheckedIn(unittest.TestCase):
    def test_each_fault_has_a_recording_with_its_alerts(self):
        for exercise in drill.EXERCISES:
            test = yaml.safe_load((RECORDED / f"{exercise.name}.yml").read_text(encoding="utf-8"))["tests"][0]
            wanted = [each["exp_samples"] for each in test["promql_expr_test"]]
            self.assertEqual(wanted, [[], yaml.safe_load(drill.expected(exercise.alerts))], exercise.name)
        self.assertEqual(len(list(RECORDED.iterdir())), len(drill.EXERCISES))

    def test_they_are_small(self):
        self.assertLess(sum(file.stat().st_size for file in RECORDED.iterdir()), SIZE_MAX)

    def test_what_the_rules_read_is_recorded(self):
        """Else the drill has to record anew."""
        rules = yaml.safe_load(drill.RULES.read_text(encoding="utf-8"))["groups"][0]["rules"]
        self.assertEqual({name for rule in rules for name in re.findall(r"satchel_\w+", rule["expr"])}, set(drill.LABELS))


if __name__ == "__main__":
    unittest.main()
