import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// T6a: clients add classes and fields during development, but no client can fill the shared schema.
@Suite struct SchemaQuotaTests {
    private static func fields(_ className: String, _ suite: Suite) async throws -> [String: JSON] {
        try await ParseClient.master(suite).get("/schemas/\(className)")["fields"]?.objectValue ?? [:]
    }

    private static func newFields(_ count: Int, _ prefix: String) -> JSON {
        .object(Dictionary(uniqueKeysWithValues: (0..<count).map { ("\(prefix)\($0)", JSON.string("x")) }))
    }

    /// The original attack: it needed one request.
    @Test func oneSignUpDoesNotGiveEverybodyFifteenRelations() async throws {
        let suite = try await QuotaSuites.standard
        let other = try await Neighbour(suite).anonymousUser()
        let prefix = "r\(Names.random(8))"
        var relations: JSON = [:]
        for index in 0..<15 {
            relations["\(prefix)x\(index)"] = ["__op": "AddRelation", "objects": [other.pointer]]
        }
        let answer = try await Neighbour(suite).signUp(relations)
        #expect(answer.status == 400, "\(answer.text)")
        #expect(answer.code == 116, "\(answer.text)")
        #expect(try await Self.fields("_User", suite).keys.filter { $0.hasPrefix(prefix) } == [])
        let own = try await other.call(.GET, "/users/me")
        let shown = own.json.objectValue?.keys.filter { $0.hasPrefix(prefix) } ?? []
        #expect(own.status == 200, "\(shown.count) fields of a stranger")
        #expect(shown.isEmpty, "\(shown.count) fields of a stranger")
    }

    @Test func strangersDoNotFillTheFieldsOfUsers() async throws {
        let suite = try await QuotaSuites.standard
        let (prefix, attacker) = ("f\(Names.random(8))", Neighbour(suite))
        let (_, refusal) = try await Neighbour.count(40) { index in
            try await attacker.signUp(Self.newFields(24, "\(prefix)x\(index)x"))
        }
        #expect(refusal?.isPaced == true, "\(refusal?.text ?? "never refused")")
        let added = try await Self.fields("_User", suite).keys.count { $0.hasPrefix(prefix) }
        #expect(added <= 100, "\(added) fields added to _User")
        // Sign-up without new fields still works.
        #expect(try await attacker.signUp().status == 201)
        #expect(try await attacker.signUp(["\(prefix)x0x0": "known by now"]).status == 201)
    }

    @Test func theFirstSignUpOfAnAppBringsItsFields() async throws {
        let suite = try await QuotaSuites.standard
        let (prefix, phone) = ("a\(Names.random(8))", Neighbour(suite))
        var profile = Self.newFields(12, prefix)
        profile["\(prefix)Friends"] = ["__op": "AddRelation", "objects": [.pointer("Product", "abcdefghij")]]
        let answer = try await phone.call(
            .POST, "/users",
            .object(
                (profile.objectValue ?? [:]).merging(["username": .string(Names.random(9)), "password": "a-long-one"]) {
                    $1
                }))
        #expect(answer.status == 201, "\(answer.text)")
        #expect(try await Self.fields("_User", suite).keys.count { $0.hasPrefix(prefix) } >= 12)
    }

    /// The attack reached the limit in six seconds.
    @Test func oneAddressDoesNotReachTheLimitOfClasses() async throws {
        let suite = try await QuotaSuites.standard
        let (prefix, attacker) = ("C\(Names.random(8))", Neighbour(suite))
        var created = 0
        var last: JSON?
        for round in 0..<20 {
            let requests = (0..<50).map { index -> JSON in
                ["method": "POST", "path": .string("/parse/classes/\(prefix)x\(round)x\(index)"), "body": ["a": 1]]
            }
            let answer = try await attacker.call(.POST, "/batch", ["requests": .array(requests)])
            let outcomes = answer.json.arrayValue ?? []
            created += outcomes.count { $0["success"] != nil }
            last = outcomes.last?["error"]
            if last != nil { break }
        }
        #expect(created <= 300, "\(created) classes from one address")
        #expect(last?["code"] == 155, "\(last?.serializedText ?? "never refused")")
        let single = try await attacker.call(.POST, "/classes/\(prefix)More", ["a": 1])
        #expect(single.isPaced, "\(single.text)")
        #expect(try await Neighbour(suite).call(.POST, "/classes/\(prefix)Other", ["a": 1]).status == 201)
        #expect(try await attacker.call(.POST, "/classes/\(prefix)x0x0", ["a": 2]).status == 201, "It is there.")
        #expect(try await ParseClient.master(suite).create("\(prefix)Mine", ["a": 1]).status == 201)
    }

    @Test func theLastPartOfEachLimitIsTheOperators() async throws {
        let suite = try await QuotaSuites.small
        let (master, admin) = (ParseClient.master(suite), try await Customer.admin(suite))
        let prefix = "L\(Names.random(8))"
        var refusal: ParseClient.Answer?
        for index in 0..<40 where refusal == nil {
            let answer = try await Neighbour(suite).call(.POST, "/classes/\(prefix)x\(index)", ["a": 1])
            if answer.status != 201 { refusal = answer }
        }
        #expect(refusal?.code == 119, "\(refusal?.text ?? "never refused")")
        #expect(try await master.create("\(prefix)Master", ["a": 1]).status == 201)
        #expect(try await admin.create("\(prefix)Admin", ["a": 1]).status == 201)

        let client = Neighbour(suite)
        #expect(try await client.call(.POST, "/classes/\(prefix)Master", Self.newFields(9, "f")).status == 201)
        let full = try await client.call(.POST, "/classes/\(prefix)Master", ["one": 1, "two": 2])
        #expect(full.code == 116, "\(full.text)")
        #expect(try await master.create("\(prefix)Master", ["one": 1, "two": 2]).status == 201)
        #expect(try await client.call(.POST, "/classes/\(prefix)Master", ["one": 1, "two": 2]).status == 201)
    }

    @Test func oneSettingClosesTheSchema() async throws {
        try await Suite.with(settings: ["SATCHEL_CLIENT_SCHEMA": "closed"]) { suite in
            let (master, client) = (ParseClient.master(suite), ParseClient(suite))
            #expect(try await client.create("Fresh", ["a": 1]).code == 119)
            #expect(try await master.create("Fresh", ["a": 1]).status == 201)
            #expect(try await client.create("Fresh", ["a": 2]).status == 201)
            #expect(try await client.create("Fresh", ["a": 2, "b": 1]).code == 119)
            #expect(try await Customer.admin(suite).create("Fresh", ["b": 1]).status == 201)
            #expect(try await client.create("Fresh", ["a": 2, "b": 1]).status == 201)
            // A name that is misspelt is an error, because no client can add the class or field.
            for path in ["/classes/Frehs", "/classes/Frehs/x"] {
                let unknown = try await client.get(path)
                #expect(unknown.code == 119, "\(unknown.text)")
                #expect(
                    unknown["error"] == "This user is not allowed to access non-existent class: Frehs"
                        && unknown.json.text("hint").contains("case-sensitive"), "\(unknown.text)")
                #expect(try await master.get(path).code == (path.hasSuffix("x") ? 101 : nil))
            }
            let ordered = try await client.find("Fresh", [:], ["order": "a,-nope"])
            #expect(ordered.code == 105 && ordered.json.text("error").contains("name: nope."), "\(ordered.text)")
            for order in ["a", "-b", "createdAt,-objectId", "_created_at", "-$natural"] {
                #expect(try await client.find("Fresh", [:], ["order": .string(order)]).status == 200, "\(order)")
            }
            #expect(try await client.get("/classes/Fresh/x").code == 101)
            // An existing app still works: sign-up, an SDK's device registration, favourites, a bag, an address.
            let customer = try await Customer.signUp(suite)
            let more: JSON = [
                "username": .string(Names.random(9)), "password": "a-long-one", "shoeSize": 42,
            ]
            #expect(try await client.call(.POST, "/users", more).code == 119)
            let device: JSON = [
                "deviceType": "ios", "deviceToken": .string(Names.random(20)), "channels": [], "badge": 0,
                "installationId": .string(Names.random(20)), "timeZone": "Europe/Berlin", "localeIdentifier": "de-DE",
                "appName": "Shop", "appVersion": "1", "appIdentifier": "com.example", "parseVersion": "4.0",
                "pushType": "apns",
            ]
            #expect(try await client.call(.POST, "/installations", device).status == 201)
            let shelf = try await Shelf.fill(suite, names: ["Soap"])
            let product = JSON.pointer("Product", shelf.productIds[0])
            #expect(try await customer.client.create("FavoriteProduct", ["product": product]).status == 201)
            #expect(
                try await customer.client.create("ProductReview", ["product": product, "rating": 5, "content": "!"])
                    .status == 201)
            #expect(try await customer.client.create("Address", Customer.address).status == 201)
            let bag = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
            #expect(bag.status == 200, "\(bag.text)")
            let checks = try await master.get("/security").json.serializedText
            #expect(!checks.contains("Every client can create classes."))
            #expect(!checks.contains("add fields to:"))
        }
    }
}
