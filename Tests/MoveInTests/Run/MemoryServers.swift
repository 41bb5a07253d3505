import ParseProtocol

@testable import MoveIn

/// An old server in memory.
struct MemoryServer: OldServer {
    var name = "memory"
    var schemas: [MovedClass] = []
    var rows: [String: [MovedRow]] = [:]
    var refused: [RefusedRow] = []
    /// The class whose second pack cannot be read.
    var brokenClass: String?

    func classes() async throws -> [MovedClass] { schemas }

    func read(_ className: String, since: Int64?, into sink: any RowSink) async throws {
        let rows = rows[className] ?? []
        for start in stride(from: 0, to: rows.count, by: 100) {
            if start > 0, brokenClass == className { throw MoveInError("memory: the source ends early.") }
            try await sink.take(Array(rows[start..<min(start + 100, rows.count)]))
        }
        for refusal in refused where refusal.className == className { try await sink.refuse(refusal) }
    }

    mutating func add(_ className: String, _ id: String, _ fields: [String: JSON] = [:], updatedAt: Int64 = 1) {
        if !schemas.contains(where: { $0.name == className }) { schemas.append(MovedClass(name: className)) }
        rows[className, default: []].append(MovedRow(className, id, fields, updatedAt: updatedAt))
    }
}

extension MovedRow {
    init(_ className: String, _ id: String, _ fields: [String: JSON] = [:], updatedAt: Int64 = 1) {
        self.init(
            className: className, objectId: id, updatedAt: updatedAt,
            fields: fields.merging(["objectId": .string(id)]) { $1 },
            place: SourcePlace(file: "\(className).json", offset: nil))
    }
}

/// A suite in memory that keeps the contract of `/moves`.
actor MemorySuite: MoveSuite {
    private(set) var rows: [String: [String: String]] = [:]
    private(set) var requests: [String] = []
    private(set) var settings: [SettingRequest] = []
    private(set) var stagedSchemas: [MovedClass] = []
    var wireSchemas: [JSON] = []
    /// States that are answered in turn; the last one remains.
    private var states: [MoveState] = []
    private var losesStart = false

    init(schemas: [JSON] = [], states: [MoveState] = [], losesStart: Bool = false) {
        (wireSchemas, self.states, self.losesStart) = (schemas, states, losesStart)
    }

    func stage(_ schema: MovedClass) async throws { stagedSchemas.append(schema) }

    func stage(_ batch: Batch, of className: String) async throws {
        let lines = String(decoding: batch.bytes, as: UTF8.self)
        guard !lines.contains("malformed") else {
            throw SuiteRefusal(request: "rows", status: 400, code: 107, message: "A line is malformed.")
        }
        requests.append("rows \(className) \(batch.rows)")
        for line in lines.split(separator: "\n") {
            let parts = line.split(separator: "\t", maxSplits: 2).map(String.init)
            guard parts.count == 3 else { throw MoveInError("A line is malformed: \(line)") }
            rows[className, default: [:]][parts[0]] = parts[2]
        }
    }

    func unstage(_ ids: [String], of className: String, dropsClass: Bool) async throws {
        requests.append("removals \(className) \(ids.count)")
        for id in ids { rows[className]?[id] = nil }
        guard dropsClass, rows[className]?.isEmpty != false else { return }
        rows[className] = nil
        stagedSchemas.removeAll { $0.name == className }
    }

    func staged(_ className: String, after id: String, limit: Int) async throws -> StagedPage {
        let lines = (rows[className] ?? [:]).filter { $0.key > id }.sorted { $0.key < $1.key }.prefix(min(limit, 30))
            .map { id, text in
                "\(id)\t1\t\(String(RowLine.checksum(Array(text.utf8)), radix: 16))\n"
            }
        return try StagedPage(parsing: Array(lines.joined().utf8))
    }

    func state() async throws -> MoveState {
        if states.count > 1 { return states.removeFirst() }
        if let last = states.first { return last }
        let names = Set(rows.keys).union(stagedSchemas.map(\.name))
        let classes = names.map { MoveState.StagedClass(name: $0, rows: rows[$0]?.count ?? 0, bytes: 0) }
        return MoveState(phase: classes.isEmpty ? .empty : .staged, classes: classes)
    }

    func startSwitch(rehearses: Bool) async throws {
        if losesStart { throw NoAnswer(description: "lost", retryAfterSeconds: nil) }
    }

    func drop() async throws { (rows, stagedSchemas) = ([:], []) }
    func schemas() async throws -> [JSON] { wireSchemas }

    func apply(_ setting: SettingRequest) async throws {
        guard setting.verb == .change || !settings.contains(where: { $0.name == setting.name }) else {
            throw SuiteRefusal(request: setting.path, status: 400, code: 143, message: "It already exists.")
        }
        guard setting.name != "Config refused" else {
            throw SuiteRefusal(request: setting.path, status: 400, code: 105, message: "no such name")
        }
        settings.append(setting)
    }

    func stageWithoutRows(_ className: String) { stagedSchemas.append(MovedClass(name: className)) }
    func forget() { requests = [] }
}

/// Keeps refused rows in memory.
actor MemoryRefusals: RefusalList {
    private(set) var all: [RefusedRow] = []

    func add(_ refusal: RefusedRow) async throws { all.append(refusal) }
}
