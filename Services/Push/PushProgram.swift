import ServiceKit

/// The push service: installations, promotions and the delivery of notifications.
package enum PushProgram {
    package static func main() async { await runService(pushPlan, build: buildPush) }
}
