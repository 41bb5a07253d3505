import Messages
import ObjectStore
import ParseProtocol
import ServiceKit
import Synchronization

/// The work that the writer does by itself.
final class Housekeeping: Sendable {
    private let host: ServiceHost
    private let idleUsers: IdleUsers
    /// The last identity that was looked at; empty at first.
    private let lastIdentity = Mutex("")

    private static let interval = Duration.seconds(60)
    /// Pages of anonymous users that one turn looks at: a million users take a day.
    private static let idlePagesMax = 10

    init(host: ServiceHost, idleUsers: IdleUsers) {
        self.host = host
        self.idleUsers = idleUsers
    }

    func install() {
        host.whenWriter("admins", every: .seconds(1), problem: "The role of the admins could not be made.") { [self] in
            try await seedAdmins()
            return .finished
        }
        host.whenWriter("sessions", every: Self.interval, problem: "Old sessions could not be removed.") { [self] in
            try await removeOld()
            return .idle
        }
    }

    /// Makes the role of the shop's operators, which only the master key may change.
    private func seedAdmins() async throws {
        try await host.store.write { transaction in
            let existing = Query(className: "_Role", where: ["name": .string(adminsRole)], limit: 1)
            guard try transaction.count(existing, caller: .master) == 0 else { return }
            _ = try transaction.create("_Role", ["name": .string(adminsRole), "ACL": [:]], caller: .master)
        }
    }

    /// Removes sessions, links and counters whose time is over.
    private func removeOld() async throws {
        try await host.store.write { transaction in
            try Sessions.closeExpired(in: transaction)
            try SignInFailures.clearExpired(in: transaction)
            try KnownDevices.forgetOld(in: transaction)
            try MailedTokens.removeExpired(in: transaction)
            try MailQuota.removeExpired(in: transaction)
        }
        for _ in 0..<Self.idlePagesMax {
            let last = lastIdentity.withLock(\.self)
            let next = try await host.store.write { [idleUsers] in try idleUsers.removePage(after: last, in: $0) }
            lastIdentity.withLock { $0 = next ?? "" }
            guard next != nil, !Task.isCancelled else { return }
        }
    }
}
