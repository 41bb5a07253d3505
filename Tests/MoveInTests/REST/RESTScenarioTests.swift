import Foundation
import NIOHTTP1
import Outbound
import ParseProtocol
import TestSupport
import Testing

@testable import MoveIn

/// A suite speaks Parse's protocol, so that one suite is the old server of another.
@Suite(.serialized) struct RESTScenarioTests {
    private static let picture: [UInt8] = [0x89, 0x50, 0x4E, 0x47] + (0..<5_000).map { UInt8($0 % 251) }

    /// An old server with 1,205 things in a relation, and one file in a column, an array and a nested object.
    private struct Shop {
        let suite: Suite
        let file: String
        let relatedId: String

        init(_ suite: Suite) async throws {
            self.suite = suite
            let master = ParseClient.master(suite)
            let upload = try await master.upload(RESTScenarioTests.picture, as: "old%20photo.png", type: "image/png")
            file = try #require(upload["name"]?.stringValue, "\(upload.text)")
            relatedId = try await master.create("OldPart", ["name": "wheel"]).objectId
            for start in stride(from: 0, to: 1_205, by: 150) {
                let requests = (start..<min(start + 150, 1_205)).map { number -> JSON in
                    ["method": "POST", "path": "/parse/classes/OldThing", "body": ["rank": .int(Int64(number))]]
                }
                let answer = try await master.call(.POST, "/batch", ["requests": .array(requests)])
                guard answer.status == 200 else { throw Unexpected("POST /batch", answer) }
            }
            let first = try await master.find("OldThing", ["rank": 7]).results
            let id = first.first?["objectId"]?.stringValue ?? ""
            let change: JSON = [
                "photo": .file(file), "list": [1, .file(file)], "nested": ["deep": ["photo": .file(file)]],
                "parts": ["__op": "AddRelation", "objects": [.pointer("OldPart", relatedId)]],
            ]
            let changed = try await master.call(.PUT, "/classes/OldThing/\(id)", change)
            guard changed.status == 200 else { throw Unexpected("PUT /classes/OldThing", changed) }
        }

        var source: RESTServer {
            get async throws {
                try await RESTServer.open(
                    RESTClient(
                        url: suite.url, applicationId: "satchel", masterKey: Suite.masterKey,
                        http: PatientHTTP(OutboundClient())))
            }
        }
    }

    @Test(.timeLimit(.minutes(10))) func rowsRelationsAndFilesComeOverREST() async throws {
        try await Suite.with { old in
            let shop = try await Shop(old)
            let source = try await shop.source
            let names = try await source.classes().map(\.name)
            #expect(names.contains("OldThing") && names.contains("_Join:parts:OldThing") && names.contains("_User"))
            let read = try await source.read("OldThing")
            let rows = await read.rows
            #expect(rows.compactMap { $0.fields["rank"]?.intValue }.sorted() == (0..<1_205).map(Int64.init))
            let relation = try await source.read("_Join:parts:OldThing")
            #expect(await relation.rows.map { $0.fields["relatedId"] } == [.string(shop.relatedId)])
            // Satchel never shows a token.
            #expect(try await source.read("_Session").rows.isEmpty)

            try await Suite.with { new in
                let http = PatientHTTP(OutboundClient())
                let suite = FileSuiteClient(
                    url: new.url, applicationId: "satchel", masterKey: Suite.masterKey, http: http)
                let shelves = try FileShelves.open([], source: old.url, http: http)
                let lacking = Lacking()
                let mover = FileMover(shelves: shelves, suite: suite, lack: { await lacking.add($0) })
                let moved = try await mover.moved(rows)
                #expect(await lacking.rows.isEmpty)
                #expect(await mover.figures.copied == 1)
                let thing = try #require(moved.first { $0.fields["rank"] == 7 })
                #expect(thing.fields["photo"] == .file(shop.file))
                let client = ParseClient(new)
                let path = client.path(of: shop.file).replacing(" ", with: "%20")
                let found = try await client.download(path)
                #expect(found.body == Self.picture)
                #expect(found.headers.first(name: "content-type") == "image/png")

                // The next run finds the file there, whether it is asked by its address or in a folder.
                try await withFolder { folder in
                    let escaped = shop.file.replacing(" ", with: "%20")
                    try write(Self.picture, "\(folder)/\(escaped)")
                    for places in [[], [folder]] {
                        let shelves = try FileShelves.open(places, source: old.url, http: http)
                        let again = FileMover(shelves: shelves, suite: suite, lack: { await lacking.add($0) })
                        #expect(try await again.moved(rows) == moved)
                        #expect(await again.figures.unchanged == 1)
                        #expect(await again.figures.copied == 0)
                    }
                }
            }
        }
    }

    /// The whole program, as scripts/move-in starts it.
    @Test(.timeLimit(.minutes(10))) func oneSuiteMovesIntoAnother() async throws {
        try await Suite.with { old in
            let shop = try await Shop(old)
            try await Suite.with { new in
                // Both suites have their own admin and their own shop.
                let kept = ["OldThing", "OldPart"]
                let skipped = try await shop.source.classes().map(\.name).filter {
                    !kept.contains($0) && !$0.contains(":") && !["_GlobalConfig", "_Hooks"].contains($0)
                }
                let map: JSON = ["classes": .object(Dictionary(uniqueKeysWithValues: skipped.map { ($0, JSON.null) }))]
                let mapPath = "\(new.dataDirectory)/map.json"
                try write(map.serialized, mapPath)
                let program = "\(checkoutDirectory)/.build/release/satchel-move-in"
                let environment = [
                    "SATCHEL_MOVE_URL": new.url, "SATCHEL_MASTER_KEY": Suite.masterKey, "SATCHEL_APP_ID": "satchel",
                    "SATCHEL_OLD_MASTER_KEY": Suite.masterKey, "SATCHEL_OLD_APP_ID": "satchel",
                ]
                func run(_ options: String...) async throws -> String {
                    try await Command.run(
                        [program, old.url, "--map", mapPath] + options, environment: environment)
                }
                _ = try await run()
                let again = try await run()
                #expect(again.contains("OldThing: 1205 rows: 0 moved"), "\(again)")
                _ = try await run("--switch")

                let master = ParseClient.master(new)
                let things = try await master.find("OldThing", ["rank": 7]).results
                let thing = try #require(things.first)
                let url = "\(new.url)/files/satchel/\(shop.file.replacing(" ", with: "%20"))"
                for value in [thing["photo"], thing["list"]?.arrayValue?.last, thing["nested"]?["deep"]?["photo"]] {
                    #expect(value?["name"] == .string(shop.file) && value?["url"] == .string(url))
                }
                let related = try await master.find(
                    "OldPart",
                    [
                        "$relatedTo": [
                            "object": .pointer("OldThing", thing["objectId"]?.stringValue ?? ""), "key": "parts",
                        ]
                    ])
                #expect(related.results.map { $0["objectId"] } == [.string(shop.relatedId)])
                #expect(try await master.find("OldThing", [:], ["limit": 0, "count": 1])["count"] == 1_205)
            }
        }
    }
}
