import Foundation
import ParseProtocol
import TestSupport
import Testing

/// HTTP/1.0 clients, such as old proxies and health checks, can find the end of each answer.
@Suite struct OldClientTests {
    private func request(_ path: String, version: String = "1.0", _ more: [String] = []) -> [UInt8] {
        let lines = ["GET /parse\(path) HTTP/\(version)", "X-Parse-Application-Id: satchel"] + more
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }

    /// Reads until the other end closes the connection; fails when it does not.
    private func readToEnd(_ connection: RawConnection) throws -> String {
        var text = ""
        while true {
            let more = try #require(connection.read(within: 10_000), "The connection stays open after \(text)")
            guard !more.isEmpty else { return text }
            text += more
        }
    }

    /// Reads the first answer on a persistent connection, by its Content-Length.
    private func readOne(_ connection: RawConnection) throws -> String {
        var text = ""
        while true {
            text += try #require(connection.read(within: 10_000), "No whole answer: \(text)")
            let parts = text.components(separatedBy: "\r\n\r\n")
            let length = parts[0].lowercased().components(separatedBy: "\r\n")
                .first { $0.hasPrefix("content-length: ") }?.split(separator: " ").last.flatMap { Int($0) }
            if parts.count == 2, let length, parts[1].utf8.count == length { return text }
        }
    }

    @Test func theConnectionEndsWithTheAnswer() async throws {
        let suite = try await Suite.shared
        let made = try await ParseClient(suite).create("Old", ["number": 1])
        for path in ["/health", "/classes/Old/\(made.objectId)", "/classes/Old/nobody0000"] {
            for more in [[], ["Connection: close"], ["Connection: X-Other"]] {
                let connection = try RawConnection(suite)
                connection.send(request(path, more))
                let answer = try readToEnd(connection)
                #expect(answer.lowercased().contains("\r\nconnection: close\r\n"), "\(answer)")
                #expect(answer.contains("{"), "\(answer)")
            }
        }
    }

    @Test func theConnectionStaysForWhoeverAsksForThat() async throws {
        let suite = try await Suite.shared
        let made = try await ParseClient(suite).create("Old", ["number": 1])
        let connection = try RawConnection(suite)
        for path in ["/health", "/classes/Old/\(made.objectId)", "/classes/Old/\(made.objectId)"] {
            connection.send(request(path, ["Connection: Keep-Alive"]))
            let answer = try readOne(connection)
            #expect(answer.lowercased().contains("\r\nconnection: keep-alive\r\n"), "\(answer)")
        }
        connection.send(request("/health"))
        #expect(try readToEnd(connection).lowercased().contains("\r\nconnection: close\r\n"))
    }

    /// An answer without a length must end with the connection, even if the client asked to keep it open.
    @Test func whatHasNoLengthEndsWithTheConnection() async throws {
        let suite = try await Suite.shared
        let made = try await ParseClient(suite).create("OldExport", ["number": 1])
        let key = ["X-Parse-Master-Key: \(Suite.masterKey)"]
        for more in [[], ["Connection: keep-alive"]] {
            let connection = try RawConnection(suite)
            connection.send(request("/export/OldExport", key + more))
            let answer = try readToEnd(connection)
            let parts = answer.components(separatedBy: "\r\n\r\n")
            try #require(parts.count == 2, "\(answer)")
            #expect(!parts[0].lowercased().contains("transfer-encoding"), "\(answer)")
            #expect(parts[0].lowercased().contains("\r\nconnection: close"), "\(answer)")
            let body = try JSON(parsing: Array(parts[1].utf8))
            #expect(body["results"]?.arrayValue?.first?["objectId"]?.stringValue == made.objectId)
        }
    }

    /// The gateway gives up a client that stalls. The rows that this client has are no whole file.
    @Test(.timeLimit(.minutes(5))) func aBrokenExportEndsInAReset() async throws {
        try await Suite.with(settings: ["SATCHEL_SLOW_ANSWER_SECONDS": "1"]) { suite in
            let row: JSON = [
                "method": "POST", "path": "/parse/classes/OldExport",
                "body": ["text": .string(String(repeating: "x", count: 120_000))],
            ]
            // More than the buffers of both sockets.
            for _ in 0..<2 {
                let rows: JSON = ["requests": .array(Array(repeating: row, count: 49))]
                #expect(try await ParseClient.master(suite).call(.POST, "/batch", rows).status == 200)
            }
            let key = ["X-Parse-Master-Key: \(Suite.masterKey)"]
            for more in [[], ["Connection: keep-alive"]] {
                let connection = try RawConnection(suite)
                connection.send(request("/export/OldExport?format=csv", key + more))
                try await Task.sleep(for: .seconds(15))
                #expect(connection.endsInReset(within: 10))
            }
        }
    }

    @Test func theConnectionOfALaterVersionStays() async throws {
        let suite = try await Suite.shared
        let connection = try RawConnection(suite)
        for _ in 0..<2 {
            connection.send(request("/health", version: "1.1", ["Host: x"]))
            #expect(try !readOne(connection).lowercased().contains("\r\nconnection:"))
        }
    }
}
