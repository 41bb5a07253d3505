import Compression
import CrashService
import Foundation
import TestSupport
import Testing

/// Untrusted bytes: compressed, truncated, huge or not an envelope. Reading them gives an event or a refusal, with
/// limited memory.
@Suite struct CrashReadingTests {
    /// Bytes from Python's zlib and gzip, an independent implementation.
    private static func python(_ expression: String) async throws -> [UInt8] {
        let program = "import base64, gzip, zlib; print(base64.b64encode(\(expression)).decode())"
        let text = try await Command.run(["python3", "-c", program]).trimmingCharacters(in: .whitespacesAndNewlines)
        return Array(try #require(Data(base64Encoded: text)))
    }

    private static let text = Array("A trace of a crash. ".utf8)
    private static let pythonText = "b'A trace of a crash. '"

    @Test(arguments: [
        ("gzip", "gzip.compress(TEXT)"), ("x-gzip", "gzip.compress(TEXT, 9)"), ("deflate", "zlib.compress(TEXT)"),
        ("deflate", "zlib.compressobj(9, zlib.DEFLATED, -15).compress(TEXT) + b''"), ("identity", "TEXT"), ("", "TEXT"),
    ])
    func whatPythonPacksIsUnpacked(encoding: String, expression: String) async throws {
        var expression = expression.replacingOccurrences(of: "TEXT", with: Self.pythonText)
        if expression.contains("compressobj") {  // A raw stream needs a final flush.
            expression =
                "(lambda c: c.compress(\(Self.pythonText)) + c.flush())(zlib.compressobj(9, zlib.DEFLATED, -15))"
        }
        let packed = try await Self.python(expression)
        let known = try #require(ContentEncoding(header: encoding))
        #expect(try Inflater.unpack(packed, known, bytesMax: 1000) == Self.text)
        #expect(throws: Inflater.Problem.tooLarge) { try Inflater.unpack(packed, known, bytesMax: 10) }
    }

    @Test(arguments: ["br", "zstd", "gzip, deflate", "GZIP;q=1"])
    func otherEncodingsAreNotKnown(header: String) { #expect(ContentEncoding(header: header) == nil) }

    @Test func everyTruncatedStreamIsMalformed() async throws {
        let packed = try await Self.python("gzip.compress(\(Self.pythonText) * 50)")
        for count in 0..<packed.count {
            #expect(throws: Inflater.Problem.malformed) {
                try Inflater.unpack(Array(packed.prefix(count)), .gzip, bytesMax: 10_000)
            }
        }
        #expect(throws: Inflater.Problem.malformed) { try Inflater.unpack(packed + [0], .gzip, bytesMax: 10_000) }
        #expect(throws: Inflater.Problem.malformed) { try Inflater.unpack(packed, .deflate, bytesMax: 10_000) }
        #expect(throws: Inflater.Problem.malformed) {
            try Inflater.unpack(Array(repeating: 255, count: 99), .gzip, bytesMax: 99)
        }
    }

    @Test func aBombIsNotBlownUp() async throws {
        let bomb = try await Self.python("gzip.compress(bytes(1 << 28))")
        #expect(bomb.count < 1 << 20)
        #expect(throws: Inflater.Problem.tooLarge) { try Inflater.unpack(bomb, .gzip, bytesMax: 20 << 20) }
        let small = try await Self.python("gzip.compress(bytes(8 << 20))")
        #expect(throws: Inflater.Problem.tooLarge, "By its ratio.") {
            try Inflater.unpack(small, .gzip, bytesMax: 20 << 20)
        }
        #expect(
            try Inflater.unpack(try await Self.python("gzip.compress(bytes(1 << 19))"), .gzip, bytesMax: 20 << 20).count
                == 1 << 19)
    }

    // MARK: - Envelopes

    private static let id = "9ec79c33ec9942ab8353589fcb2e04dc"

    private static func envelope(_ text: String) -> [UInt8] { Array(text.utf8) }

    @Test func anEnvelopeOfSeveralItemsHasItsEvent() throws {
        let text = """
            {"event_id":"9EC79C33-ec99-42ab-8353-589fcb2e04dc","dsn":"https://abc:secret@shop.example/1","sent_at":"x"}
            {"type":"session"}
            {"sid":"1"}
            {"type":"attachment","length":6}
            a
            {
            b

            {"type":"event","length":null,"content_type":"application/json"}
            {"level":"fatal"}
            {"type":"client_report"}
            {}

            """
        let envelope = try SentryEnvelope(envelope: Self.envelope(text))
        #expect(envelope.eventId == Self.id)
        #expect(envelope.publicKey == "abc")
        #expect(envelope.event == ["level": "fatal"])
        #expect(envelope.sessions == [["sid": "1"]])
    }

    @Test func anEnvelopeWithoutAnEventIsTaken() throws {
        for text in ["{}", "{}\n{\"type\":\"session\"}\n{}", "{}\n{\"type\":\"transaction\",\"length\":2}\n{}"] {
            let envelope = try SentryEnvelope(envelope: Self.envelope(text))
            #expect(envelope.event == nil)
            #expect(envelope.eventId.count == 32)
        }
    }

    static let deep = String(repeating: "[", count: 10_000)
    static let manyItems = "{}\n" + String(repeating: "{\"type\":\"x\"}\n{}\n", count: 10_000)

    @Test(arguments: [
        "", "\n", "[]\n", "no", "{}\n{\"type\":\"event\",\"length\":99}\n{}", "{}\n{\"type\":\"event\"}\nno",
        "{}\n{\"type\":\"event\",\"length\":-1}\n{}", "{}\n{\"type\":\"event\",\"length\":1e300}\n{}",
        "{}\n{\"type\":\"event\",\"length\":9223372036854775807}\n{}", "{}\n{\"type\":\"event\",\"length\":\"2\"}\n{}",
        "{}\n{\"type\":\"event\",\"length\":2}\n{}x", "{}\n{\"type\":7}\n{}", "{}\n{\"type\":\"event\"}\n[]",
        "{\"event_id\":\"short\"}", "{\"event_id\":7}", "{}\n{\"type\":\"event\"}\n{\"event_id\":\"zz\"}",
        "{\"a\":\(deep)", "{}\n{\"type\":\"event\"}\n{\"a\":\(deep)", manyItems,
    ])
    func whatIsNoEnvelopeIsRefused(text: String) {
        #expect(throws: ReportRefusal.malformed) { try SentryEnvelope(envelope: Self.envelope(text)) }
    }

    @Test func brokenUTF8IsRefused() {
        let bytes =
            Self.envelope("{}\n{\"type\":\"event\"}\n{\"message\":\"") + [0xC3, 0x28, 0xFF] + Self.envelope("\"}")
        #expect(throws: ReportRefusal.malformed) { try SentryEnvelope(envelope: bytes) }
        #expect(throws: ReportRefusal.malformed) { try SentryEnvelope(event: [0xFF, 0xFE]) }
    }

    @Test func anEventIsAtMostAMegabyte() {
        let event = "{\"message\":\"\(String(repeating: "x", count: 1 << 20))\"}"
        #expect(throws: ReportRefusal.tooLarge) { try SentryEnvelope(event: Self.envelope(event)) }
        #expect(throws: ReportRefusal.tooLarge) {
            try SentryEnvelope(envelope: Self.envelope("{}\n{\"type\":\"event\"}\n\(event)"))
        }
    }

    /// Truncated at every byte, and with every byte changed, an envelope is either read or refused.
    @Test func damagedEnvelopesEndNothing() {
        let whole = Self.envelope(
            "{\"event_id\":\"\(Self.id)\"}\n{\"type\":\"event\",\"length\":25}\n{\"exception\":[{\"type\":1}]}\n")
        for count in 0..<whole.count { _ = try? SentryEnvelope(envelope: Array(whole.prefix(count))) }
        var readable = 0
        for index in whole.indices {
            for byte: UInt8 in [0, 10, 34, 57, 91, 123, 255] {
                var damaged = whole
                damaged[index] = byte
                if let envelope = try? SentryEnvelope(envelope: damaged) {
                    readable += 1
                    if let event = envelope.event { _ = StoredEvent(event, eventId: envelope.eventId).json }
                }
            }
        }
        #expect(readable > 0)
    }
}
