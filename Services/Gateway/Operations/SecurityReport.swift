import ParseProtocol

/// The result of a self-check in Parse Server's form.
struct SecurityReport: Sendable {
    struct Check: Sendable {
        let title: String
        /// The problem and its solution; nil when the check passes.
        let problem: (warning: String, solution: String)?

        init(_ title: String, isFine: Bool, _ warning: String, _ solution: String) {
            self.title = title
            problem = isFine ? nil : (warning, solution)
        }

        fileprivate var json: JSON {
            guard let problem else { return ["title": .string(title), "state": "success"] }
            return [
                "title": .string(title), "state": "fail", "warning": .string(problem.warning),
                "solution": .string(problem.solution),
            ]
        }
    }

    var groups: [(name: String, checks: [Check])] = []

    private static func state(_ checks: [Check]) -> JSON { checks.contains { $0.problem != nil } ? "fail" : "success" }

    var json: JSON {
        let groups = groups.map { group -> JSON in
            [
                "name": .string(group.name), "state": Self.state(group.checks),
                "checks": .array(group.checks.map(\.json)),
            ]
        }
        return [
            "report": [
                "version": "1.0.0", "state": Self.state(self.groups.flatMap(\.checks)), "groups": .array(groups),
            ]
        ]
    }
}
