"""python3 -m unittest discover scripts/lib/load: the picture of a limit."""
import re
import unittest
import xml.etree.ElementTree

from picture import decades, picture, step, trials

SVG = "{http://www.w3.org/2000/svg}"


def phase(rate, p99, problems=(), name="trial", measured=True):
    return {
        "name": f"{name} {rate}/s", "isMeasured": measured, "fromRate": rate, "problems": list(problems),
        "figures": {"p99Milliseconds": p99},
    }


def report(*phases, limit=None):
    return {
        "phases": list(phases), "promise": {"p99Milliseconds": 250, "errorShare": 0.001}, "products": 10000,
        "limit": limit,
    }


FOUND = report(
    phase(10, 5, measured=False, name="warm-up"), phase(100, 12), phase(200, 40), phase(400, 3000, ["p99"]),
    phase(400, 900, ["p99"]), phase(140, 30, name="steady"), limit=200)


class Picture(unittest.TestCase):
    def elements(self, drawn, kind):
        return [
            found for found in xml.etree.ElementTree.fromstring(drawn).iter() if found.get("class") == kind]

    def test_trials_alone_are_drawn(self):
        self.assertEqual(trials(FOUND), [(100, 12, True), (200, 40, True), (400, 900, False), (400, 3000, False)])
        drawn = picture(FOUND)
        self.assertEqual([len(self.elements(drawn, kind)) for kind in ("kept", "broken")], [2, 2])
        self.assertIn("Limit: 200 requests/s (p99 ≤ 250 ms, 10,000 products)", drawn)

    def test_the_line_rises_with_p99_and_takes_the_better_trial(self):
        drawn = picture(FOUND)
        points = [tuple(map(float, point.split(","))) for point in self.elements(drawn, "line")[0].get("points").split()]
        self.assertEqual(len(points), 3)
        self.assertEqual(points, sorted(points))
        self.assertTrue(points[0][1] > points[1][1] > points[2][1])
        rings = sorted(float(ring.get("cy")) for ring in self.elements(drawn, "broken"))
        self.assertEqual(points[2][1], rings[1])

    def test_the_limit_is_at_its_rate_and_everything_is_inside(self):
        drawn = picture(FOUND)
        limit = self.elements(drawn, "limit")[0]
        self.assertEqual(limit.get("x1"), self.elements(drawn, "kept")[1].get("cx"))
        for found in re.findall(r'(?:x1|x2|cx|x)="([\d.]+)"', drawn):
            self.assertLessEqual(float(found), 720)
        self.assertNotIn("nan", drawn)

    def test_without_a_limit_it_says_so(self):
        drawn = picture(report(phase(50, 900, ["p99"]), phase(50, 0, ["errors"])))
        self.assertIn("No rate met the targets", drawn)
        self.assertEqual(self.elements(drawn, "limit"), [])
        with self.assertRaises(ValueError):
            picture(report(phase(140, 30, name="steady")))

    def test_ticks(self):
        self.assertEqual(decades(12, 3000), [10, 100, 1000, 10000])
        self.assertEqual(decades(10, 10), [10, 100])
        self.assertEqual([step(most) for most in (420, 900, 2000, 8)], [100, 200, 500, 2])


if __name__ == "__main__":
    unittest.main()
