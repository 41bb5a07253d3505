import ParseProtocol

/// Why a report is refused, as reported to the SDK.
package enum ReportRefusal: Error, Hashable, Sendable {
    case malformed
    case tooLarge
    case unsupportedEncoding
    case keyMissing
    case keyUnknown
    /// The key exceeds its rate limit; seconds until the next report is accepted.
    case tooMany(seconds: Int)

    package var status: UInt32 {
        switch self {
        case .malformed: 400
        case .keyMissing: 401
        case .keyUnknown: 403
        case .tooLarge: 413
        case .unsupportedEncoding: 415
        case .tooMany: 429
        }
    }

    package var detail: String {
        switch self {
        case .malformed: "bad envelope or event"
        case .keyMissing: "missing authorization information"
        case .keyUnknown: "unknown or disabled key for this project"
        case .tooLarge: "report too large"
        case .unsupportedEncoding: "unsupported content encoding"
        case .tooMany: "rate limited"
        }
    }
}

/// A Sentry envelope: a header line, then items with a header line and a payload each
/// (https://develop.sentry.dev/sdk/data-model/envelopes/). Or the body of the older store endpoint, which is a single
/// event.
package struct SentryEnvelope: Sendable {
    /// 32 lower-case hexadecimal digits; generated here when the envelope has none.
    package let eventId: String
    /// The crash or message. Nil for envelopes with other contents, such as transactions and client reports, which are
    /// accepted and discarded.
    package let event: JSON?
    /// The app sessions in the envelope, unvalidated. Undecodable ones are left out.
    package let sessions: [JSON]
    /// The public key in the envelope's own DSN, for clients that cannot send headers.
    package let publicKey: String?

    /// Sentry's limit for an event. Attachments and replays may be larger; they are discarded.
    private static let eventBytesMax = 1 << 20
    /// An SDK sends a few; the limit keeps a malicious envelope of tiny items cheap.
    private static let itemsMax = 100
    /// An SDK sends the ending session and the beginning one.
    private static let sessionsMax = 10
    private static let sessionBytesMax = 10_000

    /// - Throws: `ReportRefusal`.
    package init(envelope bytes: [UInt8]) throws {
        var rest = bytes[...]
        guard let header = try? JSON(parsing: Self.line(&rest)), case .object = header else {
            throw ReportRefusal.malformed
        }
        var event: JSON?
        var sessions: [JSON] = []
        var items = 0
        while !rest.isEmpty {
            if rest.first == UInt8(ascii: "\n") {  // Empty lines may end an envelope.
                rest.removeFirst()
                continue
            }
            items += 1
            guard items <= Self.itemsMax, let item = Self.item(&rest) else { throw ReportRefusal.malformed }
            // An envelope has one event at most.
            if event == nil, item.type == "event" { event = try Self.event(item.payload) }
            if item.type == "session", sessions.count < Self.sessionsMax, item.payload.count <= Self.sessionBytesMax,
                let session = try? JSON(parsing: item.payload)
            {
                sessions.append(session)
            }
        }
        eventId = try (event?["event_id"] ?? header["event_id"]).map(Self.checkedId) ?? Self.newId()
        publicKey = header["dsn"]?.stringValue.flatMap { Self.publicKey(ofDSN: $0) }
        self.event = event
        self.sessions = sessions
    }

    /// - Throws: `ReportRefusal`.
    package init(event bytes: [UInt8]) throws {
        let event = try Self.event(bytes[...])
        eventId = try event["event_id"].map(Self.checkedId) ?? Self.newId()
        publicKey = nil
        self.event = event
        sessions = []
    }

    private static func event(_ bytes: ArraySlice<UInt8>) throws -> JSON {
        guard bytes.count <= eventBytesMax else { throw ReportRefusal.tooLarge }
        guard let event = try? JSON(parsing: bytes), case .object = event else { throw ReportRefusal.malformed }
        return event
    }

    /// Removes and returns the bytes up to the next newline, without the newline.
    private static func line(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex
        defer { rest = rest[end...].dropFirst() }
        return rest[..<end]
    }

    /// Removes and returns an item. A payload without a length ends at the next newline.
    private static func item(_ rest: inout ArraySlice<UInt8>) -> (type: String, payload: ArraySlice<UInt8>)? {
        guard let header = try? JSON(parsing: line(&rest)), let type = header["type"]?.stringValue else { return nil }
        guard let length = header["length"], !length.isNull else { return (type, line(&rest)) }
        guard let count = length.intValue, count >= 0, count <= Int64(rest.count) else { return nil }
        let payload = rest.prefix(Int(count))
        rest = rest.dropFirst(Int(count))
        guard rest.isEmpty || rest.first == UInt8(ascii: "\n") else { return nil }
        rest = rest.dropFirst()
        return (type, payload)
    }

    /// The part of a DSN before the `@`, without the secret that old DSNs have.
    private static func publicKey(ofDSN dsn: String) -> String? {
        guard dsn.utf8.count <= 500, let at = dsn.firstIndex(of: "@"), let scheme = dsn[..<at].firstRange(of: "://")
        else { return nil }
        return dsn[scheme.upperBound..<at].split(separator: ":").first.map(String.init)
    }

    private static func checkedId(_ value: JSON) throws -> String {
        let digits = value.stringValue.map { $0.lowercased().utf8.filter { $0 != UInt8(ascii: "-") } } ?? []
        guard digits.count == 32, digits.allSatisfy(hexDigits.contains) else { throw ReportRefusal.malformed }
        return String(decoding: digits, as: UTF8.self)
    }

    private static func newId() -> String { Hex.random(bytes: 16) }

    private static let hexDigits = Array("0123456789abcdef".utf8)
}
