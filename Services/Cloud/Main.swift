import ServiceKit

/// The cloud service: functions and triggers that the shop wrote in JavaScript.
@main
struct Cloud {
    static func main() async { await runService(cloudPlan, build: buildCloud) }
}
