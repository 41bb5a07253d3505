import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Request bodies in gzip and deflate, and JSON with a byte order mark.
@Suite struct EncodedBodyTests {
    /// Compresses a Python bytes expression with Python's gzip or zlib.
    private static func packed(_ expression: String) async throws -> [UInt8] {
        let program = "import base64, gzip, zlib; print(base64.b64encode(\(expression)).decode())"
        let text = try await Command.run(["python3", "-c", program]).trimmingCharacters(in: .whitespacesAndNewlines)
        return Array(try #require(Data(base64Encoded: text)))
    }

    private static func post(
        _ client: ParseClient, _ path: String, _ encoding: String, _ body: [UInt8], _ type: String = "application/json"
    ) async throws -> ParseClient.Answer {
        try await client.send(
            .POST, path, headers: client.credentials + [("Content-Type", type), ("Content-Encoding", encoding)],
            body: body)
    }

    @Test func bodiesAreInflatedOnEachRoute() async throws {
        let suite = try await Suite.shared
        let client = ParseClient.master(suite)
        let className = "Packed\(Names.random(6))"
        for (encoding, expression) in [
            ("gzip", #"gzip.compress(b'{"n":1}')"#), ("deflate", #"zlib.compress(b'{"n":1}')"#),
            ("deflate", #"zlib.compress(b'{"n":1}')[2:-4]"#),
            ("GZIP", #"gzip.compress(b'{"n":1,"t":"' + b'ab'*30000 + b'"}')"#),
        ] {
            let made = try await Self.post(
                client, "/classes/\(className)", encoding, try await Self.packed(expression))
            #expect(made.status == 201, "\(encoding): \(made.text)")
            #expect(try await client.get("/classes/\(className)/\(made.objectId)").json["n"] == 1, "\(encoding)")
        }
        let batch = #"{"requests":[{"method":"POST","path":"/parse/classes/\#(className)","body":{"n":2}}]}"#
        let answers = try await Self.post(
            client, "/batch", "gzip", try await Self.packed("gzip.compress(b'\(batch)')"))
        #expect(answers.json.at(0, "success", "objectId") != nil, "\(answers.text)")
        let file = try await Self.post(
            client, "/files/a.txt", "gzip", try await Self.packed("gzip.compress(b'hello')"), "text/plain")
        #expect(file.status == 201, "\(file.text)")
        #expect(try await client.send(.GET, "/files/satchel/\(file.json.text("name"))").text == "hello")
        // Credentials and options in the body.
        let tunnelled = #"{"_ApplicationId":"satchel","_method":"GET","limit":0,"count":1}"#
        let found = try await client.send(
            .POST, "/classes/\(className)", headers: [("Content-Type", "text/plain"), ("Content-Encoding", "gzip")],
            body: try await Self.packed("gzip.compress(b'\(tunnelled)')"))
        #expect(found["count"] == 5, "\(found.text)")
    }

    @Test func whatCannotBeInflatedIsRefused() async throws {
        let client = ParseClient(try await GatewaySuites.guarded)
        let path = "/functions/nothing"
        for encoding in ["br", "zstd", "gzip, gzip"] {
            let answer = try await Self.post(client, path, encoding, Array("{}".utf8))
            #expect(answer.status == 415, "\(encoding): \(answer.text)")
            #expect(answer.headers.first(name: "Accept-Encoding") == "gzip, deflate")
        }
        #expect(try await Self.post(client, path, "identity", Array("{}".utf8)).code == 141)
        let whole = try await Self.packed("gzip.compress(b'{}')")
        for body in [Array("{}".utf8), Array(whole.dropLast()), whole + [0]] {
            let answer = try await Self.post(client, path, "gzip", body)
            #expect(answer.status == 400 && answer.code == 107, "\(answer.text)")
        }
        // The limit of this suite is 200,000 bytes after decompression: one body is slightly larger, the other one is a
        // zip bomb.
        for size in ["200001", "(1 << 26)"] {
            let answer = try await Self.post(
                client, path, "gzip", try await Self.packed("gzip.compress(b' ' * \(size))"))
            #expect(answer.status == 413 && answer.code == 116, "\(size): \(answer.text)")
        }
    }

    @Test func aByteOrderMarkBeforeJSONIsSkipped() async throws {
        let client = ParseClient(try await Suite.shared)
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let className = "Marked\(Names.random(6))"
        let made = try await client.send(
            .POST, "/classes/\(className)", headers: client.credentials, body: mark + Array(#"{"n":1}"#.utf8))
        #expect(made.status == 201, "\(made.text)")
        let changed = try await client.send(
            .PUT, "/classes/\(className)/\(made.objectId)", headers: client.credentials,
            body: mark + Array(#"{"n":2}"#.utf8))
        #expect(changed.status == 200, "\(changed.text)")
        let tunnelled = #"{"_ApplicationId":"satchel","_method":"GET"}"#
        let found = try await client.send(.POST, "/classes/\(className)", body: mark + Array(tunnelled.utf8))
        #expect(found.results.map { $0["n"] } == [2], "\(found.text)")
    }
}
