import Foundation

/// A moment in milliseconds since 1970 (UTC): the resolution of Parse dates.
public struct Timestamp: Hashable, Comparable, Sendable {
    public var milliseconds: Int64

    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    public static var now: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// Reads ISO 8601 with or without a fraction, in UTC (`2022-01-01T12:23:45.678Z`); nil for anything else.
    public init?(iso text: String) {
        // The style accepts years past any calendar we could print again; four digits keep texts sortable.
        guard text.utf8.count >= 20, text.utf8.count <= 30, text.utf8.last == UInt8(ascii: "Z"),
            let date = (try? Timestamp.withFraction.parse(text)) ?? (try? Timestamp.withoutFraction.parse(text))
        else { return nil }
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
        guard (Timestamp.earliest...Timestamp.latest).contains(milliseconds) else { return nil }
        self.milliseconds = Int64(milliseconds)
    }

    /// The form every Parse client expects: exactly three decimals and `Z`.
    public var iso: String {
        Date(timeIntervalSince1970: Double(milliseconds) / 1000).formatted(Timestamp.withFraction)
    }

    /// The Date hash of the wire, `{"__type":"Date","iso":…}`.
    public var wire: JSON { ["__type": "Date", "iso": .string(iso)] }

    public func advanced(by duration: Duration) -> Timestamp {
        Timestamp(milliseconds: milliseconds + duration.components.seconds * 1000
            + duration.components.attoseconds / 1_000_000_000_000_000)
    }

    public static func < (a: Timestamp, b: Timestamp) -> Bool { a.milliseconds < b.milliseconds }

    private static let withFraction = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    private static let withoutFraction = Date.ISO8601FormatStyle()
    /// Year 1 and year 9999.
    private static let earliest = -62_135_596_800_000.0
    private static let latest = 253_402_300_799_999.0
}
