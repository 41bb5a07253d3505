"""The scene around a product, with the colours of its brand; and the brands' logos."""
import hashlib
import html
import random

# By brand: walls, package, ink on the package, accent, font, whether the name is in capitals.
BRANDS = {
    "ansgarde-lab": (("#e8eef2", "#dfe7ec", "#eceff4", "#e3ebe9"), "#fbfcfd", "#26323d", "#7fa6bd", "Lato", True),
    "halden-fjord": (("#c9dbe2", "#d8e3e4", "#bfd2da", "#d5dde8"), "#1f4256", "#f2f7f8", "#c8553d", "League Spartan", True),
    "mirabelou": (("#f4dcd8", "#f1e3da", "#ead4d6", "#f3e0e4"), "#5c1a2e", "#f0d9a8", "#c79a53", "GFS Didot", False),
    "okutsuyu": (("#e6e4d8", "#dce3d6", "#eae2da", "#dde2e3"), "#f7f3e8", "#39463f", "#7d9a82", "EB Garamond", False),
    "pepperlune": (("#ffd9c2", "#ffd0dc", "#e6d6fb", "#d3ebf7"), "#ff5d73", "#fff8ee", "#5b3df0", "Lobster Two", False),
    "quillow-wren": (("#ece2cd", "#e4e3cf", "#efe0d2", "#e6dccb"), "#d9c3a0", "#3e3526", "#6e7f4a", "EB Garamond", False),
    "verdantine": (("#dcebd3", "#e4efd6", "#d3e6da", "#eaeed2"), "#2f6b46", "#f4f8ec", "#e3b94b", "Quicksand", False),
}
TITLES = {
    "ansgarde-lab": "Ansgarde Lab", "halden-fjord": "Halden Fjord", "mirabelou": "Mirabelou", "okutsuyu": "Okutsuyu",
    "pepperlune": "Pepperlune", "quillow-wren": "Quillow & Wren", "verdantine": "Verdantine",
}
DEFS = """<defs>
<linearGradient id="round"><stop offset="0" stop-color="#000" stop-opacity=".26"/><stop offset=".14" stop-color="#fff" stop-opacity=".06"/>
<stop offset=".27" stop-color="#fff" stop-opacity=".5"/><stop offset=".42" stop-color="#fff" stop-opacity=".04"/>
<stop offset=".72" stop-color="#000" stop-opacity=".08"/><stop offset="1" stop-color="#000" stop-opacity=".34"/></linearGradient>
<linearGradient id="metal"><stop offset="0" stop-color="#8d7340"/><stop offset=".25" stop-color="#f3e1ae"/><stop offset=".5" stop-color="#c7a45c"/>
<stop offset="1" stop-color="#7d6335"/></linearGradient>
<linearGradient id="steel"><stop offset="0" stop-color="#7d858b"/><stop offset=".25" stop-color="#f2f5f6"/><stop offset=".55" stop-color="#b4bcc1"/>
<stop offset="1" stop-color="#6f777d"/></linearGradient>
<linearGradient id="wall" x2=".6" y2="1"><stop offset="0" stop-color="#fff" stop-opacity=".62"/><stop offset=".6" stop-color="#fff" stop-opacity="0"/>
<stop offset="1" stop-color="#000" stop-opacity=".07"/></linearGradient>
<linearGradient id="floor" x2="0" y2="1"><stop offset="0" stop-color="#000" stop-opacity=".10"/><stop offset="1" stop-color="#000" stop-opacity=".02"/></linearGradient>
<linearGradient id="down" x2="0" y2="1"><stop offset="0" stop-color="#fff" stop-opacity=".35"/><stop offset="1" stop-color="#000" stop-opacity=".16"/></linearGradient>
<filter id="soft" x="-50%" y="-150%" width="200%" height="400%"><feGaussianBlur stdDeviation="12"/></filter>
</defs>"""


def luck(key):
    """A source of numbers that gives a key the same ones on every machine."""
    return random.Random(int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big"))


def text(x, y, size, words, colour, font, more=""):
    return (f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" fill="{colour}" font-family="{font}" text-anchor="middle" {more}>'
            f"{html.escape(words)}</text>")


def name_of(brand):
    *_, font, is_upper = BRANDS[brand]
    return (TITLES[brand].upper() if is_upper else TITLES[brand]), font, 'letter-spacing="2"' if is_upper else ""


def mixed(one, other, share):
    """A colour between two, `share` of the other."""
    parts = [(int(one[at:at + 2], 16), int(other[at:at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in parts)


def product(row, drawn):
    """A product on a stage. A brand has several, because a page of equal pictures looks like a pattern."""
    brand, draw = row["brand"], luck(row["key"])
    walls, accent = BRANDS[brand][0], BRANDS[brand][3]
    wall = mixed(draw.choice(walls), drawn.tint, .16)
    return DEFS + stage(640, 640, wall, mixed(accent, drawn.tint, .5), draw) + stand(drawn, 320, 558, drawn.size)


def stand(drawn, x, y, size):
    """The drawn product with its shadow. `x`, `y`: the middle of its lower edge."""
    half = drawn.width / 2
    return (f'<g transform="translate({x:g} {y:g}) scale({size:g})">'
            f'<ellipse cx="{half * .35:g}" cy="2" rx="{half * 1.25:g}" ry="13" fill="#000" opacity=".34" filter="url(#soft)"/>'
            f"{drawn.svg}</g>")


def stage(width, height, wall, accent, draw):
    kind = draw.randrange(5)
    floor = 0.79 * height
    middle = width / 2
    back = {
        0: f'<path d="M{middle - 190} {floor} V{floor - 255} a190 190 0 0 1 380 0 V{floor} z" fill="{mixed(wall, accent, .22)}"/>',
        1: f'<circle cx="{middle + draw.choice((-90, 90))}" cy="{.37 * height:g}" r="175" fill="{mixed(wall, accent, .25)}"/>',
        2: f'<path d="M0 0 H{width * .42} L{width * .2} {floor} H0 z" fill="#fff" opacity=".35"/>'
           f'<path d="M{width * .5} 0 h60 L{width * .3} {floor} h-50 z" fill="#fff" opacity=".35"/>',
        3: "".join(f'<rect x="{x}" width="26" height="{floor}" fill="{mixed(wall, accent, .10)}"/>' for x in range(0, width, 52)),
        4: f'<path d="M0 {floor - 90} C{width * .25} {floor - 200} {width * .5} {floor - 40} {width} {floor - 170} V{floor} H0 z" '
           f'fill="{mixed(wall, accent, .2)}"/>',
    }[kind]
    ground = mixed(wall, accent, .12)
    block = ""
    if kind in (1, 3) and width == height:
        block = (f'<rect x="{middle - 215}" y="556" width="430" height="{height - 556}" fill="{mixed(wall, accent, .3)}"/>'
                 f'<rect x="{middle - 215}" y="540" width="430" height="30" fill="{mixed(wall, accent, .16)}"/>')
    return (f'<rect width="{width}" height="{height}" fill="{wall}"/>{back}<rect width="{width}" height="{height}" fill="url(#wall)"/>'
            f'<rect y="{floor}" width="{width}" height="{height - floor}" fill="{ground}"/>'
            f'<rect y="{floor}" width="{width}" height="{height - floor}" fill="url(#floor)"/>{block}')


def banner(key, brand, shown):
    """Some products side by side. The page has the text."""
    wall = mixed(BRANDS[brand][0][0], BRANDS[brand][3], .3)
    svg = [DEFS, stage(1280, 720, wall, BRANDS[brand][3], luck(key))]
    wide = [drawn.width * min(drawn.size, 1.25) for drawn in shown]
    gap = min(70, (1140 - sum(wide)) / (len(shown) - 1))
    x = (1280 - sum(wide) - gap * (len(shown) - 1)) / 2
    for place, drawn in enumerate(shown):
        svg.append(stand(drawn, x + wide[place] / 2, 636 + 14 * (place % 2), min(drawn.size, 1.25)))
        x += wide[place] + gap
    return "".join(svg)


def logo(row):
    brand = row["key"]
    walls, package, ink, accent, _, _ = BRANDS[brand]
    words, font, more = name_of(brand)
    dark = ink if brand in ("ansgarde-lab", "okutsuyu", "quillow-wren") else package
    marks = {
        "ansgarde-lab": f'<path d="M280 150 h80 M300 150 v70 l-62 112 a22 22 0 0 0 19 33 h126 a22 22 0 0 0 19 -33 l-62 -112 v-70"'
            f' fill="none" '
                        f'stroke="{dark}" stroke-width="9" stroke-linecap="round" stroke-linejoin="round"/>'
                        f'<path d="M262 302 h116 l26 47 h-168 z" fill="{accent}"/>',
        "halden-fjord": f'<path d="M170 350 L270 190 L330 280 L375 220 L470 350 z" fill="{dark}"/>'
            f'<path d="M270 190 l-34 55 34 22 30 -30 z" fill="#fff"/>'
                        f'<path d="M180 378 q35 -20 70 0 t70 0 t70 0 t70 0" fill="none"'
                        f' stroke="{accent}" stroke-width="9" stroke-linecap="round"/>',
        "mirabelou": f'<circle cx="320" cy="258" r="112" fill="none" stroke="{accent}"'
            f' stroke-width="6"/>' + text(320, 312, 160, "M", dark, font),
        "okutsuyu": f'<path d="M320 138 C365 215 410 252 410 298 a90 90 0 0 1 -180 0 C230 252 275 215 320 138 z" fill="{accent}"/>'
                    f'<path d="M270 300 a50 50 0 0 0 42 52" fill="none" stroke="#fff" stroke-width="10" stroke-linecap="round"/>',
        "pepperlune": f'<circle cx="320" cy="256" r="118" fill="{accent}"/><circle cx="372" cy="222" r="104" fill="{walls[0]}"/>'
                      f'<path d="M388 178 l11 30 30 11 -30 11 -11 30 -11 -30 -30 -11 30 -11 z" fill="{dark}"/>',
        "quillow-wren": f'<path d="M196 318 q40 -96 132 -96 q24 -52 78 -40 q26 8 30 34 l38 12 -38 14 q-6 92 -112 100 q-62 4 -92 -34 l-74 38 z" fill="{accent}"/>'
                        f'<circle cx="404" cy="216" r="8" fill="#fff"/><path d="M296 342 v44 m34 -44 v44"'
                        f' stroke="{dark}" stroke-width="7" stroke-linecap="round"/>'
                        f'<path d="M252 290 q54 26 110 -14" fill="none" stroke="{walls[0]}" stroke-width="7" stroke-linecap="round"/>',
        "verdantine": f'<path d="M320 372 C210 330 196 226 222 148 C306 160 366 220 320 372 z" fill="{dark}"/>'
                      f'<path d="M322 372 C318 286 362 226 432 214 C446 292 404 350 322 372 z" fill="{accent}"/>',
    }
    size = 74 if len(words) < 11 else 56 if len(words) < 13 and not more else 50
    if font == "GFS Didot":
        size = 78
    return f'<rect width="640" height="640" fill="{mixed(walls[0], "#ffffff", .45)}"/>{marks[brand]}' + text(320, 498, size, words, dark, font, more)
