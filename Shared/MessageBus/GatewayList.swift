import Foundation
import Glibc

/// The gateways that a service dials: a list that stays, or a file that is looked at while the process runs.
public struct GatewayList: Sendable, Equatable {
    /// The endpoints while there is no file, or nothing in it.
    public var endpoints: [String]
    /// A file with an endpoint a line; empty lines and those that begin with `#` do not count. Whoever changes it
    /// renames a new one into its place. Nil where the list stays.
    public var file: String?

    /// A list of endpoints that stays unless there is a file.
    public init(_ endpoints: [String], file: String? = nil) {
        self.endpoints = endpoints
        self.file = file
    }

    /// The endpoints as they are now, each once and at least one.
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

/// Notices that the file of a list is another one.
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
    /// Between two looks.
    private static let interval: BusClock.Milliseconds = 1000

    init(_ list: GatewayList) {
        path = list.file
        seen = Self.stamp(of: path)
    }

    /// Whether the file changed since the last look; false before it is time for another one.
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
