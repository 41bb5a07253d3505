import ServiceKit

/// The push service: installations, promotions and, later, the sending of notifications.
@main
struct Push {
    static func main() async throws { try await runService(pushPlan, build: buildPush) }
}
