import ParseProtocol
import ProcessKit

/// The settings of admission beyond the basic keys. Each is off by default.
struct AdmissionSettings: Sendable {
    /// A client sends it in place of the master key. It grants the read rights of the master key and changes nothing.
    let readOnlyMasterKey: String?
    /// Writes objects like the master key, `createdAt` and `updatedAt` included.
    let maintenanceKey: String?
    /// Networks from which the maintenance key is accepted.
    let maintenanceKeyNetworks: [Network]
    /// Opens `GET /metrics` to other hosts.
    let metricsToken: String?
    /// Proxies whose `X-Forwarded-For` is trusted.
    let trustedProxies: [Network]
    /// The routes that clients without the master key may use; nil for all.
    let clientRoutes: [RoutePattern]?
    let rateRules: [RateRule]
    /// The routes on which a repeated `X-Parse-Request-Id` is rejected.
    let deduplicatedRoutes: [RoutePattern]
    /// Seconds for which a request id is stored.
    let deduplicationSeconds: Int
    let origins: OriginRule

    /// One week. No client retries after that time.
    private static let deduplicationSecondsMax = 7 * 86_400

    init(_ settings: Settings) throws {
        readOnlyMasterKey = settings["satchel.read.only.master.key"]
        maintenanceKey = settings["satchel.maintenance.key"]
        maintenanceKeyNetworks = try Network.list(
            settings.text("satchel.maintenance.key.ips", default: "127.0.0.0/8,::1"))
        metricsToken = settings["satchel.metrics.token"]
        trustedProxies = try Network.list(settings.text("satchel.trusted.proxies", default: ""))
        clientRoutes = try settings["satchel.client.routes"].map(RoutePattern.list)
        rateRules = try RateRule.list(settings.text("satchel.rate.limits", default: ""))
        deduplicatedRoutes = try RoutePattern.list(settings.text("satchel.idempotency.paths", default: ""))
        deduplicationSeconds = try settings.number(
            "satchel.idempotency.seconds", 1...Self.deduplicationSecondsMax, default: 300)
        origins = try OriginRule(settings.text("satchel.allow.origins", default: "*"))
    }

    /// Rejects equal keys: a key with two meanings would give its holder the rights of both.
    /// - Parameter others: the keys and ids that clients have.
    /// - Throws: when two keys are the same.
    func checkKeys(master: String, others: [String: String]) throws {
        var privileged = ["SATCHEL_MASTER_KEY": master]
        privileged["SATCHEL_READ_ONLY_MASTER_KEY"] = readOnlyMasterKey
        privileged["SATCHEL_MAINTENANCE_KEY"] = maintenanceKey
        privileged["SATCHEL_METRICS_TOKEN"] = metricsToken
        for (name, key) in privileged {
            let all = privileged.merging(others) { key, _ in key }
            guard let same = all.filter({ $0.key != name && $0.value == key }).keys.min() else { continue }
            throw StartupProblem(
                "\([name, same].sorted().joined(separator: " and ")) are the same; give each its own.")
        }
    }
}
