import Cryptography
import Foundation
import ParseProtocol

/// A decoded event, ready to be stored.
package struct StoredEvent: Sendable {
    package let eventId: String
    package let crash: CrashEvent
    package let fingerprint: Fingerprint
    /// The user's id from the app, for account deletion; empty when there is none.
    package let userId: String
    /// Identifies the user in counts; nil when the event names none.
    package let userHash: String?
    /// The event's JSON after scrubbing.
    package let json: [UInt8]

    package init(_ sent: JSON, eventId: String) {
        self.eventId = eventId
        // Scrubbed first, so that lists and titles contain no secret either.
        let event = EventScrubber.scrubbed(sent)
        crash = CrashEvent(event)
        fingerprint = Fingerprint(crash)
        let user = event["user"]
        let id = user?["id"].flatMap { $0.stringValue ?? $0.intValue.map(String.init) } ?? ""
        userId = id.utf8.count <= 200 ? id : ""
        let name = [id, user?["username"]?.stringValue ?? "", user?["email"]?.stringValue ?? ""].first { !$0.isEmpty }
        userHash = name.map(Self.hash)
        json = event.serialized
    }

    static func hash(_ user: String) -> String {
        Data(SHA256.hash(data: Data(user.utf8)).prefix(16)).base64EncodedString()
    }
}
