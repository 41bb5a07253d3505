import Messages
import ObjectStore
import ParseProtocol
import ServiceKit
import Synchronization

/// The writer's background work: creates the operators' roles, removes expired rows and old audit entries, and deletes
/// idle anonymous users.
final class Housekeeping: Sendable {
    private let host: ServiceHost
    private let idleUsers: IdleUsers
    private let auditDays: Int
    /// The last checked identity; empty at first.
    private let lastIdentity = Mutex("")

    private static let interval = Duration.seconds(60)
    /// Pages of anonymous users checked per round: a million users take a day.
    private static let idlePagesMax = 10

    init(host: ServiceHost, idleUsers: IdleUsers, auditDays: Int) {
        self.host = host
        self.idleUsers = idleUsers
        self.auditDays = auditDays
    }

    func install() {
        host.limitStoredTimes(
            StoredWaits("endsAt", of: "signInFailures", atMost: SignInSubject.window),
            StoredWaits("endsAt", of: "mailQuota", atMost: MailQuota.windowMax))
        host.whenWriter("roles", every: .seconds(1), problem: "The roles of operators could not be made.") { [self] in
            try await seedRoles()
            return .finished
        }
        host.whenWriter("sessions", every: Self.interval, problem: "Old sessions could not be removed.") { [self] in
            try await removeOld()
            return .idle
        }
    }

    /// Creates the operators' roles; only the master key and the admins may add members.
    private func seedRoles() async throws {
        try await host.store.write(for: nil) { transaction in
            for area in OperatorArea.allCases { try OperatorRoles.make(area.role, in: transaction) }
        }
    }

    /// Removes expired sessions, links and counters.
    private func removeOld() async throws {
        try await host.store.write(for: nil) { transaction in
            try Sessions.closeExpired(in: transaction)
            try SignInFailures.clearExpired(in: transaction)
            try KnownDevices.forgetOld(in: transaction)
            try MailedTokens.removeExpired(in: transaction)
            try MailQuota.removeExpired(in: transaction)
            try Invitations.removeOld(in: transaction)
        }
        while try await host.store.write(
            for: nil,
            { [auditDays] in
                try AuditLog.removeOld(days: auditDays, in: $0)
            })
        {}
        for _ in 0..<Self.idlePagesMax {
            let last = lastIdentity.withLock(\.self)
            let next = try await host.store.write(for: nil) { [idleUsers] in
                try idleUsers.removePage(after: last, in: $0)
            }
            lastIdentity.withLock { $0 = next ?? "" }
            guard next != nil, !Task.isCancelled else { return }
        }
    }
}
