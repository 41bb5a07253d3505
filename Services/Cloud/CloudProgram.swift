import ServiceKit

/// The cloud service: functions, triggers and jobs that the shop wrote in JavaScript.
package enum CloudProgram {
    package static func main() async { await runService(cloudPlan, build: buildCloud) }
}
