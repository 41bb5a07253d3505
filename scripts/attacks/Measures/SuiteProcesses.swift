import Foundation

/// The space that the attacked suite takes on the disk: databases, files, spools and logs.
enum SuiteDisk {
    /// Bytes.
    static func bytes(dataDirectory: String) -> Int {
        let keys: [URLResourceKey] = [.fileSizeKey, .isRegularFileKey]
        let folder = URL(fileURLWithPath: dataDirectory)
        guard let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: keys) else { return 0 }
        return files.reduce(0) { sum, file in
            let values = try? (file as? URL)?.resourceValues(forKeys: Set(keys))
            return sum + (values?.isRegularFile == true ? values?.fileSize ?? 0 : 0)
        }
    }
}

/// The processes of the attacked suite, found by the data directory in their environment.
struct SuiteProcesses {
    /// Pids by replica, `catalog-1`.
    let replicas: [String: pid_t]
    /// The pids of the replicas and of their children, such as a process that makes a picture.
    let all: [pid_t]

    init(dataDirectory: String) {
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
    var proportionalBytes: Int {
        all.reduce(0) { sum, pid in
            let text = (try? String(contentsOfFile: "/proc/\(pid)/smaps_rollup", encoding: .utf8)) ?? ""
            let line = text.split(separator: "\n").first { $0.hasPrefix("Pss:") }
            return sum + (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) << 10
        }
    }

    /// Bytes of memory of all, shared pages counted in each (RSS): quick to ask for.
    var residentBytes: Int {
        all.reduce(0) { sum, pid in
            let text = (try? String(contentsOfFile: "/proc/\(pid)/statm", encoding: .utf8)) ?? ""
            return sum + (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0)
                * Int(sysconf(Int32(_SC_PAGESIZE)))
        }
    }
}
