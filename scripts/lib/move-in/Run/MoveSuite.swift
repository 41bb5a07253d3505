import ParseProtocol

/// The suite that a shop moves into: its routes under `/moves`, and the settings that are not rows.
protocol MoveSuite: Sendable {
    func stage(_ schema: MovedClass) async throws
    func stage(_ batch: Batch, of className: String) async throws
    /// - Parameter dropsClass: also drops the staged schema, if no row of the class is left.
    func unstage(_ ids: [String], of className: String, dropsClass: Bool) async throws
    /// The staged rows after an id, in the byte order of ids.
    func staged(_ className: String, after id: String, limit: Int) async throws -> StagedPage
    func state() async throws -> MoveState
    /// Starts the switch. It may run although this throws, when the answer was lost.
    func startSwitch(rehearses: Bool) async throws
    /// Drops everything that is staged.
    func drop() async throws
    /// The suite's classes in the form of Parse's schema route.
    func schemas() async throws -> [JSON]
    func apply(_ setting: SettingRequest) async throws
}

/// A request that applies a part of the old server which is no row.
struct SettingRequest: Sendable, Equatable {
    enum Verb: Sendable { case create, change }

    var verb: Verb
    var path: String
    var body: JSON
    /// The setting's name in messages.
    var name: String
    /// The path under which it is changed when it exists.
    var present: String?
}

/// An answer by which the suite refuses a request.
struct SuiteRefusal: Error, Sendable, CustomStringConvertible {
    var request: String
    var status: Int
    var code: Int64?
    var message: String

    var description: String { "\(request) answered \(status)\(code.map { ", code \($0)" } ?? ""): \(message)" }
}

/// Where a move is, as `GET /moves` answers.
struct MoveState: Sendable, Equatable {
    enum Phase: String, Sendable {
        case empty, staged, switching, switched, failed
    }

    struct StagedClass: Sendable, Equatable {
        var name: String
        var rows: Int
        var bytes: Int
    }

    struct Failure: Sendable, Equatable {
        var className: String
        var objectId: String
        var code: Int64
        var error: String
    }

    struct Service: Sendable, Equatable {
        var name: String
        var phase: Phase
        var applied: Int
        var rows: Int
        /// The first hundred.
        var failures: [Failure]
        var failed: Int
    }

    var phase: Phase
    var classes: [StagedClass] = []
    var services: [Service] = []

    init(phase: Phase, classes: [StagedClass] = [], services: [Service] = []) {
        (self.phase, self.classes, self.services) = (phase, classes, services)
    }

    /// - Throws: `MoveInError` for an answer of another form.
    init(json: JSON) throws {
        func number(_ json: JSON, _ name: String) -> Int { Int(clamping: json[name]?.intValue ?? 0) }
        func text(_ json: JSON, _ name: String) -> String { json[name]?.stringValue ?? "" }
        guard let phase = Phase(rawValue: text(json, "phase")) else {
            throw MoveInError("The suite answers in an unknown form: update both to one release.")
        }
        self.phase = phase
        classes = (json["classes"]?.arrayValue ?? []).map {
            StagedClass(name: text($0, "className"), rows: number($0, "rows"), bytes: number($0, "bytes"))
        }
        services = (json["services"]?.arrayValue ?? []).map { service in
            let failures = (service["failures"]?.arrayValue ?? []).map {
                Failure(
                    className: text($0, "className"), objectId: text($0, "objectId"),
                    code: $0["code"]?.intValue ?? 0, error: text($0, "error"))
            }
            return Service(
                name: text(service, "service"), phase: Phase(rawValue: text(service, "phase")) ?? phase,
                applied: number(service, "applied"), rows: number(service, "rows"), failures: failures,
                failed: max(number(service, "failed"), failures.count))
        }
    }
}
