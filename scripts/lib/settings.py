"""Names each SATCHEL_* variable of the environment that is no setting, and the most similar setting. Exits 1 if there is one.

Usage: settings.py docs/reference/settings.md
"""
import difflib
import os
import pathlib
import re
import sys

# Variables of the scripts and of compose/, and settings of earlier releases, which the services themselves refuse.
OTHERS = re.compile(r"SATCHEL_(BIN|LOAD|ATTACK|SHOP_ONLY|REPLICA|BACKUPS|BUS_PORT|([A-Z]+_)?POSTGRESQL|CLOUD_WRITERS|(TEST|FUZZ)_.*)")

known = set(re.findall(r"SATCHEL_[A-Z_]+", pathlib.Path(sys.argv[1]).read_text()))
unknown = [name for name in sorted(os.environ) if name.startswith("SATCHEL_") and name not in known and not OTHERS.fullmatch(name)]
for name in unknown:
    similar = difflib.get_close_matches(name, known, 1)
    print(f"{name} is not a setting{f'; did you mean {similar[0]}?' if similar else '.'}", file=sys.stderr)
if unknown:
    print("docs/reference/settings.md lists all settings.", file=sys.stderr)
    sys.exit(1)
