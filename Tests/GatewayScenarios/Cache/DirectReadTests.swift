import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Plain reads and downloads are answered on the connection's event loop, other requests in tasks. Clients must see no
/// difference.
@Suite struct DirectReadTests {
    private func head(_ method: String, _ path: String, _ more: String...) -> String {
        (["\(method) /parse\(path) HTTP/1.1", "Host: x", "X-Parse-Application-Id: satchel"] + more)
            .joined(separator: "\r\n") + "\r\n\r\n"
    }

    /// Both kinds of reads, a change and refused requests, pipelined over one connection.
    @Test func answersComeInTheOrderOfTheirRequests() async throws {
        let suite = try await Suite.shared
        let made = try await ParseClient(suite).create("Turn", ["number": 0])
        let one = "/classes/Turn/\(made.objectId)"
        let change = #"{"number":1}"#
        let requests = [
            head("GET", one), head("GET", one), head("GET", "/health"),
            head("PUT", one, "Content-Length: \(change.utf8.count)") + change, head("GET", one),
            head("GET", "/classes/Turn/nobody0000"), head("GET", "/classes/Turn?where=no"),
            head("GET", "/classes/Turn?where=%7B%22objectId%22:%22\(made.objectId)%22%7D"),
            head("GET", one, "Connection: close"),
        ]
        let answers = try await RawRequest.send(suite, Array(requests.joined().utf8), untilClosed: true)
        let parts = answers.components(separatedBy: "HTTP/1.1 ").dropFirst().map { $0 }
        #expect(parts.map { String($0.prefix(3)) } == ["200", "200", "200", "200", "200", "404", "400", "200", "200"])
        try #require(parts.count == 9)
        #expect(parts[0].contains(#""number":0"#))
        #expect(parts[1].contains(#""number":0"#))
        #expect(parts[4].contains(#""number":1"#), "A read sees the change before it on its connection.")
        #expect(parts[7].contains(#""results":["#))
        #expect(parts[8].contains(#""number":1"#))
    }

    /// The same query on three paths: a body takes it into a task, and a context into the handler of its route.
    @Test func allWaysAnswerAlike() async throws {
        let suite = try await Suite.shared
        let made = try await ParseClient(suite).create("Turn", ["number": 7])
        func headers(_ answer: String) -> [String] {
            answer.components(separatedBy: "\r\n\r\n")[0].components(separatedBy: "\r\n").filter { line in
                !["x-satchel-request-id", "date"].contains(line.prefix { $0 != ":" }.lowercased())
            }.map { $0.lowercased() }.sorted()
        }
        let one = "/classes/Turn/\(made.objectId)"
        let master = ParseClient.master(suite)
        let stored = try await master.upload(Array("A note.".utf8), as: "note.txt", type: "text/plain")
        let file = master.path(of: stored.json.text("name"))
        let missing = master.path(of: String(repeating: "0", count: 32) + "_note.txt")
        for path in [one, "/classes/Turn/nobody0000", "/classes/Turn?limit=1", one, file, missing] {
            for more in ["Accept: */*", "Origin: https://shop.example", "If-None-Match: *"] {
                let direct = try await RawRequest.send(suite, Array(head("GET", path, more).utf8))
                for other in [
                    head("GET", path, more, "Content-Length: 2") + "{}",
                    head("GET", path, more, "X-Parse-Cloud-Context: {}"),
                ] {
                    let long = try await RawRequest.send(suite, Array(other.utf8))
                    #expect(headers(direct) == headers(long), "\(other)")
                    #expect(
                        direct.components(separatedBy: "\r\n\r\n").last
                            == long.components(separatedBy: "\r\n\r\n").last, "\(other)")
                }
            }
        }
    }

    /// The end of an answer sent as bytes must not be treated as the end of an earlier chunked answer.
    @Test func anAnswerBehindAChunkedOneIsWhole() async throws {
        let suite = try await Suite.shared
        let made = try await ParseClient(suite).create("Chunked", ["number": 1])
        let connection = try RawConnection(suite)
        let credentials = ParseClient.master(suite).credentials.map { "\r\n\($0.0): \($0.1)" }.joined()
        connection.send(Array("GET /parse/export/Chunked HTTP/1.1\r\nHost: x\(credentials)\r\n\r\n".utf8))
        var export = ""
        while !export.hasSuffix("\r\n0\r\n\r\n"), let more = connection.read(within: 10_000), !more.isEmpty {
            export += more
        }
        #expect(export.lowercased().contains("transfer-encoding: chunked"), "\(export)")
        let rest = head("GET", "/classes/Chunked/\(made.objectId)") + head("GET", "/health", "Connection: close")
        connection.send(Array(rest.utf8))
        var answers = ""
        while let more = connection.read(within: 10_000), !more.isEmpty { answers += more }
        let parts = answers.components(separatedBy: "HTTP/1.1 ").dropFirst().map { $0 }
        try #require(parts.count == 2, "\(answers)")
        #expect(parts[0].hasPrefix("200 OK"))
        #expect(parts[0].hasSuffix("}"), "\(parts[0])")
    }

    @Test func namesOfAListMayHaveSpacesAroundThem() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        _ = try await client.create("Spaced", ["one": 1, "two": 2, "three": 3])
        for keys in ["%20one%20,%20%20two", "+one,two+", "one,two"] {
            let page = try await client.get("/classes/Spaced?keys=\(keys)&order=%20-createdAt%20&limit=1")
            let object = try #require(page.results.first, "\(page.text)")
            #expect(object["one"] == 1)
            #expect(object["two"] == 2)
            #expect(object["three"] == nil)
        }
    }

    /// An answer that is too large to send at once takes the general path and is complete.
    @Test func aLargePageIsWhole() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let text = JSON.string(String(repeating: "x", count: 60_000))
        let requests = (0..<8).map { number -> JSON in
            ["method": "POST", "path": "/parse/classes/Long", "body": ["text": text, "number": .int(Int64(number))]]
        }
        #expect(try await client.call(.POST, "/batch", ["requests": .array(requests)]).status == 200)
        for count in [1, 2, 4, 5, 8] {
            let page = try await client.find("Long", [:], ["limit": .int(Int64(count)), "order": "number"])
            #expect(page.results.count == count)
            #expect(page.results.allSatisfy { $0["text"] == text })
        }
    }

    /// The beginning of a large page is computed only once.
    @Test func aLargePageIsAskedForOnce() async throws {
        try await Suite.with { suite in
            let client = ParseClient(suite)
            let text = JSON.string(String(repeating: "x", count: 60_000))
            let one: JSON = ["method": "POST", "path": "/parse/classes/Long", "body": ["text": text]]
            let made = try await client.call(.POST, "/batch", ["requests": .array(Array(repeating: one, count: 8))])
            #expect(made.status == 200)
            func asked() async throws -> Int64 {
                let replicas = try await ParseClient.master(suite).get("/serverInfo")["replicas"]
                return try #require(replicas?["catalog-1"]?.intValue)
            }
            let reads: Int64 = 20
            let before = try await asked()
            for _ in 0..<reads { #expect(try await client.get("/classes/Long").results.count == 8) }
            // The gateway also sends its own requests.
            let after = try await asked()
            #expect(after - before < reads + reads / 2, "\(after - before)")
        }
    }

    /// T7e: hundreds of pipelined requests on both paths, whose answers are read slowly. The gateway pauses reading
    /// repeatedly; no answer is lost or reordered.
    @Test(.timeLimit(.minutes(10))) func manyRequestsAtOnceAreAllAnsweredInTheirOrder() async throws {
        let suite = try await Suite.shared
        let text = JSON.string(String(repeating: "x", count: 20_000))
        let made = try await ParseClient(suite).create("Turn", ["text": text])
        let kinds: [(path: String, status: String)] = [
            ("/classes/Turn/\(made.objectId)", "200"), ("/classes/Turn/nobody0000", "404"), ("/health", "200"),
            ("/classes/Turn?where=no", "400"),
        ]
        let order = (0..<300).map { $0 % 50 > 46 ? $0 % 50 - 46 : 0 }
        let connection = try RawConnection(suite, receiveBytes: 65_536)
        connection.send(order.flatMap { Array(head("GET", kinds[$0].path).utf8) })
        connection.send(Array(head("GET", "/health", "Connection: close").utf8))
        var answers = ""
        while let more = connection.read(within: 10_000, max: 1 << 20), !more.isEmpty { answers += more }
        let statuses = answers.components(separatedBy: "HTTP/1.1 ").dropFirst().map { String($0.prefix(3)) }
        #expect(statuses == order.map { kinds[$0].status } + ["200"])
    }

    /// T7e: otherwise each request of a hundred bytes would hold its answer in memory.
    @Test(.timeLimit(.minutes(10))) func aClientThatReadsNoAnswersIsPaused() async throws {
        let suite = try await Suite.shared
        let text = JSON.string(String(repeating: "x", count: 20_000))
        let made = try await ParseClient(suite).create("Turn", ["text": text])
        let request = Array(head("GET", "/classes/Turn/\(made.objectId)").utf8)
        let connection = try RawConnection(suite, receiveBytes: 4096)
        // Far more than the sockets on both sides buffer; the answers to all requests would be 8 GB.
        let thousand = (0..<1000).flatMap { _ in request }
        var sent = 0
        for _ in 0..<400 {
            let count = connection.send(thousand, within: 1)
            sent += count
            if count < thousand.count { break }
        }
        #expect(sent < 20 << 20, "\(sent) bytes were taken.")
        #expect(try await ParseClient(suite).get("/classes/Turn/\(made.objectId)").status == 200)
    }

    /// A client that closes its sending side while it reads an answer gets the rest of it, on either path.
    @Test(.timeLimit(.minutes(10)), arguments: [4, 12])
    func aHalfClosedClientGetsTheWholeAnswer(_ count: Int) async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let className = "Half\(Names.random(6))"
        let text = JSON.string(String(repeating: "x", count: 50_000))
        let one: JSON = ["method": "POST", "path": .string("/parse/classes/\(className)"), "body": ["text": text]]
        let made = try await client.call(.POST, "/batch", ["requests": .array(Array(repeating: one, count: count))])
        #expect(made.status == 200)
        // Small packets, so that the gateway's socket buffers only a part of it.
        let connection = try RawConnection(suite, receiveBytes: 16_384, segmentBytes: 536)
        connection.send(Array(head("GET", "/classes/\(className)").utf8))
        var answer = try #require(connection.read(within: 10_000, max: 1000))
        connection.finish()
        // Gives the gateway time to notice it.
        for _ in 0..<3 { #expect(try await client.get("/health").status == 200) }
        while let more = connection.read(within: 10_000), !more.isEmpty { answer += more }
        let parts = answer.components(separatedBy: "\r\n\r\n")
        try #require(parts.count == 2)
        let length = parts[0].components(separatedBy: "\r\n").first { $0.lowercased().hasPrefix("content-length: ") }
        #expect(length?.split(separator: " ").last.flatMap { Int($0) } == parts[1].utf8.count)
        #expect(parts[1].utf8.count > count * 50_000)
    }

    /// Requests pipelined after the last request of a connection get no answer.
    @Test func nothingIsAnsweredBehindTheLastRequest() async throws {
        let suite = try await Suite.shared
        let made = try await ParseClient(suite).create("Turn", ["number": 1])
        let one = head("GET", "/classes/Turn/\(made.objectId)")
        let requests = head("GET", "/health", "Connection: close") + one + one
        let answers = try await RawRequest.send(suite, Array(requests.utf8), untilClosed: true)
        #expect(answers.components(separatedBy: "HTTP/1.1 ").count == 2, "\(answers)")
    }

    /// The general path looks a session up once. When the session ends, the direct path refuses it at once.
    @Test func aRevokedSessionReadsNothingMore() async throws {
        let suite = try await Suite.shared
        let (user, userId) = try await Customer.anonymous(suite)
        let made = try await user.create("Turn", ["ACL": .object([userId: ["read": true, "write": true]])])
        for _ in 0..<3 { #expect(try await user.get("/classes/Turn/\(made.objectId)").status == 200) }
        #expect(try await user.call(.POST, "/logout").status == 200)
        #expect(try await user.get("/classes/Turn/\(made.objectId)").json["code"] == 209)
    }
}
