import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Query options as each SDK writes them (MOBILE_SDKS section 0): numbers and conditions as strings, null and "" for
/// absent values.
@Suite struct ClientOptionTests {
    /// Five rows `n` 1 to 5, and a class whose rows point to them.
    private struct Rows {
        let client: ParseClient
        let name = "Opt\(Names.random(8))"
        var holder: String { "\(name)Holder" }
        private(set) var ids: [String] = []

        init() async throws {
            client = ParseClient(try await Suite.shared)
            for n in 1...5 {
                let row = try await client.create(name, ["n": .int(Int64(n)), "word": .string("w\(n)")])
                ids.append(row.objectId)
                let made = try await client.create(
                    holder, ["n": .int(Int64(n)), "word": .string("w\(n)"), "row": .pointer(name, row.objectId)])
                guard made.status == 201 else { throw Unexpected("POST \(holder)", made) }
            }
        }

        /// As mobile SDKs query: a POST whose body declares that it is a GET.
        func post(_ body: String, query: String = "", of className: String? = nil) async throws -> ParseClient.Answer {
            try await client.send(
                .POST, "/classes/\(className ?? name)\(query)",
                headers: client.credentials + [("Content-Type", "application/json; charset=utf8")],
                body: Array(body.utf8))
        }
    }

    private static func numbers(_ answer: ParseClient.Answer) -> [Int64] {
        answer.results.compactMap { $0["n"]?.intValue }
    }

    @Test func numbersFlagsAndConditionsMayBeTexts() async throws {
        let rows = try await Rows()
        let page = try await rows.post(#"{"order":"n","limit":"2","skip":"1","_method":"GET"}"#)
        #expect(Self.numbers(page) == [2, 3], "\(page.text)")
        #expect(page["count"] == nil, "\(page.text)")
        let android = try await rows.post(
            #"{"where":"{\"n\":{\"$gt\":3}}","order":"-n","limit":"10","_method":"GET"}"#)
        #expect(Self.numbers(android) == [5, 4], "\(android.text)")
        let counted = try await rows.post(#"{"count":"1","limit":"0","_method":"GET"}"#)
        #expect(counted["count"] == 5, "\(counted.text)")
        #expect(counted.results.isEmpty, "\(counted.text)")
        let oldAndroid = try await rows.post(#"{"where":"{}","count":"1","_method":"GET"}"#)
        #expect(oldAndroid["count"] == 5, "\(oldAndroid.text)")
        #expect(oldAndroid.results.count == 5, "\(oldAndroid.text)")
        let flutter = try await rows.client.send(
            .GET, "/classes/\(rows.name)?where=%7B%22n%22:1%7D&count=1", headers: rows.client.credentials)
        #expect(flutter["count"] == 1, "\(flutter.text)")
        #expect(flutter.results.count == 1, "\(flutter.text)")
        let traced = try await rows.post(#"{"limit":"1","trace":"1","_method":"GET"}"#)
        #expect(traced.results.count == 1, "\(traced.text)")
    }

    @Test func nullAndEmptyAreAbsentAndZeroCounts() async throws {
        let rows = try await Rows()
        for nothing in ["null", "\"\""] {
            let all = try await rows.post(
                #"""
                {"where":\#(nothing),"order":\#(nothing),"limit":\#(nothing),"skip":\#(nothing),
                "count":\#(nothing),"include":\#(nothing),"excludeKeys":\#(nothing),"explain":\#(nothing),
                "redirectClassNameForKey":\#(nothing),
                "trace":\#(nothing),"_method":"GET"}
                """#)
            #expect(all.results.count == 5, "\(all.text)")
            #expect(all["count"] == nil, "\(all.text)")
            #expect(all["className"] == nil, "\(all.text)")
        }
        #expect(try await rows.post(#"{"keys":null,"limit":"1","_method":"GET"}"#).results.first?["word"] != nil)
        for body in [#"{"limit":0,"_method":"GET"}"#, #"{"limit":"0","_method":"GET"}"#] {
            #expect(try await rows.post(body).json == ["results": []])
        }
        for (body, code) in [(#"{"limit":"x","_method":"GET"}"#, 117), (#"{"skip":"-1","_method":"GET"}"#, 118)] {
            #expect(try await rows.post(body).code == code)
        }
    }

    /// An empty `selectKeys`: an object with only its identity, as Parse Server answers.
    @Test func emptyKeysAreTheStandardFields() async throws {
        let rows = try await Rows()
        let standard: Set<String> = ["objectId", "createdAt", "updatedAt"]
        for answer in [
            try await rows.post(#"{"keys":"","limit":"1","_method":"GET"}"#),
            try await rows.post(#"{"keys":[],"limit":"1","_method":"GET"}"#),
            try await rows.client.send(
                .GET, "/classes/\(rows.name)?keys=&limit=1", headers: rows.client.credentials),
        ] {
            let names = Set(answer.results.first?.objectValue?.keys ?? [:].keys).subtracting(["ACL"])
            #expect(names == standard, "\(answer.text)")
        }
    }

    @Test func subQueriesTakeTheSame() async throws {
        let rows = try await Rows()
        let name = rows.name
        for (query, found) in [
            (#"{"className":"\#(name)","where":{},"limit":"2","skip":"1","order":"n"}"#, [2, 3]),
            (#"{"className":"\#(name)","where":"{\"n\":{\"$lt\":3}}"}"#, [1, 2]),
            (#"{"className":"\#(name)"}"#, [1, 2, 3, 4, 5]),
            (#"{"className":"\#(name)","where":null}"#, [1, 2, 3, 4, 5]),
            (#"{"className":"\#(name)","where":"","limit":"","skip":null,"order":""}"#, [1, 2, 3, 4, 5]),
            (#"{"className":"\#(name)","limit":0}"#, []), (#"{"className":"\#(name)","limit":"0"}"#, []),
        ] as [(String, [Int64])] {
            func asked(_ condition: String) async throws -> [Int64] {
                let answer = try await rows.post(
                    #"{"where":{\#(condition)},"order":"n","_method":"GET"}"#, of: rows.holder)
                #expect(answer.status == 200, "\(condition): \(answer.text)")
                return Self.numbers(answer)
            }
            let others = (1...5).filter { !found.contains($0) }
            #expect(try await asked(#""row":{"$inQuery":\#(query)}"#) == found, "\(query)")
            #expect(try await asked(#""row":{"$notInQuery":\#(query)}"#) == others, "\(query)")
            #expect(try await asked(#""word":{"$select":{"query":\#(query),"key":"word"}}"#) == found, "\(query)")
            #expect(try await asked(#""word":{"$dontSelect":{"query":\#(query),"key":"word"}}"#) == others, "\(query)")
        }
        for (query, code) in [
            (#"{"className":"\#(name)","limit":"x"}"#, 117), (#"{"className":"\#(name)","skip":-1}"#, 118),
            (#"{"className":"\#(name)","where":5}"#, 102), (#"{"className":"\#(name)","where":"{"}"#, 107),
        ] {
            let answer = try await rows.post(
                #"{"where":{"row":{"$inQuery":\#(query)}},"_method":"GET"}"#, of: rows.holder)
            #expect(answer.code == code, "\(query): \(answer.text)")
        }
    }

    /// Unity only supports POST: the query string remains, and the body contains the real method.
    @Test func aQueryStringIsMergedWithATunnelledBody() async throws {
        let rows = try await Rows()
        let unity = #"{"_method":"GET","_noBody":true}"#
        let found = try await rows.post(unity, query: "?where=%7B%22n%22%3A%7B%22%24gt%22%3A2%7D%7D&order=-n&limit=2")
        #expect(Self.numbers(found) == [5, 4], "\(found.text)")
        let counted = try await rows.post(unity, query: "?limit=0&count=1")
        #expect(counted["count"] == 5, "\(counted.text)")
        #expect(counted.results.isEmpty, "\(counted.text)")
        let both = try await rows.post(#"{"limit":5,"order":"n","_method":"GET"}"#, query: "?limit=1")
        #expect(Self.numbers(both) == [1], "The URL wins: \(both.text)")
        let one = try await rows.post(unity, query: "/\(rows.ids[0])?keys=n")
        #expect(one["n"] == 1, "\(one.text)")
        #expect(one["word"] == nil, "\(one.text)")
        let customer = try await Customer.signUp(try await Suite.shared)
        let query = ParseClient.queryText(["username": .string(customer.email), "password": .string(customer.password)])
        let login = try await rows.client.send(
            .POST, "/login?\(query)", headers: rows.client.credentials + [("Content-Type", "application/json")],
            body: Array(unity.utf8))
        #expect(login.status == 200, "\(login.text)")
        #expect(login.objectId == customer.userId, "\(login.text)")
        let created = try await rows.post(#"{"n":6,"_method":"POST","_noBody":false}"#)
        #expect(created.status == 201, "\(created.text)")
        #expect(created["_noBody"] == nil, "\(created.text)")
    }

    @Test func repeatedListsAreJoinedAndJSONTextsAreTexts() async throws {
        let rows = try await Rows()
        func get(_ query: String) async throws -> ParseClient.Answer {
            try await rows.client.send(.GET, "/classes/\(rows.name)?\(query)", headers: rows.client.credentials)
        }
        let both = try #require(try await get("keys=n&keys=word&limit=1").results.first)
        #expect(both["n"] != nil)
        #expect(both["word"] != nil)
        let none = try #require(try await get("excludeKeys=n&excludeKeys=word&limit=1").results.first)
        #expect(none["n"] == nil)
        #expect(none["word"] == nil)
        let quoted = try await get("order=%22-n%22&where=%22%7B%5C%22n%5C%22%3A%7B%5C%22%24gt%5C%22%3A3%7D%7D%22")
        #expect(Self.numbers(quoted) == [5, 4], "\(quoted.text)")
        let master = ParseClient.master(try await Suite.shared)
        let distinct = try await master.send(
            .GET, "/aggregate/\(rows.name)?distinct=%22word%22", headers: master.credentials)
        let words = distinct.results.compactMap(\.stringValue).sorted()
        #expect(words == ["w1", "w2", "w3", "w4", "w5"], "\(distinct.text)")
        let tunnelled = try await master.send(
            .POST, "/aggregate/\(rows.name)?distinct=n", headers: master.credentials,
            body: Array(#"{"_method":"GET","_noBody":true}"#.utf8))
        #expect(tunnelled.results.count == 5, "\(tunnelled.text)")
    }

    /// Names with dots, and includes of all pointers (PARSE_PROTOCOL section 4).
    @Test func includedPointersStayBesideKeysAndExcludedOnes() async throws {
        let rows = try await Rows()
        let excluded = try #require(
            try await rows.client.find(rows.holder, [:], ["excludeKeys": "row.word", "limit": 1]).results.first)
        #expect(excluded.at("row", "__type") == "Object")
        #expect(excluded.at("row", "n") != nil)
        #expect(excluded.at("row", "word") == nil)
        #expect(excluded["word"] != nil)
        let options: [String: JSON] = ["includeAll": true, "keys": "n", "limit": 1]
        let included = try #require(try await rows.client.find(rows.holder, [:], options).results.first)
        #expect(included.at("row", "word") != nil)
        #expect(included["n"] != nil)
        #expect(included["word"] == nil)
        let one = try await rows.client.get(
            "/classes/\(rows.holder)/\(included.objectId)", ["include": "*", "keys": "word"])
        #expect(one.json.at("row", "word") != nil, "\(one.text)")
        #expect(one["word"] != nil, "\(one.text)")
        #expect(one["n"] == nil, "\(one.text)")
    }

    // MARK: Relations whose class the client does not know

    @Test func aRelationIsAskedForWithoutItsClass() async throws {
        let rows = try await Rows()
        let owner = try await rows.client.create(
            rows.holder,
            ["likes": ["__op": "AddRelation", "objects": .array(rows.ids.prefix(2).map { .pointer(rows.name, $0) })]])
        #expect(owner.status == 201, "\(owner.text)")
        let pointer = JSON.pointer(rows.holder, owner.objectId).serializedText
        let related = #""$relatedTo":{"object":\#(pointer),"key":"likes"}"#
        let found = try await rows.post(
            #"{"redirectClassNameForKey":"likes","where":{\#(related)},"order":"n","_method":"GET"}"#, of: rows.holder)
        #expect(Self.numbers(found) == [1, 2], "\(found.text)")
        #expect(found["className"] == .string(rows.name), "\(found.text)")
        #expect(found.results.allSatisfy { $0["className"] == .string(rows.name) }, "\(found.text)")
        let inside = #"{"className":"\#(rows.holder)","redirectClassNameForKey":"likes","where":{\#(related)}}"#
        let holders = try await rows.post(
            #"{"where":{"row":{"$inQuery":\#(inside)}},"order":"n","_method":"GET"}"#, of: rows.holder)
        #expect(Self.numbers(holders) == [1, 2], "\(holders.text)")
        #expect(holders["className"] == nil, "\(holders.text)")
        // Under the target's permissions.
        let closed = try await ParseClient.master(try await Suite.shared).call(
            .PUT, "/schemas/\(rows.name)", ["classLevelPermissions": ["find": [:], "get": ["*": true]]])
        #expect(closed.status == 200, "\(closed.text)")
        let refused = try await rows.post(
            #"{"redirectClassNameForKey":"likes","where":{\#(related)},"_method":"GET"}"#, of: rows.holder)
        #expect(refused.code == 119, "\(refused.text)")
        let refusedInside = try await rows.post(
            #"{"where":{"row":{"$inQuery":\#(inside)}},"_method":"GET"}"#, of: rows.holder)
        #expect(refusedInside.code == 119, "\(refusedInside.text)")
    }
}
