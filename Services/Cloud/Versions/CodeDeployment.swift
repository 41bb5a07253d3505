import Logging
import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit
import Synchronization

/// `deployCloudCode`, `activateCloudCode` and `cloudCodeVersions`: manage versions of the code by API, for the master
/// key only and if a setting allows it. scripts/cloud does the same from a folder on the host.
struct CodeDeployment: Sendable {
    let host: ServiceHost
    let runner: CloudRunner
    let versions: CodeVersions
    /// `SATCHEL_CLOUD_DEPLOY_BY_ROUTE`.
    let isOn: Bool

    func install(in routes: inout ServiceRoutes) {
        routes.function("deployCloudCode") { [self] parameters, request in
            try check(request)
            let upload = try CodeUpload(parameters)
            let (number, known) = try await deploy(upload, request)
            return try await answer(number, known, "deployCloudCode", to: request)
        }
        routes.function("activateCloudCode") { [self] parameters, request in
            try check(request)
            guard let number = parameters["version"]?.intValue.flatMap(Int.init(exactly:)), number > 0 else {
                throw ParseError(.validationError, "version is needed: a number of cloudCodeVersions.")
            }
            let known = try await activate(number, request)
            return try await answer(number, known, "activateCloudCode", to: request)
        }
        routes.function("cloudCodeVersions") { [self] _, request in
            try check(request)
            return try .result(list)
        }
    }

    private func check(_ request: ServiceRequest) throws {
        try request.requireMaster()
        guard isOn else {
            throw ParseError(
                .operationForbidden,
                """
                Cloud code is deployed by scripts/cloud. SATCHEL_CLOUD_DEPLOY_BY_ROUTE=true also allows it with the \
                master key.
                """)
        }
    }

    private var list: JSON {
        let known = versions.numbers.map { number -> JSON in
            var version: JSON = ["version": .int(Int64(number))]
            if let made = versions.made(number) { version["createdAt"] = made.wire }
            return version
        }
        return ["versions": .array(known), "current": versions.current.map { .int(Int64($0)) } ?? .null]
    }

    private func answer(
        _ number: Int, _ known: CodeDefinitions, _ action: String, to request: ServiceRequest
    ) async throws -> BusReply {
        try await host.store.write(for: request.share) {
            try host.audit.note(.init(action, "", String(number)), by: request, in: $0)
        }
        return try .result([
            "version": .int(Int64(number)), "functions": .array(known.functions.map(JSON.string)),
            "jobs": .array(known.jobs.map(JSON.string)), "triggers": .int(Int64(known.triggers.count)),
        ])
    }

    // MARK: Changes

    private func deploy(
        _ upload: CodeUpload, _ request: ServiceRequest
    ) async throws -> (number: Int, known: CodeDefinitions) {
        try await versions.locked {
            // Code that an operator copied by hand becomes the first version, so that it can be reactivated.
            _ = try versions.adopt()
            let number = try versions.add(upload)
            do {
                return (number, try await take(number, request))
            } catch {
                if versions.current != number { versions.remove(number) }
                throw error
            }
        }
    }

    private func activate(_ number: Int, _ request: ServiceRequest) async throws -> CodeDefinitions {
        try await versions.locked {
            guard versions.numbers.contains(number) else {
                throw ParseError(.objectNotFound, "There is no version \(number) of the cloud code.")
            }
            return try await take(number, request)
        }
    }

    private func take(_ number: Int, _ request: ServiceRequest) async throws -> CodeDefinitions {
        // The other replicas follow; they get no calls until they do.
        let known = try await runner.take(versions.path(of: number)) { try versions.take(number) }
        versions.removeOld()
        try await runner.tell(for: request)
        host.logger.notice("A version of the cloud code is in effect.", metadata: ["code.version": "\(number)"])
        return known
    }
}

/// Lets the other replicas load a version that one of them took by API.
package final class VersionFollower: Sendable {
    private let taken: @Sendable () -> Int?
    private let runs: @Sendable (_ number: Int) -> Bool
    private let take: @Sendable (_ number: Int) async throws -> Void
    /// The version that does not load here; it is tried only once.
    private let refused = Atomic<Int>(0)

    /// - Parameters:
    ///   - taken: the number of the version taken last; nil when there is none.
    ///   - runs: whether a version is the current one of this replica.
    ///   - take: loads a version. Throws `.scriptFailed` (141) when its code does not load.
    package init(
        taken: @escaping @Sendable () -> Int?, runs: @escaping @Sendable (_ number: Int) -> Bool,
        take: @escaping @Sendable (_ number: Int) async throws -> Void
    ) {
        self.taken = taken
        self.runs = runs
        self.take = take
    }

    convenience init(_ deployment: CodeDeployment) {
        let (versions, runner) = (deployment.versions, deployment.runner)
        self.init(
            taken: { versions.taken }, runs: { runner.runs(versions.path(of: $0)) },
            take: { _ = try await runner.take(versions.path(of: $0)) })
    }

    /// Loads the version taken last, unless it is the current one. Only a version whose code does not load is refused
    /// for good. After any other error, for example while another version is on trial, the next call tries again.
    /// - Throws: why it was not loaded.
    package func look() async throws {
        guard let number = taken(), number != refused.load(ordering: .relaxed), !runs(number) else { return }
        do {
            try await take(number)
        } catch let error as ParseError where error.code == .scriptFailed {
            refused.store(number, ordering: .relaxed)
            throw error
        }
    }
}
