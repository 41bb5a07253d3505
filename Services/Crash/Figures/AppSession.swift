import Cryptography
import Foundation
import ParseProtocol
import ServiceKit

/// An app session as reported by Sentry SDKs: once when it begins and again when it ends
/// (https://develop.sentry.dev/sdk/telemetry/sessions/). Only digests are stored, so that each session counts once.
package struct AppSession: Equatable, Sendable {
    /// A digest of the session or the device; the original id cannot be recovered from it.
    package typealias Mark = [UInt8]

    /// The day on which it began by the device's clock, since 1970; possibly tomorrow.
    package let day: Int64
    /// The app's version; empty when it sends none.
    package let release: String
    /// Whether this report says that the session ended with a crash.
    package let isCrashed: Bool
    /// The same in every report of the session.
    package let session: Mark
    /// The same for all sessions of a device with this version on this day; nil when the SDK sends no device id.
    package let device: Mark?

    /// Days for which a session is remembered, so that its end is not counted as another session. SDKs send stored
    /// reports after a device was offline; older ones are not counted.
    package static let daysKnown: Int64 = 30

    /// Nil for an invalid session, and when the session begins in the future or began more than 30 days ago.
    /// - Parameters:
    ///   - projectId: part of the digest, so that sessions of different projects differ.
    ///   - zone: decides where days begin.
    package init?(_ report: JSON, projectId: Int64, zone: ShopZone = .utc, now: Timestamp) {
        guard let id = report["sid"]?.stringValue, (1...64).contains(id.utf8.count),
            let moment = report["started"]?.stringValue.flatMap(Timestamp.init(iso:))
        else { return nil }
        let (today, started) = (zone.day(of: now), zone.day(of: moment))
        // A device's clock may be a little ahead, or its time zone; one extra day covers both.
        guard started >= today - Self.daysKnown, started <= today + 1 else { return nil }
        day = started
        let name = report["attrs"]?["release"]?.stringValue ?? ""
        release = name.utf8.count <= 250 && !name.utf8.contains(0) ? name : ""
        isCrashed = report["status"] == "crashed"
        session = Self.mark(["session", String(projectId), id.lowercased()])
        let person = report["did"].flatMap { $0.stringValue ?? $0.intValue.map(String.init) } ?? ""
        let isNamed = (1...250).contains(person.utf8.count)
        device = isNamed ? Self.mark(["device", String(projectId), release, person]) : nil
    }

    /// The stored form until the session is counted.
    package var json: JSON {
        [
            "day": .int(day), "release": .string(release), "isCrashed": .bool(isCrashed),
            "session": .string(Self.text(session)), "device": device.map { .string(Self.text($0)) } ?? .null,
        ]
    }

    /// - Throws: `ParseError.internalError` for input that `json` did not write.
    package init(json: JSON) throws {
        guard let day = json["day"]?.intValue, let session = Self.mark(json["session"]) else {
            throw ParseError.internalError
        }
        self.day = day
        self.session = session
        release = json["release"]?.stringValue ?? ""
        isCrashed = json["isCrashed"] == true
        device = Self.mark(json["device"])
    }

    private static func text(_ mark: Mark) -> String { Data(mark).base64EncodedString() }

    private static func mark(_ text: JSON?) -> Mark? {
        (text?.stringValue).flatMap { Data(base64Encoded: $0) }.map(Array.init)
    }

    /// A derived mark for an attribute of a session or device, such as its crash.
    package static func mark(_ mark: Mark, _ word: String) -> Mark { digest(mark + Array(word.utf8)) }

    private static func mark(_ parts: [String]) -> Mark { digest(Array(parts.joined(separator: "\0").utf8)) }

    /// 96 bits suffice to avoid collisions among the sessions of one day.
    private static func digest(_ bytes: [UInt8]) -> Mark { Array(SHA256.hash(data: Data(bytes)).prefix(12)) }
}
