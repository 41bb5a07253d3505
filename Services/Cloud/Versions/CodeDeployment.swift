import Logging
import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit
import Synchronization

/// `deployCloudCode`, `activateCloudCode` and `cloudCodeVersions`: versions of the code by route, for the master key
/// alone and where a setting says so. What scripts/cloud does from a folder of the host.
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
            let (number, known) = try await deploy(upload)
            return try await answer(number, known, "deployCloudCode", to: request)
        }
        routes.function("activateCloudCode") { [self] parameters, request in
            try check(request)
            guard let number = parameters["version"]?.intValue.flatMap(Int.init(exactly:)), number > 0 else {
                throw ParseError(.validationError, "version is needed: a number of cloudCodeVersions.")
            }
            let known = try await activate(number)
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
                Cloud code is deployed by scripts/cloud. With SATCHEL_CLOUD_DEPLOY_BY_ROUTE=true whoever has the \
                master key may bring it.
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
        try await host.store.write { try host.audit.note(.init(action, "", String(number)), by: request, in: $0) }
        return try .result([
            "version": .int(Int64(number)), "functions": .array(known.functions.map(JSON.string)),
            "jobs": .array(known.jobs.map(JSON.string)), "triggers": .int(Int64(known.triggers.count)),
        ])
    }

    // MARK: Changes

    private func deploy(_ upload: CodeUpload) async throws -> (number: Int, known: CodeDefinitions) {
        try await versions.locked {
            // What was put there by hand is the first version, which can be gone back to.
            _ = try versions.adopt()
            let number = try versions.add(upload)
            do {
                return (number, try await take(number))
            } catch {
                if versions.current != number { versions.remove(number) }
                throw error
            }
        }
    }

    private func activate(_ number: Int) async throws -> CodeDefinitions {
        try await versions.locked {
            guard versions.numbers.contains(number) else {
                throw ParseError(.objectNotFound, "There is no version \(number) of the cloud code.")
            }
            return try await take(number)
        }
    }

    private func take(_ number: Int) async throws -> CodeDefinitions {
        let known = try await runner.take(versions.path(of: number)) { try versions.point(to: number) }
        // The other replicas follow; until they have, they get no calls.
        try versions.setTaken(number)
        versions.removeOld()
        try await runner.tell()
        host.logger.notice("A version of the cloud code was taken.", metadata: ["code.version": "\(number)"])
        return known
    }
}

/// The other replicas' way to a version that one of them took by route.
final class FollowedVersions: Sendable {
    private let deployment: CodeDeployment
    /// The version that did not load here: it is tried once beside what runs.
    private let refused = Atomic<Int>(0)

    init(_ deployment: CodeDeployment) { self.deployment = deployment }

    /// Takes the version that was taken last, where it is not the one that runs.
    /// - Throws: why it was not taken.
    func look() async throws {
        let (versions, runner) = (deployment.versions, deployment.runner)
        guard let number = versions.taken, number != refused.load(ordering: .relaxed),
            !runner.runs(versions.path(of: number))
        else { return }
        do {
            try await runner.take(versions.path(of: number))
        } catch {
            refused.store(number, ordering: .relaxed)
            throw error
        }
    }
}
