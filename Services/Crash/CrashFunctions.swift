import MessageBus
import ObjectStore
import ParseProtocol
import ServiceKit

/// The cloud functions for an operator's crash list.
package struct CrashFunctions: Sendable {
    let host: ServiceHost
    let dsn: @Sendable (_ key: String, _ projectId: String) -> String
    /// The shop's zone, in which days are counted.
    let zone: ShopZone

    func install(_ routes: inout ServiceRoutes) {
        reading("crashReports", &routes) { parameters, reader in
            .array(try EventStore.newest(limit: try parameters.listLimit(), reader))
        }
        reading("crashIssues", &routes) { parameters, reader in
            try IssueDesk.list(parameters, limit: try parameters.listLimit(), reader)
        }
        reading("crashIssue", &routes) { try IssueDesk.one($0, $1) }
        reading("crashTrend", &routes) { [zone] parameters, reader in
            try CrashFigures(parameters, zone: zone).trend(issueId: try IssueDesk.id(parameters, reader), reader)
        }
        reading("crashFreeRate", &routes) { [zone] in try CrashFigures($0, zone: zone).crashFree($1) }
        reading("crashProjects", &routes) { [dsn] _, reader in try Projects.list(reader, dsn: dsn) }

        writing("resolveCrashIssue", &routes) { try IssueDesk.resolve($0, in: $1) }
        writing("ignoreCrashIssue", &routes) { try IssueDesk.set(.ignored, $0, in: $1) }
        writing("reopenCrashIssue", &routes) { try IssueDesk.set(.unresolved, $0, in: $1) }
        writing("createCrashProject", &routes) { [dsn] parameters, transaction in
            let project = try Projects.create(parameters["name"], in: transaction)
            return [
                "projectId": .string(project.id), "key": .string(project.key),
                "dsn": .string(dsn(project.key, project.id)),
            ]
        }
        writing("disableCrashKey", &routes) { parameters, transaction in
            try Projects.disable(parameters["key"], in: transaction)
            return ["disabled": true]
        }
    }

    private func reading(
        _ name: String, _ routes: inout ServiceRoutes,
        _ body: @escaping @Sendable (_ parameters: JSON, _ reader: StoreReader) throws -> JSON
    ) {
        routes.function(name) { [host] parameters, request in
            try request.requireArea(.developers, .support)
            return try .result(try await host.store.read(for: request.share) { try body(parameters, $0) })
        }
    }

    private func writing(
        _ name: String, _ routes: inout ServiceRoutes,
        _ body: @escaping @Sendable (_ parameters: JSON, _ transaction: StoreTransaction) throws -> JSON
    ) {
        routes.function(name) { [host] parameters, request in
            try request.requireArea(.developers)
            return try await host.commit(request) { transaction in
                let before = try IssueDesk.state(parameters, in: transaction)
                let result = try body(parameters, transaction)
                let after = try IssueDesk.state(parameters, in: transaction)
                try host.audit.note(
                    .init(name, "", Self.subject(parameters, result), before: before, after: after), by: request,
                    in: transaction)
                return try .result(result)
            }
        }
    }

    /// What a change concerns, for the audit log: an issue, a new project or a key.
    package static func subject(_ parameters: JSON, _ result: JSON) -> String {
        [parameters["issueId"], result["projectId"], parameters["key"]].lazy.compactMap { $0?.stringValue }.first ?? ""
    }
}
