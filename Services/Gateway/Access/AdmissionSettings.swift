import ParseProtocol
import ProcessKit

/// The settings of admission beyond the plain keys. All of it is off unless it is set.
struct AdmissionSettings: Sendable {
    /// Sent as a master key; reads like it and changes nothing.
    let readOnlyMasterKey: String?
    /// Writes objects like the master key, `createdAt` and `updatedAt` included.
    let maintenanceKey: String?
    /// Networks from which the maintenance key is accepted.
    let maintenanceKeyNetworks: [Network]
    /// Proxies whose `X-Forwarded-For` is believed.
    let trustedProxies: [Network]
    /// The routes that clients without the master key may use; nil for all.
    let clientRoutes: [RoutePattern]?
    let rateRules: [RateRule]
    /// The routes on which a repeated `X-Parse-Request-Id` is refused.
    let onceRoutes: [RoutePattern]
    /// Seconds for which a request id is remembered.
    let onceSeconds: Int
    let origins: OriginRule

    /// A week. Older ids belong to no retry.
    private static let onceSecondsMax = 7 * 86_400

    init(_ settings: Settings) throws {
        readOnlyMasterKey = settings["satchel.read.only.master.key"]
        maintenanceKey = settings["satchel.maintenance.key"]
        maintenanceKeyNetworks = try Network.list(
            settings.text("satchel.maintenance.key.ips", default: "127.0.0.0/8,::1"))
        trustedProxies = try Network.list(settings.text("satchel.trusted.proxies", default: ""))
        clientRoutes = try settings["satchel.client.routes"].map(RoutePattern.list)
        rateRules = try RateRule.list(settings.text("satchel.rate.limits", default: ""))
        onceRoutes = try RoutePattern.list(settings.text("satchel.idempotency.paths", default: ""))
        onceSeconds = try settings.number("satchel.idempotency.seconds", 1...Self.onceSecondsMax, default: 300)
        origins = try OriginRule(settings.text("satchel.allow.origins", default: "*"))
    }

    /// A key that means two things would give the rights of one to whoever was trusted with the other.
    /// - Parameter others: the keys and ids that clients have.
    /// - Throws: when two keys are the same.
    func checkKeys(master: String, others: [String: String]) throws {
        var privileged = ["SATCHEL_MASTER_KEY": master]
        privileged["SATCHEL_READ_ONLY_MASTER_KEY"] = readOnlyMasterKey
        privileged["SATCHEL_MAINTENANCE_KEY"] = maintenanceKey
        for (name, key) in privileged {
            let all = privileged.merging(others) { key, _ in key }
            guard let same = all.filter({ $0.key != name && $0.value == key }).keys.min() else { continue }
            throw StartupProblem(
                "\([name, same].sorted().joined(separator: " and ")) are the same; give each its own.")
        }
    }
}
