import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The requests of the .NET SDK: 1.6, 5.0, and 1.6 inside Unity.
@Suite struct DotNetReplayTests {
    @Test(.timeLimit(.minutes(10)), arguments: [DotNetSDK.Version.old, .new])
    func aShoppingSession(_ version: DotNetSDK.Version) async throws {
        let suite = try await Suite.shared
        try await ShoppingSession.run(DotNetSDK(suite, version), in: suite)
    }

    @Test(arguments: DotNetSDK.Version.allCases)
    func queriesAreQueryStrings(_ version: DotNetSDK.Version) async throws {
        let sdk = try await DotNetSDK.customer(version)
        let name = "Text\(Names.random(6))"
        for n in 0..<4 { #expect(try await sdk.create(name, #""name":"t\#(n)","n":\#(n)"#).status == 201) }
        let condition = "where=%7B%22n%22%3A%7B%22%24gt%22%3A0%7D%7D"
        let page = try await sdk.command(
            "GET", "classes/\(name)?\(condition)&order=name%2C-createdAt&skip=1&limit=1&keys=name", nil)
        #expect(page.results.map { $0["name"] } == ["t2"], "\(page.text)")
        #expect(page.results.first?["n"] == nil, "\(page.text)")
        let counted = try await sdk.command("GET", "classes/\(name)?\(condition)&limit=0&count=1", nil)
        #expect(counted.json == ["results": [], "count": 3], "\(counted.text)")
        let first = try await sdk.command("GET", "classes/\(name)?order=-name&limit=1", nil)
        #expect(first.results.map { $0["name"] } == ["t3"], "\(first.text)")
        #expect(try await sdk.command("GET", "classes/\(name)?", nil).results.count == 4, "nothing after the mark")
        let one = try await sdk.command("GET", "classes/\(name)/\(page.results.first?.objectId ?? "")", nil)
        #expect(one.json["n"] == 2, "\(one.text)")
        let note = "Note\(Names.random(6))"
        _ = try await sdk.create(note, #""of":\#(DotNetSDK.pointer(name, one.json.objectId))"#)
        let inner = DotNetSDK.escaped(#"{"of":{"$inQuery":{"className":"\#(name)"}}}"#)
        let notes = try await sdk.command("GET", "classes/\(note)?where=\(inner)&include=of", nil)
        #expect(notes.results.map { $0.at("of", "name") } == ["t2"], "\(notes.text)")
    }

    @Test(arguments: DotNetSDK.Version.allCases)
    func aRelationsClassIsAskedOfTheServer(_ version: DotNetSDK.Version) async throws {
        let sdk = try await DotNetSDK.customer(version)
        let (post, fan) = ("Post\(Names.random(6))", "Fan\(Names.random(6))")
        let liked = try await sdk.create(fan, #""name":"c""#)
        let pointer = DotNetSDK.pointer(fan, liked.json.objectId)
        let owner = try await sdk.create(post, #""likes":{"__op":"AddRelation","objects":[\#(pointer)]}"#)
        let related = #"{"object":\#(DotNetSDK.pointer(post, owner.json.objectId)),"key":"likes"}"#
        let members = try await sdk.find(
            post, SDKQuery(conditions: [("$relatedTo", related)], redirectKey: "likes"))
        #expect(members.results.map(\.objectId) == [liked.json.objectId], "\(members.text)")
        #expect(members.json["className"] == .string(fan), "\(members.text)")
    }

    @Test(arguments: DotNetSDK.Version.allCases)
    func objectsLive(_ version: DotNetSDK.Version) async throws {
        let sdk = try await DotNetSDK.customer(version)
        let name = "Live\(Names.random(6))"
        let made = try await sdk.create(name, #""n":1,"ACL":{"\#(sdk.userId)":{"read":true,"write":true},"*":{}}"#)
        #expect(made.status == 201, "\(made.text)")
        let id = made.json.objectId
        let changed = try await sdk.update(name, id, #""n":{"__op":"Increment","amount":1}"#)
        #expect(changed.status == 200, "\(changed.text)")
        #expect(changed.json["n"] == 2, "\(changed.text)")
        let path = "\(sdk.base)/classes/\(name)"
        let items = (0..<50).map { #"{"method":"POST","path":"\#(path)","body":{"n":\#($0)}}"# }
        let batch = try await sdk.command("POST", "batch", #"{"requests":[\#(items.joined(separator: ","))]}"#)
        #expect(batch.json.arrayValue?.count == 50, "\(batch.text)")
        #expect(batch.json.at(49, "success", "objectId") != nil, "\(batch.text)")
        #expect(try await sdk.delete(name, id).text == "{}")
        let gone = try await sdk.command("GET", "classes/\(name)/\(id)", nil)
        #expect(gone.status == 404, "\(gone.text)")
        #expect(gone.code == 101, "\(gone.text)")
    }

    /// Passwords that look like JSON remain strings, also in the query string.
    @Test(arguments: DotNetSDK.Version.allCases, ["secret1", "12345678", #"{\"a\":1}"#])
    func usersComeAndGo(_ version: DotNetSDK.Version, _ password: String) async throws {
        var sdk = DotNetSDK(try await Suite.shared, version)
        let name = "\(Names.random(10).lowercased())@dotnet.example"
        let created = try await sdk.signUp(name, password)
        #expect(created.status == 201, "\(created.text)")
        sdk.become(created)
        #expect(try await sdk.me().json.objectId == created.json.objectId)
        #expect(try await sdk.logOut().text == "{}")
        sdk.session = ""
        #expect(try await sdk.logIn(name, "wrong").code == 101)
        // In a JSON body the quotes are escaped, in a query string they are not.
        let typed = version == .new ? password : password.replacingOccurrences(of: #"\""#, with: "\"")
        let login = try await sdk.logIn(name, typed)
        #expect(login.status == 200, "\(login.text)")
        #expect(login.json.objectId == created.json.objectId, "\(login.text)")
        let anonymous = #"{"authData":{"anonymous":{"id":"\#(UUID().uuidString.lowercased())"}}}"#
        #expect(try await sdk.command("POST", "users", anonymous).status == 201)
        #expect(try await sdk.command("POST", "users", anonymous).status == 200)
    }

    @Test(arguments: DotNetSDK.Version.allCases)
    func devicesEventsConfigAndFunctions(_ version: DotNetSDK.Version) async throws {
        let sdk = try await DotNetSDK.customer(version)
        let made = try await sdk.saveInstallation()
        #expect(made.status == 201, "\(made.text)")
        let joined = try await sdk.update(
            "_Installation", made.json.objectId, #""channels":{"__op":"AddUnique","objects":["news"]}"#)
        #expect(joined.json["channels"] == ["news"], "\(joined.text)")
        #expect(try await sdk.saveInstallation().json.objectId == made.json.objectId)
        let event = #"{"at":{"__type":"Date","iso":"2015-10-08T00:28:56.123Z"},"name":"a b","dimensions":{"k":"v"}}"#
        #expect(try await sdk.command("POST", "events/a%20b", event).text == "{}")
        #expect(try await sdk.config().json["params"]?.objectValue != nil)
        #expect(try await sdk.function("bag", "{}").json.at("result", "badgeCount") == 0)
        #expect(try await sdk.function("unknownHere", "{}").code == 141)
    }
}
