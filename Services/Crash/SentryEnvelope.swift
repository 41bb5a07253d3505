import ParseProtocol

/// A Sentry envelope: a line of headers, then items of a header line and a payload
/// (https://develop.sentry.dev/sdk/data-model/envelopes/).
struct SentryEnvelope {
    /// 32 lower-case hex digits; made here when the envelope has none.
    let eventId: String
    /// The crash or message. Nil for envelopes that carry something else, such as sessions; they are accepted and not kept.
    let event: JSON?

    /// Ours; Sentry allows more for attachments, which are not kept.
    static let bytesMax = 1 << 20
    /// An SDK sends a handful; a bound keeps a hostile envelope of tiny items cheap.
    private static let itemsMax = 100

    static let malformed = ParseError(.invalidJSON, "The crash report is not a Sentry envelope.")

    /// - Throws: 107 when the bytes are not an envelope, 116 past `bytesMax`.
    init(_ bytes: [UInt8]) throws {
        guard bytes.count <= Self.bytesMax else {
            throw ParseError(.objectTooLarge, "A crash report has at most \(Self.bytesMax) bytes.")
        }
        var rest = bytes[...]
        guard let header = try? JSON(parsing: Self.line(&rest)), case .object = header else { throw Self.malformed }
        var event: JSON?
        var items = 0
        while !rest.isEmpty {
            if rest.first == UInt8(ascii: "\n") {  // Empty lines may end an envelope.
                rest.removeFirst()
                continue
            }
            items += 1
            guard items <= Self.itemsMax, let item = try Self.item(&rest) else { throw Self.malformed }
            guard event == nil, item.type == "event" else { continue }
            guard let payload = try? JSON(parsing: item.payload), case .object = payload else { throw Self.malformed }
            event = payload
        }
        let named = event?["event_id"] ?? header["event_id"]
        eventId = try named.map(Self.checkedId) ?? Self.newId()
        self.event = event
    }

    /// Takes the bytes up to the next newline, which goes too.
    private static func line(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex
        defer { rest = rest[end...].dropFirst() }
        return rest[..<end]
    }

    /// Takes an item. A payload without a length ends at the next newline.
    private static func item(_ rest: inout ArraySlice<UInt8>) throws -> (type: String, payload: ArraySlice<UInt8>)? {
        guard let header = try? JSON(parsing: line(&rest)), let type = header["type"]?.stringValue else { return nil }
        guard let length = header["length"] else { return (type, line(&rest)) }
        guard let count = length.intValue, count >= 0, count <= Int64(rest.count) else { return nil }
        let payload = rest.prefix(Int(count))
        rest = rest.dropFirst(Int(count))
        guard rest.isEmpty || rest.first == UInt8(ascii: "\n") else { return nil }
        rest = rest.dropFirst()
        return (type, payload)
    }

    private static func checkedId(_ value: JSON) throws -> String {
        let digits = value.stringValue.map { $0.lowercased().utf8.filter { $0 != UInt8(ascii: "-") } } ?? []
        guard digits.count == 32, digits.allSatisfy(hexDigits.contains) else { throw malformed }
        return String(decoding: digits, as: UTF8.self)
    }

    private static func newId() -> String {
        String(decoding: (0..<32).map { _ in hexDigits[Int.random(in: 0..<16)] }, as: UTF8.self)
    }

    private static let hexDigits = Array("0123456789abcdef".utf8)
}

extension SentryEnvelope {
    /// The exception that was thrown last, or what a message event says.
    var title: (type: String, message: String) {
        let values = event?["exception"]?["values"]?.arrayValue ?? event?["exception"]?.arrayValue ?? []
        if let exception = values.last {
            return (Self.short(exception["type"]), Self.short(exception["value"]))
        }
        let entry = event?["logentry"] ?? event?["message"]
        return ("", Self.short(entry?["formatted"] ?? entry?["message"] ?? entry))
    }

    /// A text for a list, cut at a length that fits one.
    static func short(_ value: JSON?) -> String { String((value?.stringValue ?? "").prefix(500)) }
}
