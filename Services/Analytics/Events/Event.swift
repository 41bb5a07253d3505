import ParseProtocol

/// An event that an app reports: its start, or an event of the app's choice with a few dimensions (PARSE_PROTOCOL
/// section 12).
package struct Event: Sendable {
    package let name: String
    /// The time by the app's clock; nil when the app sent none.
    package let at: Timestamp?
    package let dimensions: [String: JSON]
    /// The push's hash, for `AppOpened` after a tap on a push.
    package let pushHash: String?

    /// The event of an app's start, which the SDKs send automatically.
    package static let opened = "AppOpened"

    /// Hosted Parse's limit. It bounds the number of series in a graph.
    static let dimensionsMax = 8
    private static let nameBytesMax = 100
    /// A dimension is a label in a graph, not a document.
    private static let dimensionBytesMax = 500

    static let invalidName = ParseError(
        .invalidEventName, "An event name must be printable, not blank, and at most 100 bytes long.")

    /// - Parameter body: the client's body, unchanged.
    /// - Throws: `.invalidEventName` (160) for the name, `.invalidJSON` (107), `.incorrectType` (111) or
    ///   `.validationError` (142) for the body.
    package init(name: String, body bytes: [UInt8]) throws {
        guard Event.isName(name) else { throw Event.invalidName }
        let body = try JSON(clientText: bytes)
        guard case .object = body else { throw ParseError(.invalidJSON, "An event is a JSON object.") }
        self.name = name
        at = try Event.moment(body["at"])
        dimensions = try Event.dimensions(body["dimensions"], in: bytes)
        pushHash = body["push_hash"]?.stringValue.flatMap { $0.utf8.count <= 64 && !$0.utf8.contains(0) ? $0 : nil }
    }

    /// SDKs accept any text as a name. Refuses unprintable characters and marks that reorder adjacent text.
    package static func isName(_ name: String) -> Bool {
        (1...nameBytesMax).contains(name.utf8.count) && name != Cardinality.other
            && name.unicodeScalars.allSatisfy(isPrintable)
            && name.unicodeScalars.contains { !$0.properties.isWhitespace }
    }

    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.properties.isBidiControl { return false }
        return switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
        default: true
        }
    }

    /// Devices collect events while offline; an older event is counted on the day of its arrival.
    private static let lateMax = Duration.seconds(30 * 86_400)

    /// When the event happened. If the device's clock is ahead, the current time.
    package func happenedAt(now: Timestamp) -> Timestamp { min(at ?? now, now) }

    /// The moment that decides the hour and day of the count.
    package func countedAt(now: Timestamp) -> Timestamp {
        let moment = happenedAt(now: now)
        return moment < now.advanced(by: .zero - Self.lateMax) ? now : moment
    }

    private static func moment(_ value: JSON?) throws -> Timestamp? {
        guard let value, !value.isNull else { return nil }
        guard let moment = (value.wireType == "Date" ? value["iso"] : value)?.stringValue.flatMap(Timestamp.init(iso:))
        else { throw ParseError(.incorrectType, "at must be a Date.") }
        return moment
    }

    /// - Parameter bytes: the body; only its text shows the order of the dimensions.
    private static func dimensions(_ value: JSON?, in bytes: [UInt8]) throws -> [String: JSON] {
        guard let value, !value.isNull else { return [:] }
        guard let dimensions = value.objectValue else {
            throw ParseError(.incorrectType, "dimensions must be an object of strings.")
        }
        var counted: [String: JSON] = [:]
        guard dimensions.count > dimensionsMax else {
            for (name, value) in dimensions { counted[name] = try dimension(name, value) }
            return counted
        }
        let ordered = try? JSON(parsing: bytes, membersInOrderOf: ["dimensions"])
        for case .array(let pair) in ordered?["dimensions"]?.arrayValue ?? [] {
            guard let name = pair.first?.stringValue, let value = dimensions[name] else { continue }
            // Hosted Parse kept the first eight dimensions and silently dropped the others.
            guard counted.count < dimensionsMax || counted[name] != nil else { break }
            counted[name] = try dimension(name, value)
        }
        return counted
    }

    private static func dimension(_ name: String, _ value: JSON) throws -> JSON {
        guard let text = value.stringValue else {
            throw ParseError(.incorrectType, "dimensions must be an object of strings.")
        }
        guard !name.isEmpty, max(name.utf8.count, text.utf8.count) <= dimensionBytesMax else {
            throw ParseError(.validationError, "A dimension has 1 to \(dimensionBytesMax) bytes.")
        }
        // PostgreSQL stores no such text, and the event may be counted after its answer.
        guard !name.utf8.contains(0), !text.utf8.contains(0) else {
            throw ParseError(.incorrectType, "A dimension must not contain the character U+0000.")
        }
        return value
    }
}
