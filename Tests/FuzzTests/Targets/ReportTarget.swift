import CZlib
import Compression
@preconcurrency import CrashService
import ParseProtocol

/// Crash reports: envelopes and events of any SDK, compressed or not, up to the stored event and its group.
///
/// The first byte of an input gives the format of the rest: `e` an envelope, `v` an event, `g` gzip, `d` deflate.
struct ReportTarget: FuzzTarget {
    let name = "reports"
    let testInputs = 1500
    let dictionary = [
        "{\"type\":\"event\"}", "{\"type\":\"event\",\"length\":10}", "\n", "event_id", "exception", "values",
        "stacktrace", "frames", "function",
        "module", "filename", "in_app", "lineno", "message", "formatted", "level", "fatal", "release", "fingerprint",
        "{{ default }}", "user",
        "id", "email", "ip_address", "request", "headers", "cookies", "breadcrumbs", "threads", "tags", "contexts",
        "extra", "dsn", "platform",
        "logentry", "length", "type", "null", "[]", "{}", "9fec9ab0b1c64a0aa1b1c64a0aa1b1c6", "http://key@host/1",
        "4111111111111111", "{\"type\":\"session\"}", "sid", "did", "started", "status", "crashed", "attrs",
    ]

    private static let bytesMax = 1 << 20

    func generate(_ random: inout Seeded) -> [UInt8] {
        let event = Self.event(&random).serialized
        switch random.below(5) {
        case 0: return [UInt8(ascii: "v")] + event
        case 1: return Array("e{}\n{\"type\":\"session\"}\n\(Self.session(&random).serializedText)\n".utf8)
        case 2:
            let header = random.chance(50) ? "{\"type\":\"event\",\"length\":\(event.count)}" : "{\"type\":\"event\"}"
            return Array(
                "e{\"event_id\":\"9fec9ab0b1c64a0aa1b1c64a0aa1b1c6\",\"dsn\":\"http://k@h/1\"}\n\(header)\n".utf8)
                + event + [10]
        default:
            let plain = random.chance(80) ? event : [UInt8](repeating: 0, count: random.below(4_000_000))
            return [UInt8(ascii: random.chance(50) ? "g" : "d")] + Self.deflated(plain)
        }
    }

    private static let now = Timestamp(milliseconds: 1_900_000_000_000)

    private static func session(_ random: inout Seeded) -> JSON {
        let days = Int64(random.below(40)) - 4
        var session: JSON = [
            "sid": random.pick(["7c7b6585", "", 1]), "did": random.pick(ValueKind.strings),
            "status": random.pick(["ok", "exited", "crashed", 7]),
            "started": .string(now.advanced(by: .seconds(-86_400 * days)).iso),
            "attrs": ["release": random.pick(ValueKind.strings)],
        ]
        for key in ["sid", "did", "started", "attrs"] where random.chance(10) {
            session[key] = ValueKind.any(&random, depth: 2)
        }
        return session
    }

    private static func event(_ random: inout Seeded) -> JSON {
        var frames: [JSON] = []
        for _ in 0..<random.below(6) {
            frames.append([
                "function": random.pick(ValueKind.strings), "module": random.pick(ValueKind.strings),
                "in_app": .bool(random.chance(50)),
                "lineno": random.pick(ValueKind.numbers), "vars": ValueKind.object.value(&random, depth: 3),
            ])
        }
        var event: JSON = [
            "event_id": "9fec9ab0b1c64a0aa1b1c64a0aa1b1c6", "level": random.pick(["fatal", "error", 1, .null]),
            "exception": [
                "values": [
                    [
                        "type": random.pick(ValueKind.strings), "value": random.pick(ValueKind.strings),
                        "stacktrace": ["frames": .array(frames)],
                    ]
                ]
            ],
        ]
        for key in [
            "user", "request", "tags", "extra", "contexts", "breadcrumbs", "fingerprint", "release", "threads",
            "message",
        ]
        where random.chance(30) {
            event[key] = ValueKind.any(&random, depth: 3)
        }
        return event
    }

    /// zlib format. Labelled as gzip, it serves as an invalid gzip body.
    private static func deflated(_ bytes: [UInt8]) -> [UInt8] {
        var length = compressBound(uLong(bytes.count))
        var output = [UInt8](repeating: 0, count: Int(length))
        guard compress2(&output, &length, bytes, uLong(bytes.count), 6) == Z_OK else { return [] }
        return Array(output.prefix(Int(length)))
    }

    func run(_ input: [UInt8]) async throws -> String {
        guard let first = input.first else { return "empty" }
        var bytes = Array(input.dropFirst())
        do {
            if let encoding: ContentEncoding = first == UInt8(ascii: "g")
                ? .gzip : first == UInt8(ascii: "d") ? .deflate : nil
            {
                bytes = try Inflater.unpack(bytes, encoding, bytesMax: Self.bytesMax)
                try require(bytes.count <= Self.bytesMax, "\(bytes.count) bytes were unpacked.")
            }
            let isEvent = first != UInt8(ascii: "e")
            let envelope = try isEvent ? SentryEnvelope(event: bytes) : SentryEnvelope(envelope: bytes)
            try require(envelope.eventId.utf8.count == 32, "The event's id is \(envelope.eventId).")
            let sessions = envelope.sessions.compactMap { AppSession($0, projectId: 1, now: Self.now) }
            for session in sessions {
                let age = Self.now.milliseconds / 86_400_000 - session.day
                try require((-1...AppSession.daysKnown).contains(age), "A session of another time: \(session.day).")
                try require(session.session.count == 12 && session.release.utf8.count <= 250, "A mark without a bound.")
            }
            guard let event = envelope.event else { return "no event, \(envelope.sessions.count) \(sessions.count)" }
            let stored = StoredEvent(event, eventId: envelope.eventId)
            _ = try JSON(parsing: stored.json)
            try require(!stored.fingerprint.hash.isEmpty, "An event without a group.")
            return
                """
                \(stored.crash.frames.count) \(stored.crash.thrown.count) \(stored.crash.level) \
                \(stored.fingerprint.components.count)
                """
        } catch let refusal as ReportRefusal {
            return "\(refusal)"
        } catch let problem as Inflater.Problem {
            return "\(problem)"
        }
    }
}
