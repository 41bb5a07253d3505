import ServiceKit

/// The cloud service: functions, triggers and jobs that the shop wrote in JavaScript.
@main
struct Cloud {
    static func main() async { await runService(cloudPlan, build: buildCloud) }
}
