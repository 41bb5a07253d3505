"""Pictures of the pages, of a suite with the demo shop and some weeks of customers (scripts/screenshots)."""
import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bench"))

import camera  # noqa: E402
import shop  # noqa: E402
from measuring import suite  # noqa: E402

SETTINGS = {
    "SATCHEL_SHOP_NAME": "Beauty & Me",
    # Nobody attacks these accounts.
    "SATCHEL_PASSWORD_WORK": "1",
}


def main():
    parser = argparse.ArgumentParser()
    for name in ("root", "bin", "folder"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--only", default="", type=lambda text: [name for name in text.split(",") if name])
    options = parser.parse_args()
    unknown = set(options.only) - set(camera.NAMES)
    if unknown:
        sys.exit(f"There is no picture {', '.join(sorted(unknown))}; there are {', '.join(camera.NAMES)}.")
    with suite.Suite(options.root, options.bin, SETTINGS) as satchel:
        seen = shop.fill(satchel)
        satchel.down()
        shop.spread(satchel.data)
        satchel.up()
        camera.take(satchel, seen, options.folder, options.only or camera.NAMES)


main()
