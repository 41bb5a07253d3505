#!/usr/bin/env python3
"""Draws the demo shop's pictures: one of each product, a logo of each brand, a banner of each promotion.

Usage: scripts/lib/demo/draw.py [KEY …]     default: all rows of shop.json; writes pictures/KEY.webp

Needs the packages libvips-tools, fonts-lato, fonts-league-spartan, fonts-gfs-didot, fonts-ebgaramond, fonts-lobstertwo and
fonts-quicksand. The same versions of them draw the same bytes.
"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import forms
import scene

HERE = pathlib.Path(__file__).parent
SIDE = 640


def pictures(shop):
    """Key, width, height and SVG of each picture."""
    for row in shop["categories"]:
        yield row["key"], SIDE, SIDE, scene.logo(row)
    drawn = {row["key"]: forms.of(row) for row in shop["products"]}
    brands = {row["key"]: row["brand"] for row in shop["products"]}
    for row in shop["products"]:
        yield row["key"], SIDE, SIDE, scene.product(row, drawn[row["key"]])
    for row in shop["promotions"]:
        yield row["key"], 1280, 720, scene.banner(row["key"], brands[row["show"][0]], [drawn[key] for key in row["show"]])


def write(key, width, height, svg):
    """Returns the file's size."""
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "picture.svg")
        size = f'width="{width}" height="{height}"'
        pathlib.Path(source).write_text(f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{svg}</svg>', encoding="utf-8")
        target = HERE / "pictures" / f"{key}.webp"
        subprocess.run(["vips", "flatten", source, f"{target}[Q=72,effort=6,strip]"], check=True)
    return target.stat().st_size


def main(keys):
    shop = json.loads((HERE / "shop.json").read_text(encoding="utf-8"))
    wanted = [picture for picture in pictures(shop) if not keys or picture[0] in keys]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        sizes = list(pool.map(lambda picture: write(*picture), wanted))
    print(f"{len(sizes)} pictures, {sum(sizes)} bytes")


main(sys.argv[1:])
