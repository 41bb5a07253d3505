import Foundation
import ParseProtocol
import TestSupport
import Testing

/// A subscriber receives every committed change in order and once. If events may be missing, it is notified.
@Suite struct LiveHistoryTests {
    /// Several writers, and several subscribers with different queries. The last object ends each history.
    @Test(.timeLimit(.minutes(10))) func eachSubscriberHearsWhatItsQueryImplies() async throws {
        let suite = try await Suite.shared
        let name = "Live\(Names.random(8))"
        let (writers, each, kinds) = (4, 40, 3)
        let first = try await LiveConnection.connect(suite)
        var subscribers: [(live: LiveConnection, kind: Int?)] = []
        for kind in [nil] + (0..<kinds).map(Optional.init) {
            let live = subscribers.isEmpty ? first : try await LiveConnection.connect(suite)
            try await live.subscribe(1, name, kind.map { ["kind": .int(Int64($0))] } ?? [:])
            subscribers.append((live, kind))
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<writers {
                group.addTask {
                    let client = ParseClient(suite)
                    for n in 0..<each {
                        let answer = try await client.create(
                            name,
                            ["writer": .int(Int64(writer)), "n": .int(Int64(n)), "kind": .int(Int64(n % kinds))])
                        guard answer.status == 201 else { throw Unexpected("POST", answer) }
                    }
                }
            }
            try await group.waitForAll()
        }
        for (live, kind) in subscribers {
            let expected = writers * (0..<each).count { kind == nil || $0 % kinds == kind }
            var heard: [Int64: [Int64]] = [:]
            var ids: Set<String> = []
            for _ in 0..<expected {
                let event = try await live.nextEvent(of: 1)
                #expect(event["op"] == "create")
                heard[event.at("object", "writer")?.intValue ?? -1, default: []]
                    .append(event.at("object", "n")?.intValue ?? -1)
                ids.insert(event.at("object", "objectId")?.stringValue ?? "")
            }
            #expect(ids.count == expected, "None comes twice.")
            #expect(heard.count == writers)
            for numbers in heard.values { #expect(numbers == numbers.sorted(), "A writer's own order is that of all.") }
            #expect(live.waiting.isEmpty)
        }
    }

    @Test func aCursorBringsWhatWasMissed() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let name = "Live\(Names.random(8))"
        var live: LiveConnection? = try await LiveConnection.connect(suite)
        try await live?.subscribe(1, name)
        for n in 0..<3 { _ = try await client.create(name, ["n": .int(Int64(n))]) }
        var cursor = ""
        for _ in 0..<3 { cursor = try await live?.nextEvent(of: 1)["cursor"]?.stringValue ?? "" }
        live = nil
        for n in 3..<6 { _ = try await client.create(name, ["n": .int(Int64(n))]) }
        let again = try await LiveConnection.connect(suite)
        let answer = try await again.subscribe(1, name, cursor: cursor)
        #expect(answer["missed"] == nil, "\(answer.serializedText)")
        for n in 3..<6 { #expect(try await again.nextEvent(of: 1).at("object", "n") == .int(Int64(n))) }
        // For a cursor of an unknown writer, the answer reports missed events.
        #expect(try await again.subscribe(2, name, cursor: "1z-5")["missed"] == true)
        #expect(try await again.subscribe(3, name, cursor: "nonsense")["code"] == 1)
    }

    /// When the writer is killed, its subscribers are ordered to reconnect, and then receive later changes.
    @Test(.timeLimit(.minutes(10))) func afterTheDeathOfAWriterEverybodyIsToldToReconnect() async throws {
        try await Suite.with { suite in
            let client = ParseClient(suite)
            let live = try await LiveConnection.connect(suite)
            let subscribed = try await live.subscribe(1, "Note")
            _ = try await client.create("Note", ["n": 1])
            #expect(try await live.nextEvent(of: 1).at("object", "n") == 1)
            try await suite.kill("catalog-1")
            let end = try await live.next(within: .seconds(30)) { $0["op"] == "error" }
            #expect(end["reconnect"] == true, "\(end.serializedText)")
            try await live.untilClosed()
            #expect(live.closeCode == 1013)
            try await suite.untilHealthy()
            let again = try await LiveConnection.connect(suite)
            let answer = try await again.subscribe(1, "Note", cursor: subscribed["cursor"]?.stringValue)
            #expect(answer["missed"] == true, "\(answer.serializedText)")
            _ = try await client.create("Note", ["n": 2])
            #expect(try await again.nextEvent(of: 1).at("object", "n") == 2)
        }
    }

    /// With plain fetch: a stream of events that continues where the previous one ended.
    @Test func eventsComeAsAStreamToo() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let name = "Live\(Names.random(8))"
        func open(_ more: String...) throws -> RawConnection {
            let connection = try RawConnection(suite)
            let lines = [
                "GET /parse/live/\(name)?where=%7B%22n%22:%7B%22$gt%22:0%7D%7D HTTP/1.1", "Host: x",
                "X-Parse-Application-Id: satchel", "Accept: text/event-stream",
            ]
            connection.send(head: (lines + more).joined(separator: "\n"))
            return connection
        }
        func read(_ connection: RawConnection, until text: String) async throws -> String {
            var all = ""
            try await eventually("\(text) in \(all)", within: .seconds(10)) {
                all += connection.read(within: 100) ?? ""
                return all.contains(text)
            }
            return all
        }
        let stream = try open()
        let head = try await read(stream, until: "event: subscribed")
        #expect(head.hasPrefix("HTTP/1.1 200"))
        #expect(head.lowercased().contains("content-type: text/event-stream"))
        _ = try await client.create(name, ["n": 0])
        _ = try await client.create(name, ["n": 1])
        let event = try await read(stream, until: #""n":1"#)
        #expect(event.contains("event: create"))
        #expect(!event.contains(#""n":0"#))
        let id = try #require(event.components(separatedBy: "id: ").last?.prefix { $0 != "\n" })
        _ = try await client.create(name, ["n": 2])
        let again = try open("Last-Event-ID: \(id)")
        let rest = try await read(again, until: #""n":2"#)
        #expect(!rest.contains(#""n":1"#))
        let plain = try await client.get("/live/\(name)")
        #expect(plain.status == 400 && plain.code == 102, "\(plain.text)")
    }
}
