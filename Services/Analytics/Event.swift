import ParseProtocol

/// Something an app reports: that it was opened, or an event of its own with a few dimensions
/// (PARSE_PROTOCOL section 12).
package struct Event: Sendable {
    package let name: String
    /// When it happened by the app's clock; nil when the app did not say.
    package let at: Timestamp?
    package let dimensions: [String: JSON]
    /// `AppOpened` by a tap on a push: the push's hash.
    package let pushHash: String?

    /// The event of an app's start, which the SDKs send by themselves.
    package static let opened = "AppOpened"

    /// Hosted Parse's limit, which keeps the number of series of a graph bounded.
    static let dimensionsMax = 8
    private static let nameBytesMax = 100
    /// A dimension is a label on a graph, not a document.
    private static let dimensionBytesMax = 500

    static let invalidName = ParseError(
        .invalidEventName, "An event name has letters, digits and _, starts with a letter and is at most 100 long.")

    /// - Throws: 160 for the name, 107, 111 or 142 for the body.
    package init(name: String, body: JSON) throws {
        guard Event.isName(name) else { throw Event.invalidName }
        guard case .object = body else { throw ParseError(.invalidJSON, "An event is a JSON object.") }
        self.name = name
        at = try Event.moment(body["at"])
        dimensions = try Event.dimensions(body["dimensions"])
        pushHash = body["push_hash"]?.stringValue.flatMap { $0.utf8.count <= 64 ? $0 : nil }
    }

    static func isName(_ name: String) -> Bool { Names.isIdentifier(name) && name.utf8.count <= nameBytesMax }

    /// Devices collect events while they are offline; an older one is counted on the day it comes.
    private static let lateMax = Duration.seconds(30 * 86_400)

    /// When it happened; a device whose clock is ahead reports from now, not from the future.
    package func happenedAt(now: Timestamp) -> Timestamp { min(at ?? now, now) }

    /// The moment whose hour and day count it.
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

    private static func dimensions(_ value: JSON?) throws -> [String: JSON] {
        guard let value, !value.isNull else { return [:] }
        guard let dimensions = value.objectValue else {
            throw ParseError(.incorrectType, "dimensions must be an object of strings.")
        }
        guard dimensions.count <= dimensionsMax else {
            throw ParseError(.validationError, "An event has at most \(dimensionsMax) dimensions.")
        }
        for (key, value) in dimensions {
            guard let text = value.stringValue else {
                throw ParseError(.incorrectType, "dimensions must be an object of strings.")
            }
            guard !key.isEmpty, max(key.utf8.count, text.utf8.count) <= dimensionBytesMax else {
                throw ParseError(.validationError, "A dimension has 1 to \(dimensionBytesMax) bytes.")
            }
        }
        return dimensions
    }
}
