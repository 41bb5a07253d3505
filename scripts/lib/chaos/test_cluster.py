"""Failover of PostgreSQL's servers, where Debian's package is installed."""
import glob
import os
import shutil
import tempfile
import unittest

from cluster import Cluster


@unittest.skipUnless(glob.glob("/usr/lib/postgresql/*/bin/initdb"), "needs the package postgresql")
class ClusterTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.mkdtemp(prefix="satchel-pg.", dir="/tmp")
        self.addCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o711)
        self.cluster = Cluster(folder)
        self.addCleanup(self.cluster.stop)
        self.cluster.start()

    def write(self, number):
        self.cluster.sql(self.cluster.primary(), f"INSERT INTO satchel_bag.t VALUES ('o{number}')", "shop")

    def test_each_acknowledged_row_survives_failovers_and_a_restart(self):
        sql = "CREATE SCHEMA satchel_bag; CREATE TABLE satchel_bag.t(orderId text)"
        self.cluster.sql(self.cluster.primary(), sql, "shop")
        primaries = [self.cluster.primary()]
        for number in range(2):
            self.write(number)
            self.cluster.kill()
            self.cluster.fail_over()
            primaries.append(self.cluster.primary())
        self.assertEqual(primaries, ["a", "b", "a"])
        self.write(2)
        self.cluster.end()
        self.cluster.resume()
        self.assertEqual(self.cluster.rows("bag", "SELECT orderId FROM t ORDER BY orderId"), [("o0",), ("o1",), ("o2",)])


if __name__ == "__main__":
    unittest.main()
