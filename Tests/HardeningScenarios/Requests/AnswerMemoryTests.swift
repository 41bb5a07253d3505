import Glibc
import ParseProtocol
import TestSupport
import Testing

/// Large answers: how much of them the gateway buffers at once, and how much memory it releases. Id T3 of
/// docs/internals/hardening.md.
@Suite(.serialized) struct AnswerMemoryTests {
    private static let rows = 245

    /// A class with 245 objects of 120 KB; one find returns 29 MB.
    private func fill(_ suite: Suite) async throws {
        let client = ParseClient.master(suite)
        let text = JSON.string(String(repeating: "x", count: 120_000))
        for start in stride(from: 0, to: Self.rows, by: 49) {
            let requests = (start..<min(start + 49, Self.rows)).map { number -> JSON in
                [
                    "method": "POST", "path": "/parse/classes/Heavy",
                    "body": ["text": text, "number": .int(Int64(number))],
                ]
            }
            let made = try await client.call(.POST, "/batch", ["requests": .array(requests)])
            guard made.status == 200, made.json.arrayValue?.allSatisfy({ $0["success"] != nil }) == true else {
                throw NeverHappened("\(made.text.prefix(300))")
            }
        }
    }

    private static let head = "Host: x\nX-Parse-Application-Id: satchel"

    /// T3a: 30 such finds in one batch of 2 KB.
    @Test(.timeLimit(.minutes(10))) func aBatchOfLargeFindsCostsWhatOneOfThemDoes() async throws {
        try await Suite.with { suite in
            try await fill(suite)
            let client = ParseClient(suite)
            let find: JSON = ["method": "GET", "path": "/parse/classes/Heavy?limit=245"]
            let small: JSON = ["method": "GET", "path": "/parse/classes/Heavy?limit=1&keys=number"]
            let change: JSON = ["method": "POST", "path": "/parse/classes/Light", "body": ["a": 1]]
            // Waits until the memory used for loading the data is released.
            try await Task.sleep(for: .seconds(5))
            let before = try ["gateway-1", "catalog-1"].map { try MemoryReading(suite, $0) }
            let answer = try? await client.call(
                .POST, "/batch", ["requests": .array(Array(repeating: find, count: 30) + [small, change])])
            let peak = try MemoryReading(suite, "gateway-1").peak
            #expect(peak - before[0].resident < 250, "The gateway had \(before[0]) MB and then \(peak).")
            let items = answer?.json.arrayValue ?? []
            #expect(answer?.status == 200)
            #expect(items.count == 32)
            #expect(items.first?["success"]?["results"]?.arrayValue?.count == Self.rows)
            #expect(items.dropFirst().prefix(30).allSatisfy { $0["error"]?["code"] == 102 })
            #expect(items.last?["success"]?["objectId"] != nil, "Changes go on.")
            for (name, before) in zip(["gateway-1", "catalog-1"], before) {
                try await eventually("\(name) has its memory back", within: .seconds(30)) {
                    let now = try MemoryReading(suite, name).own
                    // Allows for the heap's reserve for the next request (8 MiB), gaps between used blocks, and reply
                    // buffers of server connections. 30 finds would be 900 MB.
                    return now <= before.own * 12 / 10 + 24
                }
            }
        }
    }

    /// T3e: results that exceed a batch's limit are not computed first.
    @Test(.timeLimit(.minutes(10))) func aBatchHasNoMoreMadeThanItHasRoomFor() async throws {
        try await Suite.with { suite in
            try await fill(suite)
            let client = ParseClient(suite)
            let find: JSON = ["method": "GET", "path": "/parse/classes/Heavy?limit=245"]
            let batch: JSON = ["requests": .array(Array(repeating: find, count: 30))]
            #expect(try await client.find("Heavy", [:], ["limit": 245]).status == 200)
            var ratio = Double.infinity
            // The least of up to three rounds: the same work costs more while a neighbour uses the memory.
            for _ in 0..<3 where ratio >= 3 {
                let alone = try ProcessorReading(suite, "catalog-1").seconds
                for _ in 0..<8 { #expect(try await client.find("Heavy", [:], ["limit": 245]).status == 200) }
                let start = try ProcessorReading(suite, "catalog-1").seconds
                for _ in 0..<8 { #expect(try await client.call(.POST, "/batch", batch).status == 200) }
                let used = try ProcessorReading(suite, "catalog-1").seconds - start
                ratio = min(ratio, used / (start - alone))
            }
            // Without the limit it would be 30 times as much.
            #expect(ratio < 3, "A batch costs as much as \(ratio) finds.")
        }
    }

    /// T3b: many clients request large answers and do not read them.
    @Test(.timeLimit(.minutes(10))) func unreadAnswersAreLimitedAndDropped() async throws {
        try await Suite.with(settings: [
            "SATCHEL_ANSWERS_BYTES_MAX": "\(256 << 20)", "SATCHEL_SLOW_ANSWER_SECONDS": "6",
        ]) { suite in
            try await fill(suite)
            let before = try MemoryReading(suite, "gateway-1").resident
            let idle = try (0..<12).map { _ in try RawConnection(suite, from: "127.0.0.2", receiveBytes: 4096) }
            for connection in idle {
                connection.send(head: "GET /parse/classes/Heavy?limit=245 HTTP/1.1\n\(Self.head)")
                try await Task.sleep(for: .milliseconds(100))
            }
            let client = ParseClient(suite)
            let page = try await client.find("Heavy", [:], ["limit": 245])
            #expect(page.status == 200, "Others have their share: \(page.status)")
            #expect(page.results.count == Self.rows, "Others have their share: \(page.status)")
            #expect(try await client.find("Heavy", [:], ["limit": 1, "keys": "number"]).status == 200)
            let refused = idle.filter { ($0.read(within: 2000, max: 1024) ?? "").hasPrefix("HTTP/1.1 429") }
            #expect(refused.count >= 6, "\(refused.count) were refused.")
            let peak = try MemoryReading(suite, "gateway-1").peak
            #expect(peak - before < 330, "The gateway had \(before) MB and then \(peak).")
            // From here on, their connections read nothing.
            try await eventually("the room is free again", within: .seconds(30)) {
                let now = try MemoryReading(suite, "gateway-1").resident
                return now <= before * 12 / 10 + 8
            }
            withExtendedLifetime(idle) {}
        }
    }

    /// The catalog is away while the client reads a page, for longer than a read waits for it.
    @Test(.timeLimit(.minutes(10))) func anExportOutlastsAnOutage() async throws {
        let settings = Suite.withoutWatchdog.merging(["SATCHEL_SLOW_ANSWER_SECONDS": "120"]) { $1 }
        try await Suite.with(settings: settings) { suite in
            try await fill(suite)
            let connection = try RawConnection(suite)
            connection.send(
                head: "GET /parse/export/Heavy HTTP/1.1\n\(Self.head)\nX-Parse-Master-Key: \(Suite.masterKey)")
            var text = try #require(connection.read(within: 5000))
            // From now on the export waits for its client, and requests no page.
            try await Task.sleep(for: .seconds(3))
            let catalog = try #require(suite.processId(of: "catalog-1"))
            #expect(Glibc.kill(catalog, SIGSTOP) == 0)
            defer { _ = Glibc.kill(catalog, SIGCONT) }
            let client = ParseClient(suite)
            try await eventually("the silent service is noticed", within: .seconds(20)) {
                try await client.get("/health")["services"]?["catalog"]?["status"] == "missing"
            }
            let meter = StallMeter()
            while meter.elapsed < .seconds(10) {
                text += connection.read(within: 10, max: 1 << 20) ?? ""
                try await Task.sleep(for: .milliseconds(50))
            }
            #expect(Glibc.kill(catalog, SIGCONT) == 0)
            while !text.hasSuffix("\r\n0\r\n\r\n"), let more = connection.read(within: 20_000, max: 1 << 20),
                !more.isEmpty
            { text += more }
            #expect(text.hasSuffix("\n]}\n\r\n0\r\n\r\n"), "\(text.suffix(100))")
        }
    }

    /// T3c: many clients request as much as a batch may return, and disconnect.
    @Test(.timeLimit(.minutes(10))) func noFindRunsForADisconnectedClient() async throws {
        try await Suite.with { suite in
            try await fill(suite)
            let client = ParseClient(suite)
            let find: JSON = ["method": "GET", "path": "/parse/classes/Heavy?limit=245&keys=text"]
            let batch: JSON = ["requests": .array(Array(repeating: find, count: 50))]
            let body = batch.serializedText
            let before = try MemoryReading(suite, "gateway-1").resident
            let alone = StallMeter()
            #expect(try await client.find("Heavy", [:], ["limit": 245]).status == 200)
            let limit = max(Duration.seconds(2), alone.elapsed * 3)
            for _ in 0..<20 {
                let connection = try RawConnection(suite, from: "127.0.0.2", receiveBytes: 4096)
                let head = "POST /parse/batch HTTP/1.1\n\(Self.head)\nContent-Length: \(body.utf8.count)\n\n"
                _ = connection.send(Array((head.replacing("\n", with: "\r\n") + body).utf8))
            }
            // Otherwise each find would take a reader a tenth of a second.
            let meter = StallMeter()
            try await eventually("others are answered as if nothing had been", within: .seconds(60)) {
                let asked = StallMeter()
                let page = try await client.find("Heavy", [:], ["limit": 245])
                return page.status == 200 && asked.elapsed < limit
            }
            #expect(meter.elapsed < .seconds(60))
            try await eventually("their room is free again", within: .seconds(20)) {
                try MemoryReading(suite, "gateway-1").resident <= before * 12 / 10 + 40
            }
        }
    }

    /// T3d: many clients from many addresses request large answers at once. The services produce no more than the
    /// gateway has room for.
    @Test(.timeLimit(.minutes(10))) func answersThatHaveNoRoomAreNotMade() async throws {
        try await Suite.with(settings: ["SATCHEL_ANSWERS_BYTES_MAX": "\(128 << 20)"]) { suite in
            try await fill(suite)
            let client = ParseClient(suite)
            #expect(try await client.find("Heavy", [:], ["limit": 245]).status == 200)
            let alone = try ProcessorReading(suite, "catalog-1").seconds
            for _ in 0..<4 { #expect(try await client.find("Heavy", [:], ["limit": 245]).status == 200) }
            let start = try ProcessorReading(suite, "catalog-1").seconds
            let one = (start - alone) / 4
            let idle = try (0..<60).map { index in
                try RawConnection(suite, from: "127.0.1.\(index + 1)", receiveBytes: 4096)
            }
            for connection in idle {
                connection.send(head: "GET /parse/classes/Heavy?limit=245 HTTP/1.1\n\(Self.head)")
            }
            let refused = idle.filter { ($0.read(within: 5000, max: 64) ?? "").hasPrefix("HTTP/1.1 429") }
            let used = try ProcessorReading(suite, "catalog-1").seconds - start
            #expect(refused.count >= 50, "\(refused.count) of 60 were refused.")
            #expect(used < 20 * one + 0.5, "60 cost \(used) s, one \(one) s.")
            withExtendedLifetime(idle) {}
        }
    }

    /// T3f: exports that no client reads. Formerly each held 500 objects in memory, here the whole class, without
    /// counting them.
    @Test(.timeLimit(.minutes(10))) func unreadExportsHoldOnePageEach() async throws {
        try await Suite.with(settings: ["SATCHEL_ANSWERS_BYTES_MAX": "\(64 << 20)"]) { suite in
            try await fill(suite)
            let before = try MemoryReading(suite, "gateway-1").own
            let head = "GET /parse/export/Heavy HTTP/1.1\n\(Self.head)\nX-Parse-Master-Key: \(Suite.masterKey)"
            var idle = try (0..<4).map { _ in try RawConnection(suite, receiveBytes: 4096) }
            for connection in idle {
                connection.send(head: head)
                #expect((connection.read(within: 10_000, max: 64) ?? "").hasPrefix("HTTP/1.1 200"))
            }
            let master = ParseClient.master(suite)
            let fifth = try await master.get("/export/Heavy")
            #expect(fifth.status == 429, "\(fifth.text.prefix(200))")
            #expect(fifth.code == 155)
            #expect(fifth.headers.first(name: "Retry-After") != nil)
            let page = try await ParseClient(suite).find("Heavy", [:], ["limit": 10])
            #expect(page.status == 200, "Others have their share: \(page.status)")
            // In addition to the pages, each connection's socket and channel hold buffered data.
            let now = try MemoryReading(suite, "gateway-1").own
            #expect(now - before < 96, "The gateway had \(before) MB and then \(now).")
            idle = []
            var file = fifth
            try await eventually("a place is free again", within: .seconds(30)) {
                file = try await master.get("/export/Heavy")
                return file.status == 200
            }
            #expect(Set(file.results.compactMap { $0["number"]?.intValue }).count == Self.rows, "It is complete.")
        }
    }
}
