import ParseProtocol

/// Makes the staged rows visible, or rehearses that.
struct SwitchRun: Sendable {
    let suite: any MoveSuite
    let rehearses: Bool
    /// Between two looks at the state.
    var pause = Duration.seconds(1)

    /// Starts the switch and returns its last state.
    func run() async throws -> MoveState {
        var watch = SwitchWatch(rehearses: rehearses)
        do {
            try await suite.startSwitch(rehearses: rehearses)
        } catch is NoAnswer {
            // The suite may have started it: its state shows that.
            watch.answerWasLost()
        }
        while true {
            let state = try await suite.state()
            switch watch.take(state) {
            case .wait(let text):
                ProgressLine.show(text)
                try await Task.sleep(for: pause)
            case .done:
                ProgressLine.end()
                return state
            case .notStarted:
                let problem = rehearses ? "rehearse in every service" : "start the switch"
                throw MoveInError("The suite did not \(problem). Try again when it is healthy: scripts/status.")
            }
        }
    }

    /// Waits for the switch or rehearsal of an interrupted run.
    /// - Returns: whether everything is switched.
    static func isSwitched(_ suite: any MoveSuite, pause: Duration = .seconds(1)) async throws -> Bool {
        var state = try await suite.state()
        guard state.phase == .switching else { return state.phase == .switched }
        while state.phase == .switching {
            ProgressLine.show("Waiting for a switch that runs: \(state.progress)")
            try await Task.sleep(for: pause)
            state = try await suite.state()
        }
        ProgressLine.end()
        return state.phase == .switched
    }
}

/// Decides from the suite's states when a switch is over.
struct SwitchWatch: Sendable {
    enum Action: Sendable, Equatable {
        case wait(String)
        case done
        /// The suite remained as it was.
        case notStarted
    }

    private let rehearses: Bool
    private var isStarted = true
    /// The number of states without a running switch before the watch gives up.
    private var looksLeft = 10
    /// Looks in a row at a rehearsal that seems to be over.
    private var endsSeen = 0

    init(rehearses: Bool) { self.rehearses = rehearses }

    mutating func answerWasLost() { isStarted = false }

    mutating func take(_ state: MoveState) -> Action {
        switch state.phase {
        case .switching:
            (isStarted, looksLeft, endsSeen) = (true, 10, 0)
            return .wait((rehearses ? "Rehearsing: " : "Switching: ") + state.progress)
        case .switched: return .done
        case .failed where !rehearses: return .done
        case .empty, .staged, .failed:
            // A rehearsal leaves the rows staged. Between two services another gateway may see no switch and results
            // of an earlier rehearsal, and a service that was killed has no result.
            if isStarted, rehearses, state.services.allSatisfy(\.isRehearsed) {
                endsSeen += 1
                return endsSeen > 1 ? .done : .wait("Rehearsing: " + state.progress)
            }
            endsSeen = 0
            looksLeft -= 1
            return looksLeft > 0 ? .wait("Waiting for the suite") : .notStarted
        }
    }
}

extension MoveState.Service {
    /// Whether a rehearsal went through all rows, or found refusals.
    fileprivate var isRehearsed: Bool { applied >= rows || failed > 0 }
}

extension MoveState {
    fileprivate var progress: String {
        services.map { "\($0.name) \($0.applied) of \($0.rows)" }.joined(separator: ", ")
    }

    /// The state for people.
    var text: String {
        var lines = ["Phase: \(phase.rawValue)"]
        lines += classes.map { "  \($0.name): \($0.rows) rows staged, \($0.bytes / 1000) KB" }
        for service in services {
            lines.append("  \(service.name): \(service.phase.rawValue), \(service.applied) of \(service.rows) rows")
            lines += service.failures.map {
                "    \($0.className) \($0.objectId): \($0.error) (code \($0.code))\n      \($0.remedy)"
            }
            if service.failed > service.failures.count {
                lines.append("    and \(service.failed - service.failures.count) more")
            }
        }
        return lines.joined(separator: "\n")
    }

    var failed: Int { services.reduce(0) { $0 + $1.failed } }
}

extension MoveState.Failure {
    /// What to do about an error code.
    var remedy: String {
        switch code {
        case 101: "It belongs to an object that is missing: mend the row on the old server, or skip its class."
        case 103, 105, 121: "Rename the class or field by --map, and run again."
        case 111: "The field has another type here: rename it by --map, and run again."
        case 116: "Make the object smaller on the old server, and run again."
        case 119: "The name belongs to Satchel: rename or skip it by --map, and run again."
        case 137, 202, 203: "Another object has this value: change one of them on the old server, and run again."
        default: "Mend the row on the old server, or skip its class or field by --map, and run again."
        }
    }
}

/// Parts of an old server that are no rows: Config's parameters and webhooks.
enum Settings {
    /// Applies them. A repetition changes nothing more.
    /// - Returns: a line for each setting that could not be read or that the suite refused.
    static func apply(
        from source: any OldServer, _ mapping: Mapping, to suite: any MoveSuite, withFiles: RowsWithFiles = { $0 }
    ) async throws -> [String] {
        let known = Set(try await source.classes().map(\.name))
        var requests: [SettingRequest] = []
        var refused: [String] = []
        for name in [ClassKind.config, ClassKind.hooks] where known.contains(name) {
            let rows = CollectedRows()
            try await source.read(name, since: nil, into: rows)
            refused += await rows.problems
            let mapped = try await withFiles(await rows.rows.compactMap { mapping.row($0) })
            for row in mapped { requests += Self.requests(row, mapping) }
        }
        for request in requests {
            do { try await apply(request, to: suite) } catch let refusal as SuiteRefusal {
                refused.append("\(request.name): \(refusal.message)")
            }
        }
        return refused
    }

    /// Changes a webhook that exists.
    private static func apply(_ request: SettingRequest, to suite: any MoveSuite) async throws {
        do {
            try await suite.apply(request)
        } catch let refusal as SuiteRefusal where refusal.code == webhookError {
            guard let present = request.present else { throw refusal }
            var change = request
            (change.verb, change.path) = (.change, present)
            // A refused change says nothing new.
            do { try await suite.apply(change) } catch is SuiteRefusal { throw refusal }
        }
    }

    private static let webhookError: Int64 = 143

    /// One request for each parameter and each webhook, so that a refused one stops no other.
    static func requests(_ row: MovedRow, _ mapping: Mapping) -> [SettingRequest] {
        guard row.className != ClassKind.config else {
            let hidden = row.fields["masterKeyOnly"]
            return (row.fields["params"]?.objectValue ?? [:]).sorted { $0.key < $1.key }.map { name, value in
                var body: JSON = ["params": .object([name: value])]
                if hidden?[name] == true { body["masterKeyOnly"] = .object([name: true]) }
                return SettingRequest(verb: .change, path: "/config", body: body, name: "Config \(name)")
            }
        }
        guard let url = row.fields["url"] else { return [] }
        if let function = row.fields["functionName"]?.stringValue {
            return [
                SettingRequest(
                    verb: .create, path: "/hooks/functions", body: ["functionName": .string(function), "url": url],
                    name: "webhook \(function)", present: "/hooks/functions/\(function.percentEncoded)")
            ]
        }
        guard let oldName = row.fields["className"]?.stringValue, let className = mapping.className(oldName),
            let trigger = row.fields["triggerName"]?.stringValue
        else { return [] }
        return [
            SettingRequest(
                verb: .create, path: "/hooks/triggers",
                body: ["className": .string(className), "triggerName": .string(trigger), "url": url],
                name: "webhook \(trigger) of \(className)",
                present: "/hooks/triggers/\(className.percentEncoded)/\(trigger.percentEncoded)")
        ]
    }
}

private actor CollectedRows: RowSink {
    private(set) var rows: [MovedRow] = []
    private(set) var problems: [String] = []

    func take(_ rows: [MovedRow]) async throws { self.rows += rows }

    func refuse(_ refusal: RefusedRow) async throws {
        problems.append("\(refusal.className) (\(refusal.place)): \(refusal.reason)")
    }
}
