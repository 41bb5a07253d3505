import Foundation
import Glibc

/// The gateways that a service connects to: a fixed list, or a file that is reread while the process runs.
public struct GatewayList: Sendable, Equatable {
    /// The endpoints if there is no file, or if it is empty.
    public var endpoints: [String]
    /// A file with one endpoint per line; empty lines and lines that begin with `#` are ignored. It must be replaced by
    /// a rename. Nil for a fixed list.
    public var file: String?

    /// A fixed list of endpoints, or a file with this fallback.
    public init(_ endpoints: [String], file: String? = nil) {
        self.endpoints = endpoints
        self.file = file
    }

    /// The current endpoints, without duplicates; at least one.
    public var current: [String] {
        guard let file, let text = try? String(contentsOfFile: file, encoding: .utf8) else { return endpoints }
        let listed = Self.endpoints(in: text)
        return listed.isEmpty ? endpoints : listed
    }

    /// The endpoints in the text of a file.
    package static func endpoints(in text: String) -> [String] {
        var endpoints: [String] = []
        for line in text.split(whereSeparator: \.isNewline) {
            let endpoint = line.trimmingCharacters(in: .whitespaces)
            if !endpoint.isEmpty, !endpoint.hasPrefix("#"), !endpoints.contains(endpoint) { endpoints.append(endpoint) }
        }
        return endpoints
    }
}

/// Detects changes of a list's file.
struct GatewayListWatch {
    private struct Stamp: Equatable {
        let file: ino_t
        let size: off_t
        let seconds: Int
        let nanoseconds: Int
    }

    private let path: String?
    private var seen: Stamp?
    private var next: BusClock.Milliseconds = 0
    /// Interval of checks.
    private static let interval: BusClock.Milliseconds = 1000

    init(_ list: GatewayList) {
        path = list.file
        seen = Self.stamp(of: path)
    }

    /// Whether the file changed since the last check; false if no check is due.
    mutating func hasChanged(now: BusClock.Milliseconds) -> Bool {
        guard path != nil, now >= next else { return false }
        next = now + Self.interval
        let stamp = Self.stamp(of: path)
        defer { seen = stamp }
        return stamp != seen
    }

    private static func stamp(of path: String?) -> Stamp? {
        var state = stat()
        guard let path, stat(path, &state) == 0 else { return nil }
        return Stamp(
            file: state.st_ino, size: state.st_size, seconds: state.st_mtim.tv_sec,
            nanoseconds: state.st_mtim.tv_nsec)
    }
}
