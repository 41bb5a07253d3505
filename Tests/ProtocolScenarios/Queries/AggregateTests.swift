import Foundation
import ParseProtocol
import TestSupport
import Testing

/// `/aggregate`: distinct values and pipelines, in the form of each SDK (PARSE_PROTOCOL section 4.2).
@Suite struct AggregateTests {
    /// Four scores; three of them have a pointer to a player.
    private struct Scores {
        let master: ParseClient
        let name = "Score\(Names.random(8))"
        var path: String { "/aggregate/\(name)" }
        private(set) var players: [String] = []

        init(_ suite: Suite) async throws {
            master = ParseClient.master(suite)
            for player in ["ann", "bob"] {
                players.append(try await master.create("Player\(name)", ["name": .string(player)]).objectId)
            }
            let rows: [(String, Int64, Int64, Int?)] = [
                ("foo", 10, 1, 0), ("foo", 10, 2, 1), ("bar", 20, 1, 0), ("dpl", 10, 5, nil),
            ]
            for (name, score, views, player) in rows {
                var object: JSON = [
                    "name": .string(name), "score": .int(score), "views": .int(views), "sizes": ["S", .string(name)],
                    "sender": ["group": .string(name)], "day": ["__type": "Date", "iso": "2024-05-06T07:08:09.010Z"],
                ]
                object["player"] = player.map { .pointer("Player\(self.name)", players[$0]) }
                let created = try await master.create(self.name, object)
                guard created.status == 201 else { throw Unexpected("POST", created) }
            }
        }

        /// Sends the pipeline as text, so that its members keep their order.
        func run(_ pipeline: String) async throws -> ParseClient.Answer {
            try await master.get(path, ["pipeline": .string(pipeline)])
        }
    }

    @Test func pipelinesAnswerAsSDKsExpect() async throws {
        let scores = try await Scores(try await Suite.shared)
        let cases: [(String, JSON)] = [
            (
                #"[{"$group":{"_id":"$name","total":{"$sum":"$score"}}},{"$sort":{"total":-1,"_id":1}}]"#,
                [
                    ["objectId": "bar", "total": 20], ["objectId": "foo", "total": 20],
                    ["objectId": "dpl", "total": 10],
                ]
            ),
            (
                #"[{"$group":{"_id":null,"total":{"$sum":{"$multiply":["$score","$views"]}}}}]"#,
                [["objectId": .null, "total": 100]]
            ),
            (
                #"[{"$group":{"_id":null,"min":{"$min":"$score"},"max":{"$max":"$score"},"avg":{"$avg":"$views"}}}]"#,
                [["objectId": .null, "min": 10, "max": 20, "avg": 2.25]]
            ),
            (
                #"""
                [{"$match":{"player":{"$exists":true}}},{"$group":{"_id":"$player","n":{"$sum":1}}},{"$sort":{"n":-1}}]
                """#,
                [["objectId": .string(scores.players[0]), "n": 2], ["objectId": .string(scores.players[1]), "n": 1]]
            ),
            (
                #"[{"$match":{"score":{"$gt":15}}},{"$project":{"_id":0,"name":1,"p":"$_p_player"}}]"#,
                [["name": "bar", "p": .string("Player\(scores.name)$\(scores.players[0])")]]
            ),
            (
                #"""
                [{"$group":{"_id":{"day":{"$dayOfMonth":"$day"},"month":{"$month":"$day"},"year":{"$year":"$day"},\#
                "hour":{"$hour":"$day"}}}}]
                """#,
                [["objectId": ["day": 6, "month": 5, "year": 2024, "hour": 7]]]
            ),
            (
                #"[{"$sort":{"score":-1,"views":-1}},{"$project":{"_id":0,"views":1}}]"#,
                [["views": 1], ["views": 5], ["views": 2], ["views": 1]]
            ),
            (
                #"[{"$sort":{"views":-1,"score":-1}},{"$project":{"_id":0,"score":1}},{"$skip":2},{"$limit":1}]"#,
                [["score": 20]]
            ),
            (#"{"$match":{"score":10},"$count":"n"}"#, [["n": 3]]),
            (#"[{"$unwind":"$sizes"},{"$match":{"sizes":"S"}},{"$count":"n"}]"#, [["n": 4]]),
        ]
        for (pipeline, expected) in cases {
            let answer = try await scores.run(pipeline)
            #expect(answer.json == ["results": expected], "\(pipeline)")
        }
        let projected = try await scores.run(#"[{"$project":{"name":1}}]"#)
        #expect(projected.results.count == 4)
        #expect(projected.results.allSatisfy { Set($0.objectValue?.keys.map(\.self) ?? []) == ["objectId", "name"] })
        let dates = try await scores.run(#"[{"$project":{"_id":0,"updatedAt":1}},{"$limit":1}]"#)
        #expect(dates.results.first?["updatedAt"]?.stringValue.flatMap(Timestamp.init(iso:)) != nil)
        // Whole objects are the same as in a find.
        let found = try await scores.master.find(scores.name, [:], ["order": "objectId"])
        #expect(try await scores.run(#"[{"$sort":{"objectId":1}}]"#).json == found.json)
    }

    @Test func aPHPClientSendsAParameterForEachStageInTheirOrder() async throws {
        let scores = try await Scores(try await Suite.shared)
        func get(_ stages: [(String, String)]) async throws -> ParseClient.Answer {
            let query = stages.map { ParseClient.queryText([$0: .string($1)]) }.joined(separator: "&")
            return try await scores.master.send(
                .GET, "\(scores.path)?\(query)", headers: scores.master.credentials)
        }
        let sort = ("$sort", #"{"score":-1,"views":-1}"#)
        let project = ("$project", #"{"_id":0,"views":1}"#)
        #expect(try await get([sort, ("$limit", "2"), ("$skip", "1"), project]).results == [["views": 5]])
        #expect(
            try await get([sort, ("$skip", "1"), ("$limit", "2"), project]).results == [["views": 5], ["views": 2]])
        let group = try await get([("$match", #"{"name":"foo"}"#), ("$group", #"{"_id":"$name","n":{"$sum":1}}"#)])
        #expect(group.json == ["results": [["objectId": "foo", "n": 2]]])
    }

    @Test func aJavaScriptClientTunnelsItsPipelineInOrder() async throws {
        let suite = try await Suite.shared
        let scores = try await Scores(suite)
        func post(_ members: String) async throws -> ParseClient.Answer {
            let body =
                #"""
                {"_method":"GET","_ApplicationId":"satchel","_MasterKey":"\#(Suite.masterKey)",\#
                "_ClientVersion":"js5.3.0",\#(members)}
                """#
            return try await ParseClient(suite).send(
                .POST, scores.path, headers: [("Content-Type", "text/plain")], body: Array(body.utf8))
        }
        let ordered = #"[{"$sort":{"views":1,"score":-1}},{"$project":{"_id":0,"score":1}},{"$limit":2}]"#
        #expect(
            try await post(#""pipeline":\#(ordered),"hint":"_id_","comment":"x","readPreference":"SECONDARY""#).results
                == [["score": 20], ["score": 10]])
        #expect(
            try await post(#""pipeline":{"$sort":{"views":-1},"$limit":1,"$project":{"_id":0,"views":1}}"#).results == [
                ["views": 5]
            ])
        #expect(try await post(#""distinct":"name","where":{"score":{"$lt":20}}"#).json == ["results": ["foo", "dpl"]])
        let explained = try await post(#""explain":true,"pipeline":[{"$match":{"name":"foo"}}]"#)
        #expect(explained.results.first?.at("executionStats", "nReturned") == 2)
        #expect(try await post(#""explain":{"$gt":""},"pipeline":[]"#).code == 102)

        // Inside a batch the order of an object's members is lost; only pipelines that do not depend on it work.
        func batch(_ body: JSON) async throws -> JSON? {
            let request: JSON = ["method": "GET", "path": .string("/parse\(scores.path)"), "body": body]
            return try await scores.master.call(.POST, "/batch", ["requests": [request]]).json.at(0)
        }
        #expect(
            try await batch(["pipeline": [["$match": ["score": 20]], ["$count": "n"]]])?.at("success", "results") == [
                ["n": 1]
            ])
        let sorted = try await batch(["pipeline": [["$sort": ["views": 1, "score": 1]]]])
        #expect(sorted?.at("error", "code") == 102)
    }

    @Test func distinctGivesEachValueOnce() async throws {
        let scores = try await Scores(try await Suite.shared)
        func distinct(_ field: String, _ condition: JSON? = nil, in path: String? = nil) async throws -> JSON {
            var options: [String: JSON] = ["distinct": .string(field)]
            options["where"] = condition
            return try await scores.master.get(path ?? scores.path, options).json
        }
        #expect(try await distinct("score") == ["results": [10, 20]])
        #expect(try await distinct("sizes") == ["results": ["S", "foo", "bar", "dpl"]])
        #expect(try await distinct("sender.group") == ["results": ["foo", "bar", "dpl"]])
        #expect(try await distinct("views", ["name": "foo"]) == ["results": [1, 2]])
        #expect(
            try await distinct("player", ["name": "bar"]) == [
                "results": [.pointer("Player\(scores.name)", scores.players[0])]
            ])
        #expect(try await distinct("unknown") == ["results": []])
        #expect(try await distinct("score", in: "/aggregate/Unknown\(Names.random(8))") == ["results": []])
        // Classes of other services work, but none of their objects match.
        #expect(try await distinct("name", ["name": "nobody"], in: "/aggregate/_Role") == ["results": []])
    }

    @Test func subQueriesWorkInAMatchAndAWhere() async throws {
        let scores = try await Scores(try await Suite.shared)
        let query: JSON = ["$inQuery": ["className": .string("Player\(scores.name)"), "where": ["name": "ann"]]]
        let pipeline: JSON = [["$match": ["player": query]], ["$group": ["_id": .null, "total": ["$sum": "$score"]]]]
        #expect(try await scores.run(pipeline.serializedText).json == ["results": [["objectId": .null, "total": 30]]])
        let distinct = try await scores.master.get(scores.path, ["distinct": "name", "where": ["player": query]])
        #expect(distinct.json == ["results": ["foo", "bar"]])
    }

    @Test func refusalsHaveTheCodesOfTheProtocol() async throws {
        let suite = try await Suite.shared
        let scores = try await Scores(suite)
        for client in [ParseClient(suite), try await Customer.signUp(suite).client] {
            let answer = try await client.get(scores.path, ["pipeline": "[]"])
            #expect(answer.status == 403)
            #expect(answer["error"] == "unauthorized: master key is required", "\(answer.text)")
        }
        let cases: [(String, String)] = [
            (#"[{"group":{"_id":"$name"}}]"#, "Invalid aggregate stage 'group'."),
            (
                #"[{"$group":{"_id":"$name","objectId":{"$sum":1}}}]"#,
                "Cannot use 'objectId' in aggregation stage $group."
            ),
            (#"[{"$group":{"total":{"$sum":1}}}]"#, "Invalid parameter for query: $group. Missing key _id"),
            (#"[{"$limit":1,"$skip":1}]"#, "Pipeline stages should only have one key but found $limit, $skip."),
            (#"[{"$out":"Other"}]"#, "The aggregate stage '$out' is not available."),
            (#"not json"#, "A pipeline must be an array of stages."),
        ]
        for (pipeline, text) in cases {
            let answer = try await scores.run(pipeline)
            #expect(answer.status == 400, "\(pipeline): \(answer.text)")
            #expect(answer.json == ["code": 102, "error": .string(text)], "\(pipeline): \(answer.text)")
        }
        let old = try await scores.master.get(scores.path, ["group": ["objectId": "$name"]])
        #expect(old.json == ["code": 102, "error": "Invalid aggregate stage 'group'."])
        #expect(try await scores.master.get("/aggregate/_Join:a:B", ["pipeline": "[]"]).code == 119)
        #expect(try await scores.master.get("/aggregate/a-b", ["pipeline": "[]"]).code == 103)
    }

    @Test func secretsOfAccountsNeverComeOut() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let customer = try await Customer.signUp(suite)
        let token = customer.client.sessionToken ?? ""
        #expect(!token.isEmpty)
        for (name, pipeline) in [
            ("_Session", "[]"), ("_User", "[]"),
            ("_Session", #"[{"$group":{"_id":"$sessionToken","all":{"$push":"$$ROOT"}}}]"#),
            ("_User", #"[{"$project":{"a":"$password","b":"$_hashed_password"}}]"#),
        ] {
            let answer = try await master.get("/aggregate/\(name)", ["pipeline": .string(pipeline)])
            #expect(!answer.text.contains(token), "\(name) \(pipeline)")
            #expect(!answer.text.contains("\"password\":"), "\(name) \(pipeline)")
        }
        #expect(try await master.get("/aggregate/_Session", ["distinct": "sessionToken"]).json == ["results": []])
    }
}
