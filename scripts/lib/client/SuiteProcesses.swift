import Foundation

/// The processes of a suite on this machine, found by the data directory in their environment.
package struct SuiteProcesses: Sendable {
    /// Process ids by replica, such as `catalog-1`.
    package let replicas: [String: pid_t]
    /// The replicas and their child processes, for example while a picture is made.
    package var all: [pid_t] { processes.map(\.pid) }
    private let processes: [(pid: pid_t, replica: String, isNode: Bool)]

    /// The processes that run now.
    package init(dataDirectory: String) {
        let wanted = Data("SATCHEL_DATA=\(dataDirectory)\0".utf8), mark = Data("SATCHEL_REPLICA=".utf8)
        var replicas: [String: pid_t] = [:]
        var processes: [(pid: pid_t, replica: String, isNode: Bool)] = []
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        for pid in names.compactMap(pid_t.init).sorted() {
            guard let environment = FileManager.default.contents(atPath: "/proc/\(pid)/environ"),
                environment.range(of: wanted) != nil, let start = environment.range(of: mark)
            else { continue }
            let name = environment[start.upperBound...].prefix { $0 != 0 }
            let replica = String(decoding: name, as: UTF8.self)
            let program = (try? String(contentsOfFile: "/proc/\(pid)/comm", encoding: .utf8)) ?? ""
            processes.append((pid, replica, program.hasPrefix("node")))
            if replicas[replica] == nil { replicas[replica] = pid }
        }
        (self.replicas, self.processes) = (replicas, processes)
    }

    /// Memory (PSS) in bytes by replica, including its children. The Node processes that run cloud code are named
    /// `node`.
    package var proportionalBytesByReplica: [String: Int] {
        processes.reduce(into: [:]) {
            $0[$1.isNode ? "node" : $1.replica, default: 0] += Self.proportionalBytes(of: $1.pid)
        }
    }

    /// Total memory in bytes, shared pages counted once (PSS).
    package var proportionalBytes: Int { all.reduce(0) { $0 + Self.proportionalBytes(of: $1) } }

    /// Total memory in bytes, shared pages counted in each process (RSS): fast to read.
    package var residentBytes: Int {
        all.reduce(0) { sum, pid in
            let text = (try? String(contentsOfFile: "/proc/\(pid)/statm", encoding: .utf8)) ?? ""
            return sum + (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0)
                * Int(sysconf(Int32(_SC_PAGESIZE)))
        }
    }

    /// Memory of a process in bytes, with its share of shared pages (PSS); 0 when it has ended.
    package static func proportionalBytes(of pid: pid_t) -> Int {
        let text = (try? String(contentsOfFile: "/proc/\(pid)/smaps_rollup", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("Pss:") }
        return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) << 10
    }

    /// Processor time of a process so far in seconds, user and system mode; nil when it has ended.
    package static func processorSeconds(of pid: pid_t) -> Double? {
        guard let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
            let name = text.lastIndex(of: ")")
        else { return nil }
        // proc(5): the state, field 3, follows the name in brackets; utime and stime are fields 14 and 15.
        let fields = text[text.index(after: name)...].split(separator: " ")
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return nil }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}
