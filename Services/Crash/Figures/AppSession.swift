import Cryptography
import Foundation
import ParseProtocol
import ServiceKit

/// A session of an app as Sentry SDKs tell it: once when it begins and again when it ends
/// (https://develop.sentry.dev/sdk/telemetry/sessions/). Nothing of it is kept but marks, by which it counts once.
package struct AppSession: Equatable, Sendable {
    /// Digests stand for the session and the device: what they were made of cannot be read from them.
    package typealias Mark = [UInt8]

    /// The day on which it began, since 1970.
    package let day: Int64
    /// The app's version; empty when it does not say one.
    package let release: String
    /// Whether this report says that it ended with a crash.
    package let isCrashed: Bool
    /// The same in every report of the session.
    package let session: Mark
    /// The same for all sessions of a device with this version on this day; nil when the SDK names no device.
    package let device: Mark?

    /// Days for which a session is known, so that its end is not taken for another one. SDKs send what they kept while
    /// a device was offline; older ones are not counted.
    package static let daysKnown: Int64 = 30

    /// Nil for what is no session, one that has not begun yet, and one that began more than 30 days ago.
    /// - Parameter projectId: sessions of different projects are different.
    package init?(_ report: JSON, projectId: Int64, now: Timestamp) {
        guard let id = report["sid"]?.stringValue, (1...64).contains(id.utf8.count),
            let moment = report["started"]?.stringValue.flatMap(Timestamp.init(iso:))
        else { return nil }
        let (today, started) = (Hour(of: now).day, Hour(of: moment).day)
        // A clock may be a little ahead; with a day more nobody is at home.
        guard started >= today - Self.daysKnown, started <= today + 1 else { return nil }
        day = min(started, today)
        let name = report["attrs"]?["release"]?.stringValue ?? ""
        release = name.utf8.count <= 250 ? name : ""
        isCrashed = report["status"] == "crashed"
        session = Self.mark(["session", String(projectId), id.lowercased()])
        let person = report["did"].flatMap { $0.stringValue ?? $0.intValue.map(String.init) } ?? ""
        let isNamed = (1...250).contains(person.utf8.count)
        device = isNamed ? Self.mark(["device", String(projectId), release, person]) : nil
    }

    /// As it is kept until it is counted.
    package var json: JSON {
        [
            "day": .int(day), "release": .string(release), "isCrashed": .bool(isCrashed),
            "session": .string(Self.text(session)), "device": device.map { .string(Self.text($0)) } ?? .null,
        ]
    }

    /// - Throws: `ParseError.internalError` for what `json` did not write.
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

    /// The mark of something about what a mark stands for, such as its crash.
    package static func mark(_ mark: Mark, _ word: String) -> Mark { digest(mark + Array(word.utf8)) }

    private static func mark(_ parts: [String]) -> Mark { digest(Array(parts.joined(separator: "\0").utf8)) }

    /// Of a day's sessions no two agree in 96 bits.
    private static func digest(_ bytes: [UInt8]) -> Mark { Array(SHA256.hash(data: Data(bytes)).prefix(12)) }
}
