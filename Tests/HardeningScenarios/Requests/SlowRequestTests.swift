import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Requests that never end, and idle connections. Id T7 of docs/internals/hardening.md.
@Suite(.serialized) struct SlowRequestTests {
    private static let megabyte = [UInt8](repeating: UInt8(ascii: " "), count: 1 << 20)

    private func post(_ path: String, _ length: Int, _ headers: String = "") -> String {
        "POST /parse\(path) HTTP/1.1\nHost: x\nContent-Length: \(length)\nContent-Type: text/plain\(headers)"
    }

    /// T7a: 60 unidentified clients each send 7 of 8 MB.
    @Test(.timeLimit(.minutes(10))) func halfSentBodiesOfStrangersHaveLittleRoom() async throws {
        let suite = try await Suite.start()
        let customer = try await Customer.signUp(suite)
        let before = try MemoryReading(suite, "gateway-1").resident
        let idle = try (0..<60).map { _ in try RawConnection(suite, from: "127.0.0.2") }
        for connection in idle {
            connection.send(head: post("/classes/Half", 8 << 20))
            for _ in 0..<7 where connection.send(Self.megabyte, within: 1) == 0 { break }
        }
        let peak = try MemoryReading(suite, "gateway-1").peak
        #expect(peak - before < 60, "The gateway had \(before) MB and then \(peak).")
        let refused = idle.filter { ($0.read(within: 200) ?? "").hasPrefix("HTTP/1.1 429") }
        #expect(refused.count >= 55, "\(refused.count) were refused.")
        // Other clients can still send, and so can known clients from the same address.
        let large = JSON.string(String(repeating: "x", count: 100_000))
        let saved = try await customer.client.create("Large", ["text": large])
        #expect(saved.status == 201, "\(saved.text)")
        let upload = try await customer.client.send(
            .POST, "/files/a.bin", headers: customer.client.credentials,
            body: [UInt8](repeating: 1, count: 2 << 20))
        #expect(upload.status == 201, "\(upload.text)")
        withExtendedLifetime(idle) {}
        await suite.stop()
    }

    /// T7b: a client without the right is refused as soon as the headers arrive.
    @Test(.timeLimit(.minutes(10))) func keysAndRightsAreCheckedBeforeTheBody() async throws {
        let suite = try await Suite.shared
        let app = "\nX-Parse-Application-Id: satchel"
        let cases: [(String, String)] = [
            (post("/files/a.bin", 9 << 20, app), "400"),
            (post("/files/a.bin", 9 << 20, "\(app)\nX-Parse-Session-Token: r:wrong"), "400"),
            (post("/files/a.bin", 9 << 20, "\(app)\nX-Parse-Master-Key: wrong"), "403"),
            (post("/classes/A", 7 << 20, "\(app)\nX-Parse-Session-Token: r:wrong"), "400"),
            (post("/classes/A", 7 << 20, "\(app)\nX-Parse-Master-Key: wrong"), "403"),
            ("PUT /parse/classes/A/b HTTP/1.1\nHost: x\nContent-Length: 7000000", "403"),
            ("POST /parse/import/A HTTP/1.1\nHost: x\nTransfer-Encoding: chunked", "403"),
        ]
        for (head, status) in cases {
            let connection = try RawConnection(suite)
            connection.send(head: head)
            let answer = connection.read(within: 5000) ?? "nothing"
            #expect(answer.hasPrefix("HTTP/1.1 \(status)"), "\(head): \(answer)")
        }
    }

    /// T7c: single bytes at long intervals, in the body and in the headers.
    @Test(.timeLimit(.minutes(10))) func whatComesDropByDropIsEnded() async throws {
        let settings = ["SATCHEL_SLOW_REQUEST_SECONDS": "3"]
        try await Suite.with(settings: settings) { suite in
            let body = try RawConnection(suite)
            body.send(head: post("/classes/Drop", 1000))
            let old = try RawConnection(suite)
            let oldHead = post("/classes/Drop", 1000, "\nConnection: keep-alive")
            old.send(head: oldHead.replacingOccurrences(of: "HTTP/1.1", with: "HTTP/1.0"))
            let head = try RawConnection(suite)
            head.send(Array("GET /parse/health HTTP/1.1\r\nHost: x\r\n".utf8))
            let patient = try RawConnection(suite)
            var said = ""
            for _ in 0..<8 {
                body.send([UInt8(ascii: " ")])
                head.send([UInt8(ascii: "a")])
                said += body.read(within: 1000) ?? ""
            }
            #expect(said.hasPrefix("HTTP/1.1 408"), "\(said)")
            #expect(body.isClosed(within: 3))
            #expect(head.isClosed(within: 3))
            let toldOld = (old.read(within: 5000) ?? "").lowercased()
            #expect(toldOld.contains(" 408 "), "\(toldOld)")
            #expect(toldOld.contains("\r\nconnection: close\r\n"), "It is not kept: \(toldOld)")
            // An idle connection is not late, nor is a steady one.
            patient.send(head: "GET /parse/health HTTP/1.1\nHost: x")
            #expect(patient.read(within: 5000)?.hasPrefix("HTTP/1.1 200") == true)
            patient.send(head: post("/classes/Drop", 60_000, "\nX-Parse-Application-Id: satchel"))
            for _ in 0..<6 {
                patient.send([UInt8](repeating: UInt8(ascii: " "), count: 9_999))
                try await Task.sleep(for: .seconds(1))
            }
            patient.send(Array("{}    ".utf8))
            let answer = patient.read(within: 5000) ?? ""
            #expect(answer.hasPrefix("HTTP/1.1 201"), "\(answer)")
        }
    }

    /// T7d: connections from one address leave room for others.
    @Test(.timeLimit(.minutes(10))) func connectionsOfOneAddressLeaveRoomForOthers() async throws {
        try await Suite.with(settings: ["SATCHEL_CONNECTIONS_MAX": "64"]) { suite in
            let crowd = try (0..<64).map { _ in try RawConnection(suite, from: "127.0.0.2") }
            try await Task.sleep(for: .milliseconds(500))
            let closed = crowd.filter { $0.isClosed(within: 1) }
            #expect(closed.count == 48, "\(closed.count) were closed.")
            #expect(try await ParseClient(suite).get("/health").status == 200)
            withExtendedLifetime(crowd) {}
        }
    }
}
