import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// What the writer does by itself.
struct Housekeeping: Sendable {
    let host: ServiceHost
    let idleUsers: IdleUsers

    private static let interval = Duration.seconds(60)
    /// Pages of anonymous users that one turn looks at: a million users take a day.
    private static let idlePagesMax = 10
    private static let seedPause = Duration.seconds(1)

    /// Makes the role of the shop's operators, which only the master key may change.
    func seedAdmins() async {
        while !Task.isCancelled {
            do {
                try await host.store.write { transaction in
                    let existing = Query(className: "_Role", where: ["name": .string(adminsRole)], limit: 1)
                    guard try transaction.count(existing, caller: .master) == 0 else { return }
                    _ = try transaction.create(
                        "_Role", ["name": .string(adminsRole), "ACL": [:]], caller: .master)
                }
                return
            } catch {
                host.logger.error("The role of the admins could not be made.", metadata: ["error": "\(error)"])
                try? await Task.sleep(for: Self.seedPause)
            }
        }
    }

    /// Removes sessions, links and counters whose time is over.
    func run() async {
        var lastIdentity = ""
        while !Task.isCancelled {
            do {
                try await host.store.write { transaction in
                    try Sessions.closeExpired(in: transaction)
                    try SignInFailures.clearExpired(in: transaction)
                    try KnownDevices.forgetOld(in: transaction)
                    try MailedTokens.removeExpired(in: transaction)
                    try MailQuota.removeExpired(in: transaction)
                }
                for _ in 0..<Self.idlePagesMax {
                    let next = try await host.store.write { [lastIdentity] in
                        try idleUsers.removePage(after: lastIdentity, in: $0)
                    }
                    lastIdentity = next ?? ""
                    if next == nil { break }
                }
            } catch {
                host.logger.error("Old sessions could not be removed.", metadata: ["error": "\(error)"])
            }
            try? await Task.sleep(for: Self.interval)
        }
    }
}
