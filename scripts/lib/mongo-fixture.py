"""Writes Tests/MoveInTests/Fixtures/mongo: two small Parse apps in one database, as Parse Server stores them in MongoDB, in all
forms of MongoDB's tools, and what they are in the form of REST.

Usage: python -m venv V && V/bin/pip install pymongo==4.10.1 && V/bin/python scripts/lib/mongo-fixture.py
"""
import datetime, gzip, json, pathlib, shutil, struct, urllib.parse
from bson import Binary, Code, Decimal128, Int64, MaxKey, ObjectId, Regex, Timestamp, encode, json_util
from bson.json_util import JSONMode, JSONOptions

FOLDER = pathlib.Path(__file__).parents[2] / "Tests/MoveInTests/Fixtures/mongo"
DATABASE = "shop"

def moment(text): return datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.timezone.utc)

BORN, CHANGED = moment("2020-02-29T12:00:00.123"), moment("2021-06-01T08:30:00.500")
TIMES = {"_created_at": BORN, "_updated_at": CHANGED}
SHOWN = {"createdAt": "2020-02-29T12:00:00.123Z", "updatedAt": "2021-06-01T08:30:00.500Z"}
def date(text): return {"__type": "Date", "iso": text}
def pointer(name, id): return {"__type": "Pointer", "className": name, "objectId": id}

STANDARD = {"objectId": "string", "createdAt": "date", "updatedAt": "date"}
documents, expected = {}, {}
def put(name, document, row):
    documents.setdefault(name, []).append(document)
    expected.setdefault(name, []).append(row)

documents["_SCHEMA"] = [
    {"_id": "Item", **STANDARD, "name": "string", "price": "number", "active": "boolean", "soldAt": "date",
     "brand": "*Brand", "picture": "file", "place": "geopoint", "area": "polygon", "code": "bytes", "more": "object",
     "old": "map", "tags": "array", "fans": "relation<_User>",
     "_metadata": {
         "class_permissions": {"find": {"*": True}, "get": {"role:staff": True}, "protectedFields": {"*": ["price"]}},
         "indexes": {"_id_": {"_id": 1}, "price_1": {"price": 1}},
         "fields_options": {"name": {"required": True, "defaultValue": "?"}}}},
    {"_id": "Brand", **STANDARD, "title": "string", "_client_permissions": {"find": True, "get": False}},
    {"_id": "_User", **STANDARD, "username": "string", "email": "string", "emailVerified": "boolean",
     "authData": "object", "photo": "file"},
    {"_id": "_Role", **STANDARD, "name": "string", "users": "relation<_User>", "roles": "relation<_Role>"},
    {"_id": "_Session", **STANDARD, "user": "*_User", "sessionToken": "string", "expiresAt": "date",
     "createdWith": "object"},
]
put("Item", {
    "_id": "item000001", "name": "Soap é \0", "price": 3.5, "active": True, "soldAt": moment("1969-12-31T23:59:59.999"),
    "_p_brand": "Brand$brand00001", "picture": "abc_soap.png", "place": [-122.25, 37.75],
    "area": {"type": "Polygon", "coordinates": [[[1.0, 2.0], [3.5, 4.0], [5.0, 6.0], [1.0, 2.0]]]},
    "code": Binary(b"\0\1\xff"), "old": {}, "tags": [1, "two", None, [True], moment("2020-01-01T00:00:00")],
    "more": {"a": {"$b": 1, "c.d": 2}, "when": moment("2022-02-02T02:02:02.020"), "blob": Binary(b"x"),
             "stored": {"__type": "Date", "iso": moment("2022-02-02T02:02:02.020")},
             "to": pointer("Brand", "brand00001"), "at": {"__type": "GeoPoint", "latitude": 1.5, "longitude": 2},
             "file": {"__type": "File", "name": "n.png", "url": "https://old.example/n.png"}, "none": None},
    "_rperm": ["*", "role:staff"], "_wperm": ["user000001"],
    "_acl": {"*": {"r": True}, "user000001": {"w": True}}, **TIMES,
}, {
    "objectId": "item000001", "name": "Soap é \0", "price": 3.5, "active": True,
    "soldAt": date("1969-12-31T23:59:59.999Z"), "brand": pointer("Brand", "brand00001"),
    "picture": {"__type": "File", "name": "abc_soap.png"},
    "place": {"__type": "GeoPoint", "latitude": 37.75, "longitude": -122.25},
    "area": {"__type": "Polygon", "coordinates": [[2, 1], [4, 3.5], [6, 5], [2, 1]]},
    "code": {"__type": "Bytes", "base64": "AAH/"}, "old": {},
    "tags": [1, "two", None, [True], date("2020-01-01T00:00:00.000Z")],
    "more": {"a": {"$b": 1, "c.d": 2}, "when": date("2022-02-02T02:02:02.020Z"),
             "blob": {"__type": "Bytes", "base64": "eA=="}, "stored": date("2022-02-02T02:02:02.020Z"),
             "to": pointer("Brand", "brand00001"), "at": {"__type": "GeoPoint", "latitude": 1.5, "longitude": 2},
             "file": {"__type": "File", "name": "n.png", "url": "https://old.example/n.png"}, "none": None},
    "ACL": {"*": {"read": True}, "role:staff": {"read": True}, "user000001": {"write": True}}, **SHOWN,
})
put("Item", {"_id": ObjectId("507f1f77bcf86cd799439011"), "price": Int64(1 << 40), "name": None, "_p_brand": None, **TIMES},
    {"objectId": "507f1f77bcf86cd799439011", "price": 1 << 40, "name": None, **SHOWN})
put("Item", {"_id": "item000003", "price": Int64((1 << 53) + 1), "_rperm": [], "_wperm": [], **TIMES},
    {"objectId": "item000003", "price": 1 << 53, "ACL": {}, **SHOWN})
put("Item", {"_id": "item000004", "price": Decimal128("12.50"), "old": {"d": Decimal128("1E3")}, "_wperm": ["role:staff"],
             "_tombstone": 1, **TIMES},
    {"objectId": "item000004", "price": 12.5, "old": {"d": 1000},
     "ACL": {"*": {"read": True}, "role:staff": {"write": True}}, **SHOWN})
put("Item", {"_id": "item000005", "price": Decimal128("0.1234567890123456789012345678901234"), **TIMES},
    {"objectId": "item000005", "price": 0.12345678901234568, **SHOWN})
put("Brand", {"_id": "brand00001", "title": "Old brand", **TIMES},
    {"objectId": "brand00001", "title": "Old brand", **SHOWN})
HASH = "$2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy"
put("_User", {
    "_id": "user000001", "username": "ann", "email": "ann@customers.example", "_hashed_password": HASH,
    "_perishable_token": "p", "_email_verify_token_expires_at": CHANGED, "_failed_login_count": 2,
    "_password_history": [HASH], "_auth_data_facebook": {"id": "77", "expiration_date": CHANGED}, "_auth_data_google": None,
    "photo": "ann.png", "_rperm": ["user000001"], "_wperm": ["user000001"], **TIMES,
}, {
    "objectId": "user000001", "username": "ann", "email": "ann@customers.example", "_hashed_password": HASH,
    "_perishable_token": "p", "_email_verify_token_expires_at": date(SHOWN["updatedAt"]), "_failed_login_count": 2,
    "_password_history": [HASH], "authData": {"facebook": {"id": "77", "expiration_date": date(SHOWN["updatedAt"])}},
    "photo": {"__type": "File", "name": "ann.png"}, "ACL": {"user000001": {"read": True, "write": True}}, **SHOWN,
})
put("_Role", {"_id": "role000001", "name": "staff", "_wperm": [], "_rperm": ["*"], **TIMES},
    {"objectId": "role000001", "name": "staff", "ACL": {"*": {"read": True}}, **SHOWN})
put("_Session", {"_id": "sess000001", "_session_token": "r:0123456789abcdef", "_p_user": "_User$user000001",
                 "expiresAt": moment("2030-01-01T00:00:00"), "createdWith": {"action": "login"}, **TIMES},
    {"objectId": "sess000001", "sessionToken": "r:0123456789abcdef", "user": pointer("_User", "user000001"),
     "expiresAt": date("2030-01-01T00:00:00.000Z"), "createdWith": {"action": "login"}, **SHOWN})
put("_Join:users:_Role", {"_id": ObjectId("507f1f77bcf86cd799439012"), "owningId": "role000001", "relatedId": "user000001"},
    {"owningId": "role000001", "relatedId": "user000001"})
put("_GlobalConfig", {"_id": 1, "params": {"hello": "world", "since": CHANGED}, "masterKeyOnly": {"hello": False}},
    {"objectId": "1", "params": {"hello": "world", "since": date(SHOWN["updatedAt"])}, "masterKeyOnly": {"hello": False}})
put("_Audience", {"_id": "audience01", "name": "All", "query": "{}", "_last_used": CHANGED, "times_used": 3, **TIMES},
    {"objectId": "audience01", "name": "All", "query": "{}", "lastUsed": date(SHOWN["updatedAt"]), "timesUsed": 3, **SHOWN})
documents["_Idempotency"] = [{"_id": "x", "reqId": "r"}]
documents["fs.files"] = [{"_id": ObjectId("507f1f77bcf86cd799439013"), "filename": "abc_soap.png", "length": Int64(1)}]
documents["old_app__SCHEMA"] = [{"_id": "Item", **STANDARD, "name": "string"}]
documents["old_app_Item"] = [{"_id": "old0000001", "name": "Other app", **TIMES}]

# Rows that nothing can take; only in BSON, because JSON has no form for some.
broken = {"Broken": [
    {"_id": "broken0001", "x": float("nan")}, {"_id": "broken0002", "x": float("inf")},
    {"_id": "broken0003", "x": Regex("a")}, {"_id": "broken0004", "x": Code("a")},
    {"_id": "broken0005", "x": Code("a", {})}, {"_id": "broken0006", "x": Timestamp(1, 1)},
    {"_id": "broken0007", "x": MaxKey()}, {"_id": "broken0008", "_p_x": "none"}, {"_id": "broken0009", "_rperm": "*"},
    {"_id": "broken0010", "x": {"__proto__": 1}}, {"_id": "broken0011", "x": Int64(1), "_created_at": "soon"},
    {"x": 1}, {"_id": "good000001", "x": 1},
]}

def indexes(name):
    one = {"$numberInt": "1"}
    listed = [{"v": {"$numberInt": "2"}, "key": {"_id": one}, "name": "_id_"}]
    if name == "Item":
        listed += [{"v": {"$numberInt": "2"}, "key": {"_p_brand": one, "_created_at": {"$numberInt": "-1"}}, "name": "brand"},
                   {"v": {"$numberInt": "2"}, "key": {"_fts": "text", "_ftsx": one}, "weights": {"name": one}, "name": "text"}]
    return listed

def metadata(name):
    return json.dumps({"indexes": indexes(name), "uuid": "0" * 32, "collectionName": name, "type": "collection"}).encode()

def file_name(name): return urllib.parse.quote_plus(name)

def crc64(content):
    state = (1 << 64) - 1
    for byte in content:
        state ^= byte
        for _ in range(8): state = state >> 1 ^ (0xC96C5795D7870F42 if state & 1 else 0)
    return state ^ (1 << 64) - 1

def archive(collections):
    """Blocks of one document each, in turns, so that all collections alternate."""
    end = b"\xff" * 4
    content = struct.pack("<I", 0x8199E26D) + encode(
        {"concurrent_collections": 4, "version": "0.1", "server_version": "6.0.1", "tool_version": "100.9.4"})
    for name in collections:
        content += encode({"db": DATABASE, "collection": name, "metadata": metadata(name).decode(), "size": 0, "type": ""})
    content += end
    def header(name, ends, crc):
        crc = crc - (1 << 64) if crc >> 63 else crc
        return encode({"db": DATABASE, "collection": name, "EOF": ends, "CRC": Int64(crc)})
    left = {name: [encode(document) for document in rows] for name, rows in collections.items()}
    whole = {name: b"".join(rows) for name, rows in left.items()}
    while left:
        for name in list(left):
            if left[name]:
                content += header(name, False, 0) + left[name].pop(0) + end
            else:
                content += header(name, True, crc64(whole[name])) + end
                del left[name]
    return content

def write(path, content):
    path = FOLDER / path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)

if FOLDER.exists(): shutil.rmtree(FOLDER)
all_documents = {**documents, **broken}
for name, rows in all_documents.items():
    content = b"".join(map(encode, rows))
    write(f"dump/{DATABASE}/{file_name(name)}.bson", content)
    if name in ["Item", "Brand"]: write(f"dump/{DATABASE}/{file_name(name)}.metadata.json", metadata(name))
    if name in ["_SCHEMA", "Item"]:
        write(f"gzip/{DATABASE}/{file_name(name)}.bson.gz", gzip.compress(content, mtime=0))
        write(f"gzip/{DATABASE}/{file_name(name)}.metadata.json.gz", gzip.compress(metadata(name), mtime=0))
write("shop.archive", archive(all_documents))
write("shop.archive.gz", gzip.compress(archive(all_documents), mtime=0))
modes = {"canonical": JSONMode.CANONICAL, "relaxed": JSONMode.RELAXED, "legacy": JSONMode.LEGACY}
for form, mode in modes.items():
    options = JSONOptions(json_mode=mode)
    for name, rows in documents.items():
        if form != "canonical" and name not in ["_SCHEMA", "Item"]: continue
        lines = [json_util.dumps(row, json_options=options) for row in rows]
        text = "[" + ",\n".join(lines) + "]\n" if form == "canonical" else "".join(line + "\n" for line in lines)
        write(f"json-{form}/{file_name(name)}.json", text.encode())
write("expected.json", json.dumps(expected, indent=1, sort_keys=True).encode() + b"\n")
