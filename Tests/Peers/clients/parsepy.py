"""ParsePy from PyPI, unmodified, with its own tests and the flows of an app.

Usage: parsepy.py <port> <application id> <rest key> <master key> own|flows

`own` runs the package's own tests, except those that need the command line of the hosted service (cloud code is deployed with it).
`flows` performs an app's requests, with asserts. Prints one JSON object: {"tests": n, "failures": [text…], "requests": n, "paths": […]}.

ParsePy is from 2015, and one of its lines calls `iteritems` on a dict, which Python 3 lacks. Dictionaries that are sent as values
therefore have a type with that method (`Dictionary`). There is no other adaptation.
"""
import datetime
import json
import sys
import traceback
import types
import unittest

import hosted_parse

port, application_id, rest_key, master_key, what = sys.argv[1:6]
seen = []
hosted_parse.redirect(int(port), seen)

from parse_rest import connection  # noqa: E402  The proxy must be there first.
from parse_rest.config import Config  # noqa: E402
from parse_rest.connection import ParseBatcher, SessionToken, register  # noqa: E402
from parse_rest.core import ResourceRequestBadRequest, ResourceRequestForbidden, ResourceRequestNotFound  # noqa: E402
from parse_rest.datatypes import ACL, Binary, File, Function, GeoPoint, Object  # noqa: E402
from parse_rest.installation import Installation, Push  # noqa: E402
from parse_rest.role import Role  # noqa: E402
from parse_rest.user import User  # noqa: E402


class Dictionary(dict):
    def iteritems(self):
        return list(self.items())


def as_master():
    register(application_id, rest_key, master_key=master_key)


def as_app(token=None):
    register(application_id, rest_key, **({"session_token": token} if token else {}))


def own_tests():
    sys.modules["settings_local"] = types.SimpleNamespace(
        APPLICATION_ID=application_id, REST_API_KEY=rest_key, MASTER_KEY=master_key)
    tests = unittest.TestLoader().loadTestsFromName("parse_rest.tests")

    def flat(suite):
        for test in suite:
            yield from flat(test) if isinstance(test, unittest.TestSuite) else [test]

    chosen = unittest.TestSuite(test for test in flat(tests) if type(test).__name__ != "TestFunction")
    result = unittest.TestResult()
    chosen.run(result)
    failures = [f"{test.id()}: {text}" for test, text in result.failures + result.errors]
    return result.testsRun, failures


class Note(Object):
    pass


class Flows:
    """The requests of apps. Every method is one flow."""

    def objects(self):
        as_app()
        moment = datetime.datetime(2022, 1, 1, 12, 23, 45, 678000)
        note = Note(title="Größe", rank=1, tags=["a", "b"], at=moment, place=GeoPoint(40.0, -30.0),
                    data=Binary("aGVsbG8="))
        note.save()
        assert note.objectId and isinstance(note.createdAt, datetime.datetime)
        read = Note.Query.get(objectId=note.objectId)
        assert (read.title, read.rank, read.tags, read.at) == ("Größe", 1, ["a", "b"], moment), vars(read)
        assert (read.place.latitude, read.place.longitude) == (40.0, -30.0)
        assert read.data._encoded == "aGVsbG8="
        read.increment("rank", 5)
        read.remove("tags")
        again = Note.Query.get(objectId=note.objectId)
        assert again.rank == 6 and not hasattr(again, "tags")
        other = Note(title="other", parent=again)
        other.save()
        found = Note.Query.all().select_related("parent").filter(objectId=other.objectId).get()
        assert found.parent.title == "Größe"
        again.addRelation("friends", "Note", [other.objectId])
        related = list(Note.Query.filter(friends__relatedTo=again))
        assert [note.objectId for note in related] == [other.objectId]
        again.removeRelation("friends", "Note", [other.objectId])
        assert len(Note.Query.filter(friends__relatedTo=again)) == 0
        other.delete()
        again.delete()
        assert not Note.Query.filter(objectId=note.objectId).exists()
        try:
            again.increment("rank")
            raise AssertionError("A deleted object was changed.")
        except ResourceRequestNotFound as error:
            assert json.loads(error.args[0])["code"] == 101

    def queries(self):
        as_app()
        ParseBatcher().batch_save([Note(series="q", n=n, even=n % 2 == 0) for n in range(10)])
        every = Note.Query.filter(series="q")
        assert every.count() == 10 and len(every) == 10
        assert [note.n for note in every.order_by("n").skip(2).limit(3)] == [2, 3, 4]
        assert [note.n for note in every.order_by("n", descending=True).limit(1)] == [9]
        assert [note.n for note in every.filter(n__gt=2, n__lte=4).order_by("n")] == [3, 4]
        assert sorted(note.n for note in every.filter(n__in=[1, 3, 77])) == [1, 3]
        assert every.filter(n__nin=[0, 1, 2]).count() == 7
        assert every.filter(n__ne=4, even=True).count() == 4 if False else every.filter(even=True).count() == 5
        assert every.filter(missing__exists=False).count() == 10
        ParseBatcher().batch_delete(every)
        assert Note.Query.filter(series="q").count() == 0

    def batch(self):
        as_app()
        notes = [Note(series="b", n=n) for n in range(50)]
        ParseBatcher().batch_save(notes)
        assert len({note.objectId for note in notes}) == 50
        for note in notes:
            note.n += 100
        ParseBatcher().batch_save(notes)
        assert sorted(note.n for note in Note.Query.filter(series="b").limit(100)) == list(range(100, 150))
        ParseBatcher().batch_delete(notes)
        assert Note.Query.filter(series="b").count() == 0

    def users(self):
        as_app()
        name = f"{application_id}-{datetime.datetime.now().timestamp()}@python.example"
        user = User.signup(name, "secret1", email=name, phone="415")
        assert user.sessionToken and user.username == name
        assert User.login(name, "secret1").objectId == user.objectId
        user.city = "Oslo"
        user.save()
        try:
            User.login(name, "wrong")
            raise AssertionError("A wrong password signed in.")
        except ResourceRequestNotFound as error:
            assert json.loads(error.args[0])["code"] == 101
        with SessionToken(user.sessionToken):
            me = User.current_user()
            assert (me.objectId, me.city, me.email) == (user.objectId, "Oslo", name)
            secret = Note(title="mine", ACL=Own(user))
            secret.save()
            assert Note.Query.get(objectId=secret.objectId).title == "mine"
        as_app()
        assert not Note.Query.filter(objectId=secret.objectId).exists()
        anonymous = User.login_auth(Dictionary(anonymous={"id": f"a{datetime.datetime.now().timestamp()}"}))
        assert anonymous.sessionToken
        assert User.request_password_reset(name)
        user.delete()
        as_master()
        assert not User.Query.filter(username=name).exists()

    def roles(self):
        as_master()
        role = Role(name=f"Python {datetime.datetime.now().timestamp()}".replace(".", "-"), ACL=ACL({"*": {"read": True}}))
        role.save()
        user = User.signup(f"{role.name}@python.example", "secret1")
        role.addRelation("users", "_User", [user.objectId])
        note = Note(title="for the role")
        note.ACL = ACL()
        note.ACL.set_role(role, read=True)
        note.save()
        as_app()
        assert not Note.Query.filter(objectId=note.objectId).exists()
        as_app(user.sessionToken)
        assert Note.Query.filter(objectId=note.objectId).exists()
        as_master()
        role.delete()
        as_app(user.sessionToken)
        assert not Note.Query.filter(objectId=note.objectId).exists()

    def files(self):
        as_app()
        name = f"file{datetime.datetime.now().timestamp()}@python.example"
        as_app(User.signup(name, "secret1").sessionToken)
        file = File("hello.txt", "hello", "text/plain")
        file.save()
        assert file.name.endswith("_hello.txt") and file.url.endswith(file.name), vars(file)
        note = Note(title="with a file", attachment=file)
        note.save()
        read = Note.Query.get(objectId=note.objectId)
        assert (read.attachment.name, read.attachment.url) == (file.name, file.url)
        try:
            File("page.html", "<p>", "text/html").save()
            raise AssertionError("A page was stored.")
        except ResourceRequestBadRequest as error:
            assert json.loads(error.args[0])["code"] == 130

    def functions(self):
        as_app()
        assert Function("nearestStores")(latitude=40.0, longitude=-30.0)["result"] is not None
        for name, code in (("nothing", 141), ("bag", 209)):
            try:
                Function(name)()
                raise AssertionError(f"{name} was carried out.")
            except ResourceRequestBadRequest as error:
                assert json.loads(error.args[0])["code"] == code, error.args

    def installations_and_push(self):
        as_app()
        device = Installation(deviceType="ios", installationId=f"python-{datetime.datetime.now().timestamp()}",
                              channels=["news"])
        device.save()
        Installation.update_channels(device.objectId, channels_to_add={"sport"}, channels_to_remove={"news"})
        as_master()
        assert Installation.Query.get(objectId=device.objectId).channels == ["sport"]
        Push.message("hello", channels=["sport"])
        Push.alert({"alert": "hello", "badge": "Increment"}, where={"deviceType": "ios"})
        as_app()
        try:
            Push.message("hello", channels=["sport"])
            raise AssertionError("A push was sent without the master key.")
        except ResourceRequestForbidden as error:
            assert b"master key" in error.args[0]

    def config_and_schema(self):
        as_app()
        assert isinstance(Config.get(), dict)
        as_master()

        class Passing(Object):
            pass

        thing = Passing(a=1)
        thing.save()
        thing.delete()
        Passing.drop()
        assert Passing.Query.all().count() == 0


class Own(ACL):
    def __init__(self, user):
        super().__init__({user.objectId: {"read": True, "write": True}})


def flows():
    failures, ran = [], 0
    for name in [name for name in vars(Flows) if not name.startswith("_")]:
        ran += 1
        try:
            getattr(Flows(), name)()
        except Exception:
            failures.append(f"{name}: {traceback.format_exc()}")
    return ran, failures


tests, failures = own_tests() if what == "own" else flows()
print(json.dumps({"tests": tests, "failures": failures, "requests": len(seen),
                  "root": connection.API_ROOT, "statuses": sorted({status for _, _, status in seen})}), flush=True)
