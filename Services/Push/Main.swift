import ServiceKit

/// The push service: installations, promotions and the delivery of notifications.
@main
struct Push {
    static func main() async { await runService(pushPlan, build: buildPush) }
}
