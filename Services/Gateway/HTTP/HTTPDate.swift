import Glibc
import Synchronization

/// The time in the format of the `Date` header (RFC 9110, section 5.6.7), formatted once a second.
final class HTTPDate: Sendable {
    private struct Formatted {
        var second: time_t = 0
        var text = ""
    }

    private let formatted = Mutex(Formatted())

    /// The current time, as the `Date` header has it.
    var text: String {
        let now = time(nil)
        return formatted.withLock { formatted in
            if formatted.second != now { formatted = Formatted(second: now, text: Self.text(of: now)) }
            return formatted.text
        }
    }

    /// Formats seconds since 1970.
    static func text(of second: time_t) -> String {
        var second = second
        var parts = tm()
        gmtime_r(&second, &parts)
        func padded(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let (day, month) = (days[Int(parts.tm_wday) % 7], months[Int(parts.tm_mon) % 12])
        let clock = "\(padded(parts.tm_hour)):\(padded(parts.tm_min)):\(padded(parts.tm_sec))"
        return "\(day), \(padded(parts.tm_mday)) \(month) \(Int(parts.tm_year) + 1900) \(clock) GMT"
    }

    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}
