import Cryptography
import Foundation
import ParseProtocol

/// The validated content of a push: the `data` of a request (PARSE_PROTOCOL section 9).
package struct PushPayload: Sendable {
    package enum Badge: Sendable, Hashable {
        case set(Int64)
        case increment(Int64)
    }

    /// As sent by the client.
    package let data: JSON
    package let badge: Badge?

    /// APNs refuses larger payloads
    /// (https://developer.apple.com/documentation/usernotifications/generating-a-remote-notification).
    package static let bytesMax = 4096
    private static let badgeMax: Int64 = 999_999_999

    /// - Throws: `.pushMisconfigured` (115) for an invalid payload, `.objectTooLarge` (116) for one too large for any
    ///   provider.
    package init(_ data: JSON?) throws(ParseError) {
        guard let data, case .object(let members) = data else {
            throw ParseError(.pushMisconfigured, "data must be an object.")
        }
        switch members["alert"] {
        case nil, .string, .object: break
        default: throw ParseError(.pushMisconfigured, "alert must be a string or an object.")
        }
        for name in ["title", "category", "collapse_id"] {
            guard let value = members[name] else { continue }
            guard value.stringValue != nil else { throw ParseError(.pushMisconfigured, "\(name) must be a string.") }
        }
        badge = try Self.badge(members["badge"])
        self.data = data
        guard apns(badge: badge == nil ? nil : Self.badgeMax).count <= Self.bytesMax else {
            throw ParseError(.objectTooLarge, "A push has at most \(Self.bytesMax) bytes.")
        }
    }

    /// A payload that was validated when it was stored.
    init(stored: [UInt8]) throws { try self.init(JSON(parsing: stored)) }

    private static func badge(_ value: JSON?) throws(ParseError) -> Badge? {
        guard let value, !value.isNull else { return nil }
        if let text = value.stringValue, text.lowercased() == "increment" { return .increment(1) }
        if let number = value.intValue, (0...badgeMax).contains(number) { return .set(number) }
        let amount = value["__op"] == "Increment" ? value["amount"] : value["increment"]
        if let amount = amount?.intValue, (1...badgeMax).contains(amount) { return .increment(amount) }
        throw ParseError(.pushMisconfigured, "badge must be a whole number from 0 or Increment.")
    }

    /// The hash that an app reports when this push opens it.
    package var hash: String {
        let text = data["alert"].map { $0.stringValue ?? $0.serializedText } ?? ""
        return Insecure.MD5.hash(data: Data(text.utf8)).hex
    }

    /// True without visible content: the push only wakes the app.
    package var isBackground: Bool {
        data["content-available"]?.intValue == 1 && data["alert"] == nil && data["sound"] == nil && badge == nil
    }

    /// Notifications with the same id replace each other on a device. At most 64 bytes, otherwise nil.
    package var collapseId: String? {
        data["collapse_id"]?.stringValue.flatMap { (1...64).contains($0.utf8.count) ? $0 : nil }
    }

    /// The body for APNs: `aps` for members that iOS defines, all others at the top level.
    package func apns(badge: Int64?) -> [UInt8] {
        var custom = data.objectValue ?? [:]
        var aps: [String: JSON] = [:]
        for name in Self.apsMembers { aps[name] = custom.removeValue(forKey: name) }
        let title = custom.removeValue(forKey: "title")
        switch custom.removeValue(forKey: "alert") {
        case .object(var members):
            members["title"] = members["title"] ?? title
            aps["alert"] = .object(members)
        case let alert?: aps["alert"] = title.map { ["title": $0, "body": alert] } ?? alert
        case nil: aps["alert"] = title.map { ["title": $0] }
        }
        aps["badge"] = badge.map(JSON.int)
        custom["badge"] = nil
        custom["collapse_id"] = nil
        custom["aps"] = .object(aps)
        return JSON.object(custom).serialized
    }

    private static let apsMembers = [
        "sound", "content-available", "mutable-content", "category", "thread-id", "interruption-level",
        "relevance-score", "target-content-id",
    ]
}
