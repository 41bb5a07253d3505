import Foundation

/// The processes of a suite on this machine, found by the data directory in their environment.
package struct SuiteProcesses: Sendable {
    /// Pids by replica, `catalog-1`.
    package let replicas: [String: pid_t]
    /// Those and their children, such as a process that makes a picture.
    package let all: [pid_t]

    /// The processes that run now.
    package init(dataDirectory: String) {
        let wanted = Data("SATCHEL_DATA=\(dataDirectory)\0".utf8), mark = Data("SATCHEL_REPLICA=".utf8)
        var replicas: [String: pid_t] = [:]
        var all: [pid_t] = []
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        for pid in names.compactMap(pid_t.init).sorted() {
            guard let environment = FileManager.default.contents(atPath: "/proc/\(pid)/environ"),
                environment.range(of: wanted) != nil, let start = environment.range(of: mark)
            else { continue }
            all.append(pid)
            let name = environment[start.upperBound...].prefix { $0 != 0 }
            let replica = String(decoding: name, as: UTF8.self)
            if replicas[replica] == nil { replicas[replica] = pid }
        }
        (self.replicas, self.all) = (replicas, all)
    }

    /// Bytes of memory of all, pages that are shared counted once (PSS).
    package var proportionalBytes: Int { all.reduce(0) { $0 + Self.proportionalBytes(of: $1) } }

    /// Bytes of memory of all, shared pages counted in each (RSS): quick to ask for.
    package var residentBytes: Int {
        all.reduce(0) { sum, pid in
            let text = (try? String(contentsOfFile: "/proc/\(pid)/statm", encoding: .utf8)) ?? ""
            return sum + (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0)
                * Int(sysconf(Int32(_SC_PAGESIZE)))
        }
    }

    /// Bytes of memory of a process, its share of shared pages (PSS); 0 when it has gone.
    package static func proportionalBytes(of pid: pid_t) -> Int {
        let text = (try? String(contentsOfFile: "/proc/\(pid)/smaps_rollup", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("Pss:") }
        return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) << 10
    }

    /// Seconds of processor time that a process took so far, in user and system mode; nil when it has gone.
    package static func processorSeconds(of pid: pid_t) -> Double? {
        guard let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
            let name = text.lastIndex(of: ")")
        else { return nil }
        // proc(5): after the name in brackets comes the state, field 3; utime and stime are fields 14 and 15.
        let fields = text[text.index(after: name)...].split(separator: " ")
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return nil }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}
