"""python3 -m unittest discover scripts/lib/bench: the statistics, and the conditions that make two runs comparable."""
import json
import os
import random
import tempfile
import unittest

from measuring import compare
from measuring.figures import Target, Workload, is_beyond_noise, percentile, shown, spread
from measuring.table import GOALS, goals, report
from reads import zipf


class Figures(unittest.TestCase):
    def test_the_ratio_is_the_median_of_the_rounds_ratios(self):
        workload = Workload("a", "A", rounds=[10, 30, 20], limit_rounds=[20, 40, 80])
        self.assertEqual(workload.ratios, [0.5, 0.75, 0.25])
        self.assertEqual((workload.value, workload.limit_value, workload.ratio), (20, 40, 0.5))

    def test_a_round_without_the_limits_figure_has_no_ratio(self):
        self.assertEqual(Workload("a", "A", rounds=[1, 2], limit_rounds=[0, 4]).ratios, [0.5])
        self.assertIsNone(Workload("a", "A").ratio)

    def test_a_percentile_is_one_of_the_numbers(self):
        numbers = list(range(1, 101))
        self.assertEqual([percentile(numbers, part) for part in (0.5, 0.95, 1)], [50, 95, 100])
        self.assertEqual(percentile([7], 0.95), 7)

    def test_spread_is_half_the_range_as_a_part_of_the_median(self):
        self.assertEqual(spread([90, 100, 110]), 0.1)
        self.assertIsNone(spread([1]))

    def test_noise_is_where_rounds_overlap(self):
        self.assertTrue(is_beyond_noise([1, 2, 3], [4, 5, 6]))
        self.assertTrue(is_beyond_noise([4, 5, 6], [1, 2, 3]))
        self.assertFalse(is_beyond_noise([1, 2, 4], [4, 5, 6]))
        self.assertIsNone(is_beyond_noise([1, 2], [8, 9]))

    def test_targets_are_of_the_value_or_the_ratio(self):
        self.assertTrue(Workload("a", "A", rounds=[400], target=Target(400, "least")).meets_target)
        self.assertFalse(Workload("a", "A", rounds=[2], limit_rounds=[0.5], target=Target(3, of="ratio")).meets_target)
        self.assertIsNone(Workload("a", "A", target=Target(3)).meets_target)

    def test_numbers_show_three_digits_that_count(self):
        numbers = [12345.6, 12.345, 0.12345, 3, None]
        self.assertEqual([shown(number) for number in numbers], ["12,346", "12.35", "0.123", "3", "-"])

    def test_zipf_draws_the_first_rank_most_and_none_beyond_the_last(self):
        drawn = zipf(100, 10_000, random.Random(1))
        self.assertEqual(max(set(drawn), key=drawn.count), 0)
        self.assertLess(max(drawn), 100)
        # 1 / (1 + 1/2 + … + 1/100) = 0.193
        self.assertAlmostEqual(drawn.count(0) / 10_000, 0.193, delta=0.02)


class Runs(unittest.TestCase):
    def test_what_is_written_is_read(self):
        workload = Workload("a", "A", rounds=[1.5, 2], limit="L", limit_rounds=[3, 4], target=Target(3, of="ratio"))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"workloads": [workload.as_json()]}, file)
            self.assertEqual(compare.read(path), {"a": workload})

    def test_less_is_better_where_it_is(self):
        before = Workload("a", "A", better="less", rounds=[5, 5, 6])
        after = Workload("a", "A", better="less", rounds=[3, 3, 4])
        self.assertEqual(compare.verdict(before, after), ("-40.0 %", "**better**"))
        self.assertEqual(compare.verdict(after, before), ("+66.7 %", "**worse**"))

    def test_ratios_are_compared_where_both_have_them(self):
        slow = Workload("a", "A", rounds=[10, 11, 12], limit_rounds=[20, 22, 24])
        fast = Workload("a", "A", rounds=[100, 110, 120], limit_rounds=[200, 220, 240])
        self.assertEqual(compare.verdict(slow, fast), ("+0.0 %", "within noise"))

    def test_each_goal_has_a_row_with_its_figure(self):
        rows = goals([
            Workload("create", "creates", rounds=[20], limit="SQLite", limit_rounds=[50], target=Target.share(0.5)),
            Workload("object-cached-tail", "tail", unit="", rounds=[4], limit="bare", limit_rounds=[3], target=Target(3)),
            Workload("first-build", "build", unit="min", rounds=[4.5], target=Target(5)),
        ]).splitlines()[2:]
        self.assertEqual(len(rows), len(GOALS))
        self.assertIn("| creates | 0.400 of SQLite; 20/s | ≥ 0.500 (ratio), **missed** |", rows)
        self.assertIn("| tail | 4; bare: 3 | ≤ 3, **missed** |", rows)
        self.assertIn("| build | 4.50 min | ≤ 5 min, met |", rows)
        self.assertIn("| memory-idle | not measured | - |", rows)

    def test_a_workload_that_failed_is_said_to_have(self):
        self.assertIn("no disk", report([Workload("a", "A", problem="no disk")]))


if __name__ == "__main__":
    unittest.main()
