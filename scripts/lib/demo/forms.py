"""The products: the package that fits a name, and its drawing. The middle of the lower edge is at 0, 0."""
import collections
import re

import scene

Drawn = collections.namedtuple("Drawn", "width svg tint size")

# The colour of the content, by a word of the name. The first match counts.
TINTS = {
    "#0b0b10": "Noir|Ink Black|Charcoal|Mascara|Spider|Pine Tar",
    "#8e1024": "Rouge|Cinéma|Cerise|Red Bean|Coquelicot|Lingonberry|Jam|Angelica",
    "#8b5a3c": "Bois|Noisette|Brun|Caramel|Toast|Green Coffee|Brick|Bronze|Cider|Tea Tree|Loofah|Boxwood|Moor",
    "#5a1f45": "Prune|Plum|Ume|Blackcurrant|Bilberry|Blackthorn|Midnight Snack",
    "#f0a58c": r"Pêche|Persimmon|Sunburn|Rhubarb|Disco|Rose\b|Hawthorn",
    "#e9a0b6": "Dragée|Sakura|Blush|Velours|Fireweed|Peptide|Soie|Rendez",
    "#2447c9": "Cobalt|Moonshot|Indigo|Blue|Bleuet|Glacier|Ice|Snow|Frost|Ultraviolet|Neon",
    "#f08a24": "Tangerine|Cloudberry|Sea Buckthorn|Marigold|Vitamin|Trouble|Yuzu|Midnight Sun",
    "#e8c15a": ("Honey|Miel|Custard|Beeswax|Beekeeper|Primrose|Oat|Barley|Amande|Camellia|Lemongrass|Sauna|Rice|Hatomugi|"
        "Adlay|Sake|Poudre"),
    "#f3dcc3": "Porcelaine|02|05|Cotton|Wool|Coconut|Silk",
    "#b98560": "09|Skin Filter",
    "#3d7a4a": ("Matcha|Chlorella|Spirulina|Kombu|Wakame|Kelp|Seaweed|Spruce|Nettle|Kale|Moss|Pond|Beetle|Juniper|Cypress|"
        "Basil|Rosemary"),
    "#9cc06b": ("Aloe|Bamboo|Cucumber|Wheatgrass|Green Tea|Cactus|Artichoke|Avocado|Moringa|Hop|Sage|Birch|Olive|Pandan|"
        "Parsley|Cica|Fig|Hemp|Neem|Figuier|Jardin|Elderflower"),
    "#a88fc9": "Lavand|Prunelle|Thistle|Teasel|Retinal|Azelaic|Overnight|Heather|Nuit|Hedgerow",
    "#8f9aa3": "Gris|Static|Binchotan|Harbour|Pluie",
    "#9fc9d8": ("Fjord|Morning Dew|Mist|Ceramide|Niacinamide|Micellar|Ectoin|Urea|Barrier|Caffeine|Peppermint|Lactic|"
        "Glycolic|Invisible|Gel"),
}
# The package, by a word of the name. The first match counts; `jar` is for the rest.
PACKAGES = {
    "box": "Set$|Kit$|Box$|Coffret|Starter Pack",
    "tin": "Tin$|Pads|Solide",
    "candle": "Candle",
    "brush": "Pinceau|Brush$",
    "comb": "Comb",
    "sponge": "Sponge|Loofah|Net$",
    "pouch": "Pouch|Bath Tea|Bath Salt|Bath Soak|Cica Recovery|Patches|Wipes|Paper",
    "dish": "Dish",
    "cloth": "Muslin",
    "lashes": "Lashes",
    "chalk": "Chalk",
    "palette": "Palette",
    "lipstick": "Lipstick",
    "gloss": "Gloss|Laque|Lip Tint|Cheat Sheet",
    "pencil": "Khôl|Liner|Crayon",
    "wand": "Mascara|Sourcils|Brow Wax",
    "compact": "Poudre|Blush [CD]|Bronze|Cotton Grass|Cheek Tint",
    "polish": "Vernis|Confetti",
    "perfume": "Eau de Toilette|Room Spray",
    "stick": "Stick|Deodorant Bar",
    "soap": "Soap|Bar$",
    "ampoules": "Ampoules",
    "roller": "Roll",
    "dropper": "Serum|Oil$|Drops|Essence|Bakuchiol",
    "spray": "Mist|Spray|Setting|Tonic",
    "foundation": "Fond de Teint|Tint SPF|Emulsion",
    "pump": "Wash|Cleanser|Shampoo|Conditioner|Milk|Lotion|Foaming",
    "bottle": "Toner|Rinse|Eau|Lotion|Jelly",
    "tube": "Gel|SPF|Hand|Foot|Heel|Fluid|Veil|Aftersun|Calm$|Glue|Concentrate|Mains|Peel|Retinal|Deodorant Cream",
    "salve": "Salve|Lip",
}
GLASS = {"ansgarde-lab": "#7a4a22", "halden-fjord": "#2d6078", "mirabelou": "#e9c6c4", "okutsuyu": "#cfdccf", "pepperlune": "#7d62f5",
         "quillow-wren": "#7b4b23", "verdantine": "#3d7d55"}


def of(row):
    name = row["name"]
    tint = next((colour for colour, words in TINTS.items() if re.search(words, name)), scene.BRANDS[row["brand"]][3])
    package = next((kind for kind, words in PACKAGES.items() if re.search(words, name)), "jar")
    width, svg = globals()[package](Look(row, tint))
    return Drawn(width, svg, tint, 1.12 if package in ("brush", "lipstick", "pencil", "gloss", "wand") else min(1.32, 480 / width))


class Look:
    """The colours of one product and its differences from others in the same package."""

    def __init__(self, row, tint):
        _, self.package, self.ink, self.accent, self.font, _ = scene.BRANDS[row["brand"]]
        self.brand, self.name, self.tint = row["brand"], row["name"], tint
        draw = scene.luck(row["key"])
        self.tall, self.glass = draw.uniform(.9, 1.12), GLASS[row["brand"]]
        if draw.random() < .45:
            # Some products have a package in the colour of their content.
            self.package = scene.mixed(tint, "#ffffff" if self.brand in ("ansgarde-lab", "okutsuyu") else self.package, .45)
            self.ink = "#fffaf2" if light(self.package) < 150 else "#2a2622"
        self.cap = draw.choice(("url(#metal)", self.accent, "#1d1d20", "#fbfaf7")) if self.brand != "ansgarde-lab" else draw.choice(("url(#steel)", "#f7f9fa", "#2b343c"))
        if self.brand == "quillow-wren":
            self.cap = draw.choice(("#b58a58", "#2c2a26", "#c9a877"))

    def label(self, x, y, width, height, size=17, paper=None, ink=None):
        """A paper label with the brand and the name in lines that fit."""
        paper, ink = paper or "#fbf8f1", ink or "#2b2723"
        box = "" if paper == "none" else f'<rect x="{x - width / 2:g}" y="{y:g}" width="{width}" height="{height}" rx="3" fill="{paper}"/>'
        brand, font, _ = scene.name_of(self.brand)
        lines = folded(self.name, max(8, int(width / (size * .52))))[:4]
        brand_size = min(size * .92, width / (len(brand) * .62))
        step = size * 1.22
        at = y + (height - (brand_size + step * len(lines) + 8)) / 2 + brand_size * .85
        words = scene.text(x, at, brand_size, brand, ink, font, 'font-weight="bold"')
        for line in lines:
            at += step + (8 if line is lines[0] else 0)
            words += scene.text(x, at, min(size, width / (len(line) * .54)), line, ink, "Lato" if font == "Lobster Two" else font, 'opacity=".86"')
        return box + words


def light(colour):
    return sum(int(colour[at:at + 2], 16) * weight for at, weight in ((1, .3), (3, .59), (5, .11)))


def folded(words, limit):
    lines = [""]
    for word in words.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > limit:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def cylinder(width, top, bottom, colour, radius=6, shade="round", opacity=1):
    """A round body from `top` to `bottom`, in the middle."""
    box = f'x="{-width / 2:g}" y="{top:g}" width="{width:g}" height="{bottom - top:g}" rx="{radius:g}"'
    return f'<rect {box} fill="{colour}" opacity="{opacity}"/><rect {box} fill="url(#{shade})"/>'


def shoulders(width, neck, top, bottom, colour, slope=34, radius=14):
    """A bottle with a neck."""
    half, thin = width / 2, neck / 2
    path = (f"M{-thin} {top} H{thin} C{thin} {top + slope} {half} {top + slope * .55} {half} {top + slope * 1.7} V{bottom - radius} "
            f"Q{half} {bottom} {half - radius} {bottom} H{-half + radius} Q{-half} {bottom} {-half} {bottom - radius} "
            f"V{top + slope * 1.7} C{-half} {top + slope * .55} {-thin} {top + slope} {-thin} {top} z")
    return f'<path d="{path}" fill="{colour}"/><path d="{path}" fill="url(#round)"/>'


def dropper(look):
    tall = 215 * look.tall
    bulb = cylinder(34, -tall - 128, -tall - 62, "#25221f" if look.brand != "okutsuyu" else "#e9e4d6", 16)
    body = shoulders(146, 54, -tall - 34, 0, scene.mixed(look.glass, look.tint, .22))
    return 146, bulb + cylinder(58, -tall - 70, -tall - 26, look.cap, 4) + body + look.label(0, -tall + 42, 126, tall - 72, 16)


def ampoules(look):
    small = "".join(
        f'<g transform="translate({x} 0)">{shoulders(36, 12, -120, 0, "#8a5426", 16, 6)}{cylinder(14, -150, -118, "#f4f6f7", 5)}</g>'
        for x in (-196, -150, 150, 196))
    return 400, small + cylinder(210, -230, 0, look.package, 4, "down") + look.label(0, -200, 180, 170, 22, "none", look.ink)


def pump(look):
    tall = 250 * look.tall
    head = (f'<path d="M-9 {-tall - 92} h-62 q-14 0 -14 14 v10 h14 v-8 h62 z"'
        f' fill="{solid(look.cap)}"/>' + cylinder(44, -tall - 100, -tall - 78, look.cap, 7)
            + cylinder(16, -tall - 80, -tall - 44, "url(#steel)", 2) + cylinder(66, -tall - 46, -tall - 8, look.cap, 5))
    return 168, head + shoulders(168, 62, -tall - 12, 0, look.package, 22, 22) + look.label(0, -tall + 56, 140, tall - 90, 18, "none", look.ink)


def bottle(look):
    tall = 262 * look.tall
    body = shoulders(140, 60, -tall - 20, 0, scene.mixed(look.tint, "#ffffff", .35), 20, 16)
    return 140, cylinder(70, -tall - 88, -tall - 12, look.cap, 6) + body + look.label(0, -tall + 58, 122, tall - 96, 17)


def spray(look):
    tall = 262 * look.tall
    return 122, (cylinder(76, -tall - 96, -tall - 4, "#ffffff", 10, opacity=.75) + cylinder(122, -tall - 8, 0, look.package, 20)
                 + look.label(0, -tall + 34, 106, tall - 70, 16, "none", look.ink))


def foundation(look):
    tall = 205 * look.tall
    return 116, (cylinder(64, -tall - 122, -tall - 4, look.cap, 6) + cylinder(116, -tall - 8, 0, look.tint, 14)
                 + look.label(0, -tall + 24, 102, tall - 54, 15, "none", "#fffaf4" if light(look.tint) < 150 else "#33261f"))


def tube(look):
    tall = 330 * look.tall
    half, foot = 76, 52
    path = f"M{-half} {-tall} H{half} L{foot} -54 H{-foot} z"
    crimp = f'<rect x="{-half}" y="{-tall}" width="{2 * half}" height="20" fill="#000" opacity=".12"/>'
    band = f'<path d="M{-half + 6} {-tall * .42} L{half - 6} {-tall * .42} L{foot} -54 H{-foot} z" fill="{look.tint}" opacity=".85"/>'
    return 118, (f'<path d="{path}" fill="{look.package}"/>{band}<path d="{path}"'
        f' fill="url(#round)"/>{crimp}' + cylinder(106, -56, 0, look.cap, 6)
                 + look.label(0, -tall + 34, 118, tall * .5, 17, "none", look.ink))


def jar(look):
    tall = 132 * look.tall
    return 264, (cylinder(248, -tall - 62, -tall + 4, look.cap, 10) + cylinder(264, -tall, 0, scene.mixed(look.package, look.tint, .3), 26)
                 + look.label(0, -tall + 14, 190, tall - 30, 21, "none", "#fffaf2" if light(scene.mixed(look.package, look.tint, .3)) < 150 else "#2a2622"))


def salve(look):
    return 226, cylinder(226, -58, 0, "url(#steel)", 10) + (
        f'<g transform="translate(0 -176)"><circle r="118" fill="url(#steel)"/><circle r="108" fill="{look.package}"/>'
        f'<circle r="108" fill="url(#down)"/>{look.label(0, -62, 150, 124, 20, "none", look.ink)}</g>')


def tin(look):
    return 300, cylinder(300, -150, 0, look.package, 16) + cylinder(312, -176, -116, look.package, 14) + (
        f'<rect x="-156" y="-122" width="312" height="6" fill="{look.tint}"/>') + look.label(0, -112, 230, 106, 21, "none", look.ink)


def candle(look):
    return 186, ('<path d="M0 -262 q20 34 0 52 q-20 -18 0 -52" fill="#ffb347"/><path d="M0 -214 v24" stroke="#3a2a1c" stroke-width="4"/>'
                 + cylinder(186, -196, 0, scene.mixed(look.tint, "#ffffff", .55), 12) + '<ellipse cy="-190"'
                 f' rx="90" ry="11" fill="#fff6df"/>' + look.label(0, -150, 124, 104, 18))


def box(look):
    """A box with some of its content."""
    small = (f'<g transform="translate(-92 -150) scale(.62)">{dropper(look)[1]}</g><g transform="translate(96 -150) scale(.66)">{tube(look)[1]}</g>'
             f'<g transform="translate(4 -150) scale(.56)">{pump(look)[1]}</g>')
    front = f'<rect x="-190" y="-196" width="380" height="196" rx="4" fill="{look.package}"/><rect x="-190" y="-196" width="380" height="196" rx="4" fill="url(#down)"/>'
    ribbon = f'<rect x="-190" y="-34" width="380" height="16" fill="{look.tint}"/>'
    return 380, small + front + ribbon + look.label(0, -176, 320, 126, 26, "none", look.ink)


def brush(look):
    hair = '<path d="M-62 -330 C-92 -430 -34 -452 0 -452 C34 -452 92 -430 62 -330 L40 -262 H-40 z"'
    return 92, (f'{hair} fill="{scene.mixed("#5b4334", look.tint, .2)}"/>{hair} fill="url(#round)"/>' + cylinder(84, -270, -206, "url(#metal)", 4)
                + f'<path d="M-42 -208 H42 L30 0 H-30 z" fill="{look.package}"/><path d="M-42 -208 H42 L30 0 H-30 z" fill="url(#round)"/>'
                + look.label(0, -190, 76, 120, 12, "none", look.ink))


def comb(look):
    teeth = "".join(f'<rect x="{-170 + 17 * place}" y="-190" width="8" height="170" rx="4"/>' for place in range(21))
    return 380, (f'<g fill="#c79a62" transform="rotate(-6)">{teeth}<path d="M-188 -180 V-262 Q0 -310 188 -262 V-180 z"/>'
                 f'<path d="M-188 -180 V-262 Q0 -310 188 -262 V-180 z"'
                 f' fill="url(#down)"/>{look.label(0, -268, 260, 76, 22, "none", "#4a3018")}</g>')


def sponge(look):
    colour = scene.mixed("#efe3c8", look.tint, .3)
    dots = scene.luck(look.name)
    holes = "".join(f'<circle cx="{dots.uniform(-120, 120):.0f}" cy="{dots.uniform(-200, -40):.0f}"'
        f' r="{dots.uniform(3, 9):.0f}"/>' for _ in range(46))
    return 270, (f'<path d="M-150 -120 C-150 -250 150 -260 152 -122 C154 0 120 0 0 0 C-120 0 -150 -10 -150 -120 z" fill="{colour}"/>'
                 f'<g fill="#000"'
                 f' opacity=".09">{holes}</g><path d="M-150 -120 C-150 -250 150 -260 152 -122 C154 0 120 0 0 0 C-120 0 -150 -10 -150 -120 z"'
                 f' fill="url(#round)"/>'
                 '<path d="M0 -214 q-30 -120 20 -150" fill="none" stroke="#b9a582" stroke-width="7"/>' + look.label(84, -70, 112, 66, 12))


def pouch(look):
    path = "M-118 -300 H118 V-262 Q132 -120 122 0 H-122 Q-132 -120 -118 -262 z"
    return 230, (f'<path d="{path}" fill="{scene.mixed(look.package, look.tint, .35)}"/><circle cy="-92"'
        f' r="62" fill="{look.tint}" opacity=".75"/><path d="{path}" fill="url(#round)"/>'
                 '<rect x="-118" y="-300" width="236" height="26" fill="#000" opacity=".12"/>'
                 + look.label(0, -262, 196, 108, 21, "none", "#fffaf2" if light(scene.mixed(look.package, look.tint, .35)) < 150 else "#2a2622"))


def dish(look):
    slats = "".join(f'<rect x="{-170 + 58 * place}" y="-64" width="44" height="42" rx="4" fill="#b98855"/>' for place in range(6))
    bar = cylinder(190, -128, -64, "#efe3c8", 18, "down")
    return 360, bar + look.label(0, -122, 170, 52, 15, "none", "#4a3018") + slats + '<rect x="-182" y="-30" width="364" height="30" rx="6" fill="#9a6d3e"/>'


def cloth(look):
    fold = "".join(f'<rect x="-160" y="{-58 * (place + 1)}" width="{320 - 12 * place}" height="52"'
        f' rx="20" fill="{scene.mixed("#f4ecdc", look.tint, .08 * place)}"/>'
                   f'<rect x="-160" y="{-58 * (place + 1)}" width="{320 - 12 * place}"'
                   f' height="52" rx="20" fill="url(#down)"/>' for place in range(4))
    return 320, fold + f'<rect x="-46" y="-236" width="92" height="236" fill="#fbf6ea"/>' + look.label(0, -206, 86, 170, 15, "none", "#3e3526")


def lashes(look):
    def lash(x):
        hair = "".join(f'<path d="M{x + 6 * at - 66} {-150 - 12 + abs(at - 11) ** 1.5 * .9:.0f} q{(at - 11) * 1.6:.0f} -26 {(at - 11) * 4:.0f} {-58 + abs(at - 11)}"/>'
                       for at in range(1, 23, 2))
        return f'<g fill="none" stroke="#17120f" stroke-width="4" stroke-linecap="round">{hair}<path d="M{x - 70} -132 Q{x} -186 {x + 74} -132" stroke-width="7"/></g>'
    return 370, (f'<rect x="-190" y="-300" width="380" height="300" rx="14" fill="{look.package}"/><rect x="-168"'
        f' y="-248" width="336" height="150" rx="10" fill="#fff" opacity=".86"/>'
                 + lash(-82) + lash(82) + '<rect x="-190" y="-300" width="380" height="300" rx="14"'
                 f' fill="url(#down)"/>' + look.label(0, -92, 300, 84, 22, "none", look.ink))


def chalk(look):
    return 300, "".join(
        f'<g transform="translate({x} 0) rotate({turn})">{cylinder(74, -300, 0, colour, 8)}<rect x="-37"'
        f' y="-190" width="74" height="190" fill="#fff8ee"/>'
        f'{look.label(0, -180, 70, 160, 12, "none", "#2a2622")}</g>' for x, turn, colour in ((-104, -5, "#ff3ea5"), (0, 0, "#38e07b"), (104, 5, "#35b6ff")))


def palette(look):
    shades = scene.luck(look.name)
    wells = "".join(
        f'<rect x="{-170 + 88 * (place % 4)}" y="{-148 + 68 * (place // 4)}" width="76" height="56" rx="6" '
        f'fill="{scene.mixed(scene.mixed(look.tint, look.accent, shades.random()), shades.choice(("#ffffff", "#2a1420", "#c98a4a")), shades.uniform(.1, .6))}"/>'
        for place in range(8))
    return 400, (f'<path d="M-192 -170 L-170 -372 H170 L192 -170 z" fill="{look.package}"/>'
        f'<path d="M-166 -186 L-150 -354 H150 L166 -186 z" fill="#e9f0f2"/>'
                 '<path d="M-120 -186 L-60 -354 H0 L-50 -186 z" fill="#fff" opacity=".7"/>' + f'<rect x="-200"'
                 f' y="-172" width="400" height="172" rx="10" fill="{look.package}"/>'
                 f'<rect x="-200" y="-172" width="400" height="172" rx="10" fill="url(#down)"/>{wells}<rect x="-186"'
                 f' y="-14" width="372" height="3" fill="{look.accent}"/>')


def compact(look):
    return 270, (f'<g transform="translate(0 -222)"><circle r="142" fill="{look.package}"/><circle r="124" fill="#e6edf0"/>'
        f'<path d="M-96 76 L40 -116 L84 -92 L-50 112 z" fill="#fff" opacity=".75"/></g>'
                 f'<ellipse cy="-58" rx="148" ry="60" fill="{look.package}"/><ellipse cy="-70" rx="148" ry="58"'
                 f' fill="url(#metal)"/><ellipse cy="-72" rx="126" ry="46" fill="{look.tint}"/>'
                 f'<ellipse cy="-72" rx="126" ry="46" fill="url(#down)"/><ellipse cy="-72" rx="82"'
                 f' ry="28" fill="none" stroke="#fff" opacity=".45" stroke-width="3"/>')


def lipstick(look):
    bullet = "M-34 -250 V-330 C-34 -380 10 -402 34 -408 V-250 z"
    cap = f'<g transform="translate(124 0)">{cylinder(82, -200, 0, look.package, 6)}{look.label(0, -190, 74, 160, 12, "none", look.ink)}</g>'
    return 270, (f'<g transform="translate(-56 0)"><path d="{bullet}" fill="{look.tint}"/><path d="{bullet}"'
        f' fill="url(#round)"/>' + cylinder(76, -256, -176, "url(#metal)", 3)
                 + cylinder(92, -182, 0, look.package, 5) + look.label(0, -160, 80, 120, 12, "none", look.ink) + "</g>" + cap)


def gloss(look):
    return 96, (cylinder(72, -400, -226, look.cap, 8) + cylinder(84, -230, 0, look.tint, 12)
                + look.label(0, -206, 74, 180, 13, "none", "#fffaf4" if light(look.tint) < 160 else "#33261f"))


def wand(look):
    return 230, (f'<g transform="translate(-52 0)">{cylinder(70, -390, -210, look.cap, 8)}{cylinder(78, -214, 0, look.package, 10)}{look.label(0, -200, 68, 180, 13, "none", look.ink)}</g>'
                 f'<g transform="translate(84 0) rotate(7)"><path d="M0 -60 V-250" stroke="#3a3a3e" stroke-width="7"/>'
                 f'<path d="M-17 -250 Q-24 -320 0 -372 Q24 -320 17 -250 z" fill="#17161a"/>'
                 f'{cylinder(44, -70, 0, look.cap, 8)}</g>')


def pencil(look):
    def one(x, turn, lift):
        wood = f'<path d="M-20 -330 L-7 -388 H7 L20 -330 z" fill="#dcb98a"/><path d="M-7 -386 L0 -412 L7 -386 z" fill="{look.tint}"/>'
        return f'<g transform="translate({x} {lift}) rotate({turn})">{wood}{cylinder(40, -332, 0, look.tint, 3)}{cylinder(40, -46, 0, look.cap, 3)}</g>'
    line = f'<path d="M40 -26 q50 -40 120 -14" fill="none" stroke="{look.tint}" stroke-width="12" stroke-linecap="round"/>'
    return 230, one(-58, -9, 0) + one(40, 8, -4) + line


def polish(look):
    return 138, (f'<path d="M-30 -372 H30 L36 -168 H-36 z" fill="#17161a"/><path d="M-30 -372 H30 L36 -168 H-36 z" fill="url(#round)"/>'
                 + shoulders(146, 60, -178, 0, look.tint, 22, 26) + look.label(0, -112, 122, 88, 14, "none", "#fffaf4" if light(look.tint) < 150 else "#2a2622"))


def perfume(look):
    glass = scene.mixed(look.tint, "#ffffff", .62)
    return 210, (cylinder(74, -330, -262, look.cap, 5) + cylinder(50, -268, -244, "url(#metal)", 2) + cylinder(214, -248, 0, glass, 12)
                 + f'<rect x="-88" y="-196" width="176" height="178" rx="6" fill="{look.tint}"'
                 f' opacity=".4"/>' + look.label(0, -176, 140, 120, 18))


def stick(look):
    tall = 240 * look.tall
    return 118, (cylinder(104, -tall - 120, -tall + 2, scene.mixed(look.tint, "#ffffff", .5), 30) + cylinder(118, -tall, 0, look.package, 12)
                 + f'<rect x="-59" y="{-tall}" width="118" height="12"'
                 f' fill="{look.tint}"/>' + look.label(0, -tall + 34, 104, tall - 70, 15, "none", look.ink))


def soap(look):
    colour = scene.mixed(look.tint, "#f6efe2", .45)
    lower = f'<g transform="translate(26 -4) rotate(-2)">{cylinder(290, -104, 0, scene.mixed(colour, "#000000", .08), 20, "down")}</g>'
    return 310, (lower + f'<g transform="translate(-14 -104) rotate(3)">{cylinder(290, -108, 0, colour, 20, "down")}'
                 f'<rect x="-84" y="-110" width="168" height="112"'
                 f' fill="#fbf6ea"/>{look.label(0, -104, 156, 100, 17, "none", "#3e3526")}</g>')


def roller(look):
    return 92, ('<circle cy="-300" r="24"'
        f' fill="url(#steel)"/>' + cylinder(60, -296, -250, "url(#steel)", 5) + cylinder(88, -256, 0, scene.mixed(look.glass, look.tint, .4), 16)
                + look.label(0, -216, 76, 180, 13) + f'<g transform="translate(96 0)">{cylinder(72, -106, 0, look.cap, 10)}</g>')


def solid(colour):
    return "#b5924f" if colour == "url(#metal)" else "#9aa2a8" if colour == "url(#steel)" else colour
